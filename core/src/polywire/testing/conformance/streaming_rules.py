"""Rules of streams: any split, any cut, one end, and nothing shared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from polywire.errors import ModelError, StreamInterrupted
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
)
from polywire.framing.sse import SseFraming
from polywire.responses import ChatResponse, FinishReason
from polywire.testing.conformance.decoding_rules import differences
from polywire.testing.conformance.rules import rule
from polywire.testing.conformance.subject import CodecUnderTest

MAX_PLACES = 600
"""A recording is split and cut at every byte up to so many; a longer one at so many places, evenly spread."""


def places(length: int) -> Sequence[int]:
    """Where to split or cut a body of this length."""
    return range(1, length) if length <= MAX_PLACES else range(1, length, max(1, length // MAX_PLACES))


@rule(
    "stream-recordings",
    "every recorded stream is read to the values that it holds",
    "a field read wrongly is wrong for every caller",
)
def stream_recordings(subject: CodecUnderTest) -> Iterator[str]:
    recordings = subject.of(stream=True)
    if not recordings:
        yield "there is no recording of a stream to hold this against"
    for recording in recordings:
        for problem in differences(subject.decode_stream([recording.body]), recording.expected):
            yield f"{recording.name}: {problem}"


@rule(
    "any-split",
    "a stream gives the same response however the network cuts it: byte by byte, and at every place in two",
    "the network cuts where it likes, inside of characters and line ends too",
)
def any_split(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        whole = subject.decode_stream([recording.body])
        if subject.decode_stream([recording.body[at : at + 1] for at in range(len(recording.body))]) != whole:
            yield f"{recording.name}: byte by byte it reads otherwise than whole"
        for at in places(len(recording.body)):
            if subject.decode_stream([recording.body[:at], recording.body[at:]]) != whole:
                yield f"{recording.name}: split after byte {at} it reads otherwise than whole"


@rule(
    "any-cut",
    "a stream that ends early is an error, or, once its finish reason was seen, the same answer; never another one",
    "half an answer taken for a whole one is stored, believed, and its tools are run",
)
def any_cut(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        whole = subject.decode_stream([recording.body])
        for at in (0, *places(len(recording.body))):
            try:
                cut = subject.decode_stream([recording.body[:at]])
            except ModelError as error:
                if not error.retryable and not isinstance(error, StreamInterrupted):
                    yield f"{recording.name}: cut after byte {at}: {type(error).__name__}, which is never retried ({error})"
                continue
            for name in ("text", "thinking", "tool_calls"):
                if getattr(cut, name) != getattr(whole, name):
                    yield f"{recording.name}: cut after byte {at} it is a complete answer with another {name}: {getattr(cut, name)!r}"


@rule(
    "one-end",
    "events come in order: one ResponseEnd, the last; no empty delta; calls start before they grow and end once",
    "handlers, collectors and converters rely on it",
)
def one_end(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        for problem in grammar(subject.events([recording.body])):
            yield f"{recording.name}: {problem}"


def grammar(events: Sequence[StreamEvent]) -> Iterator[str]:
    """Where a row of events breaks the order that `polywire.events` promises."""
    ends = [place for place, event in enumerate(events) if isinstance(event, ResponseEnd)]
    if ends != [len(events) - 1]:
        yield f"ResponseEnd stands at {ends} of {len(events)} events; there must be one, the last"
    if any(isinstance(event, ResponseStart) for event in events[1:]):
        yield "ResponseStart must be the first event"
    started: set[int] = set()
    ended: set[int] = set()
    kinds: dict[int, type] = {}
    for event in events:
        if isinstance(event, (TextDelta, ThinkingDelta)):
            if not event.text:
                yield f"an empty {type(event).__name__}"
            if kinds.setdefault(event.part, type(event)) is not type(event):
                yield f"part {event.part} is text and thinking both"
        elif isinstance(event, ToolCallStart):
            if event.part in started:
                yield f"the call of part {event.part} starts twice"
            started.add(event.part)
        elif isinstance(event, ToolCallDelta):
            if not event.arguments:
                yield "an empty ToolCallDelta"
            if event.part not in started or event.part in ended:
                yield f"part {event.part} grows without being an open call"
        elif isinstance(event, ToolCallEnd):
            if event.part not in started or event.part in ended:
                yield f"the call of part {event.part} ends without being open"
            ended.add(event.part)
        elif isinstance(event, PartEnd):
            if event.part in ended:
                yield f"part {event.part} ends twice"
            ended.add(event.part)
    if open_calls := started - ended:
        yield f"the calls of parts {sorted(open_calls)} never end"


@rule(
    "end-mark",
    "the decoder says that it has ended once the stream's end mark was seen, and reads nothing after it",
    "without it a driver must wait for the connection to close, which keep-alive puts off",
)
def end_mark(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        encoded = subject.plain_encoded(stream=True)
        decoder = subject.codec.stream_decoder(encoded)
        if encoded.framing is None:
            yield "Encoded.framing is missing for a streamed request"
            return
        framing = encoded.framing()
        for frame in (*framing.feed(recording.body), *framing.finish()):
            if not decoder.ended:
                decoder.feed(frame)
        decoder.finish()
        if not decoder.ended:
            yield f"{recording.name}: after the whole stream `ended` is still false"


@rule(
    "empty-stream",
    "a stream without any event, or with comments alone, is EmptyResponse, which is retried",
    "vendors under load answer 200 and send nothing",
)
def empty_stream(subject: CodecUnderTest) -> Iterator[str]:
    comments = subject.plain_encoded(stream=True).framing is SseFraming
    for body in (b"", b"\n\n", *((b": ping\n\n: ping\n\n",) if comments else ())):
        try:
            response = subject.decode_stream([body] if body else [])
        except ModelError as error:
            if not error.retryable:
                yield f"{body!r} is {type(error).__name__}, which is not retried"
        else:
            yield f"{body!r} is a success: {response.message.parts!r}"


@rule(
    "nothing-shared",
    "decoders share nothing: two streams read side by side give what each gives alone",
    "one codec serves every thread",
)
def nothing_shared(subject: CodecUnderTest) -> Iterator[str]:
    recordings = subject.of(stream=True)
    for first in recordings:
        for second in recordings:
            sides = []
            for recording in (first, second):
                encoded = subject.plain_encoded(stream=True)
                assert encoded.framing is not None
                frames = encoded.framing().feed(recording.body)
                sides.append((subject.codec.stream_decoder(encoded), list(frames), recording))
            events: list[list[StreamEvent]] = [[], []]
            for turn in range(max(len(side[1]) for side in sides)):
                for number, (decoder, frames, _) in enumerate(sides):
                    if turn < len(frames) and not decoder.ended:
                        events[number].extend(decoder.feed(frames[turn]))
            for number, (decoder, _, recording) in enumerate(sides):
                events[number].extend(decoder.finish())
                if events[number] != subject.events([recording.body]):
                    yield f"{recording.name} reads otherwise beside {sides[1 - number][2].name}"


@rule(
    "unknown-fields",
    "a field that the codec does not know changes nothing that a caller acts on",
    "vendors add fields without telling",
)
def unknown_fields(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.recordings:
        if recording.expected.error is not None or recording.status >= 300:
            continue
        try:
            body = _with_unknown_fields(recording.body)
        except ValueError:
            continue  # not JSON: nothing to add a field to
        if recording.stream:
            before, after = subject.decode_stream([recording.body]), subject.decode_stream([body])
        else:
            before = subject.decode(recording)
            response = recording.response()
            after = subject.codec.decode(
                type(response)(response.status, response.headers, body, response.received_at),
                subject.plain_encoded(stream=False),
            )
        for problem in _acted_on(before, after):
            yield f"{recording.name}: {problem}"


def _acted_on(before: ChatResponse, after: ChatResponse) -> Iterator[str]:
    for name in ("text", "thinking", "tool_calls", "finish_reason", "usage"):
        if getattr(before, name) != getattr(after, name):
            yield f"{name} is {getattr(after, name)!r} where it was {getattr(before, name)!r}"


def _with_unknown_fields(body: bytes) -> bytes:
    """Add a field to the outermost object of each JSON text in a body, whatever the framing."""
    text = body.decode("utf-8")
    if text.lstrip().startswith("{") and "\n{" not in text.strip():
        return _extended(text).encode()
    lines = []
    for line in text.split("\n"):
        prefix, brace, rest = line.partition("{")
        lines.append(prefix + _extended(brace + rest) if brace else line)
    return "\n".join(lines).encode()


def _extended(text: str) -> str:
    value = json.loads(text)
    if not isinstance(value, dict):
        return text
    return json.dumps({**value, "x_unknown_field": {"a": [1, None]}}, ensure_ascii=False)


@rule(
    "cut-call-not-run",
    "a call whose arguments were cut short by the end of the answer is never valid",
    "half of a command is another command",
)
def cut_call_not_run(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        response = subject.decode_stream([recording.body])
        if response.finish_reason in {FinishReason.LENGTH, FinishReason.ERROR}:
            for call in response.tool_calls:
                if call.is_valid and call.arguments == "{}":
                    yield f"{recording.name}: the call {call.id!r} was cut off and could be run with no arguments"
