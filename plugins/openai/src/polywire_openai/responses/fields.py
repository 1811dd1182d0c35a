"""The dialect's name, and the fields of it that have no place in polywire's values."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from polywire.immutable import EMPTY

__all__ = ["CUSTOM_CALL", "FUNCTION_CALL", "MESSAGE", "REASONING", "WIRE", "extras_of", "made_id", "own_extras"]

WIRE = "openai-responses"
"""The dialect's name, in `Origin.wire`, `OpaqueContent.wire` and `extras`."""

MESSAGE = "message"
FUNCTION_CALL = "function_call"
CUSTOM_CALL = "custom_tool_call"
REASONING = "reasoning"


def extras_of(item: Mapping[str, Any], typed: frozenset[str]) -> dict[str, Any]:
    """Return the fields beside the typed ones. Null says nothing."""
    return {key: value for key, value in item.items() if key not in typed and value is not None}


def own_extras(extras: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what of a value's extras is this wire's."""
    own = extras.get(WIRE) if extras else None
    return own if isinstance(own, Mapping) else EMPTY


def made_id(prefix: str, *told: object) -> str:
    """Make an id where the wire demands one and there is none: derived, so that the same value always has the same."""
    return f"{prefix}_{sha256(repr(told).encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
