"""
A transport whose async calls go over aiohttp, which reads HTTP with a parser written in C: `pip install 'polywire[aiohttp]'`.

[measured: see "a faster transport" in `benchmarks/README.md`.] Everything else is as with the usual transport: sync calls
go over httpx's connections, and both ways share redirects, proxies, certificates, decompression and errors.
"""

from __future__ import annotations

import asyncio
import select
import ssl
import time
import weakref
from base64 import b64encode
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from yarl import URL

from polywire.codec import HttpRequest
from polywire.errors import ModelTimeout, SettingsError
from polywire.transport.addresses import Address, address_of
from polywire.transport.aiohttp_exchange import Way, exchange
from polywire.transport.failures import unsendable_header
from polywire.transport.httpx_transport import REMEMBERED_ADDRESSES, HttpxTransport
from polywire.transport.loop_pools import LoopPools
from polywire.transport.pools import PoolLimits
from polywire.transport.requests import request_headers
from polywire.transport.resending import resending_limits
from polywire.transport.streams import HttpStream, Timeouts

__all__ = ["AiohttpTransport"]


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
            target = _Target(address, self._proxy_for(url), context)
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

    __slots__ = ("_last", "form", "host_header", "login", "proxy", "proxy_headers", "ssl", "url")

    def __init__(self, address: Address, proxy: str | None, context: ssl.SSLContext | None) -> None:
        self.url = _url(address)
        self.ssl: Any = True if context is None else context
        self.host_header = address.host_header.encode("ascii")
        self.form = address.target.encode("ascii")
        """How the request's first line names it."""
        self._last: tuple[str, bool, dict[str, str], bytes, bool] = ("", False, {}, b"", False)
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
            self.login = {"Proxy-Authorization": f"Basic {b64encode(login).decode()}"}
        # A tunnel is asked for in a request of its own; without one the proxy reads the request itself.
        if context is not None:
            self.proxy_headers, self.login = self.login, {}
        else:
            self.form = address.url.encode("ascii")

    def head(self, request: HttpRequest) -> bytes:
        """
        Return the first line and the headers of a request to this address.

        Almost always they are those of the request before [measured: 5 % of a call], but for the length of the body.
        """
        method, with_body, headers, head, tells_length = self._last
        if method != request.method or with_body != bool(request.body) or headers != request.headers:
            head, tells_length = self._head(request)
            self._last = (request.method, bool(request.body), dict(request.headers), head, tells_length)
        return b"%bcontent-length: %d\r\n\r\n" % (head, len(request.body)) if tells_length else head + b"\r\n"

    def _head(self, request: HttpRequest) -> tuple[bytes, bool]:
        """Return the head, and whether the length of the body is still to be added to it."""
        name = unsendable_header(request)
        if name is not None:
            msg = f"the header {name!r} holds a character that no HTTP header can carry"
            raise SettingsError(msg)
        if not (request.method.isascii() and request.method.isalpha()):
            msg = f"{request.method!r} is not a method of HTTP"
            raise SettingsError(msg)
        if self.login:
            request = replace(request, headers={**request.headers, **self.login})
        headers = dict(request_headers(request, self.host_header))
        tells_length = "content-length" not in map(str.lower, request.headers) and b"content-length" in headers
        if tells_length:
            del headers[b"content-length"]
        lines = b"".join([b"%b: %b\r\n" % header for header in headers.items()])
        return b"%b %b HTTP/1.1\r\n%b" % (request.method.encode("ascii"), self.form, lines), tells_length


class _Session:
    """The connections of one event loop."""

    def __init__(self, limits: PoolLimits) -> None:
        # The limit is kept here and not by the connector, which cannot tell waiting for a connection from making one.
        self._free = None if limits.connections == float("inf") else asyncio.Semaphore(int(limits.connections))
        idle = limits.idle_seconds
        self._connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3600.0 if idle == float("inf") else idle)
        self._ways: dict[_Target, Way] = {}
        self._pollers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        """Of connections on which something was sent: what tells whether there are bytes to read."""

    async def open(self, target: _Target, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        """Send a request; return its answer, unread as yet. One that meets its connection's end is sent once more."""
        head = target.head(request)
        await self._take(timeouts.pool)
        try:
            way = self._way(target)
            connection, rested = await self._connection(way, timeouts)
            began = time.monotonic()
            try:
                return await exchange(connection, way, head, request, timeouts, self._give_back)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):  # see `open_answer`
                again = resending_limits(timeouts, began) if rested else None
                if again is None:
                    raise
            connection, _ = await self._connection(way, again, fresh=True)
            return await exchange(connection, way, head, request, again, self._give_back)
        except BaseException:
            self._give_back()
            raise

    def _way(self, target: _Target) -> Way:
        way = self._ways.get(target)
        if way is None:
            if len(self._ways) >= REMEMBERED_ADDRESSES:
                self._ways.clear()
            way = self._ways[target] = Way(
                "POST",
                target.url,
                loop=asyncio.get_running_loop(),
                ssl=target.ssl,
                proxy=target.proxy,
                proxy_headers=target.proxy_headers,
            )
        return way

    async def _connection(self, way: Way, timeouts: Timeouts, *, fresh: bool = False) -> tuple[Any, bool]:
        """
        Return a connection on which nothing waits to be read, and whether it was used before.

        aiohttp learns from the event loop that a server has closed a connection: too late where the program kept the
        loop busy. A `fresh` one is got by closing those at rest: they are likely to have met their end too.
        """
        limits = aiohttp.ClientTimeout(connect=timeouts.connect)
        while True:
            try:
                connection = await self._connector.connect(way, [], limits)
            except TimeoutError as error:
                msg = f"no connection to {way.url.host}"
                raise aiohttp.ConnectionTimeoutError(msg) from error
            protocol = connection.protocol
            poller = self._pollers.get(protocol)
            if poller is None:
                # Bytes that wait on a fresh one (a TLS ticket) mean nothing.
                self._pollers[protocol] = _Poller(connection.transport)
                return connection, False
            if not (fresh or poller.is_readable()):
                return connection, True
            connection.close()

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
        await self._connector.close()


class _Poller:
    """Tells whether there are bytes to read, or the end of them, on a connection."""

    __slots__ = ("_poll", "_socket")

    def __init__(self, transport: Any) -> None:
        self._socket = transport.get_extra_info("socket")
        self._poll: Any = None
        if hasattr(select, "poll"):  # not on Windows
            self._poll = select.poll()
            self._poll.register(self._socket.fileno(), select.POLLIN)

    def is_readable(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0] if self._poll is None else self._poll.poll(0))
