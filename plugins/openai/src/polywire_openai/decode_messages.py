"""
A message list of Chat Completions, read into polywire's values.

The normal form, which is also what goes back to the wire: a string is one text; an empty text is nothing, and so is a
user's or system message that holds no more than that; a field that is null is not there; arguments of exactly
`{"INVALID_JSON": text}` are that text, where the text is no JSON object; a failed result is an error envelope;
`function_call` and the role `function`, which are gone from the wire, are a tool call and its result. Fields without a
place in the values are kept in `extras["openai"]`, and a message of an unknown role is kept whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.contents import TextContent
from polywire.errors import ProtocolError
from polywire.immutable import EMPTY
from polywire.messages import (
    AiMessage,
    AiPart,
    CustomMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from polywire.responses import Notice
from polywire.translation.calls import generate_call_id
from polywire.translation.envelope import read_error_envelope, read_success_envelope
from polywire_openai.contents import decode_contents, decode_part, parts_of, refusal
from polywire_openai.fields import WIRE, extras_of, own_extras
from polywire_openai.thinking import decode_thinking
from polywire_openai.tool_fragments import read_calls, read_plain_call

__all__ = ["MessageReader", "decode_assistant"]

_SAID = frozenset({"role", "content", "name"})
_RESULT = frozenset({"role", "content", "tool_call_id"})
_ASSISTANT = frozenset(
    {
        "role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details",
        "audio",
    }
)  # fmt: skip


_HERE = Origin(WIRE)


class MessageReader:
    """
    Reads one list.

    Args:
        notices: where what was left out is told.
        success_envelopes: take results of exactly `{"ok": true, "data": …}` out of their envelope.
    """

    def __init__(self, notices: list[Notice], *, success_envelopes: bool = False) -> None:
        self._notices = notices
        self._success_envelopes = success_envelopes
        self._names: dict[str, str] = {}
        self._unnamed: list[str] = []
        """The made ids of the last turn's calls without one, whose results cannot name them."""
        self._legacy: ToolCall | None = None

    def read(self, items: Iterable[Any]) -> list[Message]:
        """
        Read the messages.

        Raises:
            ProtocolError: one is of another shape than the wire's; the error names its place.
        """
        messages: list[Message] = []
        for position, item in enumerate(items):
            message = self._plain(item) if type(item) is dict else None
            if message is None:
                where = f"messages[{position}]"
                if not isinstance(item, Mapping):
                    msg = f"{where} must be an object, not {type(item).__name__}"
                    raise ProtocolError(msg)
                message = self._message(item, where)
                if message is None:
                    continue
            messages.append(message)
        return messages

    def _plain(self, item: dict[str, Any]) -> Message | None:
        """Read a message of the usual shape, text and calls and no other field; `None` where it needs a closer look."""
        role, content, size = item.get("role"), item.get("content"), len(item)
        has_text = type(content) is str and content != ""
        if role == "tool":
            # What begins with a brace may be an envelope.
            if size == 3 and has_text and content[0] != "{":  # type: ignore[index]
                call_id = item.get("tool_call_id")
                if type(call_id) is str and call_id:
                    return ToolResultMessage(call_id, self._names.get(call_id), content)
        elif role == "assistant":
            if size == 2 and has_text:
                self._names, self._legacy = {}, None
                return AiMessage(content, _HERE)  # type: ignore[arg-type]
            if size == 3 and (has_text or (content is None and "content" in item)):
                return self._plain_calls(item.get("tool_calls"), content)
        elif has_text and size == 2:
            if role == "user":
                return UserMessage(content)  # type: ignore[arg-type]
            if role == "system":
                return SystemMessage(content)  # type: ignore[arg-type]
        return None

    def _plain_calls(self, items: Any, content: str | None) -> AiMessage | None:
        if type(items) is not list or not items:
            return None
        parts: list[AiPart] = [TextContent(content)] if content else []
        names = {}
        for item in items:
            call = read_plain_call(item)
            if call is None:
                return None
            names[call.id] = call.name
            parts.append(call)
        self._names, self._legacy, self._unnamed = names, None, []
        return AiMessage(parts, _HERE)

    def _message(self, item: Mapping[str, Any], where: str) -> Message | None:
        match item.get("role"):
            case "user" | "system" | "developer" as role:
                return self._said(item, str(role), where)
            case "assistant":
                message = decode_assistant(item, where)
                calls = message.tool_calls
                self._names = {call.id: call.name for call in calls}
                self._unnamed = _without_ids(item.get("tool_calls"), calls)
                self._legacy = calls[-1] if calls and "function_call" in item else None
                return message
            case "tool":
                return self._result(item, where)
            case "function":
                return self._legacy_result(item, where)
            case str(role) if role:
                self._notices.append(
                    Notice("information", where, f"a message of the unknown role {role!r} is kept whole")
                )
                return CustomMessage({"wire": WIRE, "message": item})
            case role:
                msg = f"{where}: role must be 'system', 'developer', 'user', 'assistant' or 'tool', not {role!r}"
                raise ProtocolError(msg)

    def _said(self, item: Mapping[str, Any], role: str, where: str) -> Message | None:
        contents = decode_contents(item.get("content"), where)
        name = item.get("name")
        name = name if isinstance(name, str) else None
        extras = extras_of(item, _SAID)
        if not any(not isinstance(content, TextContent) or content.text for content in contents):
            self._notices.append(Notice("repaired", where, f"a {role} message that says nothing is left out"))
            return None
        if role == "user":
            return UserMessage(contents, name, extras=extras)
        if role == "developer":
            extras = {WIRE: {**own_extras(extras), "role": role}}
        return SystemMessage(contents, name, extras=extras)

    def _result(self, item: Mapping[str, Any], where: str) -> ToolResultMessage:
        call_id = item.get("tool_call_id")
        if not call_id and self._unnamed:
            # Neither call nor result has an id: they belong together in their order.
            call_id = self._unnamed.pop(0)
            self._notices.append(
                Notice("repaired", where, f"a result and its call have no id; both have {call_id!r} now")
            )
        if not isinstance(call_id, str) or not call_id:
            msg = f"{where}: a tool message needs the tool_call_id of the call that it answers"
            raise ProtocolError(msg)
        return self._made(call_id, self._names.get(call_id), item, extras_of(item, _RESULT), where)

    def _legacy_result(self, item: Mapping[str, Any], where: str) -> ToolResultMessage:
        name = item.get("name")
        call = self._legacy
        if call is None:
            msg = f"{where}: a function message without a function_call before it"
            raise ProtocolError(msg)
        return self._made(call.id, name if isinstance(name, str) else call.name, item, EMPTY, where)

    def _made(
        self, call_id: str, name: str | None, item: Mapping[str, Any], extras: Mapping[str, Any], where: str
    ) -> ToolResultMessage:
        content = item.get("content")
        if not _is_content(content):
            content = wire_json.compact(content)
            self._notices.append(Notice("repaired", where, "a tool's output that is no text is written as JSON"))
        contents = decode_contents(content, where)
        if len(contents) == 1 and isinstance(contents[0], TextContent):
            text = contents[0].text
            failed = read_error_envelope(text)
            if failed is not None:
                return ToolResultMessage(call_id, name, failed[0], True, failed[1], extras=extras)
            if self._success_envelopes and (inner := read_success_envelope(text)) is not None:
                return ToolResultMessage(call_id, name, inner, extras=extras)
        return ToolResultMessage(call_id, name, contents, extras=extras)


def _is_content(content: Any) -> bool:
    """Whether a tool's output has a form that the wire knows: nothing, text, or parts with a type."""
    if content is None or isinstance(content, str):
        return True
    parts = (content,) if isinstance(content, Mapping) else content
    if not isinstance(parts, (list, tuple)):
        return False
    return all(
        isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("type"), str)) for part in parts
    )


def _without_ids(items: Any, calls: Sequence[ToolCall]) -> list[str]:
    """Return the ids that were made for items without one."""
    if not isinstance(items, (list, tuple)) or len(items) != len(calls):
        return []
    return [
        call.id for item, call in zip(items, calls, strict=True) if isinstance(item, Mapping) and not item.get("id")
    ]


def decode_assistant(item: Mapping[str, Any], where: str) -> AiMessage:
    """
    Read a message of the model's as it stands in a history.

    Raises:
        ProtocolError: it is of another shape than the wire's; the error names `where`.
    """
    parts: list[AiPart] = []
    thinking = decode_thinking(item)
    if thinking is not None:
        parts.append(thinking)
    for part in parts_of(item.get("content"), where):
        value = decode_part(part)
        if value is not None:
            parts.append(value)
    declined = item.get("refusal")
    if isinstance(declined, str) and declined:
        parts.append(refusal(declined))
    extras = dict(own_extras(extras_of(item, _ASSISTANT)))
    audio = item.get("audio")
    if isinstance(audio, Mapping):
        # A reference to sound that the vendor holds: the values have no place for media that is known by a name alone.
        extras["audio"] = audio
    if extras.get("annotations") == []:
        del extras["annotations"]
    calls = item.get("tool_calls")
    items = list(calls) if isinstance(calls, (list, tuple)) else [calls] if isinstance(calls, Mapping) else []
    legacy = item.get("function_call")
    if isinstance(legacy, Mapping) and not items:
        name = legacy.get("name")
        identity = generate_call_id(where, 0, name if isinstance(name, str) else "")
        items.append({"id": identity, "type": "function", "function": legacy})
    parts += read_calls(items, seed=where)
    return AiMessage(parts, _HERE, extras={WIRE: extras} if extras else EMPTY)
