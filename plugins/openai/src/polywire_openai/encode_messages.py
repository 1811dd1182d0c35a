"""
Messages, written as those of Chat Completions.

A turn's results follow their calls as `tool` messages of text; `prepare` has moved their media behind them. A failed
result, for which this wire has no flag, is written as the error envelope. Within the model's message this wire has one
place each for text and for calls, so text that came after a call is written before it, with a notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from polywire import wire_json
from polywire.contents import AudioContent, MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.immutable import EMPTY
from polywire.messages import (
    AiMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.envelope import error_envelope, success_envelope
from polywire.translation.tool_media import MOVED
from polywire_openai.encode_contents import ContentWriter
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.refusals import is_refusal
from polywire_openai.thinking import IN_CONTENT, THINKING_FIELDS, thinking_chunk, thinking_seal
from polywire_openai.tool_fragments import CUSTOM, INVALID_JSON

__all__ = ["MessageWriter", "encode_arguments"]


class _AnyObject(msgspec.Struct):
    """Takes any JSON object and keeps nothing of it: the quickest way to learn that a text is one."""


_is_json_object = msgspec.json.Decoder(_AnyObject).decode
_PLAIN_ROLES = frozenset({"system", "developer"})


def encode_arguments(text: str) -> str:
    """Write a call's arguments: as they came where they are a JSON object, else wrapped in one."""
    if text == "{}":
        return text
    try:
        _is_json_object(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        value = wire_json.decode_arguments(text)
        return wire_json.compact({INVALID_JSON: text} if value is None else value)
    return text


def _is_bare(content: TextContent) -> bool:
    return content.cache is None and not content.extras


class MessageWriter:
    """Writes messages for one profile and gathers the notices."""

    def __init__(self, profile: Profile, notices: list[Notice], marks: int = 0) -> None:
        self._profile = profile
        self._notices = notices
        self._contents = ContentWriter(profile, notices, marks)
        self._as_read = bool(profile.quirks.get("as_read"))
        self._extra_fields = "all" if self._as_read else profile.quirks.get("extra_fields", "tool_calls")
        self._refusal_field = profile.quirks.get("refusal_field", True)
        self._name_results = profile.quirks.get("tool_message_name", False)
        self._wrap_success = profile.quirks.get("success_envelope", False)
        self._withheld_thinking = 0
        self.reasoning_field = profile.reasoning_field
        """Where the endpoint has its thinking."""
        self._results_are_plain = not self._name_results and not self._wrap_success
        self._answers_are_plain = not profile.reasoning_echo_empty
        self.marks_seen = 0
        """How many cache marks have been met."""

    @property
    def counted(self) -> int:
        """What has been counted so far for the notices at the end."""
        return self.marks_seen + self._withheld_thinking

    def write_plain(self, message: Message) -> dict[str, Any] | None:
        """Write a message of the common kind: text and calls, and nothing that needs a closer look; else `None`."""
        kind = type(message)
        if kind is AiMessage:
            return self._plain_answer(message.parts) if not message.extras and self._answers_are_plain else None  # type: ignore[union-attr]
        if kind is CustomMessage or message.extras or len(message.contents) != 1:  # type: ignore[union-attr]
            return None
        content = message.contents[0]  # type: ignore[union-attr]
        if type(content) is not TextContent or not _is_bare(content):
            return None
        if kind is ToolResultMessage:
            if message.is_error or not self._results_are_plain:  # type: ignore[union-attr]
                return None
            return {"role": "tool", "tool_call_id": message.call_id, "content": content.text}  # type: ignore[union-attr]
        if message.name is not None:  # type: ignore[union-attr]
            return None
        return {"role": "user" if kind is UserMessage else self._profile.system_role, "content": content.text}

    @staticmethod
    def _plain_answer(parts: Sequence[Any]) -> dict[str, Any] | None:
        text: str | None = None
        calls: list[dict[str, Any]] = []
        for part in parts:
            kind = type(part)
            if kind is ToolCall:
                if part.extras:
                    return None
                function = {"name": part.name, "arguments": encode_arguments(part.arguments)}
                calls.append({"id": part.id, "type": "function", "function": function})
            elif kind is TextContent and text is None and not calls and part.text and _is_bare(part):
                text = part.text
            else:
                return None
        if calls:
            return {"role": "assistant", "content": text, "tool_calls": calls}
        return {"role": "assistant", "content": text or ""}

    def write(self, message: Message, where: str) -> dict[str, Any]:
        """
        Write one message.

        Raises:
            UnsupportedByModel: it holds what the endpoint cannot be given and must not go without.
        """
        kind = type(message)
        if kind is ToolResultMessage:
            return self._result(message, where)  # type: ignore[arg-type]
        if kind is AiMessage:
            return self._answer(message, where)  # type: ignore[arg-type]
        if kind is UserMessage or kind is SystemMessage:
            return self._said(message, where)  # type: ignore[arg-type]
        assert isinstance(message, CustomMessage)
        own = message.attributes.get("message")
        if message.attributes.get("wire") == WIRE and isinstance(own, Mapping):
            return dict(own)
        msg = f"{where}: a custom message of {sorted(message.attributes)} means nothing on this wire"
        raise UnsupportedByModel(msg)

    def finish(self) -> None:
        """Say what was left out of several messages, once."""
        if self._withheld_thinking:
            message = (
                f"{self._withheld_thinking} message(s) go without their thinking: this endpoint wants none back there"
            )
            self._notices.append(Notice("information", "messages", message))
        if self._contents.skipped_marks:
            limit = self._profile.cache_marks
            message = (
                "this endpoint takes no cache marks" if not limit else f"only the last {limit} cache marks are sent"
            )
            self._notices.append(Notice("dropped", "cache", message))

    def _note(self, values: Sequence[Any], where: str) -> None:
        """Look at what needs a word: fields of other wires, and cache marks."""
        for value in values:
            if getattr(value, "cache", None) is not None:
                self.marks_seen += 1
        foreign = [value for value in values if getattr(value, "extras", None) and value.extras.keys() != {WIRE}]
        if foreign:
            self._contents.tell_foreign(foreign, where)

    def _said(self, message: UserMessage | SystemMessage, where: str) -> dict[str, Any]:
        own = own_extras(message.extras)
        role = "user"
        if type(message) is SystemMessage:
            role = self._profile.system_role
            if self._as_read and own.get("role") in _PLAIN_ROLES:
                role = own["role"]
        self._note((*message.contents, message) if message.extras else message.contents, where)
        written: dict[str, Any] = {"role": role, "content": self._contents.contents(message.contents, where, "\n\n")}
        if message.name is not None:
            if self._profile.user_name:
                written["name"] = message.name
            else:
                self._notices.append(Notice("dropped", where, "this endpoint takes no names of speakers"))
        if own:
            written.update({key: value for key, value in own.items() if key not in {"role", "content", "name"}})
        return written

    def _result(self, message: ToolResultMessage, where: str) -> dict[str, Any]:
        contents = message.contents
        content: Any
        if message.is_error:
            content = error_envelope(message)
        elif not contents:
            content = ""
        else:
            self._note(contents, where)
            # Beside the line that stands in for moved media a list would be no better than a string.
            moved = any(item.extras == MOVED for item in contents if type(item) is TextContent and item.extras)
            content = self._contents.contents(contents, where, "\n")
            if moved and isinstance(content, list):
                content = "\n".join([part["text"] for part in content if isinstance(part.get("text"), str)])
            if self._wrap_success and isinstance(content, str):
                content = success_envelope(content)
        written: dict[str, Any] = {"role": "tool", "tool_call_id": message.call_id, "content": content or ""}
        if self._name_results and message.tool_name is not None:
            written["name"] = message.tool_name
        if message.extras:
            written.update({key: value for key, value in own_extras(message.extras).items() if key not in written})
        return written

    def _answer(self, message: AiMessage, where: str) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        thoughts: list[ThinkingContent] = []
        declined: list[str] = []
        written: dict[str, Any] = {"role": "assistant", "content": None}
        extras: Mapping[str, Any] = own_extras(message.extras)
        for index, part in enumerate(message.parts):
            kind = type(part)
            if kind is TextContent:
                if calls and part.text:  # type: ignore[union-attr]
                    text = "text that follows a tool call is written before it: this wire has one place for each"
                    self._notices.append(Notice("approximated", f"{where}.parts[{index}]", text))
                extras = self._text(part, parts, declined, extras, f"{where}.parts[{index}]")  # type: ignore[arg-type]
            elif kind is ToolCall:
                calls.append(self.call(part))  # type: ignore[arg-type]
            elif kind is ThinkingContent:
                thoughts.append(part)  # type: ignore[arg-type]
            elif kind is OpaqueContent:
                self._opaque(part, parts, written)  # type: ignore[arg-type]
            else:
                self._media(part, written, f"{where}.parts[{index}]")  # type: ignore[arg-type]
        self._note(message.parts, where)
        in_content = self._think(thoughts, written, has_calls=bool(calls))
        content: Any = self._contents.shortest([*in_content, *parts], "")
        if declined:
            written["refusal"] = "".join(declined)
        if "audio" in extras:
            written["audio"] = extras["audio"]
        # Null is for a message whose weight lies elsewhere; one that says nothing says it with an empty string.
        is_bare = not calls and not declined and "audio" not in written
        beside_thinking = self._profile.empty_content_with_reasoning and any(key in written for key in THINKING_FIELDS)
        if content or is_bare or beside_thinking:
            written["content"] = content or ""
        if calls:
            written["tool_calls"] = calls
        if extras and self._extra_fields == "all":
            written.update({key: value for key, value in extras.items() if key not in written})
        return written

    def _text(
        self, part: TextContent, parts: list[dict[str, Any]], declined: list[str], extras: Mapping[str, Any], where: str
    ) -> Mapping[str, Any]:
        """Write a text; what stood beside it in the message is added to the `extras` that go back there."""
        own = own_extras(part.extras)
        if is_refusal(part):
            if self._refusal_field and own.get("refusal") != "part":
                declined.append(part.text)
                return extras
            if not self._refusal_field:
                part = TextContent(part.text)
        elif "annotations" in own or self._extra_fields != "all":
            extras = {**own, **extras}
            part = TextContent(part.text, part.cache)
        written = self._contents.part(part, where)
        if written is not None:
            parts.append(written)
        return extras

    def _opaque(self, part: OpaqueContent, parts: list[dict[str, Any]], written: dict[str, Any]) -> None:
        if "type" in part.data:
            parts.append(dict(part.data))
        elif self._extra_fields == "all":
            written.update(part.data)

    def _media(self, part: MediaContent, written: dict[str, Any], where: str) -> None:
        identity = own_extras(part.extras).get("id")
        if isinstance(part, AudioContent) and isinstance(identity, str):
            written["audio"] = {"id": identity}
            return
        kind = getattr(part, "kind", "media")
        self._notices.append(Notice("dropped", where, f"this wire takes no {kind} back in the model's own message"))

    def call(self, call: ToolCall, *, raw: bool = False) -> dict[str, Any]:
        """Write one tool call; `raw`: with its arguments as they are, even if they are no object."""
        arguments = call.arguments if raw else encode_arguments(call.arguments)
        extras = call.extras
        own = own_extras(extras) if extras else EMPTY
        if own.get("type") == CUSTOM:
            value = wire_json.decode_object(call.arguments) or {}
            text = value.get("input")
            custom = {"name": call.name, "input": text if isinstance(text, str) else call.arguments}
            return {"id": call.id, "type": CUSTOM, CUSTOM: custom}
        written: dict[str, Any] = {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }
        if own and self._extra_fields != "none":
            function = own.get("function")
            if isinstance(function, Mapping):
                written["function"].update(function)
            written.update({key: value for key, value in own.items() if key not in {"id", "function"}})
        return written

    def _think(
        self, thoughts: list[ThinkingContent], written: dict[str, Any], *, has_calls: bool
    ) -> list[dict[str, Any]]:
        """Write thinking where the endpoint wants it back; returns what of it belongs into the content."""
        profile = self._profile
        echo = (
            self._as_read
            or profile.reasoning_echo == "always"
            or (profile.reasoning_echo == "tool_calls" and has_calls)
        )
        if not echo:
            self._withheld_thinking += bool(thoughts)
            return []
        if not thoughts:
            if profile.reasoning_echo_empty and not self._as_read:
                written[profile.reasoning_field or THINKING_FIELDS[0]] = ""
            return []
        remembered = next((own["field"] for each in thoughts if "field" in (own := own_extras(each.extras))), None)
        field = profile.reasoning_field or remembered
        if self._as_read or (profile.quirks.get("echo_as_read") and remembered in THINKING_FIELDS):
            field = remembered
        details = [detail for each in thoughts for detail in own_extras(each.extras).get("reasoning_details", ())]
        text = "".join(each.text for each in thoughts)
        if details and (self._as_read or profile.quirks.get("reasoning_details", True)):
            written["reasoning_details"] = details
        elif details and not text:
            self._withheld_thinking += 1
            return []
        if field == IN_CONTENT:
            return [{**thinking_chunk(each.text), **thinking_seal(each)} for each in thoughts]
        if text or not details or profile.reasoning_echo_empty:
            written[field or THINKING_FIELDS[0]] = text
        return []
