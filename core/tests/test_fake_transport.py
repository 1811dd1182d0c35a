"""The transport for tests does what its script says."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from polywire.codec import Headers, HttpRequest, HttpResponse
from polywire.errors import ConnectionFailed
from polywire.testing.transport import FakeTransport, Reply
from polywire.transport import HttpStream, Timeouts

REQUEST = HttpRequest("chat", b'{"q": 1}', {"X-Key": "k"}, url="https://h/chat")
TIMEOUTS = Timeouts()


def send(transport: FakeTransport, *, stream: bool = False) -> Any:
    return transport.send(REQUEST, stream=stream, timeouts=TIMEOUTS)


def read(transport: FakeTransport) -> bytes:
    stream = send(transport, stream=True)
    assert isinstance(stream, HttpStream)
    try:
        return b"|".join(stream.chunks)
    finally:
        stream.close()


async def aread(transport: FakeTransport) -> bytes:
    stream = await transport.asend(REQUEST, stream=True, timeouts=TIMEOUTS)
    assert isinstance(stream, HttpStream)
    assert stream.achunks is not None
    try:
        return b"|".join([chunk async for chunk in stream.achunks])
    finally:
        await stream.aclose()


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"x", b"x"),
        ("é", "é".encode()),
        ({"a": 1}, b'{"a":1}'),
        ([1], b"[1]"),
        (Reply(body="abc", chunk_size=2), b"abc"),
        (Reply(chunks=[b"a", b"b"]), b"ab"),
        (HttpResponse(200, Headers(), b"x"), b"x"),
        (lambda request: request.url, b"https://h/chat"),
    ],
)
def test_answers_in_every_form(answer: Any, body: bytes) -> None:
    assert send(FakeTransport(answer)).body == body
    response = asyncio.run(FakeTransport(answer).asend(REQUEST, stream=False, timeouts=TIMEOUTS))
    assert isinstance(response, HttpResponse)
    assert response.body == body
    assert read(FakeTransport(answer)).replace(b"|", b"") == body


def test_what_was_sent_is_remembered() -> None:
    transport = FakeTransport("a", "b")
    send(transport)
    send(transport, stream=True).close()

    assert [each.stream for each in transport.requests] == [False, True]
    assert transport.last.request is REQUEST
    assert transport.last.url == "https://h/chat"
    assert transport.last.json == {"q": 1}
    assert transport.last.headers["x-key"] == "k"
    assert transport.last.timeouts is TIMEOUTS
    assert "'k'" not in repr(transport.last)


def test_the_script_ends_or_repeats() -> None:
    transport = FakeTransport("a")
    send(transport)
    with pytest.raises(AssertionError, match="holds 1 answers, and this is request 2"):
        send(transport)

    transport = FakeTransport("a", "b", repeat=True)
    assert [send(transport).body for _ in range(4)] == [b"a", b"b", b"b", b"b"]


def test_a_failed_answer_to_a_stream_is_read_whole() -> None:
    response = send(FakeTransport(Reply(status=429, body="slow", headers={"Retry-After": "2"})), stream=True)

    assert isinstance(response, HttpResponse)
    assert (response.status, response.body, response.headers["retry-after"]) == (429, b"slow", "2")


def test_a_body_can_be_cut_and_fail() -> None:
    reply: dict[str, Any] = {"body": b"abcdef", "chunk_size": 2}
    assert read(FakeTransport(Reply(**reply, cut_at=2))) == b"ab|cd"
    assert asyncio.run(aread(FakeTransport(Reply(**reply, cut_at=2)))) == b"ab|cd"
    for transport in (FakeTransport(Reply(**reply, fail_at=1)), FakeTransport(ConnectionFailed("no"))):
        with pytest.raises(ConnectionFailed):
            read(transport)
        assert transport.open_streams == 0
    with pytest.raises(KeyError):
        asyncio.run(aread(FakeTransport(Reply(**reply, fail_at=1, error=KeyError("mine")))))


def test_a_stalled_stream_wakes_when_it_is_aborted() -> None:
    transport = FakeTransport(Reply(body=b"abcd", chunk_size=2, stall_at=1), repeat=True)
    stream = send(transport, stream=True)
    assert next(stream.chunks) == b"ab"
    timer = threading.Timer(0.01, stream.abort)
    timer.start()
    with pytest.raises(ConnectionFailed):
        next(stream.chunks)
    timer.join()
    stream.close()
    stream.close()

    async def run() -> None:
        stream = await transport.asend(REQUEST, stream=True, timeouts=TIMEOUTS)
        assert isinstance(stream, HttpStream)
        assert stream.achunks is not None
        assert await anext(stream.achunks) == b"ab"
        timer = threading.Timer(0.01, stream.abort)
        timer.start()
        with pytest.raises(ConnectionFailed):
            await anext(stream.achunks)
        timer.join()
        await stream.aclose()

    asyncio.run(run())
    assert transport.open_streams == 0
