"""
Read-only copies of plain JSON-like data.

Values are shared by threads, retried, cached and hashed, so a mapping that a caller hands over is copied
once and never changes again, at any depth. The copies stay `dict` and `list` subclasses on purpose: they
compare equal to plain ones, pickle, and go through every JSON encoder as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

__all__ = ["EMPTY", "FrozenDict", "FrozenList", "freeze", "freeze_mapping", "slot_setters"]


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    msg = f"{type(self).__name__} is read-only: values never change once made; build a new one instead"
    raise TypeError(msg)


class FrozenDict(dict[str, Any]):
    """A `dict` that refuses to change, and so can be hashed."""

    __slots__ = ()

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenDict:
        return self


class FrozenList(list[Any]):
    """A `list` that refuses to change, and so can be hashed."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, _memo: object) -> FrozenList:
        return self


EMPTY = FrozenDict()
"""The one empty mapping that all values share."""


def freeze(value: Any) -> Any:
    """Return a read-only copy of JSON-like data; scalars and data that is read-only already come back as they are."""
    if isinstance(value, (str, int, float, FrozenDict, FrozenList)) or value is None:
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, (list, tuple, set, frozenset)):
        return FrozenList([freeze(item) for item in value])
    return value


def freeze_mapping(value: Mapping[str, Any] | Iterable[tuple[str, Any]] | None, *, name: str) -> FrozenDict:
    """
    Return `value` as a read-only mapping; `None` becomes the empty one.

    Raises:
        TypeError: `value` is no mapping, or a key is no string. The message names the field, `name`.
    """
    if not value:
        return EMPTY
    if type(value) is FrozenDict:
        return value
    if not isinstance(value, Mapping):
        msg = f"{name} must be a mapping, not {type(value).__name__}"
        raise TypeError(msg)
    for key in value:
        if not isinstance(key, str):
            msg = f"{name} must have string keys, not {key!r}"
            raise TypeError(msg)
    return freeze(value)  # type: ignore[no-any-return]


def slot_setters(cls: type, *names: str) -> tuple[Callable[[Any, Any], None], ...]:
    """
    Return the functions that set these slots of a frozen value, for its own constructor.

    They do what `object.__setattr__` does with the name, without looking the name up [measured: a third of the time; a
    message has four to seven slots, and making messages is half of reading a history].
    """
    return tuple(cls.__dict__[name].__set__ for name in names)
