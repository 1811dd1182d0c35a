"""What stands beside a conversation's words, and has no place on a wire that has words and media alone: left out, and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import DocumentContent, ImageContent, TextContent, ThinkingContent
from polywire.immutable import EMPTY
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolCall, UserMessage
from polywire.requests import ChatRequestParameters
from polywire.responses import Notice

__all__ = ["tell_left_out"]


def tell_left_out(
    messages: Sequence[Message], parameters: ChatRequestParameters | None, wire: str, notices: list[Notice]
) -> None:
    """
    Tell of names, marks for a cache, details of pictures, names of documents and fields of other wires.

    For codecs that write none of them. `messages` are the caller's own, so that the places are.
    """
    tools = None if parameters is None else parameters.tools
    marks = sum(getattr(tool, "cache", None) is not None for tool in tools or ())
    for position, message in enumerate(messages):
        if type(message) is CustomMessage:
            continue
        values: Sequence[Any] = message.parts if type(message) is AiMessage else message.contents  # type: ignore[union-attr]
        if message.extras is EMPTY and getattr(message, "name", None) is None and all(map(_is_plain, values)):  # type: ignore[union-attr]
            continue
        marks += sum(getattr(value, "cache", None) is not None for value in values)
        notices += [Notice("dropped", f"messages[{position}]", told) for told in _beside(message, values, wire)]
    if marks:
        notices.append(Notice("dropped", "cache", "this endpoint takes no cache marks"))


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return (kind is TextContent and value.extras is EMPTY and value.cache is None) or (
        kind is ToolCall and value.extras is EMPTY
    )


def _beside(message: Any, values: Sequence[Any], wire: str) -> list[str]:
    told: list[str] = []
    if isinstance(message, (UserMessage, SystemMessage)) and message.name is not None:
        told.append(f"this wire has no place for the name {message.name!r}")
    foreign: set[str] = set()
    for value in (*values, message):
        if type(value) is ThinkingContent:
            continue  # it goes home whole, or not at all
        if type(value) is ImageContent and value.detail not in (None, "auto"):
            told.append(f"this wire has no place for the image detail {value.detail!r}")
        elif type(value) is DocumentContent and value.name is not None:
            told.append(f"this wire has no place for the name of the document {value.name!r}")
        foreign.update(
            f"{other}.{key}"
            for other, own in getattr(value, "extras", EMPTY).items()
            if other != wire and isinstance(own, Mapping)
            for key in own
        )
    if foreign:
        told.append(f"fields that only other wires understand are left out: {', '.join(sorted(foreign))}")
    return told
