"""
Holds plain JSON values against a vendor's own types, strictly.

A pydantic adapter over an SDK's TypedDicts does not do this: it drops keys that it does not know, and never looks into
a field that is annotated as an `Iterable`. Here every key must be known, every required key there, and every value of
its type, at every depth.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions

__all__ = ["check"]

_WRAPPERS = {
    typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired,
    typing.ClassVar, typing.Final, typing_extensions.ReadOnly,
}  # fmt: skip
_ANYTHING = {Any, object, typing_extensions.Any}


def check(value: Any, type_: Any, path: str = "$") -> list[str]:
    """Return what is wrong with `value` as a `type_`, each with its place; an empty list where all is well."""
    type_ = _bare(type_)
    if type_ in _ANYTHING or isinstance(type_, typing.TypeVar):
        return []
    if type_ is None or type_ is type(None):
        return [] if value is None else [f"{path}: {value!r} is not null"]
    if typing_extensions.is_typeddict(type_):
        return _check_typed_dict(value, type_, path)
    origin = get_origin(type_)
    if origin is Union or origin is types.UnionType:
        return _check_union(value, get_args(type_), path)
    if origin is Literal or origin is typing_extensions.Literal:
        allowed = get_args(type_)
        fits = any(type(value) is type(each) and value == each for each in allowed)
        return [] if fits else [f"{path}: {value!r} is none of {allowed}"]
    if origin is not None:
        return _check_generic(value, origin, get_args(type_), path)
    return _check_class(value, type_, path)


def _bare(type_: Any) -> Any:
    while True:
        if isinstance(type_, typing_extensions.TypeAliasType):
            type_ = type_.__value__
            continue
        origin = get_origin(type_)
        if origin in _WRAPPERS or origin is typing.Annotated:
            type_ = get_args(type_)[0]
            continue
        if isinstance(origin, typing_extensions.TypeAliasType):
            type_ = origin.__value__[get_args(type_)]
            continue
        return type_


@lru_cache(maxsize=1024)
def _hints(type_: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """A TypedDict's fields, and which of them are required; `__required_keys__` is wrong under postponed annotations."""
    hints: dict[str, Any] = {}
    required: set[str] = set()
    for base in reversed(_bases(type_)):
        own = typing_extensions.get_type_hints(base, include_extras=True)
        total = getattr(base, "__total__", True)
        # A TypedDict's annotations hold those of its bases too: only what is new here is under this `total`.
        for name in own:
            if name in hints and hints[name] == own[name]:
                continue
            hints[name] = own[name]
            marks = _marks(own[name])
            required.discard(name)
            if "Required" in marks or (total and "NotRequired" not in marks):
                required.add(name)
    return hints, frozenset(required)


def _bases(type_: Any) -> list[Any]:
    found = [type_]
    for base in getattr(type_, "__orig_bases__", ()):
        base = get_origin(base) or base
        if typing_extensions.is_typeddict(base):
            found += [each for each in _bases(base) if each not in found]
    return found


def _marks(type_: Any) -> set[str]:
    marks = set()
    while (origin := get_origin(type_)) in _WRAPPERS or origin is typing.Annotated:
        marks.add(str(origin).rsplit(".", 1)[-1])
        type_ = get_args(type_)[0]
    return marks


def _check_typed_dict(value: Any, type_: Any, path: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{path}: {value!r} is no object ({type_.__name__})"]
    hints, required = _hints(type_)
    problems = [f"{path}: {type_.__name__} has no field {key!r}" for key in value if key not in hints]
    problems += [f"{path}: {type_.__name__} needs the field {key!r}" for key in sorted(required - value.keys())]
    for key, item in value.items():
        if key in hints:
            problems += check(item, hints[key], f"{path}.{key}")
    return problems


def _check_union(value: Any, branches: Sequence[Any], path: str) -> list[str]:
    tried = [(check(value, branch, path), branch) for branch in branches]
    if any(not problems for problems, _ in tried):
        return []
    # The branch that the value says it is, by its tag; else the one with the fewest problems.
    tagged = [problems for problems, branch in tried if _has_tag_of(value, _bare(branch))]
    # A branch that goes wrong deep inside fits better than one that is of another shape altogether.
    return min(
        tagged or [problems for problems, _ in tried],
        key=lambda problems: (any(problem.startswith(f"{path}: ") for problem in problems), len(problems)),
    )


def _has_tag_of(value: Any, branch: Any) -> bool:
    if not isinstance(value, Mapping) or not typing_extensions.is_typeddict(branch):
        return False
    hints, _ = _hints(branch)
    return any(
        key in value and not check(value[key], hints[key])
        for key in ("type", "role")
        if key in hints and get_origin(_bare(hints[key])) in {Literal, typing_extensions.Literal}
    )


def _check_generic(value: Any, origin: Any, arguments: Sequence[Any], path: str) -> list[str]:
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return [f"{path}: {value!r} is no object"]
        problems = []
        for key, item in value.items():
            problems += check(key, arguments[0], f"{path} key {key!r}") + check(item, arguments[1], f"{path}.{key}")
        return problems
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return [f"{path}: {value!r} is no array"]
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else list(arguments)
        if len(kinds) != len(value):
            return [f"{path}: {len(value)} items, not {len(kinds)}"]
        return [
            problem for index, item in enumerate(value) for problem in check(item, kinds[index], f"{path}[{index}]")
        ]
    # Lists, iterables, and protocols for sequences that must not be strings.
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, (list, tuple)):
        return [f"{path}: {value!r} is no array"]
    item_type = arguments[0] if arguments else Any
    return [problem for index, item in enumerate(value) for problem in check(item, item_type, f"{path}[{index}]")]


def _check_class(value: Any, type_: Any, path: str) -> list[str]:
    if type_ is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif type_ is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif type_ is dict:
        fits = isinstance(value, Mapping)
    elif isinstance(type_, type):
        fits = isinstance(value, type_)
    else:
        return [f"{path}: the type {type_!r} is not understood"]
    return [] if fits else [f"{path}: {value!r} is no {type_.__name__}"]
