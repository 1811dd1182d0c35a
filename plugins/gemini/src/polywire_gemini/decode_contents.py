"""A list of contents as messages: parts as values, and results beside the calls that they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.contents import Content, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import ProtocolError
from polywire.messages import AiMessage, AiPart, Message, Origin, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.responses import Notice
from polywire.translation.calls import make_call
from polywire_gemini.parts import WIRE, decode_media
from polywire_gemini.proto_json import object_at, objects_at, part_in_camel_case

__all__ = ["decode_contents", "decode_parts"]

_USERS = frozenset({"", "user", "function"})
_RESULT = frozenset({"id", "name", "response", "parts"})
_FAILURE = frozenset({"error", "type", "retryable", "metadata"})


def decode_contents(contents: Sequence[Mapping[str, Any]], notices: list[Notice]) -> list[Message]:
    """
    Read a list of contents. Results without an id answer the calls before them by name and order.

    Raises:
        ProtocolError: one is of another shape than the wire's; the error names its place.
    """
    messages: list[Message] = []
    waiting: list[ToolCall] = []
    for position, given in enumerate(contents):
        where = f"messages[{position}]"
        content = object_at(given, where)
        role = content.get("role") or ""
        parts = [part_in_camel_case(part) for part in objects_at(content.get("parts"), f"{where}.parts")]
        if role == "model":
            message = AiMessage(_answer_parts(parts, position, where), Origin(WIRE))
            waiting = list(message.tool_calls)
            messages.append(message)
            continue
        if role not in _USERS:
            msg = f"{where}: role must be 'user' or 'model', not {role!r}"
            raise ProtocolError(msg)
        said: list[Mapping[str, Any]] = []
        for part in parts:
            if isinstance(part.get("functionResponse"), Mapping):
                messages.append(_result(part["functionResponse"], waiting, where))
            else:
                said.append(part)
        if held := decode_parts(said, f"{where}.parts"):
            messages.append(UserMessage(held))
        elif len(said) == len(parts):
            notices.append(Notice("dropped", where, "a content that says nothing is left out"))
    return messages


def decode_parts(parts: Sequence[Mapping[str, Any]], where: str) -> list[Content]:
    """
    Read the parts of what is not the model's; an empty text is nothing.

    Raises:
        ProtocolError: one is media that cannot be read; the error names its place.
    """
    contents: list[Content] = []
    for index, part in enumerate(parts):
        if isinstance(text := part.get("text"), str):
            side = {key: value for key, value in part.items() if key != "text"}
            if text:
                contents.append(TextContent(text, extras={WIRE: {"part": side}} if side else {}))
        else:
            contents.append(_media(part, f"{where}[{index}]") or OpaqueContent(WIRE, part))
    return contents


def _media(part: Mapping[str, Any], where: str) -> Any:
    try:
        return decode_media(part)
    except ValueError as error:
        msg = f"{where}: {error}"
        raise ProtocolError(msg) from None


def _answer_parts(parts: Sequence[Mapping[str, Any]], position: int, where: str) -> list[AiPart]:
    read: list[AiPart] = []
    calls = 0
    for index, part in enumerate(parts):
        side = {key: value for key, value in part.items() if key not in {"text", "thought", "functionCall"}}
        text = part.get("text")
        if isinstance(part.get("functionCall"), Mapping):
            function = part["functionCall"]
            own: dict[str, Any] = {"part": side} if side else {}
            if not function.get("id"):
                own["generated_id"] = True
            read.append(
                make_call(
                    function.get("name") or "unnamed",
                    function.get("args"),
                    id=function.get("id"),
                    seed=str(position),
                    index=calls,
                    source=WIRE,
                    extras={WIRE: own} if own else {},
                )
            )
            calls += 1
        elif isinstance(text, str) and part.get("thought"):
            signature = side.pop("thoughtSignature", None)
            read.append(ThinkingContent(text, signature, extras={WIRE: {"part": side}} if side else {}))
        elif isinstance(text, str):
            read.append(TextContent(text, extras={WIRE: {"part": side}} if side else {}))
        else:
            read.append(_media(part, f"{where}.parts[{index}]") or OpaqueContent(WIRE, part))
    return read


def _result(response: Mapping[str, Any], waiting: list[ToolCall], where: str) -> ToolResultMessage:
    name, call_id = response.get("name"), response.get("id")
    if not call_id or all(call.id != call_id for call in waiting):
        # The id may be the client's own, for a call that came without one.
        made = [call for call in waiting if not call_id or call.extras.get(WIRE, {}).get("generated_id")]
        open_calls = [call for call in made if call.name == name] or (made if not call_id else [])
        call_id = open_calls[0].id if open_calls else call_id or f"{where}.{name}"
    waiting[:] = [call for call in waiting if call.id != call_id]
    text, failed, error = _said(response.get("response"))
    contents: list[Content] = [TextContent(text)] if text else []
    parts = [
        part_in_camel_case(part)
        for part in objects_at(response.get("parts"), f"{where}: the parts of a functionResponse")
    ]
    contents += decode_parts(parts, f"{where}: functionResponse.parts")
    more = {key: value for key, value in response.items() if key not in _RESULT and value is not None}
    extras = {WIRE: {"response": more}} if more else {}
    return ToolResultMessage(str(call_id), name, contents, failed, error, extras=extras)


def _said(body: Any) -> tuple[str, bool, ToolError | None]:
    """What a tool said, whether it failed, and why. An object with more in it than the wire's own words is the tool's."""
    body = {} if body is None else body
    if not isinstance(body, Mapping):
        return _text(body), False, None
    told = body.get("error")
    if told is not None:
        if not body.keys() <= _FAILURE:
            return _text(body), True, None
        text, kind = _text(told), body.get("type")
        error = ToolError(str(kind), text, body.get("retryable"), body.get("metadata") or {}) if kind else None
        return text, True, error
    said = {key: value for key, value in body.items() if key != "error"}
    if len(said) == 1 and (key := next(iter(said))) in {"output", "result"}:
        return _text(said[key]), False, None
    return _text(body), False, None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else wire_json.compact(value)
