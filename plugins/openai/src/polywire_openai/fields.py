"""The dialect's name, and the fields of it that have no place in polywire's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.immutable import EMPTY

__all__ = ["KEEPS_ALIVE", "WIRE", "extras_of", "merged", "own_extras"]

WIRE = "openai"
"""The dialect's name, in `Origin.wire`, `OpaqueContent.wire` and `extras`."""

KEEPS_ALIVE = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
"""Names of events that say nothing, whatever they hold: a word, a time."""


def extras_of(item: Mapping[str, Any], typed: frozenset[str]) -> Mapping[str, Any]:
    """Return the fields beside the typed ones, as extras. Null says nothing."""
    if item.keys() <= typed:
        return EMPTY
    rest = {key: value for key, value in item.items() if key not in typed and value is not None}
    return {WIRE: rest} if rest else EMPTY


def own_extras(extras: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what of a value's extras is this wire's."""
    own = extras.get(WIRE) if extras else None
    return own if isinstance(own, Mapping) else EMPTY


def merged(old: Any, new: Any) -> Any:
    """Lay what a later chunk says over what an earlier one said: objects key by key, anything else is replaced."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: merged(old.get(key), value) for key, value in new.items() if value is not None}}
    return new
