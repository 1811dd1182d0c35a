"""A transport around another one that keeps what came, byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

from polywire.codec import Headers, HttpRequest, HttpResponse
from polywire.transport.streams import HttpStream, HttpTransport, Timeouts

__all__ = ["Captured", "CapturingTransport"]


@dataclass(slots=True)
class Captured:
    """
    One request and what was answered.

    Attributes:
        request: as it was sent, signed: never to be shown.
        stream: whether the answer was read as a stream.
        status, headers: of the answer; 0 and none while there is no answer.
        chunks: the body so far, decompressed.
    """

    request: HttpRequest = field(repr=False)
    stream: bool = False
    status: int = 0
    headers: Headers = field(default_factory=Headers)
    chunks: list[bytes] = field(default_factory=list, repr=False)

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(self.chunks)


class CapturingTransport:
    """
    Sends through another transport, and keeps every answer in `captured`, in the order asked.

    It neither changes anything nor closes the other one.
    """

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport
        self.captured: list[Captured] = []

    @property
    def last(self) -> Captured | None:
        """What was captured last."""
        return self.captured[-1] if self.captured else None

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Send, and keep the answer."""
        kept = self._begin(request)
        answer = self._transport.send(request, stream=stream, timeouts=timeouts)
        return _kept(kept, answer)

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Send, and keep the answer."""
        kept = self._begin(request)
        answer = await self._transport.asend(request, stream=stream, timeouts=timeouts)
        return _kept(kept, answer)

    def _begin(self, request: HttpRequest) -> Captured:
        self.captured.append(Captured(request))
        return self.captured[-1]

    def close(self) -> None:
        """Leave the other transport open: whoever made it closes it."""

    async def aclose(self) -> None:
        """Leave the other transport open."""


def _kept(kept: Captured, answer: HttpResponse | HttpStream) -> HttpResponse | HttpStream:
    kept.status, kept.headers = answer.status, answer.headers
    if isinstance(answer, HttpResponse):
        kept.chunks.append(answer.body)
        return answer
    kept.stream = True
    achunks = answer.achunks
    return HttpStream(
        answer.status,
        answer.headers,
        chunks=_keeping(kept, answer.chunks),
        achunks=None if achunks is None else _akeeping(kept, achunks),
        close=answer.close,
        aclose=answer.aclose,
        abort=answer.abort,
        received_at=answer.received_at,
    )


def _keeping(kept: Captured, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        kept.chunks.append(chunk)
        yield chunk


async def _akeeping(kept: Captured, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        kept.chunks.append(chunk)
        yield chunk
