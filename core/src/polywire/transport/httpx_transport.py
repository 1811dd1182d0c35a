"""
The usual transport, over the connections of httpx.

A ready request is handed to a single connection of the layer below httpx, without the client and the pool above it:
retries, redirects, cookies and environment are this library's own affair (`core_connections`, `pools`). A client handed
in is used as it is, with everything that its owner set; any client with httpx's interface will do.

There is one pool of connections for each process, and one for each event loop, made when first needed: sockets survive
neither a fork nor their loop.
"""

from __future__ import annotations

import os
import ssl
import weakref
from typing import Any

from polywire.codec import HttpRequest, HttpResponse
from polywire.transport.addresses import address_of
from polywire.transport.answers import aopened, opened, raise_translated, too_many_redirects
from polywire.transport.core_connections import (
    AsyncPool,
    Connector,
    Pool,
    Target,
    aopen_answer,
    as_httpx,
    open_answer,
)
from polywire.transport.loop_pools import LoopPools
from polywire.transport.pools import PoolLimits
from polywire.transport.proxies import check_proxy, proxy_for
from polywire.transport.redirects import MAX_REDIRECTS, redirected
from polywire.transport.streams import MAX_ERROR_BODY_BYTES, HttpStream, Timeouts, is_success
from polywire.transport.tls import ssl_context

__all__ = ["REMEMBERED_ADDRESSES", "HttpxTransport"]

_REDIRECT_BODY_BYTES = 64 * 1024
REMEMBERED_ADDRESSES = 1024


class HttpxTransport:
    """
    Sends requests with httpx. Safe for threads, event loops and forks.

    Args:
        client: a sync client to use as it is; its owner closes it. Any object with `build_request` and `send`.
        async_client: likewise for async calls. A client belongs to one event loop: so does the transport then.
        proxy: the proxy's address; `""` for none, whatever the environment says.
        verify: check the server's certificate; or the path of the certificates to trust; or an `ssl.SSLContext`.
        cert: a client certificate: the path of its file, or the paths of certificate and key (and the key's password).
        trust_env: look at the environment for proxies and certificates.
        follow_redirects: otherwise a redirect is an error that names where it leads.
        max_connections: at most so many at a time, in each process and in each event loop. Who waits longest for one is
            served first.
        max_keepalive_connections: so many are kept open when idle.
        keepalive_expiry: seconds after which an idle one is closed.
        base_url: the address that will be called, so that a wrong proxy is found now and not at the first call.

    Raises:
        SettingsError: a proxy or a certificate is wrong.
    """

    def __init__(
        self,
        client: Any = None,
        async_client: Any = None,
        *,
        proxy: str | None = None,
        verify: bool | str | ssl.SSLContext = True,
        cert: str | tuple[str, ...] | None = None,
        trust_env: bool = True,
        follow_redirects: bool = False,
        max_connections: int | None = 1000,
        max_keepalive_connections: int | None = 100,
        keepalive_expiry: float | None = 30.0,
        base_url: str | None = None,
    ) -> None:
        self._client = client
        self._async_client = async_client
        self._proxy = check_proxy(proxy, "the setting 'proxy'") if proxy else proxy
        self._verify = verify
        self._cert = (cert,) if isinstance(cert, str) else None if cert is None else tuple(cert)
        self._trust_env = trust_env
        self._follow_redirects = follow_redirects
        self._limits = PoolLimits(max_connections, max_keepalive_connections, keepalive_expiry)
        self._connector = Connector(self._ssl_context, keepalive_expiry)
        self._targets: dict[str, Target] = {}
        self._inherited: list[Any] = []  # a parent process's pools: never used here, and never closed from here
        self._begin()
        if isinstance(verify, str) or self._cert is not None:
            self._ssl_context()  # a path may be wrong: that is found now
        if base_url is not None:
            self._proxy_for(base_url)

    @property
    def follow_redirects(self) -> bool:
        """Whether redirects are followed here, by this transport or by a client that was handed in."""
        clients = (self._client, self._async_client)
        return self._follow_redirects or any(getattr(each, "follow_redirects", False) for each in clients)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._pool = Pool(self._limits, self._connector.connect)
        self._loops: LoopPools[AsyncPool] = LoopPools(self._async_pool)
        weakref.finalize(self, _close_pool, self._pool, self._pid)

    def _async_pool(self) -> AsyncPool:
        return AsyncPool(self._limits, self._connector.aconnect)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            self._inherited.append((self._pool, self._loops))
            self._begin()

    def __repr__(self) -> str:
        return f"HttpxTransport(client={type(self._client).__name__ if self._client is not None else None})"

    # Sending

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Send `request`; see `HttpTransport`."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                answer = self._open(request, timeouts)
                follow_up = self._follow_up(request, answer)
                if follow_up is None:
                    break
                answer.read_whole(_REDIRECT_BODY_BYTES)  # read, so that the connection can be used again
                request = follow_up
            else:
                raise too_many_redirects()
        except Exception as error:
            raise_translated(as_httpx(error), request, self._proxy_for if self._client is None else None)
        if is_success(answer.status):
            return answer if stream else answer.read_whole()
        return answer.read_whole(MAX_ERROR_BODY_BYTES)

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """As `send`, from async code."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                answer = await self._aopen(request, timeouts)
                follow_up = self._follow_up(request, answer)
                if follow_up is None:
                    break
                await answer.aread_whole(_REDIRECT_BODY_BYTES)
                request = follow_up
            else:
                raise too_many_redirects()
        except Exception as error:
            raise_translated(as_httpx(error), request, self._proxy_for if self._async_client is None else None)
        if is_success(answer.status):
            return answer if stream else await answer.aread_whole()
        return await answer.aread_whole(MAX_ERROR_BODY_BYTES)

    def _follow_up(self, request: HttpRequest, answer: HttpStream) -> HttpRequest | None:
        if not self._follow_redirects or not 300 <= answer.status < 400:
            return None
        return redirected(request, answer.status, answer.headers.get("location"))

    def _open(self, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        if self._client is not None:
            return opened(self._client.send(_build(self._client, request, timeouts), stream=True))
        self._check_process()
        return open_answer(self._pool, self._target(request.url), request, timeouts)

    async def _aopen(self, request: HttpRequest, timeouts: Timeouts) -> HttpStream:
        if self._async_client is not None:
            return aopened(await self._async_client.send(_build(self._async_client, request, timeouts), stream=True))
        self._check_process()
        return await aopen_answer(await self._loops.here(), self._target(request.url), request, timeouts)

    def _target(self, url: str) -> Target:
        target = self._targets.get(url)
        if target is None:
            target = self._connector.target(address_of(url), self._proxy_for(url))
            if len(self._targets) < REMEMBERED_ADDRESSES:
                self._targets[url] = target
        return target

    def _proxy_for(self, url: str) -> str | None:
        return proxy_for(url, proxy=self._proxy, trust_env=self._trust_env)

    def _ssl_context(self) -> ssl.SSLContext:
        if isinstance(self._verify, ssl.SSLContext):
            return self._verify
        return ssl_context(self._verify, self._cert, self._trust_env)

    # Closing

    def close(self) -> None:
        """
        Close the connections of this process and of event loops that rest, and ask those of running ones to close.

        Clients that were handed in stay open. Used again, the transport opens new connections.
        """
        self._check_process()
        self._loops.close()
        self._pool.close()

    async def aclose(self) -> None:
        """As `close`, and wait for the connections of the running event loop."""
        self._check_process()
        await self._loops.aclose()
        self._pool.close()


def _close_pool(pool: Pool, pid: int) -> None:
    if pid == os.getpid():
        pool.close()


def _build(client: Any, request: HttpRequest, timeouts: Timeouts) -> Any:
    limits = {name: getattr(timeouts, name) for name in ("connect", "read", "write", "pool")}
    return client.build_request(
        request.method,
        request.url,
        headers=dict(request.headers),
        content=request.body,
        extensions={"timeout": limits},
    )
