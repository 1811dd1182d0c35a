"""Where no connection can be made, the error says to where: scheme, host and port, and nothing that is secret."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from polywire.codec import HttpRequest
from polywire.errors import ConnectionFailed, ModelTimeout
from polywire.transport import HttpxTransport, Timeouts
from polywire.transport.aiohttp_transport import AiohttpTransport
from polywire.transport.failures import origin_of, translate_error

TRANSPORTS = pytest.mark.parametrize("transport", [HttpxTransport, AiohttpTransport])
WAYS = pytest.mark.parametrize("way", ["sync", "async"])
SECRETS = ("path-secret", "query-secret", "user", "password")


def failure(transport: Any, way: str, url: str, proxy: str = "") -> ConnectionFailed:
    """Return the error of one request, checked for secrets."""
    request = HttpRequest("/x", b"{}", {}, "POST", url)
    sender = transport(proxy=proxy, trust_env=False)

    def send() -> None:
        sender.send(request, stream=False, timeouts=Timeouts())

    async def asend() -> None:
        try:
            await sender.asend(request, stream=False, timeouts=Timeouts())
        finally:
            await sender.aclose()

    with pytest.raises(ConnectionFailed) as caught:
        asyncio.run(asend()) if way == "async" else send()
    sender.close()
    text = str(caught.value)
    assert not any(secret in text for secret in SECRETS)
    assert "All connection attempts failed" not in text
    assert "object at 0x" not in text
    return caught.value


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def plain_server() -> Iterator[int]:
    """Answers whatever comes with a refusal in plain HTTP."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), connection:
                connection.settimeout(10)
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    yield int(listener.getsockname()[1])
    listener.close()


@TRANSPORTS
@WAYS
def test_a_server_that_refuses(transport: Any, way: str, closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/path-secret/v1?key=query-secret"

    error = failure(transport, way, url)

    assert str(error).startswith(f"no connection could be made to http://127.0.0.1:{closed_port} ([Errno ")


@TRANSPORTS
@WAYS
def test_a_proxy_that_refuses(transport: Any, way: str, closed_port: int) -> None:
    proxy = f"http://user:password@127.0.0.1:{closed_port}"

    error = failure(transport, way, "https://api.example.com/v1", proxy)

    assert "proxy" in str(error)
    assert f"http://127.0.0.1:{closed_port} ([Errno " in str(error)


@TRANSPORTS
@WAYS
def test_a_proxy_that_does_not_let_through(transport: Any, way: str, plain_server: int) -> None:
    proxy = f"http://user:password@127.0.0.1:{plain_server}"

    error = failure(transport, way, "https://api.example.com/v1", proxy)

    assert str(error).startswith(f"the proxy failed: http://127.0.0.1:{plain_server} (400")


@TRANSPORTS
@WAYS
def test_a_server_without_tls_is_told_from_a_broken_one(transport: Any, way: str, plain_server: int) -> None:
    error = failure(transport, way, f"https://127.0.0.1:{plain_server}/v1")

    assert f"connection could be made to https://127.0.0.1:{plain_server} (" in str(error)
    assert str(error).endswith("; the server speaks plain http: base_url begins with https://")


def test_a_connection_that_is_not_made_in_time_names_the_address() -> None:
    error = translate_error(httpx.ConnectTimeout("timed out"), "https://user:password@api.example.com/v1?key=k")

    assert isinstance(error, ModelTimeout)
    assert str(error) == "no connection was made in time to https://api.example.com:443 (timed out)"


def test_tls_that_fails_behind_a_proxy_names_both() -> None:
    broken = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")

    error = translate_error(broken, "https://api.example.com/v1", "http://127.0.0.1:3128")

    assert str(error) == (
        "no connection could be made to https://api.example.com:443 through the proxy http://127.0.0.1:3128"
        " ([SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed)"
    )


def test_what_happens_later_does_not_speak_of_the_address() -> None:
    error = translate_error(httpx.ReadError("reset"), "https://api.example.com/v1")

    assert str(error) == "the connection broke while the answer was read (reset)"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://user:password@Example.com/path?query", "https://example.com:443"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("socks5://127.0.0.1", "socks5://127.0.0.1:1080"),
        ("http://example.com:port/", ""),
        ("", ""),
        ("/v1", ""),
    ],
)
def test_what_may_be_said_of_an_address(url: str, origin: str) -> None:
    assert origin_of(url) == origin
