"""
Single connections of httpcore, the layer below httpx: made, used for one exchange, read, and given back to their pool.

httpx's own client and httpcore's own pool are left out [measured: half of a call's cost, and four fifths where 50 calls
run at once]; what is used of httpcore is public: its connections, and a pool's `create_connection`.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from types import AsyncGeneratorType
from typing import Any, cast
from urllib.parse import unquote_to_bytes, urlsplit

import httpcore

from polywire.codec import HttpRequest
from polywire.transport.addresses import Address, address_of
from polywire.transport.answers import cut, raise_translated
from polywire.transport.closing import uninterrupted
from polywire.transport.decompression import adecompressed, decompressed
from polywire.transport.pools import AsyncConnectionPool, ConnectionPool
from polywire.transport.requests import request_headers, response_headers
from polywire.transport.resending import resending_limits
from polywire.transport.streams import HttpStream, Timeouts
from polywire.transport.tls import no_ssl_context

__all__ = ["AsyncPool", "Connector", "Pool", "Route", "Target", "aopen_answer", "open_answer"]


class Route:
    """The way to one server: connections of the same route can stand in for each other."""

    __slots__ = ("origin", "proxy")

    def __init__(self, origin: httpcore.Origin, proxy: str | None) -> None:
        self.origin = origin
        self.proxy = proxy


Pool = ConnectionPool[Route, httpcore.ConnectionInterface]
AsyncPool = AsyncConnectionPool[Route, httpcore.AsyncConnectionInterface]


class Target:
    """An address, ready for requests: its route, and its parts as bytes."""

    __slots__ = ("host_header", "route", "url")

    def __init__(self, address: Address, route: Route) -> None:
        self.route = route
        self.url = _core_url(address)
        self.host_header = address.host_header.encode("ascii")


class Connector:
    """
    Makes connections, which open when first used.

    Args:
        ssl_context: makes the TLS context, when first needed.
        idle_seconds: after which a connection at rest counts as too old.
    """

    def __init__(self, ssl_context: Callable[[], ssl.SSLContext], idle_seconds: float | None) -> None:
        self._ssl_context = ssl_context
        self._idle_seconds = idle_seconds
        self._routes: dict[tuple[str, str, int | None, str | None], Route] = {}

    def target(self, address: Address, proxy: str | None) -> Target:
        """Return an address with its route, the same one for all addresses of a server."""
        key = (address.scheme, address.host, address.port, proxy)
        route = self._routes.get(key)
        if route is None:
            route = self._routes.setdefault(key, Route(_core_url(address).origin, proxy))
        return Target(address, route)

    def connect(self, route: Route) -> httpcore.ConnectionInterface:
        """Make a connection for threads."""
        return httpcore.ConnectionPool(**self._arguments(route)).create_connection(route.origin)

    def aconnect(self, route: Route) -> httpcore.AsyncConnectionInterface:
        """Make a connection for an event loop."""
        return httpcore.AsyncConnectionPool(**self._arguments(route)).create_connection(route.origin)

    def _arguments(self, route: Route) -> dict[str, Any]:
        proxy = None if route.proxy is None else self._proxy(route.proxy)
        encrypted = route.origin.scheme == b"https"
        return {
            "ssl_context": self._ssl_context() if encrypted else no_ssl_context(),
            "proxy": proxy,
            "keepalive_expiry": self._idle_seconds,
        }

    def _proxy(self, address: str) -> httpcore.Proxy:
        parts = urlsplit(address)
        url = httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target="/")
        if not (parts.hostname or "").isascii():
            url.host = address_of(f"http://{parts.hostname}").host.encode("ascii")
        auth = None
        if parts.username or parts.password:
            auth = (unquote_to_bytes(parts.username or ""), unquote_to_bytes(parts.password or ""))
        return httpcore.Proxy(url, auth, ssl_context=self._ssl_context() if parts.scheme == "https" else None)


def _core_url(address: Address) -> httpcore.URL:
    return httpcore.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target)


def _core_request(target: Target, request: HttpRequest, timeouts: Timeouts) -> httpcore.Request:
    return httpcore.Request(
        request.method,
        target.url,
        headers=request_headers(request, target.host_header),
        content=request.body,
        extensions={"timeout": {"connect": timeouts.connect, "read": timeouts.read, "write": timeouts.write}},
    )


# Exchanges


def open_answer(pool: Pool, target: Target, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
    """
    Send a request; return its answer, unread as yet.

    Servers close a connection that rests without a word, some after every stream (llama.cpp's does). A request that meets
    such an end, before the head of an answer, goes out once more, over a fresh connection, as browsers do it.
    """
    connection = pool.take(target.route, timeouts.pool)
    try:
        rested, closings, began = connection.is_available(), pool.closings, time.monotonic()
        try:
            response = connection.handle_request(_core_request(target, request, timeouts))
        except (httpcore.RemoteProtocolError, httpcore.ReadError) as error:
            again = resending_limits(timeouts, began) if rested and _is_end(error) else None
            if again is None or pool.closings != closings:
                raise
            connection = pool.renew(connection)
            response = connection.handle_request(_core_request(target, request, again))
    except BaseException:
        pool.give_back(connection)
        raise
    return _Answer(pool, connection, response).stream()


async def aopen_answer(pool: AsyncPool, target: Target, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
    """As `open_answer`, from async code."""
    connection = await pool.take(target.route, timeouts.pool)
    try:
        rested, closings, began = connection.is_available(), pool.closings, time.monotonic()
        try:
            response = await connection.handle_async_request(_core_request(target, request, timeouts))
        except (httpcore.RemoteProtocolError, httpcore.ReadError) as error:
            again = resending_limits(timeouts, began) if rested and _is_end(error) else None
            if again is None or pool.closings != closings:
                raise
            connection = await pool.renew(connection)
            response = await connection.handle_async_request(_core_request(target, request, again))
    except BaseException:
        await pool.give_back(connection)
        raise
    return _AsyncAnswer(pool, connection, response).stream()


def _is_end(error: httpcore.RemoteProtocolError | httpcore.ReadError) -> bool:
    """Whether the server closed the connection instead of answering, with its end or a reset; else what came is not HTTP."""
    return isinstance(error, httpcore.ReadError) or str(error).startswith("Server disconnected")


class _Answer:
    """The answer that comes over a connection, which is given back at its end."""

    __slots__ = ("_closed", "_connection", "_pool", "_response")

    def __init__(self, pool: Pool, connection: httpcore.ConnectionInterface, response: httpcore.Response) -> None:
        self._pool = pool
        self._connection = connection
        self._response = response
        self._closed = False

    def stream(self) -> HttpStream:
        response = self._response
        headers = response_headers(response.headers)
        chunks = self._chunks(headers.get("content-encoding"))
        return HttpStream(response.status, headers, chunks=chunks, close=self.close, abort=self.abort)

    def _chunks(self, encodings: str | None) -> Iterator[bytes]:
        body: Any = self._response.stream
        try:
            yield from body if encodings is None else decompressed(body, encodings)
        except Exception as error:
            raise_translated(as_httpx(error))
        finally:
            self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._response.close()
            finally:
                self._pool.give_back(self._connection)

    def abort(self) -> None:
        if not self._closed:
            cut(self._response.extensions["network_stream"].get_extra_info("socket"))


class _AsyncAnswer:
    """As `_Answer`, in an event loop."""

    __slots__ = ("_closed", "_connection", "_pool", "_response")

    def __init__(
        self, pool: AsyncPool, connection: httpcore.AsyncConnectionInterface, response: httpcore.Response
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._response = response
        self._closed = False

    def stream(self) -> HttpStream:
        response = self._response
        headers = response_headers(response.headers)
        chunks = self._chunks(headers.get("content-encoding"))
        return HttpStream(
            response.status,
            headers,
            achunks=chunks,
            aclose=lambda: uninterrupted(self._aclose(chunks)),
            abort=self.abort,
        )

    async def _chunks(self, encodings: str | None) -> AsyncGenerator[bytes, None]:
        body: Any = self._response.stream
        body = aiter(body if encodings is None else adecompressed(body, encodings))
        try:
            async for chunk in body:
                yield chunk
        except Exception as error:
            raise_translated(as_httpx(error))
        finally:
            await self._end()
            await body.aclose()

    async def _aclose(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """End the exchange, then the generator: the other way round, a loop that shuts down closes it twice at a time."""
        await self._end()
        if not cast("AsyncGeneratorType[bytes, None]", chunks).ag_running:
            await chunks.aclose()

    async def _end(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._response.aclose()
            except GeneratorExit:
                raise  # the loop is gone, and with it the pool
            except BaseException:
                await self._pool.give_back(self._connection)
                raise
            await self._pool.give_back(self._connection)

    def abort(self) -> None:
        if not self._closed:
            cut(self._response.extensions["network_stream"].get_extra_info("socket"))


def as_httpx(error: Exception) -> Exception:
    """Return httpx's error for one of httpcore, with that as its cause: the same names, and what users know."""
    if not type(error).__module__.startswith("httpcore"):
        return error
    import httpx

    known = getattr(httpx, type(error).__name__, None)
    if known is None:
        return error
    translated: Exception = known(str(error))
    translated.__cause__ = error
    return translated
