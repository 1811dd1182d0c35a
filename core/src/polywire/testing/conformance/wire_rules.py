"""Rules of a wire that works in both directions. They hold only where a provider offers one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polywire.codec import Wire
from polywire.contents import TextContent
from polywire.errors import BadRequest, HistoryError
from polywire.events import ResponseCollector, events_of
from polywire.history import check_history
from polywire.messages import AiMessage, ToolCall, ToolResultMessage
from polywire.responses import ChatResponse
from polywire.testing.conformance.decoding_rules import same_answer
from polywire.testing.conformance.rules import rule
from polywire.testing.conformance.subject import CodecUnderTest
from polywire.testing.conformance.values import conversations, requests_of

__all__: list[str] = []


@rule(
    "wire-request-normal-form",
    "a request that was read and written again is written the same way once more",
    "a gateway that stands twice in a row must not change what it passes on",
)
def wire_request_normal_form(subject: CodecUnderTest) -> Iterator[str]:
    wire = subject.wire
    if wire is None:
        return
    for name, messages, _ in conversations():
        try:
            first = wire.encode_request(subject.request(requests_of(messages))).value
        except BadRequest:
            continue
        again = wire.encode_request(subject.request(wire.decode_request(first).value)).value
        if again != first:
            yield f"{name}: {_difference(first, again)}"


def _difference(first: Any, second: Any, path: str = "") -> str:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in {**first, **second}:
            if first.get(key) != second.get(key):
                return _difference(first.get(key), second.get(key), f"{path}.{key}")
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (mine, theirs) in enumerate(zip(first, second, strict=True)):
            if mine != theirs:
                return _difference(mine, theirs, f"{path}[{index}]")
    return f"{path or 'the body'} was {first!r} and became {second!r}"


@rule(
    "wire-history-closes",
    "a history that was written and read again passes the ledger, with every call, result and word",
    "a conversion that loses a result makes the next request fail",
)
def wire_history_closes(subject: CodecUnderTest) -> Iterator[str]:
    wire = subject.wire
    if wire is None:
        return
    for name, messages, _ in conversations():
        try:
            written = wire.encode_messages(messages).value
        except BadRequest:
            continue
        back = wire.decode_messages(written).value
        try:
            check_history(back)
        except HistoryError as error:
            yield f"{name}: {error}"
            continue
        if _calls(back) != _calls(messages):
            yield f"{name}: the calls and results were {_calls(messages)!r} and became {_calls(back)!r}"


def _calls(messages: Any) -> list[tuple[str, bool | None]]:
    found: list[tuple[str, bool | None]] = []
    for message in messages:
        if isinstance(message, AiMessage):
            found += [(call.name, None) for call in message.tool_calls]
        elif isinstance(message, ToolResultMessage):
            found.append(("result", message.is_error))
    return found


@rule(
    "wire-response-round-trip",
    "every recorded answer that is written and read again is the same answer, whole and streamed",
    "what a converter writes is read by the vendor's own clients",
)
def wire_response_round_trip(subject: CodecUnderTest) -> Iterator[str]:
    wire = subject.wire
    if wire is None:
        return
    for recording in (*subject.of(stream=False), *subject.of(stream=True)):
        response = subject.decode_stream([recording.body]) if recording.stream else subject.decode(recording)
        whole = wire.decode_response(wire.encode_response(response).value).value
        for problem in same_answer(response, whole):
            yield f"{recording.name}, whole: {problem}"
        for problem in same_answer(response, _streamed(wire, response)):
            yield f"{recording.name}, streamed: {problem}"


def _streamed(wire: Wire, response: ChatResponse) -> ChatResponse:
    encoder, framing, decoder = wire.stream_encoder(), wire.framing(), wire.stream_decoder()
    body = b"".join(encoder.feed(event) for event in events_of(response)) + encoder.finish()
    collector = ResponseCollector()
    for frame in (*framing.feed(body), *framing.finish()):
        if not decoder.ended:
            collector.add_all(decoder.feed(frame))
    collector.add_all(decoder.finish())
    return collector.response()


@rule(
    "unknown-blocks-kept",
    "a block of this wire that the codec does not know goes back to it unchanged",
    "vendors demand their own blocks back, byte for byte",
)
def unknown_blocks_kept(subject: CodecUnderTest) -> Iterator[str]:
    wire = subject.wire
    if wire is None:
        return
    for recording in (*subject.of(stream=False), *subject.of(stream=True)):
        response = subject.decode_stream([recording.body]) if recording.stream else subject.decode(recording)
        message = response.message
        if not any(not isinstance(part, (TextContent, ToolCall)) for part in message.parts):
            continue
        results = [ToolResultMessage(call.id, call.name, "ok") for call in message.tool_calls]
        written = wire.encode_messages([message, *results])
        back = wire.decode_messages(written.value).value
        kept = next(each for each in back if isinstance(each, AiMessage))
        mine = [part for part in message.parts if not isinstance(part, (TextContent, ToolCall))]
        theirs = [part for part in kept.parts if not isinstance(part, (TextContent, ToolCall))]
        if mine != theirs and not written.notices:
            yield f"{recording.name}: {mine!r} became {theirs!r}, and no notice says so"
