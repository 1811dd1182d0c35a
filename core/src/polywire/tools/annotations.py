"""Annotations in the form that pydantic takes: before Python 3.12 it refuses the standard library's own `TypedDict`."""

from __future__ import annotations

import sys
import types
import typing
from typing import Annotated, Any, get_args, get_origin

__all__ = ["for_pydantic"]


def for_pydantic(annotation: Any) -> Any:
    """Return an annotation in which every `typing.TypedDict` is one of `typing_extensions`; any other comes back as it is."""
    if sys.version_info >= (3, 12):
        return annotation
    return _converted(annotation, {})


def _converted(annotation: Any, known: dict[Any, Any]) -> Any:
    if typing.is_typeddict(annotation):
        return _typed_dict(annotation, known) if type(annotation).__module__ == "typing" else annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None or not arguments or origin is typing.Literal:
        return annotation
    if origin is Annotated:
        inner = _converted(arguments[0], known)
        return annotation if inner is arguments[0] else Annotated[(inner, *arguments[1:])]
    converted = tuple(_converted(each, known) for each in arguments)
    if all(new is old for new, old in zip(converted, arguments, strict=True)):
        return annotation
    if origin in {typing.Union, types.UnionType}:
        return typing.Union[converted]  # noqa: UP007 - made of a tuple
    try:
        return origin[converted]
    except TypeError:
        return annotation


def _typed_dict(annotation: Any, known: dict[Any, Any]) -> Any:
    import typing_extensions  # it comes with pydantic

    if annotation in known:
        return known[annotation]
    # A type that contains itself is left to pydantic's own words.
    known[annotation] = annotation
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(annotation, include_extras=True).items():
        while get_origin(hint) in {typing.Required, typing.NotRequired}:
            hint = get_args(hint)[0]
        inner = _converted(hint, known)
        fields[name] = inner if name in annotation.__required_keys__ else typing_extensions.NotRequired[inner]
    made = typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[misc]
    made.__doc__ = annotation.__doc__
    known[annotation] = made
    return made
