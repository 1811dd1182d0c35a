"""
`dataclass`, made quickly: the standard library's, but for the time that it takes to define a class.

The standard library writes six functions for each frozen class and has each compiled by itself; fifty classes were a tenth
of the time from a program's start to its first answer [460 µs a class there, 120 here]. Here `__init__` is written, which
sets the slots directly; `__eq__`, `__hash__` and `__repr__` are the standard library's own, written when one is first used;
the others are the same for all classes. What comes out is a dataclass in every respect: `fields`, `replace`, `asdict`,
`match`, pickling, copying, subclasses that are dataclasses of the standard library.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *,
        slots: bool,
        frozen: bool = False,
        init: bool = True,
        kw_only: bool = False,
        eq: bool = True,
        weakref_slot: bool = False,
    ) -> Callable[[type[T]], type[T]]:
        """
        Make a class a dataclass with slots. As `dataclasses.dataclass`, of whose options it knows those that are used here.

        Args:
            slots: must be true; it is written down for those who know the original, and for type checkers.
            frozen, init, kw_only, eq, weakref_slot: as there.
        """
        if not slots:
            msg = "for classes without slots there is dataclasses.dataclass"
            raise TypeError(msg)
        return lambda cls: _made(cls, frozen=frozen, init=init, kw_only=kw_only, eq=eq, weakref=weakref_slot)


def _made(cls: type[Any], *, frozen: bool, init: bool, kw_only: bool, eq: bool, weakref: bool) -> type[Any]:
    own = _own_fields(cls, kw_only=kw_only)
    inherited = [base for base in reversed(cls.__mro__[1:]) if dataclasses.is_dataclass(base)]
    all_fields: dict[str, Any] = {}
    for base in inherited:
        all_fields |= base.__dataclass_fields__
    all_fields |= own.__dataclass_fields__
    names = tuple(each.name for each in dataclasses.fields(own))
    taken = {name for base in cls.__mro__[1:] for name in _slots_of(base)}
    body = {key: value for key, value in vars(cls).items() if key not in (*names, "__dict__", "__weakref__")}
    body["__slots__"] = tuple(name for name in (*names, *(("__weakref__",) if weakref else ())) if name not in taken)
    body["__dataclass_fields__"] = all_fields
    body["__dataclass_params__"] = parameters = own.__dataclass_params__
    parameters.frozen, parameters.init, parameters.eq, parameters.repr = frozen, init, eq, True
    if "__replace__" in vars(own):  # since Python 3.13
        body.setdefault("__replace__", vars(own)["__replace__"])
    body.setdefault("__repr__", _represent)
    if eq:
        body.setdefault("__eq__", _equal)
        if body.get("__hash__") is None:
            body["__hash__"] = _hash if frozen else None
    if frozen:
        body |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        body.setdefault("__getstate__", _get_state)
        body.setdefault("__setstate__", _set_state)
    metaclass: Any = type(cls)
    made: Any = metaclass(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    real = dataclasses.fields(made)
    if "__match_args__" not in body:
        made.__match_args__ = tuple(each.name for each in real if each.init and not each.kw_only)  # type: ignore[misc]
    if init:
        made.__init__ = _written_init(made, real)
    return made  # type: ignore[no-any-return]


def _own_fields(cls: type[Any], *, kw_only: bool) -> Any:
    """Have the standard library read what the body of a class declares, of a class that has nothing else."""
    annotations = get_annotations(cls)
    body = {name: value for name, value in vars(cls).items() if name in annotations}
    body |= {"__annotations__": annotations, "__module__": cls.__module__, "__doc__": cls.__doc__ or " "}
    reader = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only, match_args=False)
    return reader(type(cls.__name__, (), body))


def _slots_of(base: type) -> tuple[str, ...]:
    slots = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Factory:
    """Stands for "make it" among the defaults of `__init__`."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Any = _Factory()


def _written_init(cls: type[Any], fields: tuple[dataclasses.Field[Any], ...]) -> Any:
    given: dict[str, Any] = {"_FACTORY": _FACTORY}
    positional: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    annotations: dict[str, Any] = {}
    for each in fields:
        name = each.name
        given[f"_set_{name}"] = getattr(cls, name).__set__
        value = name
        parameter = name
        if each.default_factory is not dataclasses.MISSING:
            given[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_FACTORY"
            value = f"_make_{name}() if {name} is _FACTORY else {name}" if each.init else f"_make_{name}()"
        elif each.default is not dataclasses.MISSING:
            given[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
            value = name if each.init else f"_default_{name}"
        elif not each.init:
            continue
        if each.init:
            annotations[name] = each.type
            (by_name if each.kw_only else positional).append(parameter)
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    text = f"def make({', '.join(given)}):\n def __init__({parameters}):\n  " + "\n  ".join(lines or ["pass"])
    made: dict[str, Any] = {}
    exec(f"{text}\n return __init__", vars(sys.modules[cls.__module__]), made)  # as dataclasses does
    written = made["make"](**given)
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    written.__annotations__ = {**annotations, "return": None}
    return written


def _when_first_used(name: str, **options: bool) -> Any:
    """Return a method that has the standard library write itself for the class at hand, and puts that in its place."""

    def method(self: Any, *others: Any) -> Any:
        home = next((base for base in type(self).__mro__ if vars(base).get(name) is method), None)
        if home is not None:  # else another thread was quicker
            fields = [
                (each.name, Any, dataclasses.field(repr=each.repr, hash=each.hash, compare=each.compare))
                for each in dataclasses.fields(home)
            ]
            choice: Any = {"init": False, "repr": False, "eq": False, "match_args": False, **options}
            setattr(home, name, vars(dataclasses.make_dataclass(home.__name__, fields, **choice))[name])
        return getattr(type(self), name)(self, *others)

    return method


_represent = _when_first_used("__repr__", repr=True)
_equal = _when_first_used("__eq__", eq=True)
_hash = _when_first_used("__hash__", unsafe_hash=True)


# What all frozen classes share


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        msg = f"cannot assign to field {name!r}"
        raise dataclasses.FrozenInstanceError(msg)
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if "__dataclass_fields__" in vars(type(self)) or name in self.__dataclass_fields__:
        msg = f"cannot delete field {name!r}"
        raise dataclasses.FrozenInstanceError(msg)
    object.__delattr__(self, name)


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
