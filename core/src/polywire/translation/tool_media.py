"""
Media in tool results, for wires whose results are text alone.

The media moves into one user message right after the turn's results, and a short line stands in its place, so that
tool messages stay beside their calls and no base64 is ever written as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire.contents import Content, MediaContent, TextContent
from polywire.immutable import FrozenDict
from polywire.messages import Message, ToolResultMessage, UserMessage
from polywire.responses import Notice

__all__ = ["MOVED", "media_after_results"]

MOVED = FrozenDict({"moved_media": True})
"""The extras of the line that stands in for media: no content of the tool's own, for codecs that must tell them apart."""


def media_after_results(messages: Sequence[Message]) -> tuple[Sequence[Message], list[Notice]]:
    """Return the history with media moved out of tool results, and what was moved."""
    if not any(
        type(message) is ToolResultMessage and any(isinstance(item, MediaContent) for item in message.contents)
        for message in messages
    ):
        return messages, []
    rewritten: list[Message] = []
    notices: list[Notice] = []
    moved: list[Content] = []
    for position, message in enumerate(messages):
        if not isinstance(message, ToolResultMessage):
            _let_go(moved, rewritten)
            rewritten.append(message)
            continue
        kept: list[Content] = []
        count = 0
        for item in message.contents:
            if not isinstance(item, MediaContent):
                kept.append(item)
                continue
            count += 1
            kind = getattr(item, "kind", "file")
            note = f"[{kind} {count} of this result is in the next user message]"
            kept.append(TextContent(note, extras=MOVED))
            moved += [TextContent(f"[{kind} {count} of the result of {message.call_id}:]"), item]
        if not count:
            rewritten.append(message)
            continue
        notices.append(
            Notice(
                "approximated",
                f"messages[{position}]",
                f"{count} media item(s) of a tool result are sent in a user message after it: results are text here",
            )
        )
        rewritten.append(
            ToolResultMessage(
                message.call_id, message.tool_name, kept, message.is_error, message.error, extras=message.extras
            )
        )
    _let_go(moved, rewritten)
    return rewritten, notices


def _let_go(moved: list[Content], rewritten: list[Message]) -> None:
    if moved:
        rewritten.append(UserMessage(list(moved)))
        moved.clear()
