"""
Each chunk tells anew what the answer costs so far. It is told where something other than text comes, and at the end; and
wherever a stream is broken off, what had been counted by then is known.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from polywire.codec import Encoded, HttpRequest
from polywire.errors import ContentFiltered, StreamInterrupted
from polywire.events import StreamEvent, TextDelta, UsageUpdate
from polywire.framing.runs import connect
from polywire.framing.sse import SseFraming
from polywire.http_model import HttpChatModel
from polywire.models import StreamingChatModel
from polywire.policy import LimitPolicy, PolicyModel, RetryPolicy
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_gemini import GeminiCodec


def chunk(count: int, *parts: Any, **more: Any) -> dict[str, Any]:
    usage = {
        "promptTokenCount": 7,
        "candidatesTokenCount": count,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 10 + count,
    }
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}], "usageMetadata": usage}


def sse(*chunks: Any, end: str = "\r\n") -> list[bytes]:
    return [f"data: {json.dumps(each)}{end}{end}".encode() for each in chunks]


CALL = {"functionCall": {"id": "fc-1", "name": "get_time", "args": {}}}
CHUNKS = [
    *(chunk(count, {"text": f"piece {count} "}) for count in range(1, 6)),
    chunk(6, CALL),
    *(chunk(count, {"text": f"piece {count} "}) for count in range(7, 10)),
    chunk(9, {"text": "."}, finishReason="STOP"),
]


def cost(count: int) -> TokenUsage:
    return TokenUsage(7, count + 3, count + 10, reasoning_tokens=3)


def events_of(pieces: list[bytes]) -> list[StreamEvent]:
    framing, decoder = SseFraming(), GeminiCodec().stream_decoder(Encoded(HttpRequest("")))
    connect(framing, decoder)
    events: list[StreamEvent] = []
    for piece in pieces:
        for frame in framing.feed(piece):
            events += decoder.feed(frame)
    for frame in framing.finish():
        events += decoder.feed(frame)
    events += decoder.finish()
    return events


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_same_is_told_however_the_stream_is_cut(end: str) -> None:
    stream = b"".join(sse(*CHUNKS, end=end))
    whole = events_of([stream])

    assert [event.usage for event in whole if type(event) is UsageUpdate] == [cost(1), cost(6), cost(9)]
    for at in range(1, len(stream)):
        assert events_of([stream[:at], stream[at:]]) == whole
    for size in (1, 7, 100, 1000):
        assert events_of([stream[at : at + size] for at in range(0, len(stream), size)]) == whole


def model_of(reply: Reply, *policies: Any) -> StreamingChatModel:
    model = HttpChatModel(
        GeminiCodec(), base_url="http://127.0.0.1/v1beta", transport=FakeTransport(reply, reply), provider="gemini"
    )
    bound: Any = PolicyModel(model, policies) if policies else model
    return bound  # type: ignore[no-any-return]


POLICIES = [(), (RetryPolicy(),), (LimitPolicy(tokens_per_minute=1_000_000_000), RetryPolicy())]


@pytest.mark.parametrize("policies", POLICIES)
@pytest.mark.parametrize("texts", range(1, 9))
def test_a_consumer_that_stops_knows_what_was_counted_so_far(texts: int, policies: Any) -> None:
    counted = cost(texts if texts < 6 else texts + 1)
    request = {"model": "gemini-3.8-flash"}

    stream = model_of(Reply(chunks=sse(*CHUNKS)), *policies).stream("hi", **request)
    seen = 0
    for event in stream:
        seen += type(event) is TextDelta
        if seen == texts:
            break
    stream.close()
    assert stream.partial.usage == counted

    async def stopped() -> TokenUsage:
        stream = model_of(Reply(chunks=sse(*CHUNKS)), *policies).astream("hi", **request)
        seen = 0
        async for event in stream:
            seen += type(event) is TextDelta
            if seen == texts:
                break
        await stream.aclose()
        return stream.partial.usage

    assert asyncio.run(stopped()) == counted


@pytest.mark.parametrize("policies", POLICIES)
@pytest.mark.parametrize("broken", ["cut_at", "fail_at"])
def test_a_stream_that_breaks_off_tells_what_was_counted_so_far(broken: str, policies: Any) -> None:
    for chunks in range(1, len(CHUNKS)):
        model = model_of(Reply(chunks=None, body=b"".join(sse(*CHUNKS[:chunks])), chunk_size=50), *policies)
        if broken == "fail_at":
            pieces: list[Any] = [*sse(*CHUNKS[:chunks]), ConnectionResetError("reset")]
            model = model_of(Reply(chunks=pieces), *policies)
        with pytest.raises((StreamInterrupted, ConnectionResetError)) as caught:
            model.stream("hi", model="gemini-3.8-flash").collect()
        if isinstance(caught.value, StreamInterrupted):
            assert caught.value.partial is not None
            assert caught.value.partial.usage == cost(chunks)


def test_a_blocked_prompt_tells_what_it_cost() -> None:
    blocked = {
        "promptFeedback": {"blockReason": "SAFETY"},
        "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5},
    }
    with pytest.raises(ContentFiltered) as caught:
        model_of(Reply(chunks=sse(blocked))).stream("hi", model="gemini-3.8-flash").collect()

    assert caught.value.partial is not None
    assert (caught.value.partial.usage.input_tokens, caught.value.partial.usage.total_tokens) == (5, 5)


def test_a_limit_settles_by_what_was_counted_before_the_break() -> None:
    """The estimate was taken from the limit; what the stream had cost when it was broken off is what it keeps."""
    from polywire.policy.opening import StreamEnd

    ends: list[StreamEnd] = []

    def watching(call: Any, proceed: Any) -> Any:
        opened = yield from proceed(call)
        opened.riders.append(ends.append)
        return opened

    stream = model_of(Reply(chunks=sse(*CHUNKS)), watching).stream("hi", model="gemini-3.8-flash")
    for event in stream:
        if event == TextDelta("piece 4 "):
            break
    stream.close()

    assert [end.usage for end in ends] == [cost(4)]
