"""
What one wire made for itself alone.

Thinking is sealed by the vendor that made it, and an opaque block means something only to its own wire. Both go back
there untouched; for every other wire they are left out, with a notice. Of what a model spoke its words stay. A message
without an origin (made by hand) is taken at its word. A message of the user's or the application's that holds nothing
else goes with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire.contents import AudioContent, Content, OpaqueContent, TextContent, ThinkingContent
from polywire.messages import AiMessage, AiPart, Message, SystemMessage, ToolResultMessage, UserMessage
from polywire.responses import Notice

__all__ = ["without_foreign_parts"]


def without_foreign_parts(messages: Sequence[Message], wire: str) -> tuple[Sequence[Message], list[Notice]]:
    """Return the history without what belongs to other wires, and what was left out."""
    notices: list[Notice] = []
    changed: dict[int, Message | None] = {}
    for position, message in enumerate(messages):
        kind = type(message)
        if kind is AiMessage:
            changed_message = _own_parts(message, wire, position, notices)  # type: ignore[arg-type]
            if changed_message is not message:
                changed[position] = changed_message
        elif kind in {UserMessage, SystemMessage, ToolResultMessage}:
            contents = message.contents  # type: ignore[union-attr]
            if any(type(item) is OpaqueContent and item.wire != wire for item in contents):
                kept = [item for item in contents if type(item) is not OpaqueContent or item.wire == wire]
                _tell(notices, position, {item.wire for item in contents if type(item) is OpaqueContent}, "block")
                changed[position] = _with_contents(message, kept)
    if not changed:
        return messages, notices
    kept_messages = [changed.get(position, message) for position, message in enumerate(messages)]
    return [message for message in kept_messages if message is not None], notices


def _own_parts(message: AiMessage, wire: str, position: int, notices: list[Notice]) -> AiMessage:
    origin = message.origin
    at_home = origin is None or origin.wire == wire
    dropped: set[str] = set()
    thinking = spoken = False
    kept: list[AiPart] = []
    for part in message.parts:
        if type(part) is ThinkingContent and not at_home:
            thinking = True
        elif type(part) is AudioContent and part.transcript and not at_home:
            spoken = True
            kept.append(TextContent(part.transcript))
        elif type(part) is OpaqueContent and part.wire != wire:
            dropped.add(part.wire)
        else:
            kept.append(part)
    if not thinking and not dropped and not spoken:
        return message
    if spoken:
        told = "what another wire's model spoke is written as its words: no other takes a model's own sound back"
        notices.append(Notice("approximated", f"messages[{position}]", told))
    if thinking:
        _tell(notices, position, {origin.wire if origin else ""}, "thinking")
    if dropped:
        _tell(notices, position, dropped, "block")
    return AiMessage(kept, message.origin, extras=message.extras)


def _with_contents(message: Message, contents: list[Content]) -> Message | None:
    if isinstance(message, ToolResultMessage):
        return ToolResultMessage(
            message.call_id, message.tool_name, contents, message.is_error, message.error, extras=message.extras
        )
    assert isinstance(message, (UserMessage, SystemMessage))
    if not any(type(item) is not TextContent or item.text for item in contents):
        return None
    return type(message)(contents, message.name, extras=message.extras)


def _tell(notices: list[Notice], position: int, wires: set[str], what: str) -> None:
    made_by = " and ".join(sorted(wires))
    notices.append(
        Notice(
            "dropped",
            f"messages[{position}]",
            f"a {what} made for the wire {made_by!r} is left out: no other can read it",
        )
    )
