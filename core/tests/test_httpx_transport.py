"""The transport over httpx against a real server on the loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import logging
import os
import pickle
import socket
import ssl
import struct
import sys
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import httpx2
import pytest

from polywire.codec import Encoded, Frame, HttpRequest, HttpResponse
from polywire.errors import (
    ConnectionFailed,
    EmptyResponse,
    ModelError,
    ModelTimeout,
    ProtocolError,
    SettingsError,
    StreamInterrupted,
)
from polywire.events import ResponseEnd, StreamEvent, TextDelta
from polywire.framing.sse import SseFraming
from polywire.http_errors import error_from_response
from polywire.http_model import HttpChatModel
from polywire.messages import AiMessage
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, FinishReason
from polywire.transport import HttpStream, HttpxTransport, Timeouts

KEY = "sk-test-DO-NOT-LEAK-123"
DEFAULT = Timeouts(connect=5, read=5, write=5, pool=5)

# What the library under the transport raises, as the cause of this library's own error.
REFUSED: Any = httpx.ConnectError
BROKEN: Any = httpx.TransportError
SILENT: Any = httpx.ReadTimeout

Handle = Callable[["Exchange"], None]


class Exchange:
    """One request as the server got it, and the socket to answer on."""

    def __init__(self, connection: socket.socket, number: int, head: str, body: bytes) -> None:
        self.connection = connection
        self.number = number
        lines = head.split("\r\n")
        self.method, self.path, _ = lines[0].split(" ")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.body = body

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def answer(self, status: int, body: bytes = b"", *headers: str) -> None:
        head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers))
        self.send(f"{head}\r\n".encode() + body)

    def begin(self, *headers: str) -> None:
        self.send(
            "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "")).encode()
        )

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        self.send(b"0\r\n\r\n")

    def wait_for_close(self) -> None:
        """Until the client closes."""
        self.connection.settimeout(10)
        while self.connection.recv(4096):
            pass


class Server:
    """A small HTTP/1.1 server: threads, keep-alive, and whatever a test makes of an exchange."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.connections = 0
        self.exchanges: list[Exchange] = []
        self.closed_by_client = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        buffer = b""
        try:
            while True:
                while b"\r\n\r\n" not in buffer:
                    data = connection.recv(65536)
                    if not data:
                        return
                    buffer += data
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                exchange = Exchange(connection, number, head.decode(), b"")
                length = int(exchange.headers.get("content-length", "0"))
                while len(buffer) < length:
                    buffer += connection.recv(65536)
                exchange.body, buffer = buffer[:length], buffer[length:]
                with self._lock:
                    self.exchanges.append(exchange)
                self.handle(exchange)
        except OSError:
            with self._lock:
                self.closed_by_client += 1
        finally:
            connection.close()
            with self._lock:
                self._open.discard(connection)

    def close(self) -> None:
        with self._lock:
            connections = list(self._open)
        for closing in (self._listener, *connections):
            with contextlib.suppress(OSError):
                closing.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)


@pytest.fixture
def serve() -> Iterator[Callable[[Handle], Server]]:
    servers: list[Server] = []

    def start(handle: Handle) -> Server:
        servers.append(Server(handle))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(autouse=True)
def no_proxy_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def request_to(server: Server | str, path: str = "chat", **headers: str) -> HttpRequest:
    url = server if isinstance(server, str) else server.url
    return HttpRequest(path, b'{"q":1}', {"Content-Type": "application/json", **headers}, url=f"{url}/{path}")


def send(transport: HttpxTransport, request: HttpRequest, timeouts: Timeouts = DEFAULT) -> HttpResponse:
    response = transport.send(request, stream=False, timeouts=timeouts)
    assert isinstance(response, HttpResponse)
    return response


async def asend(transport: HttpxTransport, request: HttpRequest, timeouts: Timeouts = DEFAULT) -> HttpResponse:
    response = await transport.asend(request, stream=False, timeouts=timeouts)
    assert isinstance(response, HttpResponse)
    return response


def send_sync(transport: HttpxTransport, request: HttpRequest, timeouts: Timeouts = DEFAULT) -> HttpResponse:
    try:
        return send(transport, request, timeouts)
    finally:
        transport.close()


def send_async(transport: HttpxTransport, request: HttpRequest, timeouts: Timeouts = DEFAULT) -> HttpResponse:
    return asyncio.run(asend(transport, request, timeouts))


both = pytest.mark.parametrize("send_one", [send_sync, send_async])
SendOne = Callable[..., HttpResponse]


def echo(exchange: Exchange) -> None:
    body = {
        "method": exchange.method,
        "path": exchange.path,
        "headers": exchange.headers,
        "body": exchange.body.decode(),
    }
    exchange.answer(200, json.dumps(body).encode(), "X-Request-Id: r-1", "X-Twice: a", "X-Twice: b")


# Requests and answers


@both
def test_a_request_goes_out_as_it_is(serve: Any, send_one: SendOne) -> None:
    server = serve(echo)

    response = send_one(HttpxTransport(), request_to(server, "v1/chat?x=1&y=%20", Authorization=f"Bearer {KEY}"))

    echoed = json.loads(response.body)
    assert (echoed["method"], echoed["path"], echoed["body"]) == ("POST", "/v1/chat?x=1&y=%20", '{"q":1}')
    assert echoed["headers"]["authorization"] == f"Bearer {KEY}"
    assert echoed["headers"]["host"] == f"127.0.0.1:{server.port}"
    assert echoed["headers"]["content-length"] == "7"
    assert echoed["headers"]["accept-encoding"] == "gzip, deflate"
    assert response.status == 200
    assert response.headers["X-REQUEST-ID"] == "r-1"
    assert response.headers["x-twice"] == "b"


@both
def test_the_callers_headers_win_over_the_usual_ones(serve: Any, send_one: SendOne) -> None:
    server = serve(echo)

    response = send_one(HttpxTransport(), request_to(server, accept="text/event-stream", **{"User-Agent": "mine"}))

    headers = json.loads(response.body)["headers"]
    assert headers["accept"] == "text/event-stream"
    assert headers["user-agent"] == "mine"


@both
def test_an_own_content_length_is_not_told_twice(serve: Any, send_one: SendOne) -> None:
    heads: list[str] = []

    def handle(exchange: Exchange) -> None:
        heads.append(json.dumps(exchange.headers))
        exchange.answer(200, exchange.body)

    server = serve(handle)

    assert send_one(HttpxTransport(), request_to(server, **{"Content-Length": "7"})).body == b'{"q":1}'
    assert [json.loads(head)["content-length"] for head in heads] == ["7"]


def different_requests(server: Server) -> list[HttpRequest]:
    url = f"{server.url}/chat"
    headers = {"X-Key": "a"}
    return [
        HttpRequest("chat", b"one", headers, url=url),
        HttpRequest("chat", b"one and two", dict(headers), url=url),
        HttpRequest("chat", b"", headers, url=url),
        HttpRequest("chat", b"three", {"X-Key": "b"}, url=url),
        HttpRequest("chat", b"three", {"X-Key": "b", "User-Agent": "mine"}, url=url),
        HttpRequest("chat", b"three", {"X-Key": "b", "Content-Length": "5"}, url=url),
        HttpRequest("chat", b"longer", {"X-Key": "b"}, url=url),
        HttpRequest("chat", b"", {}, "GET", url=url),
        HttpRequest("chat", b"", {"X-Key": "c"}, "DELETE", url=url),
        HttpRequest("chat", b"one", headers, url=f"{server.url}/other"),
        HttpRequest("chat", b"one", headers, url=url),
    ]


@pytest.mark.parametrize("is_async", [False, True])
def test_requests_in_turn_have_nothing_of_each_other(serve: Any, is_async: bool) -> None:
    server = serve(echo)
    transport = HttpxTransport()
    requests = different_requests(server)

    async def run() -> list[HttpResponse]:
        return [await asend(transport, request) for request in requests]

    if is_async:
        answers = asyncio.run(run())
    else:
        answers = [send(transport, request) for request in requests]
        transport.close()

    for request, answer in zip(requests, answers, strict=True):
        echoed = json.loads(answer.body)
        assert (echoed["method"], echoed["body"]) == (request.method, request.body.decode())
        assert f"http://127.0.0.1:{server.port}{echoed['path']}" == request.url
        assert echoed["headers"].get("x-key") == request.headers.get("X-Key")
        assert echoed["headers"]["user-agent"] == request.headers.get("User-Agent", "polywire")
        expected = str(len(request.body)) if request.body or request.method == "POST" else None
        assert echoed["headers"].get("content-length") == expected
    assert server.connections == 1


@both
@pytest.mark.parametrize("size", [30_000, 70_000, 1_000_000, 6_000_000])
def test_a_large_body_goes_out_and_comes_back_whole(serve: Any, send_one: SendOne, size: int) -> None:
    server = serve(lambda exchange: exchange.answer(200, exchange.body))
    body = os.urandom(size)

    assert send_one(HttpxTransport(), HttpRequest("chat", body, url=f"{server.url}/chat")).body == body


@both
def test_what_is_said_before_the_answer_is_passed_over(serve: Any, send_one: SendOne) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        echo(exchange)

    server = serve(handle)

    assert send_one(HttpxTransport(), request_to(server)).status == 200


@both
@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body(serve: Any, send_one: SendOne, status: int) -> None:
    server = serve(lambda exchange: exchange.send(f"HTTP/1.1 {status} X\r\n\r\n".encode()))

    answer = send_one(HttpxTransport(), request_to(server))
    assert (answer.status, answer.body) == (status, b"")


@both
def test_a_body_that_lasts_until_the_connection_ends(serve: Any, send_one: SendOne) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"text" * 10_000)
        raise OSError

    server = serve(handle)

    assert send_one(HttpxTransport(), request_to(server)).body == b"text" * 10_000


@both
@pytest.mark.parametrize("method", ["", "PO ST", "POST\r\nX-Other: 1"])
def test_a_method_that_is_none(serve: Any, send_one: SendOne, method: str) -> None:
    server = serve(echo)

    with pytest.raises((SettingsError, ConnectionFailed)):
        send_one(HttpxTransport(), HttpRequest("chat", b"x", {}, method, f"{server.url}/chat"))
    assert server.exchanges == []


@both
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes), ("GZIP", gzip.compress)],
)
@pytest.mark.parametrize("status", [200, 500])
def test_compression_is_undone(
    serve: Any, send_one: SendOne, encoding: str, pack: Callable[[bytes], bytes], status: int
) -> None:
    server = serve(lambda exchange: exchange.answer(status, pack(b"text" * 1000), f"Content-Encoding: {encoding}"))

    assert send_one(HttpxTransport(), request_to(server)).body == b"text" * 1000


@both
def test_a_compressed_stream_is_undone(serve: Any, send_one: SendOne) -> None:
    packed = gzip.compress(b"data: 1\n\n" * 100)

    def handle(exchange: Exchange) -> None:
        exchange.begin("Content-Encoding: gzip")
        for at in range(0, len(packed), 5):
            exchange.chunk(packed[at : at + 5])
        exchange.end()

    server = serve(handle)
    transport = HttpxTransport()
    stream = transport.send(request_to(server), stream=True, timeouts=DEFAULT)
    assert isinstance(stream, HttpStream)
    assert b"".join(stream.chunks) == b"data: 1\n\n" * 100
    stream.close()
    transport.close()


@both
def test_compression_that_cannot_be_undone(serve: Any, send_one: SendOne) -> None:
    server = serve(lambda exchange: exchange.answer(200, b"not gzip", "Content-Encoding: gzip"))

    with pytest.raises(ConnectionFailed, match="compression"):
        send_one(HttpxTransport(), request_to(server))


@both
def test_the_body_of_a_failed_answer_is_read_to_a_limit(serve: Any, send_one: SendOne) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            exchange.chunk(b"x" * 65536)
        exchange.end()

    server = serve(handle)

    assert len(send_one(HttpxTransport(), request_to(server)).body) == 1024 * 1024


def test_a_failed_stream_is_a_whole_answer(serve: Any) -> None:
    server = serve(lambda exchange: exchange.answer(429, b"slow down", "Retry-After: 3"))
    transport = HttpxTransport()

    response = transport.send(request_to(server), stream=True, timeouts=DEFAULT)

    assert isinstance(response, HttpResponse)
    assert (response.status, response.body, response.headers["retry-after"]) == (429, b"slow down", "3")
    transport.close()


# Redirects


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_unasked(serve: Any, send_one: SendOne, status: int) -> None:
    server = serve(lambda exchange: exchange.answer(status, b"", "Location: /other"))

    assert send_one(HttpxTransport(), request_to(server)).status == status
    assert len(server.exchanges) == 1


@both
@pytest.mark.parametrize(("status", "method"), [(307, "POST"), (308, "POST"), (301, "GET"), (302, "GET"), (303, "GET")])
def test_a_redirect_on_the_same_server(serve: Any, send_one: SendOne, status: int, method: str) -> None:
    def handle(exchange: Exchange) -> None:
        if exchange.path == "/chat":
            exchange.answer(status, b"moved", "Location: /other?x=1")
        else:
            echo(exchange)

    server = serve(handle)

    echoed = json.loads(send_one(HttpxTransport(follow_redirects=True), request_to(server, Authorization="k")).body)

    assert (echoed["method"], echoed["path"]) == (method, "/other?x=1")
    assert echoed["body"] == ('{"q":1}' if method == "POST" else "")
    assert echoed["headers"]["authorization"] == "k"
    assert server.connections == 1


@both
def test_no_key_goes_along_to_another_server(serve: Any, send_one: SendOne) -> None:
    other = serve(echo)
    server = serve(lambda exchange: exchange.answer(307, b"", f"Location: {other.url}/x"))
    request = request_to(
        server, Authorization=f"Bearer {KEY}", **{"X-Goog-Api-Key": KEY, "Cookie": KEY, "Accept": "a/b"}
    )

    echoed = json.loads(send_one(HttpxTransport(follow_redirects=True), request).body)

    assert KEY not in json.dumps(echoed)
    assert echoed["body"] == '{"q":1}'
    assert echoed["headers"]["content-type"] == "application/json"
    assert echoed["headers"]["accept"] == "a/b"
    assert echoed["headers"]["host"] == f"127.0.0.1:{other.port}"


@both
def test_a_redirect_loop_ends(serve: Any, send_one: SendOne) -> None:
    server = serve(lambda exchange: exchange.answer(307, b"", "Location: /again"))

    with pytest.raises(ProtocolError, match="more than 20 times"):
        send_one(HttpxTransport(follow_redirects=True), request_to(server))
    assert len(server.exchanges) == 21


@both
@pytest.mark.parametrize("location", ["ftp://127.0.0.1/x", "file:///etc/passwd", "//"])
def test_a_redirect_to_nowhere(serve: Any, send_one: SendOne, location: str) -> None:
    server = serve(lambda exchange: exchange.answer(307, b"", f"Location: {location}"))

    with pytest.raises((SettingsError, ModelError)):
        send_one(HttpxTransport(follow_redirects=True), request_to(server))


# Errors


@both
def test_a_refused_connection(send_one: SendOne) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(ConnectionFailed, match="no connection could be made") as caught:
        send_one(HttpxTransport(), request_to(f"http://127.0.0.1:{port}"))
    assert isinstance(caught.value.__cause__, REFUSED)
    assert caught.value.retryable


@both
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_a_server_that_breaks_off_or_speaks_no_http(serve: Any, send_one: SendOne, sent: bytes) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.send(sent)
        raise OSError

    server = serve(handle)

    with pytest.raises(ConnectionFailed) as caught:
        send_one(HttpxTransport(), request_to(server))
    assert isinstance(caught.value.__cause__, BROKEN)


@both
def test_a_silent_server(serve: Any, send_one: SendOne) -> None:
    server = serve(lambda exchange: exchange.wait_for_close())

    with pytest.raises(ModelTimeout, match="sent nothing") as caught:
        send_one(HttpxTransport(), request_to(server), Timeouts(read=0.02))
    assert isinstance(caught.value.__cause__, SILENT)


def test_an_exhausted_pool(serve: Any) -> None:
    server = serve(lambda exchange: (exchange.begin(), exchange.chunk(b"x"), exchange.wait_for_close()))
    transport = HttpxTransport(max_connections=1)
    stream = transport.send(request_to(server), stream=True, timeouts=DEFAULT)

    with pytest.raises(ModelTimeout, match="pool is exhausted"):
        send(transport, request_to(server), Timeouts(pool=0.02))

    assert isinstance(stream, HttpStream)
    stream.close()
    transport.close()


RAISED: list[tuple[type[Exception], type[ModelError], str]] = [
    (httpx.ConnectTimeout, ModelTimeout, "no connection was made in time"),
    (httpx.ReadTimeout, ModelTimeout, "sent nothing"),
    (httpx.WriteTimeout, ModelTimeout, "did not take"),
    (httpx.PoolTimeout, ModelTimeout, "pool is exhausted"),
    (httpx.ConnectError, ConnectionFailed, "no connection"),
    (httpx.ReadError, ConnectionFailed, "broke"),
    (httpx.WriteError, ConnectionFailed, "broke"),
    (httpx.CloseError, ConnectionFailed, "broke"),
    (httpx.RemoteProtocolError, ConnectionFailed, "broke off"),
    (httpx.ProxyError, ConnectionFailed, "proxy"),
    (httpx2.ConnectTimeout, ModelTimeout, "no connection was made in time"),
    (httpx2.ReadTimeout, ModelTimeout, "sent nothing"),
    (httpx2.PoolTimeout, ModelTimeout, "pool is exhausted"),
    (httpx2.ConnectError, ConnectionFailed, "no connection"),
    (httpx2.RemoteProtocolError, ConnectionFailed, "broke off"),
    (ssl.SSLCertVerificationError, ConnectionFailed, "secure connection"),
    (ConnectionResetError, ConnectionFailed, "network"),
    (BrokenPipeError, ConnectionFailed, "network"),
    (socket.gaierror, ConnectionFailed, "network"),
    (TimeoutError, ModelTimeout, "time limit"),
]


class RaisingClient:
    """A client of httpx's interface that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self._client = httpx.Client()
        self.build_request = self._client.build_request

    def send(self, request: Any, *, stream: bool) -> Any:
        raise self.error


class AsyncRaisingClient(RaisingClient):
    async def send(self, request: Any, *, stream: bool) -> Any:
        raise self.error


@both
@pytest.mark.parametrize(("raised", "expected", "words"), RAISED, ids=lambda value: getattr(value, "__name__", ""))
def test_errors_are_told_apart(
    send_one: SendOne, raised: type[Exception], expected: type[ModelError], words: str
) -> None:
    error = raised("what happened")
    transport = HttpxTransport(RaisingClient(error), AsyncRaisingClient(error))

    with pytest.raises(expected, match=words) as caught:
        send_one(transport, request_to("http://h", Authorization=KEY))
    assert type(caught.value) is expected
    assert caught.value.__cause__ is error
    assert caught.value.retryable
    assert KEY not in "".join(traceback.format_exception(caught.value))


@both
@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), LookupError("bug"), MemoryError()])
def test_what_is_not_the_networks_passes_untouched(send_one: SendOne, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        send_one(HttpxTransport(RaisingClient(error), AsyncRaisingClient(error)), request_to("http://h"))
    assert caught.value is error


@both
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Key", f"{KEY}\n"),
        ("X-Key", f"{KEY}\r\nX-Other: 1"),
        ("X-Key", f"“{KEY}”"),
        ("X-Key", f" {KEY}"),
        ("X-Key", f"{KEY}\x00"),
        ("X Key", KEY),
        ("X-Ключ", KEY),
    ],
)
def test_a_header_that_http_cannot_carry(serve: Any, send_one: SendOne, name: str, value: str) -> None:
    server = serve(echo)

    with pytest.raises(SettingsError, match="header") as caught:
        send_one(HttpxTransport(), request_to(server, **{name: value}))
    assert repr(name) in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert server.exchanges == []


@both
@pytest.mark.parametrize(
    "url", ["h.example/v1", "ftp://h/v1", "http://", "http://h:99999", "http://h:port/", "http://h\x00/"]
)
def test_an_address_that_is_none(send_one: SendOne, url: str) -> None:
    with pytest.raises((SettingsError, ConnectionFailed)):
        send_one(HttpxTransport(), HttpRequest("x", url=url))


# Connections


def streams_of(count: int) -> Handle:
    def handle(exchange: Exchange) -> None:
        if exchange.path != "/stream":
            exchange.answer(200, b"{}")
            return
        exchange.begin()
        for _ in range(count):
            exchange.chunk(b'data: {"text":"x"}\n\n')
        exchange.end()

    return handle


def test_a_connection_is_used_again(serve: Any) -> None:
    server = serve(streams_of(3))
    transport = HttpxTransport()

    for path in ("chat", "stream", "chat", "stream"):
        answer = transport.send(request_to(server, path), stream=path == "stream", timeouts=DEFAULT)
        if isinstance(answer, HttpStream):
            assert b"".join(answer.chunks).count(b"data:") == 3
            answer.close()
    assert server.connections == 1
    transport.close()

    async def run() -> None:
        for path in ("chat", "stream", "chat", "stream"):
            answer = await transport.asend(request_to(server, path), stream=path == "stream", timeouts=DEFAULT)
            if isinstance(answer, HttpStream):
                assert answer.achunks is not None
                assert b"".join([chunk async for chunk in answer.achunks]).count(b"data:") == 3
                await answer.aclose()

    asyncio.run(run())
    assert server.connections == 2


def test_closing_is_idempotent_and_not_the_end(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()

    transport.close()
    for _ in range(2):
        send(transport, request_to(server))
        transport.close()
        transport.close()
    assert server.connections == 2

    async def run() -> None:
        for _ in range(2):
            await asend(transport, request_to(server))
            await transport.aclose()
            await transport.aclose()

    asyncio.run(run())
    assert server.connections == 4


def test_close_from_another_thread_closes_a_running_loops_connections(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()

    async def run() -> None:
        await asend(transport, request_to(server))
        await asyncio.to_thread(transport.close)
        await asyncio.sleep(0)
        await asend(transport, request_to(server))

    asyncio.run(run())
    assert server.connections == 2


def test_close_closes_the_connections_of_a_loop_that_rests(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()
    loop = asyncio.new_event_loop()
    try:
        for _ in range(2):
            loop.run_until_complete(asend(transport, request_to(server)))
        assert server.connections == 1
        transport.close()
        loop.run_until_complete(asend(transport, request_to(server)))
        assert server.connections == 2
        loop.run_until_complete(transport.aclose())
    finally:
        loop.close()
    gc.collect()


@pytest.mark.parametrize("value", [0, -1, float("nan"), "5", True])
@pytest.mark.parametrize("name", ["connect", "read", "write", "pool"])
def test_a_timeout_that_is_none(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        Timeouts(**{name: value})


def test_one_transport_in_two_runs_of_asyncio(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()

    for _ in range(2):
        assert asyncio.run(asend(transport, request_to(server))).status == 200
    gc.collect()

    assert server.connections == 2


def test_one_transport_in_many_threads_and_loops(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()

    def work(number: int) -> int:
        if number % 2:
            return send(transport, request_to(server)).status

        async def several() -> int:
            answers = await asyncio.gather(*(asend(transport, request_to(server)) for _ in range(3)))
            return max(answer.status for answer in answers)

        return asyncio.run(several())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == [200] * 32
    transport.close()
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork_the_child_has_connections_of_its_own(serve: Any) -> None:
    server = serve(echo)
    transport = HttpxTransport()
    send(transport, request_to(server))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads; the child uses none of them
        child = os.fork()
    if child == 0:
        status = 1
        try:
            sync_works = send(transport, request_to(server)).status == 200
            async_works = asyncio.run(asend(transport, request_to(server))).status == 200
            transport.close()
            status = 0 if sync_works and async_works else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    send(transport, request_to(server))

    assert server.connections == 3  # the parent's, which lives on, and the child's two
    transport.close()


def test_a_forgotten_transport_closes_its_connections(serve: Any) -> None:
    server = serve(echo)

    def use() -> None:
        transport = HttpxTransport()
        send(transport, request_to(server))

    use()
    gc.collect()


def test_making_a_transport_connects_to_nothing_and_is_cheap() -> None:
    started = time.process_time()
    for _ in range(100):
        HttpxTransport()
    assert time.process_time() - started < 0.5


def _answer_once(then: Handle) -> Handle:
    """The first request of each connection is answered; what follows on it is not."""
    seen: set[int] = set()

    def handle(exchange: Exchange) -> None:
        if exchange.number in seen:
            then(exchange)
            raise OSError
        seen.add(exchange.number)
        exchange.answer(200, b"{}")

    return handle


def _end(exchange: Exchange) -> None:
    pass


def _reset(exchange: Exchange) -> None:
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _several(
    transport: HttpxTransport, send_one: SendOne, server: Server, count: int, timeouts: Timeouts = DEFAULT
) -> None:
    async def run() -> None:
        for _ in range(count):
            await asend(transport, request_to(server), timeouts)
        await transport.aclose()

    if send_one is send_async:
        asyncio.run(run())
        return
    with contextlib.closing(transport):
        for _ in range(count):
            send(transport, request_to(server), timeouts)


@both
@pytest.mark.parametrize("ending", [_end, _reset])
def test_a_request_that_meets_the_end_of_its_connection_goes_out_over_another(
    serve: Any, send_one: SendOne, ending: Handle
) -> None:
    """llama.cpp's server ends every connection after a stream, without a word and some milliseconds late."""
    server = serve(_answer_once(ending))

    _several(HttpxTransport(), send_one, server, 3)

    assert [each.number for each in server.exchanges] == [1, 1, 2, 2, 3], "each goes out again, once, over a fresh one"


@both
def test_a_fresh_connection_that_ends_is_an_error(serve: Any, send_one: SendOne) -> None:
    server: Server

    def handle(exchange: Exchange) -> None:
        if len(server.exchanges) > 1:
            raise OSError
        exchange.answer(200, b"{}")

    server = serve(handle)
    with pytest.raises(ConnectionFailed, match="broke off"):
        _several(HttpxTransport(), send_one, server, 2)

    assert [each.number for each in server.exchanges] == [1, 1, 2]


@both
@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", b"not HTTP\r\n\r\n"])
def test_an_answer_that_has_begun_is_not_asked_for_again(serve: Any, send_one: SendOne, begun: bytes) -> None:
    server = serve(_answer_once(lambda exchange: exchange.send(begun)))

    with pytest.raises(ConnectionFailed):
        _several(HttpxTransport(), send_one, server, 2)

    assert len(server.exchanges) == 2


@both
@pytest.mark.parametrize("places", [1, 2])
def test_a_request_that_goes_out_again_keeps_its_place_in_the_pool(serve: Any, send_one: SendOne, places: int) -> None:
    """It would wait behind the others else, and get a connection that one of them has used: that has ended too."""
    server = serve(_answer_once(_end))
    transport = HttpxTransport(max_connections=places)

    async def run() -> None:
        await asyncio.gather(*(asend(transport, request_to(server)) for _ in range(40)))
        await transport.aclose()

    if send_one is send_async:
        asyncio.run(run())
        return
    with contextlib.closing(transport), ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: send(transport, request_to(server)), range(40)))


@both
def test_a_server_that_breaks_off_at_work_is_not_asked_again(
    serve: Any, send_one: SendOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polywire.transport.resending.AT_REST_SECONDS", 0.05)
    server = serve(_answer_once(lambda _: time.sleep(0.2)))

    with pytest.raises(ConnectionFailed, match="broke off"):
        _several(HttpxTransport(), send_one, server, 2)

    assert len(server.exchanges) == 2


@both
def test_both_times_together_take_no_longer_than_one_may(serve: Any, send_one: SendOne) -> None:
    def handle(exchange: Exchange) -> None:
        if exchange is server.exchanges[0]:
            exchange.answer(200, b"{}")
            return
        time.sleep(0.4 if exchange is server.exchanges[1] else 1.5)
        raise OSError

    server: Server = serve(handle)
    began = time.monotonic()
    with pytest.raises(ModelTimeout):
        _several(HttpxTransport(), send_one, server, 2, Timeouts(connect=5, read=0.6, write=5, pool=5))

    assert time.monotonic() - began < 0.95
    assert len(server.exchanges) == 3


def test_a_call_whose_connection_is_closed_from_this_side_is_not_sent_again(serve: Any) -> None:
    arrived = threading.Event()

    def wait(exchange: Exchange) -> None:
        arrived.set()
        exchange.wait_for_close()

    server = serve(_answer_once(wait))
    transport = HttpxTransport()

    async def run() -> None:
        await asend(transport, request_to(server))
        call = asyncio.create_task(asend(transport, request_to(server)))
        await asyncio.to_thread(arrived.wait, 10)
        await transport.aclose()
        with pytest.raises(ConnectionFailed):
            await call

    asyncio.run(run())
    assert len(server.exchanges) == 2


@both
def test_a_connection_that_the_server_closed_at_rest_is_not_used(serve: Any, send_one: SendOne) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.answer(200, b"{}")
        raise OSError

    server = serve(handle)
    transport = HttpxTransport()

    def wait_for_close(count: int) -> None:
        while server.closed_by_client < count:  # the server's side is closed: nothing runs in the loop meanwhile
            time.sleep(0.001)

    async def run() -> None:
        for count in range(1, 4):
            await asend(transport, request_to(server))
            wait_for_close(count)

    if send_one is send_async:
        asyncio.run(run())
    else:
        for count in range(1, 4):
            send(transport, request_to(server))
            wait_for_close(count)
        transport.close()
    assert server.connections == 3


def test_what_came_before_a_connection_broke_is_handed_out(serve: Any) -> None:
    broken = threading.Event()

    def handle(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk(b"first")
        exchange.chunk(b"second")
        exchange.connection.shutdown(socket.SHUT_RDWR)
        broken.set()

    server = serve(handle)

    async def run() -> bytes:
        answer = await HttpxTransport().asend(request_to(server), stream=True, timeouts=DEFAULT)
        assert isinstance(answer, HttpStream)
        assert answer.achunks is not None
        await asyncio.to_thread(broken.wait)
        for _ in range(5):
            await asyncio.sleep(0)  # the loop learns of it before anything is read
        received = b""
        try:
            async for chunk in answer.achunks:
                received += chunk
        except ConnectionFailed:
            received += b"!"
        await answer.aclose()
        return received

    assert asyncio.run(run()) == b"firstsecond!"


@both
def test_a_server_that_does_not_take_a_large_request(send_one: SendOne) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it never reads
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chat"
        with pytest.raises(ModelTimeout, match="did not take the request"):
            send_one(HttpxTransport(), HttpRequest("chat", b"x" * 30_000_000, url=url), Timeouts(read=5, write=0.05))


def test_who_waits_longest_for_a_connection_is_served_first(serve: Any) -> None:
    server = serve(lambda exchange: exchange.answer(200, exchange.path.encode()))
    order: list[int] = []

    async def run() -> None:
        transport = HttpxTransport(max_connections=1)
        held = await transport.asend(request_to(server), stream=True, timeouts=DEFAULT)
        assert isinstance(held, HttpStream)

        async def one(number: int) -> None:
            await asend(transport, request_to(server, f"chat/{number}"))
            order.append(number)

        tasks = [asyncio.create_task(one(number)) for number in range(6)]
        await asyncio.sleep(0)
        tasks[2].cancel()  # who leaves the queue takes no place along
        await held.aread_whole()
        await asyncio.gather(*tasks, return_exceptions=True)
        await transport.aclose()

    asyncio.run(run())
    assert order == [0, 1, 3, 4, 5]


# Broken-off streams


class ToyDecoder:
    def __init__(self) -> None:
        self.ended = False
        self.events = 0

    def feed(self, frame: Frame) -> list[StreamEvent]:
        if frame.data == b"[DONE]":
            self.ended = True
            return []
        self.events += 1
        return [TextDelta(json.loads(frame.data)["text"])]

    def finish(self) -> list[StreamEvent]:
        if self.ended:
            return [ResponseEnd(FinishReason.STOP)]
        if self.events:
            raise StreamInterrupted("cut")
        raise EmptyResponse("nothing")


class ToyCodec:
    wire = "toy"

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        return Encoded(HttpRequest("stream" if stream else "chat", b"{}"), framing=SseFraming)

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        return ChatResponse(AiMessage(response.body.decode()))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)

    def stream_decoder(self, encoded: Encoded) -> Any:
        return ToyDecoder()


def model_on(server: Server, transport: HttpxTransport, **arguments: Any) -> HttpChatModel:
    return HttpChatModel(
        ToyCodec(),
        base_url=server.url,
        transport=transport,
        defaults=ChatRequestParameters(model="m"),
        timeouts=Timeouts(pool=0.5, read=5),
        **arguments,
    )


def long_streams(exchange: Exchange) -> None:
    if exchange.path == "/chat":
        exchange.answer(200, b"fine")
        return
    exchange.begin()
    for _ in range(1000):
        exchange.chunk(b'data: {"text":"x"}\n\n')
    exchange.chunk(b"data: [DONE]\n\n")
    exchange.end()


class ConsumerError(Exception):
    pass


def break_off(model: HttpChatModel) -> None:
    for _ in model.stream("hi"):
        break


def break_off_by_with(model: HttpChatModel) -> None:
    with model.stream("hi") as stream:
        next(stream)


def break_off_by_error(model: HttpChatModel) -> None:
    with contextlib.suppress(ConsumerError):
        for _ in model.stream("hi"):
            raise ConsumerError


def break_off_text(model: HttpChatModel) -> None:
    for _ in model.stream("hi").text_stream():
        break


def break_off_by_forgetting(model: HttpChatModel) -> None:
    stream = model.stream("hi")
    next(iter(stream))
    del stream
    gc.collect()


@pytest.mark.parametrize(
    "breaking", [break_off, break_off_by_with, break_off_by_error, break_off_text, break_off_by_forgetting]
)
def test_a_broken_off_stream_gives_its_connection_back(serve: Any, breaking: Callable[[HttpChatModel], None]) -> None:
    server = serve(long_streams)
    transport = HttpxTransport(max_connections=2)
    model = model_on(server, transport)

    for _ in range(3):
        breaking(model)

    assert model.chat("hi").text == "fine"
    transport.close()


async def abreak_off(model: HttpChatModel) -> None:
    async for _ in model.astream("hi"):
        break
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)  # the loop closes what was collected


async def abreak_off_by_with(model: HttpChatModel) -> None:
    async with model.astream("hi") as stream:
        await anext(stream)


async def abreak_off_by_error(model: HttpChatModel) -> None:
    with contextlib.suppress(ConsumerError):
        async with model.astream("hi") as stream:
            async for _ in stream:
                raise ConsumerError


async def abreak_off_by_cancelling(model: HttpChatModel) -> None:
    started = asyncio.Event()

    async def consume() -> None:
        async for _ in model.astream("hi"):
            started.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)


def test_an_async_answer_that_is_closed_unread_gives_its_connection_back(serve: Any) -> None:
    server = serve(long_streams)
    transport = HttpxTransport(max_connections=1)

    async def run() -> str | None:
        for _ in range(3):
            answer = await transport.asend(request_to(server, "stream"), stream=True, timeouts=DEFAULT)
            assert isinstance(answer, HttpStream)
            await answer.aclose()
        return (await model_on(server, transport).achat("hi")).text

    assert asyncio.run(run()) == "fine"
    gc.collect()


@pytest.mark.parametrize("breaking", [abreak_off, abreak_off_by_with, abreak_off_by_error, abreak_off_by_cancelling])
def test_a_broken_off_async_stream_gives_its_connection_back(serve: Any, breaking: Any) -> None:
    server = serve(long_streams)
    model = model_on(server, HttpxTransport(max_connections=2))

    async def run() -> str | None:
        for _ in range(3):
            await breaking(model)
        return (await model.achat("hi")).text

    assert asyncio.run(run()) == "fine"
    gc.collect()


def test_a_stream_that_is_left_open_when_the_loop_ends(serve: Any) -> None:
    server = serve(long_streams)
    model = model_on(server, HttpxTransport())

    async def run() -> None:
        await anext(model.astream("hi"))

    asyncio.run(run())
    gc.collect()


def test_closing_with_streams_that_were_never_read_or_are_still_open(serve: Any) -> None:
    server = serve(long_streams)
    transport = HttpxTransport()
    model = model_on(server, transport)
    unread = model.stream("hi")
    reading = model.stream("hi")
    next(reading)

    transport.close()

    assert len(server.exchanges) == 1
    unread.close()
    reading.close()


def test_a_stream_read_to_its_end_mark_leaves_its_connection_for_the_next(serve: Any) -> None:
    server = serve(long_streams)
    transport = HttpxTransport()
    model = model_on(server, transport)

    assert model.stream("hi").collect().text == "x" * 1000
    assert model.chat("hi").text == "fine"
    assert server.connections == 1
    transport.close()

    async def run() -> None:
        assert (await model.astream("hi").collect()).text == "x" * 1000
        assert (await model.achat("hi")).text == "fine"

    asyncio.run(run())
    assert server.connections == 2


def test_a_server_that_stays_silent_after_the_end_mark(serve: Any) -> None:
    def handle(exchange: Exchange) -> None:
        exchange.begin()
        exchange.chunk(b'data: {"text":"x"}\n\ndata: [DONE]\n\n')
        exchange.wait_for_close()

    server = serve(handle)
    transport = HttpxTransport()
    model = model_on(server, transport)

    assert model.stream("hi").collect().text == "x"
    assert asyncio.run(model.astream("hi").collect()).text == "x"
    transport.close()


# Limits: keep-alive bytes put off every read timeout


def keep_alive(exchange: Exchange) -> None:
    exchange.begin()
    for _ in range(2000):  # or until the client cuts the connection
        exchange.chunk(b": keep-alive\n\n")
        time.sleep(0.005)


@pytest.mark.parametrize("options", [{"deadline": 0.05}, {"first_event": 0.05}, {"first_event": 9, "deadline": 0.05}])
def test_keep_alive_bytes_do_not_put_off_a_deadline(serve: Any, options: dict[str, Any]) -> None:
    server = serve(keep_alive)
    transport = HttpxTransport(max_connections=1)
    model = model_on(server, transport)

    with pytest.raises(ModelTimeout, match=r"deadline|first_event"):
        model.stream("hi", **options).collect()
    with pytest.raises(ModelTimeout, match=r"deadline|first_event"):
        asyncio.run(model.astream("hi", **options).collect())
    if "first_event" not in options:
        with pytest.raises(ModelTimeout, match="deadline"):
            model.chat("hi", **options)
        with pytest.raises(ModelTimeout, match="deadline"):
            asyncio.run(model.achat("hi", **options))
    transport.close()


def test_a_server_that_sends_headers_and_then_nothing(serve: Any) -> None:
    server = serve(lambda exchange: (exchange.begin(), exchange.wait_for_close()))
    transport = HttpxTransport()
    model = model_on(server, transport)

    with pytest.raises(ModelTimeout, match="first_event"):
        model.stream("hi", first_event=0.03, deadline=100).collect()
    with pytest.raises(ModelTimeout, match="first_event"):
        asyncio.run(model.astream("hi", first_event=0.03, deadline=100).collect())
    transport.close()


def test_a_server_that_sends_nothing_at_all(serve: Any) -> None:
    server = serve(lambda exchange: exchange.wait_for_close())
    transport = HttpxTransport()
    model = model_on(server, transport)

    with pytest.raises(ModelTimeout, match="deadline"):
        model.chat("hi", deadline=0.03)
    with pytest.raises(ModelTimeout, match="deadline"):
        model.stream("hi", deadline=0.03).collect()
    with pytest.raises(ModelTimeout, match="deadline"):
        asyncio.run(model.achat("hi", deadline=0.03))
    transport.close()


def test_abort_wakes_a_read_in_another_thread(serve: Any) -> None:
    server = serve(lambda exchange: (exchange.begin(), exchange.chunk(b"x"), exchange.wait_for_close()))
    transport = HttpxTransport()
    stream = transport.send(request_to(server), stream=True, timeouts=Timeouts(read=30))
    assert isinstance(stream, HttpStream)
    assert next(stream.chunks) == b"x"
    timer = threading.Timer(0.02, stream.abort)
    timer.start()

    with pytest.raises(ConnectionFailed):
        next(stream.chunks)

    timer.join()
    stream.close()
    stream.abort()
    transport.close()


def test_abort_wakes_an_async_read(serve: Any) -> None:
    server = serve(lambda exchange: (exchange.begin(), exchange.chunk(b"x"), exchange.wait_for_close()))
    transport = HttpxTransport()

    async def run() -> None:
        stream = await transport.asend(request_to(server), stream=True, timeouts=Timeouts(read=30))
        assert isinstance(stream, HttpStream)
        assert stream.achunks is not None
        assert await anext(stream.achunks) == b"x"
        timer = threading.Timer(0.02, stream.abort)
        timer.start()
        with pytest.raises(ConnectionFailed):
            await anext(stream.achunks)
        timer.join()
        await stream.aclose()

    asyncio.run(run())


def test_abort_after_the_end_harms_nobody(serve: Any) -> None:
    server = serve(streams_of(1))
    transport = HttpxTransport()
    stream = transport.send(request_to(server, "stream"), stream=True, timeouts=DEFAULT)
    assert isinstance(stream, HttpStream)
    list(stream.chunks)
    stream.close()
    stream.abort()

    send(transport, request_to(server))
    assert server.connections == 1
    transport.close()


# Clients handed in


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_a_client_handed_in_is_used_as_it_is(serve: Any, library: Any) -> None:
    def handle(exchange: Exchange) -> None:
        if exchange.path == "/chat":
            echo(exchange)
        else:
            long_streams(exchange)

    server = serve(handle)
    with library.Client(headers={"X-Mine": "1"}) as client:
        transport = HttpxTransport(client)
        model = model_on(server, transport)
        assert json.loads(model.chat("hi").text or "")["headers"]["x-mine"] == "1"
        assert model.stream("hi").collect().text == "x" * 1000
        for _ in range(3):
            for _ in model.stream("hi"):
                break
        model.chat("hi", deadline=5)
        transport.close()
        assert not client.is_closed
        model.chat("hi")

    async def run() -> None:
        async with library.AsyncClient(headers={"X-Mine": "1"}) as client:
            transport = HttpxTransport(async_client=client)
            model = model_on(server, transport)
            assert json.loads((await model.achat("hi")).text or "")["headers"]["x-mine"] == "1"
            assert (await model.astream("hi").collect()).text == "x" * 1000
            for _ in range(3):
                async with model.astream("hi") as stream:
                    await anext(stream)
            await model.achat("hi", deadline=5)
            await transport.aclose()
            assert not client.is_closed

    asyncio.run(run())


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_clients_with_a_mock_transport(library: Any) -> None:
    """As users test their own programs."""

    def handle(request: Any) -> Any:
        if request.url.path == "/stream":
            return library.Response(200, content=b'data: {"text":"x"}\n\ndata: [DONE]\n\n')
        if request.url.path == "/chat":
            return library.Response(200, content=gzip.compress(b"fine"), headers={"Content-Encoding": "gzip"})
        raise library.PoolTimeout("full", request=request)

    def model_with(transport: HttpxTransport) -> HttpChatModel:
        return HttpChatModel(
            ToyCodec(), base_url="http://h", transport=transport, defaults=ChatRequestParameters(model="m")
        )

    with library.Client(transport=library.MockTransport(handle)) as client:
        model = model_with(HttpxTransport(client))
        assert model.stream("hi", deadline=5).collect().text == "x"
        assert model.chat("hi").text == "fine"
        assert model.chat("hi", deadline=5).text == "fine"
        with pytest.raises(ModelTimeout, match="pool is exhausted"):
            send(HttpxTransport(client), request_to("http://h", "other"))

    async def run() -> None:
        async with library.AsyncClient(transport=library.MockTransport(handle)) as client:
            model = model_with(HttpxTransport(async_client=client))
            assert (await model.astream("hi", deadline=5).collect()).text == "x"
            assert (await model.achat("hi")).text == "fine"
            with pytest.raises(ModelTimeout, match="pool is exhausted"):
                await asend(HttpxTransport(async_client=client), request_to("http://h", "other"))

    asyncio.run(run())


@pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_errors_and_aborts_of_a_client_handed_in(serve: Any, library: Any) -> None:
    server = serve(keep_alive)
    with library.Client() as client:
        model = model_on(server, HttpxTransport(client))
        with pytest.raises(ModelTimeout, match="first_event"):
            model.stream("hi", first_event=0.05).collect()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with library.Client() as client, pytest.raises(ConnectionFailed) as caught:
        send(HttpxTransport(client), request_to(url, Authorization=KEY))
    shown = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value.__cause__))
    assert KEY not in shown


# Proxies, certificates, secrets


@both
def test_an_explicit_proxy_is_used(serve: Any, send_one: SendOne, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(echo)
    monkeypatch.setenv("NO_PROXY", "*")

    response = send_one(HttpxTransport(proxy=f"127.0.0.1:{proxy.port}"), request_to("http://h.example/v1"))

    assert json.loads(response.body)["path"] == "http://h.example/v1/chat"
    assert json.loads(response.body)["headers"]["host"] == "h.example"


@both
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxys_login_goes_to_the_proxy(serve: Any, send_one: SendOne, scheme: str) -> None:
    proxy = serve(lambda exchange: exchange.answer(407, b""))
    transport = HttpxTransport(proxy=f"http://us%40er:pass@127.0.0.1:{proxy.port}")

    with contextlib.suppress(ConnectionFailed):  # a tunnel that is refused is no answer
        assert send_one(transport, request_to(f"{scheme}://h.example/v1")).status == 407

    (exchange,) = proxy.exchanges
    assert exchange.method == ("POST" if scheme == "http" else "CONNECT")
    assert exchange.headers["proxy-authorization"] == "Basic dXNAZXI6cGFzcw=="


@both
def test_a_proxy_of_the_environment(serve: Any, send_one: SendOne, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, server = serve(echo), serve(echo)
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "localhost, 127.0.0.1 ,::1,[::1]")

    assert send_one(HttpxTransport(), request_to("http://h.example/v1")).status == 200
    assert len(proxy.exchanges) == 1
    assert send_one(HttpxTransport(), request_to(server)).status == 200
    assert len(proxy.exchanges) == 1
    monkeypatch.delenv("NO_PROXY")
    assert send_one(HttpxTransport(trust_env=False), request_to(server)).status == 200
    assert send_one(HttpxTransport(proxy=""), request_to(server)).status == 200
    assert len(proxy.exchanges) == 1


def test_a_wrong_proxy_is_told_when_the_transport_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://user:secret-password@127.0.0.1:9")

    with pytest.raises(SettingsError, match="ALL_PROXY") as caught:
        HttpxTransport(base_url="https://h.example/v1")
    assert "secret-password" not in str(caught.value)
    HttpxTransport(base_url="https://h.example/v1", trust_env=False)
    with pytest.raises(SettingsError, match="'proxy'"):
        HttpxTransport(proxy="gopher://x:secret-password@h")


@pytest.mark.parametrize(
    "setting", [{"verify": "/nowhere/ca.pem"}, {"cert": "/nowhere/c.pem"}, {"cert": ("/nowhere/c", "/k")}]
)
def test_a_certificate_that_is_not_there(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(setting))):
        HttpxTransport(base_url="https://h.example", **setting)


def test_one_tls_context_for_all_transports_of_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from polywire.transport import tls

    made = []
    create = ssl.create_default_context

    def counting(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        made.append(1)
        return create(*args, **kwargs)

    monkeypatch.setattr(ssl, "create_default_context", counting)
    tls.ssl_context.cache_clear()
    for _ in range(3):
        HttpxTransport(base_url="https://h.example")
        HttpxTransport(base_url="http://h.example")
    assert len(made) <= 1


def test_nothing_is_logged_that_holds_a_key(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(echo)
    caplog.set_level(logging.DEBUG)
    transport = HttpxTransport()
    request = request_to(server, Authorization=f"Bearer {KEY}")

    send(transport, request)
    transport.close()
    asyncio.run(asend(transport, request))

    assert KEY not in caplog.text
    assert KEY not in repr(request)
    assert KEY not in repr(transport)


def test_errors_of_the_transport_survive_a_pickle() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(ConnectionFailed) as caught:
        send(HttpxTransport(), request_to(url))

    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_importing_the_contract_loads_no_http_library() -> None:
    import subprocess

    code = (
        "import sys, polywire.http_model, polywire.transport, polywire.testing.transport; print('httpx' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False"
