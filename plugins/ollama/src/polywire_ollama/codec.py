"""The chat codec for `/api/chat`: JSON for a plain call, a line of JSON for each piece of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, Frame, Headers, HttpRequest, HttpResponse, StreamDecoder
from polywire.contents import TextContent
from polywire.errors import EmptyResponse, ModelError, ProtocolError, StreamInterrupted
from polywire.events import (
    PartEnd,
    ResponseCollector,
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
from polywire.fast_dataclass import dataclass
from polywire.framing.ndjson import NdjsonFraming, objects_of
from polywire.framing.runs import Runs
from polywire.http_errors import error_from_payload, error_from_response, is_foreign_error
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.messages import AiMessage
from polywire.profiles import Profile, ProfileTable
from polywire.requests import ChatRequest, ChatRequestParameters, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.schemas import lower_schema
from polywire.translation.counts import count_of as _count
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.halves import HalfJoiner
from polywire.translation.left_out import tell_left_out
from polywire.translation.names import NameMap
from polywire.translation.prepare import prepare
from polywire_ollama.messages import (
    HALF,
    WIRE,
    calls_in,
    decode_call,
    decode_message_parts,
    encode_messages,
    images_in,
    text_of,
    with_whole_characters,
)
from polywire_ollama.profiles import PROFILES

__all__ = ["OllamaCodec", "OllamaStreamDecoder"]

_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop_sequences": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "num_predict",
}
"""Typed parameters, and the members of `options` that they become."""

_NOT_METADATA = {"message", "done", "prompt_eval_count", "eval_count", "model", "created_at", "done_reason"}


@dataclass(frozen=True, slots=True)
class OllamaContext:
    """What reading the answer needs of the request: the tools' names, and what may have been written as text."""

    names: NameMap
    profile: Profile = PROFILES.base
    asked: ChatRequest | None = None


class OllamaCodec:
    """Ollama's `/api/chat`; stateless."""

    wire = WIRE

    def __init__(self, profiles: ProfileTable = PROFILES) -> None:
        self._profiles = profiles

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        profile = self._profiles.for_model(request.parameters.model)
        meant, told = apply_markup_to_request(request, profile)
        body, notices, names = self.encode_body(meant, stream=stream)
        return Encoded(
            HttpRequest("api/chat", wire_json.encode(body), {"content-type": "application/json"}),
            (*told, *notices),
            NdjsonFraming,
            OllamaContext(names, profile, request),
        )

    def encode_body(self, request: ChatRequest, *, stream: bool) -> tuple[dict[str, Any], list[Notice], NameMap]:
        """Write the request's body, and say what was changed."""
        profile = self._profiles.for_model(request.parameters.model)
        prepared = prepare(request, profile, wire=WIRE)
        parameters, notices = prepared.parameters, prepared.notices
        tell_left_out(request.messages, parameters, WIRE, notices)
        body: dict[str, Any] = {
            "model": parameters.model,
            "messages": encode_messages(prepared.messages, profile, notices),
            "stream": stream,
        }
        options = {
            theirs: value for ours, theirs in _OPTIONS.items() if (value := getattr(parameters, ours)) is not None
        }
        if "stop" in options:
            options["stop"] = list(options["stop"])
        if options:
            body["options"] = options
        if tools := self._tools(parameters, profile.schema_dialect, notices):
            body["tools"] = tools
        if parameters.response_format is not None and parameters.response_format.type != "text":
            schema = parameters.response_format.schema
            body["format"] = "json" if schema is None else schema
        if parameters.reasoning is not None:
            effort = parameters.reasoning.effort
            if effort is not None:
                # Truth and falsehood switch it; a grade does both.
                body["think"] = False if effort == "none" else effort
                if effort != "none" and parameters.reasoning.visible is False:
                    notices.append(Notice("dropped", "reasoning", "this wire cannot keep the thinking to itself"))
            elif parameters.reasoning.visible is False and "none" not in profile.efforts:
                notices.append(Notice("dropped", "reasoning", "this model cannot be kept from thinking"))
            elif parameters.reasoning.visible is not None:
                body["think"] = parameters.reasoning.visible
            if parameters.reasoning.budget_tokens is not None:
                notices.append(Notice("dropped", "reasoning", "this wire has no budget for thinking"))
        for key, value in parameters.extras.get(WIRE, {}).items():
            if key == "options" and isinstance(value, Mapping):
                body[key] = {**value, **options}
            elif key != "stream":
                body.setdefault(key, value)
        apply_custom_parameters(body, parameters, notices, objects=("options",))
        return body, notices, prepared.names

    def _tools(self, parameters: ChatRequestParameters, dialect: str, notices: list[Notice]) -> list[dict[str, Any]]:
        choice = parameters.tool_choice
        if choice is not None and choice.mode == "none":
            return []
        tools: list[dict[str, Any]] = []
        for tool in parameters.tools or ():
            if not isinstance(tool, ToolSpecification):
                tools.append(dict(tool.data))
            elif choice is None or not choice.names or tool.name in choice.names:
                lowered = lower_schema(tool.parameters, dialect, subject=f"tools.{tool.name}")
                notices += lowered.notices
                # Templates look at the properties, so that they must be there.
                parameters_schema = {"type": "object", "properties": {}, **lowered.schema}
                function: dict[str, Any] = {"name": tool.name, "parameters": parameters_schema}
                if tool.description is not None:
                    function["description"] = tool.description
                tools.append({"type": "function", "function": function})
        return tools

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        if not response.body.strip():
            msg = "the server sent an empty body"
            raise EmptyResponse(msg, status=response.status)
        body, context = _object(response.body), _context(encoded)
        if body is None:
            # A proxy may ask for a stream in the caller's place, and hand its lines over as they came.
            return self._decode_lines(response, encoded)
        if body.get("error") is not None or _is_foreign(body):
            raise error_inside(body, response.headers, response.received_at)
        answer = decode_answer(body, context.names, encoded)
        return apply_markup_to_response(answer, context.profile, context.asked, context.names)

    def _decode_lines(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        if objects_of(response.body) is None:
            msg = "the answer is no JSON object"
            raise ProtocolError(msg, status=response.status)
        decoder, collector = self.stream_decoder(encoded), ResponseCollector()
        collector.add(ResponseStart(origin=encoded.origin))
        collector.add_all(decoder.feed(Frame(response.body)))
        collector.add_all(decoder.finish())
        return collector.response()

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        context = _context(encoded)
        decoder = OllamaStreamDecoder(context.names, self)
        return with_markup(decoder, context.profile, context.asked, context.names)


def _context(encoded: Encoded) -> OllamaContext:
    return encoded.context if isinstance(encoded.context, OllamaContext) else OllamaContext(NameMap())


def decode_answer(body: Mapping[str, Any], names: NameMap, encoded: Encoded) -> ChatResponse:
    """Read a whole answer."""
    message = body.get("message")
    if not isinstance(message, Mapping):
        msg = "the answer has no message"
        raise ProtocolError(msg)
    reason = finish_reason(body.get("done_reason"))
    seed = str(body.get("created_at", ""))
    parts = decode_message_parts(message, seed=seed, cut=_cut(reason), names=names, taken=set())
    answer = AiMessage(parts, encoded.origin)
    return ChatResponse(
        answer,
        usage_of(body),
        settle_finish_reason(reason, has_calls=bool(answer.tool_calls)) if reason else FinishReason.ERROR,
        metadata=start_metadata(body) | end_metadata(body),
    )


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = wire_json.decode_body(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_foreign(body: Mapping[str, Any]) -> bool:
    return "done" not in body and not isinstance(body.get("message"), Mapping) and is_foreign_error(body)


def error_inside(body: Mapping[str, Any], headers: Headers | None = None, received_at: float = 0.0) -> ModelError:
    """Read an error that came with status 200, mostly a bare text; it has the status that its kind stands for."""
    return error_from_payload(body, headers=headers, received_at=received_at)


def _cut(reason: FinishReason | None) -> bool:
    return reason is not FinishReason.STOP


def usage_of(body: Mapping[str, Any]) -> TokenUsage:
    """
    Read what a call cost. The counts are there once the answer is done; one that is 0 is left out by the server.
    """
    if not body.get("done") and not body.get("done_reason"):
        return TokenUsage()
    return TokenUsage(_count(body.get("prompt_eval_count")), _count(body.get("eval_count")))


def start_metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    """What every line says: the model, and when."""
    found = {"model": body.get("model"), "created": body.get("created_at")}
    return {key: value for key, value in found.items() if value is not None}


def end_metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the last line says besides: the server's own word for the end, and its durations in nanoseconds."""
    found = {key: value for key, value in body.items() if key not in _NOT_METADATA and value is not None}
    if body.get("done_reason"):
        found["raw_finish_reason"] = body["done_reason"]
    return found


_TEXTS = (("message", "content"), ("message", "thinking"))
_TIMES = (("created_at",),)
"""Every line has its own; the first one's and the last one's are told."""


class OllamaStreamDecoder:
    """Reads one stream. The line with `"done": true` is the end mark; calls come whole, before it."""

    THINKING, TEXT, IMAGES, CALLS = 0, 1, 2, 1_000_000

    def __init__(self, names: NameMap, codec: OllamaCodec) -> None:
        self.ended = False
        self.runs = Runs()
        self._names = names
        self._codec = codec
        self._seed = ""
        self._calls = 0
        self._ids: set[str] = set()
        self._said = False
        self._started = False
        self._spoke = False
        self._images = 0
        self._logprobs: list[Any] = []
        self._halves = (HalfJoiner(), HalfJoiner())
        self._failure: ModelError | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        events = self.runs.read(frame)
        return self._feed_any(frame) if events is None else events

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        events: list[StreamEvent] = []
        body = wire_json.decode_object(frame.data)
        if body is None:
            self._feed_several(frame.data, events)
            return events
        self._read_line(with_whole_characters(body) if HALF.search(frame.data) else body, events)
        if len(events) == 1 and isinstance(event := events[0], (TextDelta, ThinkingDelta)) and self._is_repeatable:
            self.runs.learn(frame, body, _TEXTS, event, ignored=_TIMES)
        return events

    @property
    def _is_repeatable(self) -> bool:
        return not (self.ended or self._logprobs or any(each.half for each in self._halves))

    def _feed_several(self, data: bytes, events: list[StreamEvent]) -> None:
        """Read a line that holds several objects: the line ends between them were lost on the way."""
        bodies = objects_of(data)
        if not bodies:
            msg = "a line of the stream is no JSON object"
            raise ProtocolError(msg)
        try:
            for body in bodies:
                if not self.ended:
                    self._read_line(with_whole_characters(body), events)
        except ModelError as error:
            if not events:
                raise
            # What came before it on its line is handed out, and then it is raised.
            self._failure = error

    def _read_line(self, body: dict[str, Any], events: list[StreamEvent]) -> None:
        if body.get("error") is not None or _is_foreign(body):
            raise error_inside(body)
        if not self._started:
            self._started = True
            self._seed = str(body.get("created_at", ""))
            events.append(ResponseStart(start_metadata(body)))
        message = body.get("message")
        if isinstance(message, Mapping):
            self._spoke = True
            self._read(message, events)
        if isinstance(logprobs := body.get("logprobs"), list):
            self._logprobs += logprobs
        if body.get("done"):
            self._end(body, events)

    def _read(self, message: Mapping[str, Any], events: list[StreamEvent]) -> None:
        thinking, content = message.get("thinking"), message.get("content")
        if thinking and isinstance(thinking, str) and (thinking := self._halves[0].add(thinking)):
            events.append(ThinkingDelta(thinking, self.THINKING))
        if (content := text_of(content)) and (content := self._halves[1].add(content)):
            self._said = True
            events.append(TextDelta(content, self.TEXT))
        for image in images_in(message):
            events.append(PartEnd(image, self.IMAGES + self._images))
            self._images += 1
        for call in calls_in(message):
            # Older servers give every call of a stream the same index or none: each is a call of its own.
            made = decode_call(call, self._calls, seed=self._seed, cut=False, names=self._names, taken=self._ids)
            part = self.CALLS + self._calls
            self._calls += 1
            events += (
                ToolCallStart(made.id, made.name, part),
                ToolCallDelta(made.arguments, part),
                ToolCallEnd(made, part),
            )

    def _end(self, body: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if not self._spoke:
            # As of a whole answer: it is one of another route, and what it says stands elsewhere.
            msg = "the answer has no message"
            raise ProtocolError(msg)
        self.ended = True
        if left := self._halves[0].finish():
            events.append(ThinkingDelta(left, self.THINKING))
        if left := self._halves[1].finish():
            self._said = True
            events.append(TextDelta(left, self.TEXT))
        if not self._said and not self._calls and not self._images:
            events.append(PartEnd(TextContent(""), self.TEXT))
        if usage := usage_of(body):
            events.append(UsageUpdate(usage))
        reason = finish_reason(body.get("done_reason"))
        settled = settle_finish_reason(reason, has_calls=bool(self._calls)) if reason else FinishReason.ERROR
        metadata = start_metadata(body) | end_metadata(body)
        if self._logprobs:
            metadata["logprobs"] = self._logprobs
        events.append(ResponseEnd(settled, metadata))

    def finish(self) -> Sequence[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        if self.ended:
            return ()
        if not self._started:
            msg = "the stream ended before its first line"
            raise EmptyResponse(msg)
        msg = "the stream ended before the line that says it is done"
        raise StreamInterrupted(msg)
