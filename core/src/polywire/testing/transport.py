"""A transport with no network: it answers as the test scripted it, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from polywire.codec import Headers, HttpRequest, HttpResponse
from polywire.errors import ConnectionFailed
from polywire.transport.streams import HttpStream, Timeouts, is_success

__all__ = ["Answer", "FakeTransport", "Recorded", "Reply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    One scripted answer.

    Attributes:
        status: the HTTP status.
        body: bytes, text, or a JSON value that is written out.
        headers: of the answer.
        chunks: the body as the network brings it; wins over `body`. An exception in it is raised at that place.
            It may be a generator: each piece is asked for when it is read, so that a test can act in between.
        chunk_size: cut `body` into pieces of so many bytes.
        cut_at: the body ends, cleanly, after so many chunks.
        fail_at: after so many chunks, `error` is raised.
        stall_at: after so many chunks nothing comes any more, until the stream is aborted or closed.
        error: what `fail_at` raises.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Iterable[bytes | BaseException] | None = None
    chunk_size: int | None = None
    cut_at: int | None = None
    fail_at: int | None = None
    stall_at: int | None = None
    error: BaseException = field(default_factory=lambda: ConnectionFailed("the connection broke"))

    def pieces(self) -> Iterator[bytes | BaseException | None]:
        """The chunks to give, an exception to raise, and `None` where the stream stalls."""
        if self.chunks is not None:
            pieces = iter(self.chunks)
        else:
            body = _bytes_of(self.body)
            size = self.chunk_size or max(1, len(body))
            pieces = iter([body[at : at + size] for at in range(0, len(body), size)])
        for at, last in ((self.stall_at, None), (self.fail_at, self.error)):
            if at is not None:
                yield from islice(pieces, at)
                yield last
                return
        yield from islice(pieces, self.cut_at)


Answer = Reply | HttpResponse | bytes | str | dict[str, Any] | list[Any] | BaseException
"""What a script may hold; a function of the request that returns one of these, too."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it was sent."""

    request: HttpRequest
    stream: bool
    timeouts: Timeouts

    @property
    def url(self) -> str:
        """The address."""
        return self.request.url

    @property
    def headers(self) -> Headers:
        """The headers, looked up in any case."""
        return Headers(self.request.headers)

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return msgspec.json.decode(self.request.body)


class FakeTransport:
    """
    Answers from a script, in order; sync and async, plain and streamed.

    Args:
        *answers: a `Reply`, an `HttpResponse`, a body (bytes, text, JSON), an exception to raise, or a function of the
            request that returns one of these.
        repeat: go on with the last answer when the script is over; otherwise that is an `AssertionError`.

    Attributes:
        requests: what was sent, in order.
        open_streams: how many streams are open and not closed.
        closed: how often it was closed.
    """

    def __init__(self, *answers: Answer | Callable[[HttpRequest], Answer], repeat: bool = False) -> None:
        self._answers = list(answers)
        self._repeat = repeat
        self._lock = threading.Lock()
        self.requests: list[Recorded] = []
        self.open_streams = 0
        self.closed = 0

    @property
    def last(self) -> Recorded:
        """The request that was sent last."""
        return self.requests[-1]

    def _next(self, request: HttpRequest, stream: bool, timeouts: Timeouts) -> Reply:
        with self._lock:
            self.requests.append(Recorded(request, stream, timeouts))
            index = len(self.requests) - 1
        if index >= len(self._answers):
            if not self._repeat or not self._answers:
                msg = f"the script holds {len(self._answers)} answers, and this is request {index + 1}"
                raise AssertionError(msg)
            index = len(self._answers) - 1
        answer: Any = self._answers[index]
        if not isinstance(answer, (Reply, HttpResponse, BaseException)) and callable(answer):
            answer = answer(request)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, HttpResponse):
            return Reply(status=answer.status, headers=answer.headers, body=answer.body)
        return answer if isinstance(answer, Reply) else Reply(body=answer)

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Answer from the script."""
        reply = self._next(request, stream, timeouts)
        opened = self._open(reply)
        return opened if stream and is_success(reply.status) else opened.read_whole()

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Answer from the script."""
        reply = self._next(request, stream, timeouts)
        opened = self._open(reply)
        return opened if stream and is_success(reply.status) else await opened.aread_whole()

    def _open(self, reply: Reply) -> HttpStream:
        script = _Script(reply, self._closed_one)
        with self._lock:
            self.open_streams += 1
        return HttpStream(
            reply.status,
            Headers(reply.headers),
            chunks=script.chunks(),
            achunks=script.achunks(),
            close=script.close,
            aclose=script.aclose,
            abort=script.abort,
        )

    def _closed_one(self) -> None:
        with self._lock:
            self.open_streams -= 1

    def close(self) -> None:
        """Count it."""
        self.closed += 1

    async def aclose(self) -> None:
        """Count it."""
        self.closed += 1


class _Script:
    """The body of one answer, as it comes."""

    def __init__(self, reply: Reply, on_close: Callable[[], None]) -> None:
        self._pieces = reply.pieces()
        self._on_close = on_close
        self._woken = threading.Event()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._closed = False

    def chunks(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            if piece is None:
                self._woken.wait()
            if self._woken.is_set():
                msg = "the connection was cut"
                raise ConnectionFailed(msg)
            if piece is not None:
                yield piece

    async def achunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            if piece is None:
                event = asyncio.Event()
                self._waiter = (asyncio.get_running_loop(), event)
                if not self._woken.is_set():
                    await event.wait()
            if self._woken.is_set():
                msg = "the connection was cut"
                raise ConnectionFailed(msg)
            if piece is not None:
                yield piece

    def abort(self) -> None:
        self._woken.set()
        if self._waiter is not None:
            loop, event = self._waiter
            loop.call_soon_threadsafe(event.set)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._on_close()

    async def aclose(self) -> None:
        self.close()


def _bytes_of(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)
