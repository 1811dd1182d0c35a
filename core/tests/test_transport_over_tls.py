"""Secure connections, against a real server on the loopback address with certificates of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme

from polywire.codec import HttpRequest, HttpResponse
from polywire.errors import ConnectionFailed
from polywire.transport import HttpxTransport, Timeouts

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"ok":true}'
REQUEST_END = b"\r\n\r\n{}"
PATIENT = Timeouts(connect=5, read=5, write=5, pool=5)


class Server:
    """Answers every request of every connection with the same words, over TLS."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/v1/chat"
        self.names: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(plain,), daemon=True).start()

    def _answer(self, plain: socket.socket) -> None:
        plain.settimeout(10)
        with suppress(OSError), plain, self._context.wrap_socket(plain, server_side=True) as connection:
            certificate: Any = connection.getpeercert()
            if certificate:
                self.names.append(dict(part[0] for part in certificate["subject"])["commonName"])
            received = b""
            while data := connection.recv(65536):
                received += data
                while received.count(REQUEST_END):  # head and body may come in records of their own
                    received = received.partition(REQUEST_END)[2]
                    connection.sendall(ANSWER)

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def trusted(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tls") / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def serve(authority: trustme.CA, name: str = "127.0.0.1", *, ask_clients: bool = False) -> Server:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    if ask_clients:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)
    return Server(context)


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[Server]:
    server = serve(authority)
    yield server
    server.close()


def send(url: str, **settings: Any) -> Any:
    with closing(HttpxTransport(**settings)) as transport:
        return transport.send(HttpRequest("chat", b"{}", url=url), stream=False, timeouts=PATIENT)


def asend(url: str, make: Callable[..., HttpxTransport] = HttpxTransport, **settings: Any) -> Any:
    async def go() -> Any:
        transport = make(**settings)
        try:
            for _ in range(2):  # the second time over the connection of the first
                answer = await transport.asend(HttpRequest("chat", b"{}", url=url), stream=False, timeouts=PATIENT)
            return answer
        finally:
            await transport.aclose()

    return asyncio.run(go())


def asend_over_aiohttp(url: str, **settings: Any) -> Any:
    pytest.importorskip("aiohttp", reason="the extra polywire[aiohttp] is not installed")
    from polywire.transport.aiohttp_transport import AiohttpTransport

    return asend(url, AiohttpTransport, **settings)


ALL_WAYS = pytest.mark.parametrize("send", [send, asend, asend_over_aiohttp])
Send = Callable[..., Any]


@ALL_WAYS
def test_a_server_of_an_authority_that_is_named_is_trusted(send: Send, server: Server, trusted: str) -> None:
    response = send(server.url, verify=trusted)

    assert isinstance(response, HttpResponse)
    assert response.body == b'{"ok":true}'


@ALL_WAYS
def test_a_server_that_nobody_vouches_for_is_not_spoken_to(send: Send, server: Server) -> None:
    with pytest.raises(ConnectionFailed, match="certificate"):
        send(server.url)


@ALL_WAYS
def test_a_certificate_for_another_name_is_refused(send: Send, authority: trustme.CA, trusted: str) -> None:
    server = serve(authority, "llm.example.internal")

    with pytest.raises(ConnectionFailed, match="certificate"):
        send(server.url, verify=trusted)
    server.close()


@ALL_WAYS
def test_who_looks_away_is_answered(send: Send, server: Server) -> None:
    assert send(server.url, verify=False).body == b'{"ok":true}'


@ALL_WAYS
def test_the_client_shows_its_own_certificate(send: Send, authority: trustme.CA, trusted: str, tmp_path: Path) -> None:
    server = serve(authority, ask_clients=True)
    mine = authority.issue_cert("client.example", common_name="client.example")
    chain, key = tmp_path / "client.pem", tmp_path / "client.key"
    mine.cert_chain_pems[0].write_to_path(str(chain))
    mine.private_key_pem.write_to_path(str(key))

    assert send(server.url, verify=trusted, cert=(str(chain), str(key))).body == b'{"ok":true}'
    assert server.names == ["client.example"]
    server.close()


@ALL_WAYS
def test_who_shows_no_certificate_where_one_is_wanted_fails(send: Send, authority: trustme.CA, trusted: str) -> None:
    server = serve(authority, ask_clients=True)

    with pytest.raises(ConnectionFailed):
        send(server.url, verify=trusted)
    server.close()


@ALL_WAYS
def test_plain_words_on_a_secure_port_are_an_error(send: Send, trusted: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def speak_plainly() -> None:
        connection, _ = listener.accept()
        with suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    threading.Thread(target=speak_plainly, daemon=True).start()

    with pytest.raises(ConnectionFailed):
        send(f"https://127.0.0.1:{listener.getsockname()[1]}/", verify=trusted)
    listener.close()


class Tunnel:
    """A proxy that makes tunnels."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://me:secret@127.0.0.1:{self._listener.getsockname()[1]}"
        self.heads: list[bytes] = []
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        self.heads.append(head)
        host, _, port = head.split(b" ")[1].decode().partition(":")
        with client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server)
            back.join(10)
        self.ended.set()

    def close(self) -> None:
        self._listener.close()
        assert self.ended.wait(10)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@ALL_WAYS
def test_through_a_proxys_tunnel(send: Send, server: Server, trusted: str) -> None:
    tunnel = Tunnel()

    assert send(server.url, verify=trusted, proxy=tunnel.url).body == b'{"ok":true}'
    (head,) = tunnel.heads
    assert head.startswith(b"CONNECT 127.0.0.1:")
    assert b"proxy-authorization: basic bwu6c2vjcmv0\r\n" in head.lower()
    tunnel.close()
