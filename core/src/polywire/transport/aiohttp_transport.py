"""
A transport whose async calls go over aiohttp, which reads HTTP with a parser written in C: `pip install 'polywire[aiohttp]'`.

[measured: see "a faster transport" in `benchmarks/README.md`.] Everything else is as with the usual transport: sync calls
go over httpx's connections, and both ways share redirects, proxies, certificates, decompression and errors.
"""

from __future__ import annotations

import asyncio
import io
import select
import ssl
import weakref
from base64 import b64encode
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from polywire.codec import Headers, HttpRequest
from polywire.errors import ModelTimeout, SettingsError
from polywire.transport.addresses import Address, address_of
from polywire.transport.answers import cut, raise_translated
from polywire.transport.closing import uninterrupted
from polywire.transport.decompression import adecompressed
from polywire.transport.failures import unsendable_header
from polywire.transport.httpx_transport import REMEMBERED_ADDRESSES, HttpxTransport
from polywire.transport.loop_pools import LoopPools
from polywire.transport.pools import PoolLimits
from polywire.transport.requests import USUAL_HEADERS, response_headers
from polywire.transport.streams import HttpStream, Timeouts

__all__ = ["AiohttpTransport"]

_AUTOMATIC_HEADERS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_LINE_BYTES = 64 * 1024
_LARGE_BODY_BYTES = 32 * 1024
"""A smaller body the event loop takes at once, so that sending it needs no time limit."""


class AiohttpTransport(HttpxTransport):
    """
    Sends async requests with aiohttp, and sync ones as `HttpxTransport` does, whose arguments it takes.

    Of connections at rest there may be any number, until they are too old: aiohttp has no limit for them.

    Raises:
        SettingsError: a proxy or a certificate is wrong, or the proxy is of a kind that aiohttp does not know.
    """

    def _begin(self) -> None:
        super()._begin()
        self._sessions: LoopPools[_Session] = LoopPools(self._session)
        self._remembered: dict[str, _Target] = {}

    def _session(self) -> _Session:
        return _Session(self._limits)

    async def _aopen(self, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        if self._async_client is not None:
            return await super()._aopen(request, timeouts)
        self._check_process()
        return await (await self._sessions.here()).open(self._address(request.url), request, timeouts)

    def _address(self, url: str) -> _Target:
        target = self._remembered.get(url)
        if target is None:
            address = address_of(url)
            context = self._ssl_context() if address.scheme == "https" else None
            target = _Target(_url(address), self._proxy_for(url), context)
            if len(self._remembered) < REMEMBERED_ADDRESSES:
                self._remembered[url] = target
        return target

    def close(self) -> None:
        super().close()
        self._sessions.close()

    async def aclose(self) -> None:
        await super().aclose()
        await self._sessions.aclose()


def _url(address: Address) -> URL:
    try:
        url = URL(address.url, encoded=True)
        url.port  # noqa: B018 - it is read, and found wrong, when first asked for
    except ValueError as error:
        msg = f"the address is not a valid URL: {error}"
        raise SettingsError(msg) from error
    return url


class _Target:
    """An address, and the way to it."""

    __slots__ = ("login", "proxy", "proxy_headers", "ssl", "url")

    def __init__(self, url: URL, proxy: str | None, context: ssl.SSLContext | None) -> None:
        self.url = url
        self.ssl: Any = True if context is None else context
        self.proxy: URL | None = None
        self.proxy_headers: dict[str, str] | None = None
        self.login: dict[str, str] = {}
        if proxy is None:
            return
        parts = urlsplit(proxy)
        if parts.scheme.startswith("socks"):
            msg = 'a SOCKS proxy needs transport = "httpx": aiohttp does not know this kind'
            raise SettingsError(msg)
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self.proxy = URL(urlunsplit(bare))
        if parts.username or parts.password:
            login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
            header = {"Proxy-Authorization": f"Basic {b64encode(login).decode()}"}
            # A tunnel is asked for in a request of its own; without one the proxy reads the request itself.
            if context is not None:
                self.proxy_headers = header
            else:
                self.login = header


class _Session:
    """The connections of one event loop."""

    def __init__(self, limits: PoolLimits) -> None:
        # The limit is kept here and not by the connector, which cannot tell waiting for a connection from making one.
        self._free = None if limits.connections == float("inf") else asyncio.Semaphore(int(limits.connections))
        idle = limits.idle_seconds
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=3600.0 if idle == float("inf") else idle),
            headers={name.decode(): value.decode() for name, value in USUAL_HEADERS.items()},
            skip_auto_headers=_AUTOMATIC_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_Request,
            auto_decompress=False,
            max_line_size=_LINE_BYTES,
            max_field_size=_LINE_BYTES,
        )

    async def open(self, target: _Target, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        """Send a request; return its answer, unread as yet."""
        name = unsendable_header(request)
        if name is not None:
            msg = f"the header {name!r} holds a character that no HTTP header can carry"
            raise SettingsError(msg)
        await self._take(timeouts.pool)
        try:
            response = await self._send(target, request, timeouts)
        except BaseException:
            self._give_back()
            raise
        return _Answer(response, self).stream()

    async def _send(self, target: _Target, request: HttpRequest, timeouts: Timeouts) -> aiohttp.ClientResponse:
        try:
            return await self._session.request(
                request.method,
                target.url,
                data=request.body
                if len(request.body) < _LARGE_BODY_BYTES
                else _LargeBody(request.body, timeouts.write),
                headers={**request.headers, **target.login} if target.login else request.headers,
                timeout=aiohttp.ClientTimeout(connect=timeouts.connect, sock_read=timeouts.read),
                allow_redirects=False,
                ssl=target.ssl,
                proxy=target.proxy,
                proxy_headers=target.proxy_headers,
            )
        except _StaleConnectionError:  # nothing was sent on it, and it is closed now
            return await self._send(target, request, timeouts)

    async def _take(self, seconds: float | None) -> None:
        if self._free is None:
            return
        if not self._free.locked():
            await self._free.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            msg = "the connection pool is exhausted: no connection came free in time"
            raise ModelTimeout(msg) from None

    def _give_back(self) -> None:
        if self._free is not None:
            self._free.release()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class _StaleConnectionError(Exception):
    """The server has closed a connection that rested."""


class _Request(aiohttp.ClientRequest):
    """
    Looks at a connection that has rested before it sends anything on it.

    aiohttp learns from the event loop that a server has closed a connection: too late where the program kept the loop
    busy, and a POST is not sent twice.
    """

    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        if conn.protocol in _USED and _is_readable(conn.transport.get_extra_info("socket")):
            raise _StaleConnectionError
        _USED.add(conn.protocol)
        return await super().send(conn)


_USED: weakref.WeakSet[Any] = weakref.WeakSet()
"""Connections on which something was sent: bytes that wait on a fresh one (a TLS ticket) mean nothing."""


def _is_readable(connection: Any) -> bool:
    if not hasattr(select, "poll"):  # on Windows
        return bool(select.select([connection], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


class WriteTimeout(TimeoutError):
    """The server did not take the request in time."""


class _LargeBody(aiohttp.BytesIOPayload):
    """A body that may have to wait for the server, for so many seconds; sent in pieces."""

    def __init__(self, body: bytes, seconds: float | None) -> None:
        super().__init__(io.BytesIO(body))
        self._seconds = seconds

    async def write_with_length(self, writer: Any, content_length: int | None) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await super().write_with_length(writer, content_length)
        except BaseException as error:
            if writer.transport is not None:
                writer.transport.abort()  # closing would wait until the server has taken the rest
            if isinstance(error, TimeoutError):
                raise WriteTimeout from None
            raise


async def _received(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    """Hand out a body as it comes. When the connection breaks, aiohttp's reader keeps back what has come before that."""
    try:
        while chunk := await content.readany():
            yield chunk
    except Exception as error:
        content.set_exception(None)  # type: ignore[arg-type]  # so that it lets the rest go
        if rest := content.read_nowait():
            yield rest
        raise error


class _Answer:
    """The answer that comes over a connection, which is given back at its end."""

    __slots__ = ("_closed", "_response", "_session", "_socket")

    def __init__(self, response: aiohttp.ClientResponse, session: _Session) -> None:
        self._response = response
        self._session = session
        self._closed = False
        connection = response.connection
        transport = None if connection is None else connection.transport
        self._socket = None if transport is None else transport.get_extra_info("socket")

    def stream(self) -> HttpStream:
        headers: Headers = response_headers(self._response.raw_headers)
        chunks = self._chunks(headers.get("content-encoding"))
        return HttpStream(
            self._response.status,
            headers,
            achunks=chunks,
            aclose=lambda: uninterrupted(self._aclose(chunks)),
            abort=self.abort,
        )

    async def _chunks(self, encodings: str | None) -> AsyncGenerator[bytes, None]:
        body: Any = _received(self._response.content)
        try:
            async for chunk in body if encodings is None else adecompressed(body, encodings):
                yield chunk
        except Exception as error:
            raise_translated(error)
        finally:
            self._end()

    async def _aclose(self, chunks: AsyncGenerator[bytes, None]) -> None:
        self._end()
        await chunks.aclose()

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._response.release()  # to the pool where the body was read to its end; else it is closed
            self._session._give_back()

    def abort(self) -> None:
        if not self._closed:
            cut(self._socket)
