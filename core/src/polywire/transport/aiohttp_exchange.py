"""
One exchange over a connection of aiohttp's: the request written, the answer read, the connection given back.

Of aiohttp its connector is used (names, TLS, proxies, the connections themselves) and its parser; a ready request needs
nothing of the session above them [measured: three fifths of a call, with a task for each body].
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp.http import HttpProcessingError, StreamWriter

from polywire.codec import HttpRequest
from polywire.transport.answers import cut, raise_translated
from polywire.transport.closing import uninterrupted
from polywire.transport.decompression import adecompressed
from polywire.transport.requests import response_headers
from polywire.transport.streams import HttpStream, Timeouts

__all__ = ["Way", "exchange"]

_LINE_BYTES = 64 * 1024
_WRITTEN_AT_ONCE_BYTES = 256 * 1024
"""A longer body is written in pieces, each when the server has taken the one before."""
_HANDED_OUT_BYTES = 16 * 1024
"""What one read hands out at most [measured: events of a stream cost half as much again where 256 kB come at once]."""


class Way(aiohttp.ClientRequest):
    """The way to a server, in the form in which aiohttp's connector asks for it: as a request."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._key = super().connection_key

    @property
    def connection_key(self) -> Any:
        """Which connections can stand in for each other."""
        return self._key


class WriteTimeout(TimeoutError):
    """The server did not take the request in time."""


async def exchange(
    connection: Any, way: Way, head: bytes, request: HttpRequest, timeouts: Timeouts, give_back: Callable[[], None]
) -> HttpStream:
    """
    Send a request over a connection; return its answer, unread as yet.

    Args:
        connection: aiohttp's; it is given back, or closed, at the end of the answer.
        way: where it leads.
        head: the request's first line and headers.
        request: the request.
        timeouts: its limits.
        give_back: called at the end of the answer. Where there is no answer, that is the caller's affair.
    """
    protocol = connection.protocol
    upload: asyncio.Task[None] | None = None
    try:
        protocol.set_response_params(
            skip_payload=request.method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=timeouts.read,
            max_line_size=_LINE_BYTES,
            max_field_size=_LINE_BYTES,
        )
        body = request.body
        connection.transport.write(head + body[:_WRITTEN_AT_ONCE_BYTES])
        if protocol.writing_paused or len(body) > _WRITTEN_AT_ONCE_BYTES:
            upload = asyncio.create_task(_write_rest(protocol, body, timeouts.write))
        else:
            protocol.start_timeout()
        status = 100
        while 100 <= status < 200 and status != 101:
            message, content = await protocol.read()
            status = message.code
    except BaseException as error:
        if upload is not None:
            upload.cancel()
        connection.close()
        if isinstance(error, HttpProcessingError):
            raise aiohttp.ClientResponseError(
                way.request_info, (), status=error.code, message=error.message, headers=error.headers
            ) from error
        raise
    return _Answer(connection, message, content, upload, give_back).stream()


async def _write_rest(protocol: Any, body: bytes, seconds: float | None) -> None:
    """Write what is left of a large body, and wait until the server has taken it."""
    transport, writer = protocol.transport, StreamWriter(protocol, asyncio.get_running_loop())
    try:
        async with asyncio.timeout(seconds):
            await writer.drain()
            for start in range(_WRITTEN_AT_ONCE_BYTES, len(body), _WRITTEN_AT_ONCE_BYTES):
                if transport.is_closing():  # whoever waits for the answer is told
                    return
                transport.write(body[start : start + _WRITTEN_AT_ONCE_BYTES])
                await writer.drain()
        protocol.start_timeout()
    except BaseException as error:
        if isinstance(error, TimeoutError):
            protocol.set_exception(WriteTimeout())
        transport.abort()  # closing would wait until the server has taken the rest
        if not isinstance(error, Exception):
            raise


class _Answer:
    """The answer that comes over a connection, which is given back at its end."""

    __slots__ = ("_closed", "_connection", "_content", "_give_back", "_message", "_upload")

    def __init__(
        self,
        connection: Any,
        message: Any,
        content: aiohttp.StreamReader,
        upload: asyncio.Task[None] | None,
        give_back: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._message = message
        self._content = content
        self._upload = upload
        self._give_back = give_back
        self._closed = False

    def stream(self) -> HttpStream:
        headers = response_headers(self._message.raw_headers)
        encodings = headers.get("content-encoding")
        chunks = self._chunks(encodings)
        return HttpStream(
            self._message.code,
            headers,
            achunks=chunks,
            aclose=lambda: self._aclose(chunks),
            aread=self._read if encodings is None else None,
            abort=self.abort,
        )

    async def _chunks(self, encodings: str | None) -> AsyncGenerator[bytes, None]:
        body: Any = _received(self._content)
        try:
            async for chunk in body if encodings is None else adecompressed(body, encodings):
                yield chunk
        except Exception as error:
            raise_translated(error)
        finally:
            self._end()

    async def _read(self, limit: int | None) -> bytes:
        """Read the body to its end, or to `limit` bytes, without a generator: it is almost always there already."""
        chunks, size = [], 0
        try:
            while chunk := await self._content.readany():
                chunks.append(chunk)
                size += len(chunk)
                if limit is not None and size >= limit:
                    break
        except Exception as error:
            raise_translated(error)
        finally:
            self._end()
        return b"".join(chunks)[:limit]

    def _aclose(self, chunks: AsyncGenerator[bytes, None]) -> Awaitable[None]:
        self._end()
        return uninterrupted(_closed(chunks))

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._upload is not None and not self._upload.done():
            self._upload.cancel()
            self._connection.close()
        else:
            self._connection.release()  # to the pool where the body was read to its end; else it is closed
        self._give_back()

    def __del__(self) -> None:
        if not self._closed:  # nobody has read it or closed it, and a connection that is left alone complains
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._end()

    def abort(self) -> None:
        transport = None if self._closed else self._connection.transport
        if transport is not None:
            cut(transport.get_extra_info("socket"))


async def _closed(chunks: AsyncGenerator[bytes, None]) -> None:
    await chunks.aclose()


async def _received(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    """Hand out a body as it comes. When the connection breaks, aiohttp's reader keeps back what has come before that."""
    try:
        while chunk := await content.read(_HANDED_OUT_BYTES):
            yield chunk
    except Exception as error:
        content.set_exception(None)  # type: ignore[arg-type]  # so that it lets the rest go
        if rest := content.read_nowait():
            yield rest
        raise error
