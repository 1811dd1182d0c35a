"""A small codec that keeps every rule of the kit, for mistakes to be planted in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, Frame, Framing, HttpRequest, HttpResponse, Translated
from polywire.contents import MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import EmptyResponse, ModelError, ProtocolError, StreamInterrupted, UnsupportedByModel
from polywire.events import (
    PartEnd,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from polywire.framing.sse import SseFraming
from polywire.http_errors import error_from_response
from polywire.messages import (
    AiMessage,
    AiPart,
    CustomMessage,
    Message,
    ToolCall,
    ToolResultMessage,
)
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ChatRequestParameters, OpaqueTool, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.serialization import messages_from_json
from polywire.testing import Expected, Recording
from polywire.translation.calls import make_call
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.envelope import error_envelope, read_error_envelope
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.prepare import prepare, prepare_messages

WIRE = "toy"
PROFILE = Profile(tool_id_pattern=r"[A-Za-z0-9_-]+", tool_ids_unique="conversation", reasoning_echo="always")


class ToyCodec:
    """Messages as blocks, one JSON object a request; streams of SSE with an `end` event."""

    wire = WIRE
    profile = PROFILE

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        body, notices = self.body(request)
        if stream:
            body["stream"] = True
        return Encoded(
            HttpRequest(self.path(), wire_json.encode(body), self.headers()), tuple(notices), self.framing(stream)
        )

    def path(self) -> str:
        return "talk"

    def headers(self) -> dict[str, str]:
        return {"content-type": "application/json"}

    def framing(self, stream: bool) -> Any:
        return SseFraming if stream else None

    def body(self, request: ChatRequest) -> tuple[dict[str, Any], list[Notice]]:
        prepared = prepare(request, self.profile, wire=WIRE)
        notices, parameters = prepared.notices, prepared.parameters
        body: dict[str, Any] = {
            "model": parameters.model,
            "messages": [self.message(each, index, notices) for index, each in enumerate(prepared.messages)],
        }
        for name in (
            "temperature",
            "top_p",
            "max_tokens",
            "stop_sequences",
            "seed",
            "presence_penalty",
            "frequency_penalty",
            "parallel_tool_calls",
        ):
            if (value := getattr(parameters, name)) is not None:
                body[name] = value
        if parameters.tools:
            body["tools"] = [self.tool(tool) for tool in parameters.tools]
        if parameters.tool_choice is not None:
            names = [{"name": name} for name in parameters.tool_choice.names]
            body["tool_choice"] = {"mode": parameters.tool_choice.mode, "of": names}
        if parameters.response_format is not None and parameters.response_format.type != "text":
            wanted = parameters.response_format
            body["format"] = {"type": wanted.type, "schema": wanted.schema, "title": wanted.name}
        if parameters.reasoning is not None:
            body["thinking"] = {"effort": parameters.reasoning.effort, "budget": parameters.reasoning.budget_tokens}
        body.update(parameters.extras.get(WIRE, {}))
        apply_custom_parameters(body, parameters, notices)
        return body, notices

    def tool(self, tool: ToolSpecification | OpaqueTool) -> dict[str, Any]:
        if isinstance(tool, OpaqueTool):
            return dict(tool.data)
        return {"name": tool.name, "description": tool.description, "schema": tool.parameters}

    def message(self, message: Message, index: int, notices: list[Notice]) -> dict[str, Any]:
        if isinstance(message, CustomMessage):
            raise UnsupportedByModel(f"messages[{index}]: this provider knows no custom messages")
        if isinstance(message, ToolResultMessage):
            content = error_envelope(message) if message.is_error else message.text
            return {"role": "tool", "call_id": message.call_id, "tool": message.tool_name, "content": content}
        parts: Sequence[Any] = message.parts if isinstance(message, AiMessage) else message.contents
        return {"role": message.role, "blocks": [self.block(part, index, notices) for part in parts]}

    def block(self, part: Any, index: int, notices: list[Notice]) -> dict[str, Any]:
        match part:
            case TextContent():
                if part.cache is not None:
                    notices.append(Notice("dropped", f"messages[{index}]", "this wire has no cache marks"))
                return {"type": "text", "text": part.text}
            case ThinkingContent():
                return {"type": "thinking", "text": part.text, "seal": part.signature}
            case ToolCall():
                return {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
            case OpaqueContent():
                return dict(part.data)
            case MediaContent():
                if part.data is None:
                    raise UnsupportedByModel(f"messages[{index}]: this provider takes media as bytes alone")
                return {"type": "media", "media_type": part.media_type, "data": part.base64}
        raise UnsupportedByModel(f"messages[{index}]: unknown block")

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        if not response.body.strip():
            raise EmptyResponse("an empty body", status=response.status)
        body = wire_json.decode_object(response.body)
        if body is None or not isinstance(body.get("blocks"), list):
            if body is not None and "error" in body:
                raise error_from_response(HttpResponse(500, response.headers, response.body))
            raise ProtocolError("the answer has no blocks", status=response.status)
        cut = finish_reason(body.get("stop")) is FinishReason.LENGTH
        parts = [self.part(block, index, cut=cut) for index, block in enumerate(body["blocks"])]
        message = AiMessage(parts, encoded.origin)
        reason = settle_finish_reason(finish_reason(body.get("stop")), has_calls=bool(message.tool_calls))
        return ChatResponse(message, self.usage(body.get("usage")), reason, metadata={"id": body.get("id")})

    def part(self, block: Mapping[str, Any], index: int, *, cut: bool = False) -> AiPart:
        match block.get("type"):
            case "text":
                return TextContent(block["text"])
            case "thinking":
                return ThinkingContent(block["text"], block.get("seal"))
            case "call":
                return make_call(
                    block["name"], block["arguments"], id=block.get("id"), index=index, source=WIRE, cut=cut
                )
            case _:
                return OpaqueContent(WIRE, block)

    def usage(self, usage: Any) -> TokenUsage:
        return TokenUsage(usage.get("in"), usage.get("out")) if isinstance(usage, Mapping) else TokenUsage()

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)

    def stream_decoder(self, encoded: Encoded) -> ToyDecoder:
        return ToyDecoder(self)


class ToyDecoder:
    """Frames: `start`, `delta` (of a block by index), `block` (a finished one), `end`."""

    def __init__(self, codec: ToyCodec) -> None:
        self.codec = codec
        self.ended = False
        self.started = False
        self.finished: tuple[FinishReason | None, bool] | None = None
        self.open_calls: dict[int, dict[str, Any]] = {}
        self.calls = 0
        self.metadata: dict[str, Any] = {}

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        body = wire_json.decode_object(frame.data)
        if body is None:
            raise ProtocolError("a frame is no JSON object")
        if "error" in body:
            raise self.codec.decode_error(HttpResponse(500, _NO_HEADERS, frame.data))
        events: list[StreamEvent] = []
        if not self.started:
            self.started = True
            events.append(ResponseStart())
        self.read(body, events)
        return events

    def read(self, body: Mapping[str, Any], events: list[StreamEvent]) -> None:
        index, kind = body.get("index", 0), body.get("type")
        if kind == "start":
            self.metadata["id"] = body.get("id")
        elif kind == "delta" and "text" in body:
            if body["text"]:
                events.append(TextDelta(body["text"], index))
        elif kind == "delta" and "thinking" in body:
            events.append(ThinkingDelta(body["thinking"], index))
        elif kind == "delta" and "arguments" in body:
            self.open_calls[index]["arguments"] += body["arguments"]
            events.append(ToolCallDelta(body["arguments"], index))
        elif kind == "call":
            self.calls += 1
            self.open_calls[index] = {"id": body["id"], "name": body["name"], "arguments": ""}
            events.append(ToolCallStart(body["id"], body["name"], index))
        elif kind == "block":
            events.append(PartEnd(self.codec.part(body["block"], index), index))
        elif kind == "usage":
            events.append(UsageUpdate(self.codec.usage(body)))
        elif kind == "stop":
            self.finished = (finish_reason(body["stop"]), True)
        elif kind == "end":
            self.ended = True

    def finish(self) -> Sequence[StreamEvent]:
        if not self.started:
            raise EmptyResponse("no event came")
        if self.finished is None:
            raise StreamInterrupted("the stream ended without a reason")
        reason = settle_finish_reason(self.finished[0], has_calls=self.calls > 0)
        cut = reason is FinishReason.LENGTH
        events: list[StreamEvent] = []
        for index, call in self.open_calls.items():
            made = make_call(call["name"], call["arguments"], id=call["id"], index=index, source=WIRE, cut=cut)
            events.append(ToolCallEnd(made, index))
        events.append(ResponseEnd(reason, self.metadata))
        return events


class _Headers(dict):  # type: ignore[type-arg]
    pass


_NO_HEADERS: Any = _Headers()


class ToyEncoder:
    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.metadata: dict[str, Any] = {}

    def feed(self, event: StreamEvent) -> bytes:
        match event:
            case ResponseStart():
                return _sse({"type": "start", "id": event.metadata.get("id")})
            case TextDelta():
                return _sse({"type": "delta", "index": event.part, "text": event.text})
            case ThinkingDelta():
                return _sse({"type": "delta", "index": event.part, "thinking": event.text})
            case ToolCallStart():
                return _sse({"type": "call", "index": event.part, "id": event.id, "name": event.name})
            case ToolCallDelta():
                return _sse({"type": "delta", "index": event.part, "arguments": event.arguments})
            case PartEnd():
                return _sse(
                    {"type": "block", "index": event.part, "block": ToyCodec().block(event.content, 0, self.notices)}
                )
            case UsageUpdate():
                return _sse({"type": "usage", "in": event.usage.input_tokens, "out": event.usage.output_tokens})
            case ResponseEnd():
                return _sse({"type": "stop", "stop": str(event.finish_reason)})
            case _:
                return b""

    def finish(self) -> bytes:
        return _sse({"type": "end"})

    def error(self, error: ModelError) -> bytes:
        return _sse({"error": {"message": error.message}})


def _sse(body: Mapping[str, Any]) -> bytes:
    return b"data: " + wire_json.encode(body) + b"\n\n"


class ToyWire:
    """The toy dialect both ways; messages are stored in polywire's own JSON under the toy's roles."""

    name = WIRE

    def __init__(self, codec: ToyCodec | None = None) -> None:
        self.codec = codec or ToyCodec()

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        tools = [
            ToolSpecification(tool["name"], tool["description"], tool["schema"]) for tool in payload.get("tools", ())
        ]
        parameters = ChatRequestParameters(model=payload.get("model"), tools=tuple(tools) or None)
        return Translated(ChatRequest(self.decode_messages(payload["messages"]).value, parameters))

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        body, notices = self.codec.body(request)
        return Translated(body, tuple(notices))

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        return Translated(tuple(self.read(item) for item in payload))

    def read(self, item: Mapping[str, Any]) -> Message:
        if item["role"] == "tool":
            failed = read_error_envelope(item["content"])
            if failed is not None:
                return ToolResultMessage(item["call_id"], item["tool"], failed[0], True, failed[1])
            return ToolResultMessage(item["call_id"], item["tool"], item["content"])
        if item["role"] == "assistant":
            return AiMessage([self.codec.part(block, index) for index, block in enumerate(item["blocks"])])
        media = [
            {"kind": "image", "data": block["data"], "media_type": block["media_type"]}
            if block["type"] == "media"
            else {"kind": "text", "text": block["text"]}
            for block in item["blocks"]
        ]
        [message] = messages_from_json([{"role": item["role"], "contents": media}])
        return message

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        ready, _, notices = prepare_messages(messages, PROFILE, wire=WIRE)
        return Translated(
            [self.codec.message(each, index, notices) for index, each in enumerate(ready)], tuple(notices)
        )

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        return Translated(
            self.codec.decode(HttpResponse(200, _NO_HEADERS, wire_json.encode(payload)), Encoded(HttpRequest("")))
        )

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        notices: list[Notice] = []
        blocks = [self.codec.block(part, 0, notices) for part in response.message.parts]
        usage = {"in": response.usage.input_tokens, "out": response.usage.output_tokens}
        body = {
            "id": response.metadata.get("id"),
            "blocks": blocks,
            "stop": str(response.finish_reason),
            "usage": usage,
        }
        return Translated(body, tuple(notices))

    def framing(self) -> Framing:
        return SseFraming()

    def stream_decoder(self) -> ToyDecoder:
        return self.codec.stream_decoder(Encoded(HttpRequest("")))

    def stream_encoder(self) -> ToyEncoder:
        return ToyEncoder()


def _stream(*frames: Mapping[str, Any]) -> bytes:
    return b"".join(_sse(frame) for frame in frames)


SOURCE = "made for these tests: the toy has no vendor"
RECORDINGS = (
    Recording(
        name="text.json", source=SOURCE, answer="text",
        body=wire_json.encode({"id": "r1", "blocks": [{"type": "thinking", "text": "hm", "seal": "c2ln"}, {"type": "text", "text": "Hello é"}], "stop": "stop", "usage": {"in": 3, "out": 2}}),
        expected=Expected(text="Hello é", thinking="hm", finish_reason="stop", usage={"input_tokens": 3}, metadata={"id": "r1"}),
    ),
    Recording(
        name="text.sse", source=SOURCE, stream=True, answer="text",
        body=_stream(
            {"type": "start", "id": "r1"}, {"type": "delta", "index": 0, "thinking": "hm"},
            {"type": "block", "index": 0, "block": {"type": "thinking", "text": "hm", "seal": "c2ln"}},
            {"type": "delta", "index": 1, "text": "Hel"}, {"type": "delta", "index": 1, "text": "lo é"},
            {"type": "usage", "in": 3, "out": 2}, {"type": "stop", "stop": "stop"}, {"type": "end"},
        ),
        expected=Expected(text="Hello é", thinking="hm", finish_reason="stop"),
    ),
    Recording(
        name="tool.sse", source=SOURCE, stream=True,
        body=_stream(
            {"type": "start", "id": "r2"}, {"type": "call", "index": 0, "id": "c1", "name": "search"},
            {"type": "delta", "index": 0, "arguments": '{"q":'}, {"type": "delta", "index": 0, "arguments": '"x"}'},
            {"type": "stop", "stop": "stop"}, {"type": "end"},
        ),
        expected=Expected(no_text=True, finish_reason="tool_calls", tool_calls=({"id": "c1", "name": "search", "arguments": '{"q":"x"}'},)),
    ),
    Recording(
        name="cut.sse", source=SOURCE, stream=True,
        body=_stream({"type": "start"}, {"type": "call", "index": 0, "id": "c1", "name": "now"}, {"type": "stop", "stop": "length"}, {"type": "end"}),
        expected=Expected(finish_reason="length"),
    ),
    Recording(
        name="unknown-block.json", source=SOURCE,
        body=wire_json.encode({"id": "r3", "blocks": [{"type": "shiny", "x": [1]}, {"type": "text", "text": "ok"}], "stop": "stop"}),
        expected=Expected(text="ok"),
    ),
    Recording(
        name="limited.json", source=SOURCE, status=429, headers={"retry-after": "2"},
        body=b'{"error":{"message":"slow down"}}', expected=Expected(error="rate_limit", retry_after=2.0),
    ),
    Recording(
        name="failed.sse", source=SOURCE, stream=True,
        body=_stream({"type": "start"}, {"error": {"message": "broken", "type": "server_error"}}), expected=Expected(error="server"),
    ),
)  # fmt: skip
