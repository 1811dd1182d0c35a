"""
The transport over httpx; the only module that imports it.

A ready `httpx.Request` is handed to a public `httpx.HTTPTransport`, without the client around it: retries, redirects,
cookies and environment are this library's own affair [measured: 0.6 to 0.75 of the client's cost per call]. A client
handed in is used as it is, with everything that its owner set; any client with httpx's interface will do.

There is one pool of connections for each process, and one for each event loop, made when first needed: sockets survive
neither a fork nor their loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import threading
import weakref
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from polywire.codec import HttpRequest, HttpResponse
from polywire.errors import SettingsError
from polywire.transport.answers import aopened, opened, raise_translated, too_many_redirects
from polywire.transport.loop_pools import LoopPools
from polywire.transport.proxies import check_proxy, proxy_for
from polywire.transport.redirects import MAX_REDIRECTS, redirected
from polywire.transport.streams import MAX_ERROR_BODY_BYTES, HttpStream, Timeouts, is_success

__all__ = ["HttpxTransport"]

_PoolKey = tuple[str | None, bool]
"""The proxy, and whether the connection is encrypted: plain HTTP needs no TLS context, which costs 17 ms."""
_AsyncPools = LoopPools[_PoolKey, httpx.AsyncHTTPTransport]
_REDIRECT_BODY_BYTES = 64 * 1024
_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "connection": "keep-alive", "user-agent": "polywire"}


@lru_cache(maxsize=32)
def _ssl_context(verify: bool | str, cert: tuple[str, ...] | None, trust_env: bool) -> ssl.SSLContext:
    """Make the TLS context of these settings, once per process: it costs 17 ms, and connections can share it."""
    try:
        if isinstance(verify, str):
            context = ssl.create_default_context(
                cafile=None if os.path.isdir(verify) else verify,  # noqa: PTH112
                capath=verify if os.path.isdir(verify) else None,  # noqa: PTH112
            )
        else:
            context = httpx.create_ssl_context(verify=verify, trust_env=trust_env)
    except (OSError, ssl.SSLError) as error:
        msg = f"the certificates of the setting 'verify' cannot be read: {error}"
        raise SettingsError(msg) from error
    if cert is not None:
        try:
            context.load_cert_chain(*cert)
        except (OSError, ssl.SSLError) as error:
            msg = f"the certificate of the setting 'cert' cannot be read: {error}"
            raise SettingsError(msg) from error
    return context


@lru_cache(maxsize=1)
def _no_ssl_context() -> ssl.SSLContext:
    """The context of connections that are not encrypted; it trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


_parsed_url = lru_cache(maxsize=256)(httpx.URL)


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
        max_connections: at most so many at a time, in each process and in each event loop.
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
        self._limits = httpx.Limits(
            max_connections=max_connections,
            max_keepalive_connections=max_keepalive_connections,
            keepalive_expiry=keepalive_expiry,
        )
        self._keys: dict[str, _PoolKey] = {}
        self._inherited: list[Any] = []  # a parent process's pools: never used here, and never closed from here
        self._begin()
        if isinstance(verify, str) or self._cert is not None:
            self._ssl_context()  # a path may be wrong: that is found now
        if base_url is not None:
            self._key_of(base_url)

    @property
    def follow_redirects(self) -> bool:
        """Whether redirects are followed here, by this transport or by a client that was handed in."""
        clients = (self._client, self._async_client)
        return self._follow_redirects or any(getattr(each, "follow_redirects", False) for each in clients)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._pools: dict[_PoolKey, httpx.HTTPTransport] = {}
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _AsyncPools] = weakref.WeakKeyDictionary()
        weakref.finalize(self, _close_pools, self._pools, self._pid)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            self._inherited.append((self._pools, self._loops))
            self._begin()

    def __repr__(self) -> str:
        return f"HttpxTransport(client={type(self._client).__name__ if self._client is not None else None})"

    # Sending

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Send `request`; see `HttpTransport`."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = self._send_once(request, timeouts)
                follow_up = self._follow_up(request, response)
                if follow_up is None:
                    break
                opened(response).read_whole(_REDIRECT_BODY_BYTES)  # read, so that the connection can be used again
                request = follow_up
            else:
                raise too_many_redirects()
        except Exception as error:
            raise_translated(error, request)
        answer = opened(response)
        if is_success(answer.status):
            return answer if stream else answer.read_whole()
        return answer.read_whole(MAX_ERROR_BODY_BYTES)

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """As `send`, from async code."""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._asend_once(request, timeouts)
                follow_up = self._follow_up(request, response)
                if follow_up is None:
                    break
                await aopened(response).aread_whole(_REDIRECT_BODY_BYTES)
                request = follow_up
            else:
                raise too_many_redirects()
        except Exception as error:
            raise_translated(error, request)
        answer = aopened(response)
        if is_success(answer.status):
            return answer if stream else await answer.aread_whole()
        return await answer.aread_whole(MAX_ERROR_BODY_BYTES)

    def _follow_up(self, request: HttpRequest, response: Any) -> HttpRequest | None:
        if not self._follow_redirects or not 300 <= response.status_code < 400:
            return None
        return redirected(request, response.status_code, response.headers.get("location"))

    def _send_once(self, request: HttpRequest, timeouts: Timeouts) -> Any:
        if self._client is not None:
            return self._client.send(_build(self._client, request, timeouts), stream=True)
        return self._pool(self._key_of(request.url)).handle_request(_request(request, timeouts))

    async def _asend_once(self, request: HttpRequest, timeouts: Timeouts) -> Any:
        if self._async_client is not None:
            return await self._async_client.send(_build(self._async_client, request, timeouts), stream=True)
        pool = await self._async_pool(self._key_of(request.url))
        return await pool.handle_async_request(_request(request, timeouts))

    # Pools

    def _key_of(self, url: str) -> _PoolKey:
        key = self._keys.get(url)
        if key is None:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                msg = "the address must begin with http:// or https:// and name a host"
                raise SettingsError(msg)
            key = (proxy_for(url, proxy=self._proxy, trust_env=self._trust_env), url.startswith("https:"))
            if len(self._keys) < 1024:
                self._keys[url] = key
        return key

    def _pool(self, key: _PoolKey) -> httpx.HTTPTransport:
        self._check_process()
        pool = self._pools.get(key)
        if pool is None:
            made = httpx.HTTPTransport(**self._pool_arguments(key))
            with self._lock:
                pool = self._pools.setdefault(key, made)
        return pool

    async def _async_pool(self, key: _PoolKey) -> httpx.AsyncHTTPTransport:
        self._check_process()
        loop = asyncio.get_running_loop()
        pools = self._loops.get(loop)
        if pools is None or pools.closed:
            pools = _AsyncPools()
            with self._lock:
                for other in [each for each in self._loops if each.is_closed()]:
                    del self._loops[other]
                self._loops[loop] = pools
            await pools.watch_loop()
        pool = pools.by_key.get(key)
        if pool is None:
            pool = pools.by_key[key] = httpx.AsyncHTTPTransport(**self._pool_arguments(key))
        return pool

    def _ssl_context(self) -> ssl.SSLContext:
        if isinstance(self._verify, ssl.SSLContext):
            return self._verify
        return _ssl_context(self._verify, self._cert, self._trust_env)

    def _pool_arguments(self, key: _PoolKey) -> dict[str, Any]:
        proxy, encrypted = key
        encrypted = encrypted or (proxy is not None and proxy.startswith("https:"))
        context = self._ssl_context() if encrypted else _no_ssl_context()
        return {
            "verify": context,
            "limits": self._limits,
            "proxy": None
            if proxy is None
            else httpx.Proxy(proxy, ssl_context=context if proxy.startswith("https:") else None),
            "trust_env": False,
        }

    # Closing

    def close(self) -> None:
        """
        Close the connections of this process and of event loops that rest, and ask those of running ones to close.

        Clients that were handed in stay open. Used again, the transport opens new connections.
        """
        self._check_process()
        with self._lock:
            loops = list(self._loops.items())
        for loop, pools in loops:
            with contextlib.suppress(RuntimeError):  # it was closed, or has begun to run, just now
                if loop.is_running():
                    loop.call_soon_threadsafe(pools.close_soon)
                elif not loop.is_closed() and not _in_a_loop():
                    loop.run_until_complete(pools.aclose())
        _close_pools(self._pools, self._pid)

    async def aclose(self) -> None:
        """As `close`, and wait for the connections of the running event loop."""
        self._check_process()
        with self._lock:
            pools = self._loops.pop(asyncio.get_running_loop(), None)
        if pools is not None:
            await pools.aclose()
        self.close()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close_pools(pools: dict[_PoolKey, httpx.HTTPTransport], pid: int) -> None:
    if pid == os.getpid():
        while pools:
            _, pool = pools.popitem()
            pool.close()


def _extensions(timeouts: Timeouts) -> dict[str, Any]:
    return {
        "timeout": {
            "connect": timeouts.connect,
            "read": timeouts.read,
            "write": timeouts.write,
            "pool": timeouts.pool,
        }
    }


def _request(request: HttpRequest, timeouts: Timeouts) -> httpx.Request:
    headers = dict(_HEADERS)
    for name, value in request.headers.items():
        headers[name.lower()] = value
    return httpx.Request(
        request.method,
        _parsed_url(request.url),
        headers=headers,
        content=request.body,
        extensions=_extensions(timeouts),
    )


def _build(client: Any, request: HttpRequest, timeouts: Timeouts) -> Any:
    return client.build_request(
        request.method,
        request.url,
        headers=dict(request.headers),
        content=request.body,
        extensions=_extensions(timeouts),
    )
