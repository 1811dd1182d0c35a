"""Ollama's wire in both directions, for `polywire.convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, Translated
from polywire.contents import Content, ImageContent, OpaqueContent, TextContent
from polywire.errors import ModelError, ProtocolError
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEnd,
    UsageUpdate,
)
from polywire.framing.ndjson import NdjsonFraming
from polywire.media_types import from_base64, sniff_media_type
from polywire.messages import AiMessage, Message, Origin, SystemMessage, ToolResultMessage, UserMessage
from polywire.requests import (
    ChatRequest,
    ChatRequestParameters,
    OpaqueTool,
    Reasoning,
    ResponseFormat,
    ToolSpecification,
)
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.translation.envelope import read_error_envelope
from polywire.translation.left_out import tell_left_out
from polywire.translation.names import NameMap
from polywire.translation.parameters import asked_to_stream
from polywire.translation.prepare import prepare_messages
from polywire_ollama.codec import _OPTIONS, OllamaCodec, OllamaStreamDecoder, decode_answer
from polywire_ollama.messages import WIRE, calls_in, decode_message_parts, encode_messages, text_of
from polywire_ollama.profiles import PROFILES

__all__ = ["OllamaStreamEncoder", "OllamaWire"]

_REQUEST_FIELDS = {"model", "messages", "stream", "options", "tools", "format", "think"}
_UNSET_BELOW_ZERO = frozenset({"num_predict", "seed"})
_DONE_REASONS = {FinishReason.LENGTH: "length"}
_HAS_WORD = frozenset({FinishReason.STOP, FinishReason.LENGTH, FinishReason.TOOL_CALLS})


def _done_reason(reason: FinishReason, notices: list[Notice]) -> str:
    word = _DONE_REASONS.get(reason, "stop")
    if reason not in _HAS_WORD:
        told = f"this wire has no word for the finish reason {reason.value!r}; written as {word!r}"
        notices.append(Notice("approximated", "finish_reason", told))
    return word


class OllamaWire:
    """Reads and writes what `/api/chat` takes and gives."""

    name = WIRE

    def __init__(self) -> None:
        self._codec = OllamaCodec()

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        messages = self.decode_messages(payload.get("messages") or ())
        notices = list(messages.notices)
        options = dict(payload.get("options") or {})
        # A number below nothing means that there is no limit, and no seed: what is so where nothing is said.
        typed = {
            ours: options.pop(theirs)
            for ours, theirs in _OPTIONS.items()
            if theirs in options and not (theirs in _UNSET_BELOW_ZERO and _is_below_zero(options[theirs]))
        }
        kept = {key: value for key, value in payload.items() if key not in _REQUEST_FIELDS}
        if isinstance(payload.get("stream"), bool):
            kept["stream"] = payload["stream"]
        if options:
            kept["options"] = options
        parameters = ChatRequestParameters(
            model=payload.get("model"),
            tools=tuple(_tool(tool, index) for index, tool in enumerate(payload.get("tools") or ())) or None,
            response_format=_format(payload.get("format")),
            reasoning=_reasoning(payload.get("think")),
            extras={WIRE: kept} if kept else {},
            **typed,
        )
        return Translated(ChatRequest(messages.value, parameters), tuple(notices))

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        # Left out, it would be a stream.
        stream = bool(asked_to_stream(request.parameters))
        body, notices, _ = self._codec.encode_body(request, stream=stream)
        return Translated(body, tuple(notices))

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        notices: list[Notice] = []
        messages: list[Message] = []
        waiting: list[_Waiting] = []
        for position, item in enumerate(payload):
            where = f"messages[{position}]"
            role = item.get("role")
            if role == "assistant":
                parts = decode_message_parts(item, seed=str(position), cut=False, names=NameMap())
                message = AiMessage(parts, Origin(WIRE))
                given = [bool(call.get("id")) for call in calls_in(item)]
                waiting = [
                    (call.id, call.name, its_own) for call, its_own in zip(message.tool_calls, given, strict=True)
                ]
                messages.append(message)
            elif role == "tool":
                messages.append(_result(item, waiting, where))
            elif role in {"user", "system"}:
                contents = _contents(item, where)
                if not contents:
                    notices.append(Notice("dropped", where, "a message without content is left out"))
                else:
                    messages.append((UserMessage if role == "user" else SystemMessage)(contents))
            else:
                msg = f"{where}: unknown role {role!r}"
                raise ProtocolError(msg)
        return Translated(tuple(messages), tuple(notices))

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        ready, _, notices = prepare_messages(messages, PROFILES.base, wire=WIRE)
        tell_left_out(messages, None, WIRE, notices)
        return Translated(encode_messages(ready, PROFILES.base, notices), tuple(notices))

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        return Translated(decode_answer(payload, NameMap(), Encoded(HttpRequest(""), origin=Origin(WIRE))))

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        notices: list[Notice] = []
        [message] = encode_messages([response.message], PROFILES.base, notices)
        body = {
            "model": response.metadata.get("model", ""),
            "created_at": _created(response.metadata.get("created")),
            "message": message,
            "done": True,
            "done_reason": _done_reason(response.finish_reason, notices),
            **_counts(response.usage),
        }
        return Translated(body, tuple(notices))

    def framing(self) -> NdjsonFraming:
        return NdjsonFraming()

    def stream_decoder(self) -> OllamaStreamDecoder:
        return OllamaStreamDecoder(NameMap(), self._codec)

    def stream_encoder(self) -> OllamaStreamEncoder:
        return OllamaStreamEncoder()


def _is_below_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value < 0


def _contents(item: Mapping[str, Any], where: str) -> list[Content]:
    given = item.get("content")
    if given is not None and not isinstance(given, (str, list, tuple)):
        msg = f"{where}.content must be text, not {type(given).__name__}"
        raise ProtocolError(msg)
    contents: list[Content] = [TextContent(text)] if (text := text_of(given)) else []
    for index, image in enumerate(item.get("images") or ()):
        try:
            # Clients take a data URL for base64 now and then.
            if isinstance(image, str) and image[:5].lower() == "data:":
                contents.append(ImageContent(url=image))
            elif sniff_media_type(data := from_base64(image, what="it")) is None:
                contents.append(OpaqueContent(WIRE, {"images": [image]}))
            else:
                contents.append(ImageContent(data=data))
        except (ValueError, TypeError, AttributeError) as error:
            msg = f"{where}.images[{index}] is no picture in base64: {error}"
            raise ProtocolError(msg) from None
    return contents


_Waiting = tuple[str, str, bool]
"""An open call: its id, its name, and whether the id stood in the message."""


def _result(item: Mapping[str, Any], waiting: list[_Waiting], where: str) -> ToolResultMessage:
    """
    Read a result. Without an id it answers the first open call of its name, else the first open one at all.

    With one that no call has it is the client's own, for a call that came without an id.
    """
    name, call_id = item.get("tool_name") or item.get("name"), item.get("tool_call_id")
    if not call_id or all(each[0] != call_id for each in waiting):
        known = [each for each in waiting if not call_id or not each[2]]
        named = [each for each in known if each[1] == name] or ([] if call_id and name else known)
        if not call_id and not named:
            msg = f"{where}: a tool result that names no call, and none is open"
            raise ProtocolError(msg)
        call_id = named[0][0] if named else str(call_id)
    name = name or next((each[1] for each in waiting if each[0] == call_id), None)
    waiting[:] = [each for each in waiting if each[0] != call_id]
    contents = _contents(item, where)
    failed = read_error_envelope(text_of(item.get("content")))
    if failed is None:
        return ToolResultMessage(call_id, name, contents or "")
    images = [content for content in contents if not isinstance(content, TextContent)]
    return ToolResultMessage(call_id, name, [TextContent(failed[0]), *images], True, failed[1])


def _tool(tool: Any, index: int) -> ToolSpecification | OpaqueTool:
    if not isinstance(tool, Mapping):
        msg = f"tools[{index}] must be an object, not {type(tool).__name__}"
        raise ProtocolError(msg)
    function = tool.get("function")
    if not isinstance(function, Mapping) or not function.get("name"):
        return OpaqueTool(WIRE, tool)
    return ToolSpecification(function["name"], function.get("description"), function.get("parameters") or {})


def _format(value: Any) -> ResponseFormat | None:
    if not value:
        return None
    if value != "json" and not isinstance(value, Mapping):
        msg = f"format must be 'json' or a JSON Schema, not {value!r}"
        raise ProtocolError(msg)
    return ResponseFormat("json") if value == "json" else ResponseFormat("json_schema", value)


def _reasoning(value: Any) -> Reasoning | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return Reasoning(visible=True) if value else Reasoning("none")
    return Reasoning(value)


_NO_TIME = "1970-01-01T00:00:00Z"


def _created(value: Any) -> str:
    """The time of an answer as RFC 3339 text, which this wire wants, from what another says."""
    if isinstance(value, (int, float)):
        from datetime import UTC, datetime

        try:
            return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
        except (OverflowError, OSError, ValueError):  # no time that a calendar has
            return _NO_TIME
    return str(value) if value else _NO_TIME


def _counts(usage: TokenUsage) -> dict[str, int]:
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {key: value for key, value in counts.items() if value is not None}


class OllamaStreamEncoder:
    """Writes a stream as lines of JSON; a call goes out whole, when it is complete."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._metadata: dict[str, Any] = {}
        self._usage = TokenUsage()
        self._reason = FinishReason.STOP
        self._calls = 0

    def feed(self, event: StreamEvent) -> bytes:
        match event:
            case ResponseStart():
                self._metadata |= event.metadata
            case TextDelta():
                return self._line({"role": "assistant", "content": event.text})
            case ThinkingDelta():
                return self._line({"role": "assistant", "content": "", "thinking": event.text})
            case ToolCallEnd():
                [message] = encode_messages([AiMessage(event.call)], PROFILES.base, self.notices)
                message["tool_calls"][0]["function"]["index"] = self._calls
                self._calls += 1
                return self._line(message)
            case PartEnd() if isinstance(event.content, (ImageContent, OpaqueContent)):
                [message] = encode_messages([AiMessage(event.content)], PROFILES.base, self.notices)
                return self._line(message) if "images" in message else b""
            case PartEnd() if not isinstance(event.content, TextContent) and event.content.kind != "thinking":
                self.notices.append(Notice("dropped", "stream", f"a {event.content.kind} has no place on this wire"))
            case UsageUpdate():
                self._usage = event.usage
            case NoticeAdded():
                self.notices.append(event.notice)
            case ResponseEnd():
                self._metadata |= event.metadata
                self._reason = event.finish_reason
            case _:
                pass
        return b""

    def finish(self) -> bytes:
        reason = _done_reason(self._reason, self.notices)
        return self._line({"role": "assistant", "content": ""}, done=True, done_reason=reason, **_counts(self._usage))

    def error(self, error: ModelError) -> bytes:
        return wire_json.encode({"error": error.message}) + b"\n"

    def _line(self, message: dict[str, Any], *, done: bool = False, **more: Any) -> bytes:
        head = {"model": self._metadata.get("model", ""), "created_at": _created(self._metadata.get("created"))}
        return wire_json.encode({**head, "message": message, "done": done, **more}) + b"\n"
