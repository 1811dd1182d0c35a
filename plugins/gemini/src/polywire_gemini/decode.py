"""
What the vendor answers, plain and streamed.

A chunk of a stream is a whole answer that holds only what is new, so a plain answer is read as a stream of one chunk:
there is one reading, and both give the same response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Frame, Headers, HttpResponse
from polywire.contents import OpaqueContent, TextContent, ThinkingContent
from polywire.errors import ContentFiltered, EmptyResponse, ModelError, ProtocolError, StreamInterrupted
from polywire.events import (
    NoticeAdded,
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
from polywire.framing.runs import Runs, maker
from polywire.http_errors import is_foreign_error
from polywire.messages import Origin, ToolCall
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.schemas import Lowered
from polywire.translation.calls import arguments_text, make_call
from polywire.translation.counts import count_of
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.names import NameMap
from polywire_gemini.errors import decode_error
from polywire_gemini.gathering import gathered
from polywire_gemini.partial_calls import PartialCall
from polywire_gemini.parts import WIRE, Media, decode_media
from polywire_gemini.proto_json import answer_in_camel_case, is_in_snake_case

__all__ = ["GeminiStreamDecoder", "decode_answer", "usage_of"]


def decode_answer(
    response: HttpResponse, names: NameMap, schemas: Mapping[str, Lowered], origin: Origin | None
) -> ChatResponse:
    """Read a whole answer."""
    if not response.body.strip():
        msg = "the vendor sent an empty body"
        raise EmptyResponse(msg, status=response.status)
    decoder = GeminiStreamDecoder(names, schemas, is_whole=True)
    collector = ResponseCollector()
    collector.add(ResponseStart(origin=origin))
    collector.add_all(decoder.feed(Frame(response.body)))
    collector.add_all(decoder.finish())
    return collector.response()


def usage_of(usage: Mapping[str, Any]) -> TokenUsage:
    """Read what a call cost. Counts of 0 are left out by the vendor; thoughts are not among the candidates' tokens."""
    prompt, tools = _count(usage, "promptTokenCount"), _count(usage, "toolUsePromptTokenCount")
    answer, thoughts, total = (_count(usage, name) for name in _GROWING_COUNTS)
    cached = _count(usage, "cachedContentTokenCount")
    if prompt is tools is answer is thoughts is total is None:
        return TokenUsage()  # it says something else: what kind of traffic this was
    return TokenUsage((prompt or 0) + (tools or 0), (answer or 0) + (thoughts or 0), total, cached, None, thoughts)


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    return count_of(usage.get(name))


_READ_OF_BODY = frozenset({"candidates", "usageMetadata"})
_READ_OF_CANDIDATE = frozenset({"content", "index", "finishReason"})
_TEXT = (("candidates", 0, "content", "parts", 0, "text"),)
_GROWING_COUNTS = ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
_PIECES_OF_TEXT = frozenset({TextDelta, ThinkingDelta})
_METADATA_NAMES = {"responseId": "id", "modelVersion": "model"}


def _media_or_block(part: Mapping[str, Any]) -> Media | OpaqueContent:
    """A part that is neither text nor a call; data that is no base64 is kept as it came."""
    try:
        return decode_media(part) or OpaqueContent(WIRE, part)
    except ValueError:
        return OpaqueContent(WIRE, part)


def _index_of(candidate: Mapping[str, Any]) -> int:
    """Which of several answers a candidate is; the first one's index is a default value, and may be left out or null."""
    index = candidate.get("index")
    return index if type(index) is int else 0


def _is_foreign(body: dict[str, Any]) -> bool:
    return not _READ_OF_BODY & body.keys() and "usage_metadata" not in body and is_foreign_error(body)


class GeminiStreamDecoder:
    """
    Reads one stream. There is no end mark: the bytes end after a chunk with a finish reason.

    `is_whole`: what is read is a whole answer. There a reason that is left out is the unspecified one, as any default value.
    """

    def __init__(self, names: NameMap, schemas: Mapping[str, Lowered], *, is_whole: bool = False) -> None:
        self._is_whole = is_whole
        self._candidate: Any = None
        self._others = 0
        self.ended = False
        self.runs = Runs()
        self._names = names
        self._schemas = schemas
        self._started = False
        self._seed = ""
        self._part = -1
        self._open: type | None = None
        self._calls = 0
        self._ids: set[str] = set()
        self._reason: str | None = None
        self._usage: dict[str, Any] = {}
        self._told: dict[str, Any] = {}
        self._metadata: dict[str, Any] = {}
        self._said = False
        self._failure: ModelError | None = None
        self._partial: PartialCall | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        known = self.runs.read(frame)
        if known is not None:
            return known
        events: list[StreamEvent] = []
        body: dict[str, Any] = {}
        if frame.data == b"[DONE]":  # not of this wire, but routers add it
            return events
        try:
            for body in self._bodies(frame.data):
                self._read_body(body, events)
        except ModelError as error:
            if not events:
                raise
            # An array may hold pieces of an answer before its error: they are handed out, and then it is raised.
            self._failure = error
        if len(events) == 1 and isinstance(event := events[0], (TextDelta, ThinkingDelta)):
            self._learn(frame, body, event)
        return events

    def _learn(self, frame: Frame, body: dict[str, Any], event: TextDelta | ThinkingDelta) -> None:
        """Take the next chunk to be like this one, if it said nothing but a text, and what the answer cost so far."""
        usage = body.get("usageMetadata")
        if self._reason is not None or self._open is None:
            return
        if not isinstance(usage, dict):
            self.runs.learn(frame, body, _TEXT, event)
            return
        counts, known = [name for name in _GROWING_COUNTS if type(usage.get(name)) is int], self._usage

        def make(texts: list[str], *columns: list[int]) -> list[StreamEvent]:
            # As `_read_body` does it.
            self._usage = known | {name: column[-1] for name, column in zip(counts, columns, strict=True)}
            return make_all(texts)

        make_all = maker(event)
        self.runs.learn(frame, body, _TEXT, event, numbers=[("usageMetadata", name) for name in counts], make=make)

    def _read_body(self, body: dict[str, Any], events: list[StreamEvent]) -> None:
        if is_in_snake_case(body):
            body = answer_in_camel_case(body)
        metadata = self._metadata
        for key, value in body.items():
            if key not in _READ_OF_BODY and value is not None:
                metadata[_METADATA_NAMES.get(key, key)] = value
        before = len(events)
        if not self._started:
            self._started = True
            self._seed = str(body.get("responseId", ""))
            events.append(ResponseStart(dict(metadata)))
        if isinstance(usage := body.get("usageMetadata"), dict):
            # Running totals: one that a later chunk leaves out is what it was.
            self._usage = {**self._usage, **{key: value for key, value in usage.items() if value is not None}}
        candidates = body.get("candidates")
        candidates = [each for each in candidates if isinstance(each, dict)] if isinstance(candidates, list) else None
        if candidates:
            self._read_candidates(candidates, events)
        elif isinstance(feedback := body.get("promptFeedback"), dict) and feedback.get("blockReason"):
            said = feedback.get("blockReasonMessage")
            msg = f"the prompt was blocked: {feedback['blockReason']}" + (f": {said}" if said else "")
            raise ContentFiltered(msg, code=str(feedback["blockReason"]), request_id=body.get("responseId"))
        # Each piece tells anew what the answer costs so far. While text flows that is held back [measured: told with each
        # piece it is a third of what a streamed event costs].
        if len(events) == before or not _PIECES_OF_TEXT.issuperset(map(type, events[before:])):
            events += self.held_back()

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what the answer has cost so far, if that has not been told."""
        usage, told = self._usage, self._told
        if usage is told or usage == told:
            return ()
        self._told = usage
        return (UsageUpdate(usage_of(usage)),)

    def _read_candidates(self, candidates: list[dict[str, Any]], events: list[StreamEvent]) -> None:
        """Read the one answer that is taken, of several that come side by side, in one chunk or in turns."""
        if len(candidates) == 1 and _index_of(candidates[0]) == self._candidate:
            self._read_candidate(candidates[0], events)
            return
        by_index = {_index_of(each): each for each in reversed(candidates)}
        if self._candidate is None:
            self._candidate = min(by_index)
        if (taken := by_index.get(self._candidate)) is not None:
            self._read_candidate(taken, events)
        others = len(candidates) - (taken is not None)
        if others and not self._others:
            events.append(NoticeAdded(Notice("dropped", "candidates", "several answers came; the first is taken")))
        self._others += others

    def _read_candidate(self, candidate: dict[str, Any], events: list[StreamEvent]) -> None:
        for key, value in candidate.items():
            if key not in _READ_OF_CANDIDATE and value is not None:
                self._metadata[key] = gathered(key, self._metadata.get(key), value)
        content = candidate.get("content")
        if isinstance(content, dict) and isinstance(parts := content.get("parts"), list):
            for part in parts:
                if isinstance(part, dict):
                    self._read(part, events)
        if reason := candidate.get("finishReason"):
            self._reason = reason

    def _bodies(self, data: bytes) -> Iterable[dict[str, Any]]:
        """
        Read a frame. A route that does not know `alt=sse` answers with the whole stream as one array, and errors are
        wrapped in one too.
        """
        try:
            decoded = wire_json.decode_body(data)
        except ValueError as error:
            msg = f"the answer is not JSON: {error}"
            raise ProtocolError(msg) from None
        if type(decoded) is dict and decoded.get("error") is None and not _is_foreign(decoded):
            return (decoded,)
        return self._checked(decoded if isinstance(decoded, list) else [decoded])

    def _checked(self, bodies: list[Any]) -> Iterator[dict[str, Any]]:
        for body in bodies:
            if not isinstance(body, dict):
                msg = "the answer is no JSON object"
                raise ProtocolError(msg)
            if body.get("error") is not None or _is_foreign(body):
                told = body["error"] if isinstance(body.get("error"), dict) else body
                status = told.get("code", told.get("statusCode"))
                if isinstance(status, str) and status.isascii() and status.isdigit():
                    status = int(status)
                status = status if isinstance(status, int) and 400 <= status <= 599 else 500
                raise decode_error(HttpResponse(status, Headers(), wire_json.encode(body)))
            yield body

    def _next(self, kind: type | None) -> int:
        self._part += 1
        self._open = kind
        return self._part

    def _read(self, part: Mapping[str, Any], events: list[StreamEvent]) -> None:
        text = part.get("text")
        if type(text) is str and len(part) == 1:
            # The usual part: text and nothing else.
            if text:
                self._said = True
                events.append(TextDelta(text, self._part if self._open is TextDelta else self._next(TextDelta)))
        elif isinstance(part.get("functionCall"), dict):
            if self._partial is not None and self._partial.is_another(part):
                self._end_partial(events, cut=True)
            if self._partial is None and PartialCall.begins(part):
                self._partial = PartialCall(part)
                is_last = not part["functionCall"].get("willContinue")
            elif self._partial is not None:
                is_last = self._partial.add(part)
            else:
                self._read_call(part, events)
                return
            if is_last:
                self._end_partial(events)
        elif "text" in part:
            self._read_text(part, events)
        elif any(value is not None for value in part.values()):
            self._said = True
            events.append(PartEnd(_media_or_block(part), self._next(None)))

    def _read_text(self, part: Mapping[str, Any], events: list[StreamEvent]) -> None:
        text, thought, signature = part["text"], bool(part.get("thought")), part.get("thoughtSignature")
        text = text if isinstance(text, str) else ""
        signature = signature if isinstance(signature, str) else None
        kind = ThinkingDelta if thought else TextDelta
        side = {key: value for key, value in part.items() if key not in {"text", "thought"} and value is not None}
        if not thought and text:
            self._said = True
        if side:
            # A part with a signature is never joined with its neighbours: it must go back as it came.
            number = self._next(None)
            if text:
                events.append(kind(text, number))
            if thought:
                side.pop("thoughtSignature", None)
                extras = {WIRE: {"part": side}} if side else {}
                events.append(PartEnd(ThinkingContent(text, signature, extras=extras), number))
            else:
                events.append(PartEnd(TextContent(text, extras={WIRE: {"part": side}}), number))
            return
        if text:
            number = self._part if self._open is kind else self._next(kind)
            events.append(kind(text, number))

    def _end_partial(self, events: list[StreamEvent], *, cut: bool = False) -> None:
        assert self._partial is not None
        partial, self._partial = self._partial, None
        self._read_call(partial.part(), events, cut=cut or partial.is_damaged)

    def _read_call(self, part: Mapping[str, Any], events: list[StreamEvent], *, cut: bool = False) -> None:
        self._said = True
        function = part["functionCall"]
        sent = function.get("name")
        sent = sent if isinstance(sent, str) and sent else "unnamed"
        arguments = arguments_text(function.get("args"))
        if sent in self._schemas:
            arguments = self._schemas[sent].restore_text(arguments or "{}")
        own: dict[str, Any] = {}
        # A default value says nothing, and a signature that is none must not stand for one.
        if side := {key: value for key, value in part.items() if key != "functionCall" and value not in (None, "")}:
            own["part"] = side
        call_id = function.get("id")
        if not isinstance(call_id, str) or not call_id or call_id in self._ids:
            own["generated_id"] = True
            call_id = None
        call = make_call(
            self._names.from_wire(sent),
            arguments,
            id=call_id,
            seed=self._seed,
            index=self._calls,
            source=WIRE,
            extras={WIRE: own} if own else {},
        )
        if cut:
            call = ToolCall(call.id, call.name, call.arguments, WIRE, incomplete=True, extras=call.extras)
        self._calls += 1
        self._ids.add(call.id)
        number = self._next(None)
        events += (
            ToolCallStart(call.id, call.name, number),
            ToolCallDelta(call.arguments, number),
            ToolCallEnd(call, number),
        )

    def finish(self) -> Sequence[StreamEvent]:
        if self._failure is not None:
            raise self._failure
        if not self._started:
            msg = "the stream ended before its first event"
            raise EmptyResponse(msg)
        if self._reason is None and not self._is_whole:
            msg = "the stream ended without a finish reason"
            raise StreamInterrupted(msg)
        if self._reason is None and self._candidate is None:
            msg = "the answer holds no candidate"
            raise EmptyResponse(msg)
        self.ended = True
        events: list[StreamEvent] = []
        if self._partial is not None:
            self._end_partial(events, cut=True)
        events += self.held_back()
        if not self._said:
            events.append(PartEnd(TextContent(""), self._next(None)))
        reason: FinishReason | None = finish_reason(self._reason)
        metadata = {**self._metadata, **({} if self._reason is None else {"raw_finish_reason": self._reason})}
        events.append(ResponseEnd(settle_finish_reason(reason, has_calls=self._calls > 0), metadata))
        return events
