"""
Output items, read into the parts of a message; the same for an answer, for a stream and for a history.

A message's parts remember the item's id and phase, reasoning its id and seal, a call its item's id: all of it goes back
unchanged. An item of any other type is kept whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire import wire_json
from polywire.contents import OpaqueContent, TextContent, ThinkingContent
from polywire.immutable import EMPTY
from polywire.messages import AiPart, ToolCall
from polywire.translation.calls import make_call
from polywire_openai.reading import PLAIN, Reading
from polywire_openai.responses.fields import (
    CUSTOM_CALL,
    FUNCTION_CALL,
    MESSAGE,
    REASONING,
    WIRE,
    extras_of,
    made_id,
)
from polywire_openai.tool_fragments import read_arguments

__all__ = ["JOINT", "KNOWN_ITEMS", "arguments_of", "parts_of_item", "reasoning_id", "summary_of"]

JOINT = "\n\n"
"""Stands between the parts of a summary."""

_MESSAGE = frozenset({"type", "role", "content"})
_TEXT = frozenset({"type", "text"})
_REFUSAL = frozenset({"type", "refusal"})
_CALL = frozenset({"type", "call_id", "name", "arguments", "input"})
_REASONING = frozenset({"type", "summary", "encrypted_content"})
_SAYS_NOTHING: tuple[Any, ...] = ([], {}, "completed")


def _more(item: Mapping[str, Any], typed: frozenset[str]) -> dict[str, Any]:
    """The further fields of an item; its status says something only where it is not that of every whole item."""
    own = extras_of(item, typed)
    if own.get("status") == "completed":
        del own["status"]
    return own


def _extras(own: Mapping[str, Any]) -> Mapping[str, Any]:
    return {WIRE: own} if own else EMPTY


def parts_of_item(
    item: Mapping[str, Any], reading: Reading = PLAIN, *, seed: str = "", index: int = 0, cut: bool = False
) -> list[tuple[int, AiPart]]:
    """
    Read one item: its parts, each with its place in the item. `cut` says that the answer ended early.

    Raises:
        ValueError: a call has no name or no id where a history demands one; never for a part of an answer.
    """
    match item.get("type", MESSAGE):
        case "message":
            return _message(item, reading)
        case "reasoning":
            return [(0, _reasoning(item))]
        case "function_call" | "custom_tool_call" as kind:
            return [(0, _call(item, str(kind), reading, seed, index, cut))]
    return [(0, OpaqueContent(WIRE, item))]


def _message(item: Mapping[str, Any], reading: Reading) -> list[tuple[int, AiPart]]:
    around = _more(item, _MESSAGE)
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    parts: list[tuple[int, AiPart]] = []
    for place, part in enumerate(content if isinstance(content, (list, tuple)) else ()):
        match part:
            case {"type": "output_text" | "input_text" | "text", "text": str(text)}:
                own = {**around, **{k: v for k, v in extras_of(part, _TEXT).items() if v not in _SAYS_NOTHING}}
                lowered = reading.answer_schema
                parts.append((place, TextContent(lowered.restore_text(text) if lowered else text, extras=_extras(own))))
            case {"type": "refusal", "refusal": str(text)}:
                own = {"refusal": True, **around, **extras_of(part, _REFUSAL)}
                parts.append((place, TextContent(text, extras=_extras(own))))
            case Mapping():
                parts.append((place, OpaqueContent(WIRE, {**item, "content": [part]})))
    return parts


def summary_of(text: str) -> list[dict[str, Any]]:
    """The summary that a text alone stands for."""
    return [{"type": "summary_text", "text": text}] if text else []


def reasoning_id(text: str, seal: str | None) -> str:
    """The id of reasoning that came without one; the wire demands it."""
    return made_id("rs", text, seal)


def _reasoning(item: Mapping[str, Any]) -> ThinkingContent:
    summary, content = item.get("summary") or (), item.get("content") or ()
    pieces = [part.get("text") for part in (*summary, *content) if isinstance(part, Mapping)]
    text = JOINT.join(piece for piece in pieces if isinstance(piece, str) and piece)
    seal = item.get("encrypted_content")
    seal = seal if isinstance(seal, str) and seal else None
    own = _more(item, _REASONING)
    if own.get("content") == []:
        del own["content"]
    if list(summary) != summary_of(text):
        own["summary"] = summary
    if own.get("id") == reasoning_id(text, seal):
        del own["id"]
    # Where there is nothing to read, the seal is the whole block.
    return ThinkingContent(text, seal if text else None, None if text else seal, extras=_extras(own))


def _call(item: Mapping[str, Any], kind: str, reading: Reading, seed: str, index: int, cut: bool) -> ToolCall:
    own = _more(item, _CALL)
    wire_name = item.get("name")
    wire_name = wire_name if isinstance(wire_name, str) else ""
    call_id = item.get("call_id") or item.get("id")
    arguments: Any
    if kind == CUSTOM_CALL:
        own["type"] = CUSTOM_CALL
        arguments = {"input": item.get("input") or ""}
    else:
        arguments = item.get("arguments")
        if isinstance(arguments, str):
            arguments = read_arguments(arguments)
            lowered = reading.schemas.get(wire_name)
            arguments = lowered.restore_text(arguments) if lowered else arguments
    cut = cut or item.get("status") == "incomplete"
    call = make_call(
        reading.names.from_wire(wire_name),
        arguments,
        id=call_id if isinstance(call_id, str) else None,
        seed=seed,
        index=index,
        source=WIRE,
        cut=cut and kind == FUNCTION_CALL,
        extras=_extras(own),
    )
    if cut and kind == CUSTOM_CALL and item.get("status") != "completed":
        # Free text does not show that it was cut.
        return ToolCall(call.id, call.name, call.arguments, WIRE, incomplete=True, extras=call.extras)
    return call


def arguments_of(call: ToolCall) -> str:
    """The free text of a custom tool's call."""
    value = wire_json.decode_object(call.arguments) or {}
    text = value.get("input")
    return text if isinstance(text, str) else call.arguments


KNOWN_ITEMS = frozenset({MESSAGE, REASONING, FUNCTION_CALL, CUSTOM_CALL})
"""The types of items that have a place in the values."""
