"""
A history, written as the `messages` of Chat Completions: as values to look at, or as JSON to send.

A conversation is sent again with every turn. What was written for it is remembered as JSON, on each message and on the
history as a whole, so that a turn costs work for what it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from polywire import wire_json
from polywire.memo import recall, remember
from polywire.messages import AiMessage, CustomMessage, Message
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.survey import Survey
from polywire_openai.encode_contents import mark_goes_back_as_read
from polywire_openai.encode_messages import MessageWriter
from polywire_openai.turns import alternate, gather_instructions, word_between

__all__ = ["encode_history", "encode_history_json"]


def encode_history(messages: Sequence[Message], profile: Profile, notices: list[Notice]) -> list[dict[str, Any]]:
    """
    Write a history that has been made fit for the profile.

    Raises:
        UnsupportedByModel: a message holds what the endpoint cannot be given and must not go without.
    """
    if not profile.system_in_place:
        messages = gather_instructions(messages, notices)
    writer = MessageWriter(profile, notices, _marks(messages, profile))
    written = [
        writer.write_plain(message) or writer.write(message, f"messages[{index}]")
        for index, message in enumerate(messages)
    ]
    writer.finish()
    if not profile.quirks.get("user_after_tool", True):
        written = word_between(written, notices)
    return alternate(written) if profile.alternating_roles else written


def encode_history_json(
    messages: Sequence[Message], profile: Profile, notices: list[Notice], found: Survey | None
) -> list[Any]:
    """
    Write a history for sending: as `encode_history`, but in part as ready JSON.

    Each message remembers what was written for it, and the history (`found`) all of it up to the first message that
    must be written anew each time, so that a longer one goes on from there.

    Raises:
        UnsupportedByModel: as for `encode_history`.
    """
    if profile.alternating_roles or not profile.system_in_place or not profile.quirks.get("user_after_tool", True):
        return encode_history(messages, profile, notices)
    key, known, before = found.written if found is not None else (None, 0, ())
    written: list[Any] = [*before] if key is profile else []
    settled = len(written)
    writer: MessageWriter | None = None
    ready, encode = msgspec.Raw, wire_json.encode
    for index, message in enumerate(messages[settled:] if settled else messages, settled):
        item = recall(message, profile)  # type: ignore[arg-type]
        if item is None:
            if writer is None:
                marks = _marks(messages, profile) if found is None or found.cache_marks else 0
                writer = MessageWriter(profile, notices, marks)
            plain = writer.write_plain(message)
            if plain is not None:
                item = ready(encode(plain))
                remember(message, profile, item)  # type: ignore[arg-type]
            else:
                item = _written(writer, message, index, profile, notices)
        if settled == index and type(item) is ready:
            settled += 1
        written.append(item)
    if writer is not None:
        writer.finish()
    if found is not None and (key is not profile or known != settled):
        found.written = (profile, settled, written if settled == len(written) else written[:settled])
    return written


def _written(writer: MessageWriter, message: Message, index: int, profile: Profile, notices: list[Notice]) -> Any:
    """
    Write a message that is not plain.

    Where there is nothing to say about it, and nothing in it that goes by its place, it will be written so every time:
    then it is ready JSON and remembered.
    """
    told, counted = len(notices), writer.counted
    written = writer.write(message, f"messages[{index}]")
    if len(notices) != told or writer.counted != counted or type(message) is CustomMessage:
        return written
    item = msgspec.Raw(wire_json.encode(written))
    remember(message, profile, item)  # type: ignore[arg-type]
    return item


def _marks(messages: Sequence[Message], profile: Profile) -> int:
    """Count the cache marks that go by the profile."""
    count = 0
    for message in messages:
        values: Sequence[Any] = message.parts if type(message) is AiMessage else getattr(message, "contents", ())
        for value in values:
            if getattr(value, "cache", None) is not None and not mark_goes_back_as_read(value, profile):
                count += 1
    return count
