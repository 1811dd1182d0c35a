"""Turns, for endpoints whose chat template is strict about roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire.contents import Content, TextContent
from polywire.messages import Message, SystemMessage
from polywire.responses import Notice

__all__ = ["alternate", "gather_instructions", "word_between"]


def gather_instructions(messages: Sequence[Message], notices: list[Notice]) -> Sequence[Message]:
    """Put all instructions into one first message, in order and a blank line apart."""
    places = [index for index, message in enumerate(messages) if type(message) is SystemMessage]
    if not places or places == [0]:
        return messages
    contents: list[Content] = []
    first = messages[places[0]]
    for index in places:
        message = messages[index]
        assert isinstance(message, SystemMessage)
        if contents:
            contents.append(TextContent("\n\n"))
        contents.extend(message.contents)
    if places != list(range(len(places))):
        notices.append(
            Notice("approximated", "messages", "instructions within the conversation are moved to its beginning")
        )
    if all(type(content) is TextContent and not content.extras and content.cache is None for content in contents):
        contents = ["".join(content.text for content in contents)]  # type: ignore[union-attr, list-item]
    else:
        contents = [content for content in contents if content != TextContent("\n\n")]
    assert isinstance(first, SystemMessage)
    rest = [message for message in messages if type(message) is not SystemMessage]
    return [SystemMessage(contents, first.name, extras=first.extras), *rest]


def alternate(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge neighbours of one role, user or assistant; nothing is dropped and nothing invented."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is None or last["role"] != message["role"] or message["role"] not in {"user", "assistant"}:
            merged.append(message)
            continue
        joined = {**last, **{key: value for key, value in message.items() if value is not None}}
        joined["content"] = _joined(last.get("content"), message.get("content"))
        for key in ("tool_calls", "reasoning_details"):
            if key in last and key in message:
                joined[key] = [*last[key], *message[key]]
        for key in ("reasoning_content", "reasoning", "refusal"):
            if last.get(key) and message.get(key):
                joined[key] = f"{last[key]}\n\n{message[key]}"
            elif last.get(key):
                joined[key] = last[key]
        merged[-1] = joined
    return merged


def word_between(messages: list[dict[str, Any]], notices: list[Notice]) -> list[dict[str, Any]]:
    """Put a word of the model's between a tool's result and the user, for models that refuse the one right after the other."""
    spoken: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        if message["role"] == "user" and spoken and spoken[-1]["role"] == "tool":
            spoken.append({"role": "assistant", "content": "OK."})
            text = "the user speaks right after a tool's result, which this endpoint refuses: the model's 'OK.' is put between"
            notices.append(Notice("approximated", f"messages[{index}]", text))
        spoken.append(message)
    return spoken


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
