"""
What a transport is: the contract and its values.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Protocol

from polywire.codec import Headers, HttpRequest, HttpResponse
from polywire.errors import SettingsError
from polywire.fast_dataclass import dataclass
from polywire.immutable import slot_setters

__all__ = ["MAX_ERROR_BODY_BYTES", "HttpStream", "HttpTransport", "Timeouts", "is_success"]

MAX_ERROR_BODY_BYTES = 1024 * 1024
"""At most so much of a failed answer's body is read."""


def is_success(status: int) -> bool:
    """Whether an HTTP status means that the request was accepted (2xx)."""
    return 200 <= status < 300


@dataclass(frozen=True, slots=True)
class Timeouts:
    """
    Limits of the transport, in seconds; `None` is no limit.

    Attributes:
        connect: for opening a connection, TLS included.
        read: between two pieces of the answer. The first one may take as long as the model thinks, so it is generous;
            `CallOptions` has limits for the whole call.
        write: between two pieces of the request.
        pool: for a free connection, where `max_connections` are in use.
    """

    connect: float | None = 10.0
    read: float | None = 600.0
    write: float | None = 60.0
    pool: float | None = 60.0

    def __post_init__(self) -> None:
        for name in ("connect", "read", "write", "pool"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
                msg = f"the timeout {name!r} must be a number of seconds above 0, or None, not {value!r}"
                raise SettingsError(msg)

    def capped(self, seconds: float) -> Timeouts:
        """Return these with no limit longer than `seconds`, which is more than 0."""
        # Made without checking the values again: they have been, and every limited call comes by here.
        capped = object.__new__(Timeouts)
        connect, read, write, pool = self.connect, self.read, self.write, self.pool
        _set_connect(capped, seconds if connect is None or connect > seconds else connect)
        _set_read(capped, seconds if read is None or read > seconds else read)
        _set_write(capped, seconds if write is None or write > seconds else write)
        _set_pool(capped, seconds if pool is None or pool > seconds else pool)
        return capped


_set_connect, _set_read, _set_write, _set_pool = slot_setters(Timeouts, "connect", "read", "write", "pool")


class HttpStream:
    """
    The open answer to one request: its head, and its body as it comes, decompressed.

    A sync transport fills in `chunks` and `close`, an async one `achunks` and `aclose`. Both closing functions are
    idempotent. `abort` may be called from any thread at any time, and wakes a read that is waiting. `aread` is for a
    transport that can read what is left of a body at less cost than by `achunks`: to its end or to so many bytes; it
    closes as well.
    """

    __slots__ = ("_abort", "_aclose", "_aread", "_close", "achunks", "chunks", "headers", "received_at", "status")

    def __init__(
        self,
        status: int,
        headers: Headers,
        *,
        chunks: Iterator[bytes] = iter(()),  # noqa: B008 - an empty iterator has no state
        achunks: AsyncIterator[bytes] | None = None,
        close: Callable[[], None] | None = None,
        aclose: Callable[[], Awaitable[None]] | None = None,
        abort: Callable[[], None] | None = None,
        received_at: float = 0.0,
        aread: Callable[[int | None], Awaitable[bytes]] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.chunks = chunks
        self.achunks = achunks
        self.received_at = received_at
        self._close = close
        self._aclose = aclose
        self._abort = abort
        self._aread = aread

    def __repr__(self) -> str:
        return f"HttpStream(status={self.status}, headers={self.headers!r})"

    def close(self) -> None:
        """Give the connection back: to the pool where the body was read to its end, else it is closed."""
        if self._close is not None:
            self._close()

    async def aclose(self) -> None:
        """As `close`, from async code."""
        if self._aclose is not None:
            await self._aclose()

    def abort(self) -> None:
        """Cut the connection; a read that waits in another thread fails at once. Thread-safe."""
        if self._abort is not None:
            self._abort()

    def read_whole(self, limit: int | None = None) -> HttpResponse:
        """Read the body to its end, or to `limit` bytes, and close."""
        collected = _Body(limit)
        try:
            for chunk in self.chunks:
                if collected.add(chunk):
                    break
        finally:
            self.close()
        return HttpResponse(self.status, self.headers, collected.bytes(), self.received_at)

    async def aread_whole(self, limit: int | None = None) -> HttpResponse:
        """As `read_whole`, from async code."""
        if self._aread is not None:
            return HttpResponse(self.status, self.headers, await self._aread(limit), self.received_at)
        collected = _Body(limit)
        try:
            if self.achunks is not None:
                async for chunk in self.achunks:
                    if collected.add(chunk):
                        break
        finally:
            await self.aclose()
        return HttpResponse(self.status, self.headers, collected.bytes(), self.received_at)


class _Body:
    def __init__(self, limit: int | None) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._limit = limit

    def add(self, chunk: bytes) -> bool:
        """Take a chunk in; whether the limit is reached."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        return self._limit is not None and self._size >= self._limit

    def bytes(self) -> bytes:
        return b"".join(self._chunks)[: self._limit]


class HttpTransport(Protocol):
    """
    Sends requests. Safe for any number of threads and event loops.

    With `stream=True` the answer to an accepted request (2xx) is an `HttpStream`. Every other answer is read whole, a
    failed one to `MAX_ERROR_BODY_BYTES`, and is an `HttpResponse`.

    Raises (all of them, from every reading function too):
        ModelTimeout: one of `timeouts` ran out.
        ConnectionFailed: there was no answer, or it broke off.
        SettingsError: the address, a proxy or a certificate is wrong.
    """

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Send `request` to `request.url`."""

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """As `send`, from async code."""

    def close(self) -> None:
        """Close all connections. Idempotent; used again, the transport opens new ones."""

    async def aclose(self) -> None:
        """As `close`, from async code."""
