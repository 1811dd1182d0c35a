"""Tool calls as they are read: ids made where none came, and calls that were cut short marked as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from polywire import wire_json
from polywire.immutable import EMPTY
from polywire.messages import ToolCall

__all__ = ["arguments_text", "generate_call_id", "make_call"]

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def generate_call_id(seed: str, index: int, name: str) -> str:
    """
    Make an id for a call that came without one: `call_` and nine letters or digits.

    It is derived, not drawn: the same answer gives the same id, streamed or not. `seed` is what tells this answer from
    others (the response's id, or its time).
    """
    number = int.from_bytes(sha256(f"{seed}\0{index}\0{name}".encode("utf-8", "surrogatepass")).digest()[:8], "big")
    letters = ""
    for _ in range(9):
        number, place = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[place]
    return f"call_{letters}"


def arguments_text(arguments: Any) -> str:
    """Write arguments as JSON text: text stays as it is, an object becomes compact JSON, nothing becomes `{}`."""
    if isinstance(arguments, str):
        return arguments
    if arguments is None:
        return ""
    text = wire_json.compact(arguments)
    if "null" in text and wire_json.place_of_no_number(arguments) is not None:
        # No JSON, and so never run with another value than the model's.
        return json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return text


def make_call(
    name: str,
    arguments: Any,
    *,
    id: str | None = None,
    seed: str = "",
    index: int = 0,
    source: str | None = None,
    cut: bool = False,
    extras: Mapping[str, Any] = EMPTY,
) -> ToolCall:
    """
    Make a call of what a wire sent.

    `cut` says that the answer ended early. A call whose arguments are then empty or no whole JSON object is incomplete:
    to read nothing as `{}` would make something runnable of a call that never was.
    """
    text = arguments_text(arguments)
    incomplete = cut and wire_json.decode_arguments(text) is None
    return ToolCall(
        id or generate_call_id(seed, index, name), name or "unnamed", text, source, incomplete=incomplete, extras=extras
    )
