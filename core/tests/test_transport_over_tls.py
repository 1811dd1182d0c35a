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
            while connection.recv(65536):
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


def send(transport: HttpxTransport, url: str) -> Any:
    with closing(transport):
        return transport.send(HttpRequest("chat", b"{}", url=url), stream=False, timeouts=PATIENT)


def asend(transport: HttpxTransport, url: str) -> Any:
    async def go() -> Any:
        try:
            return await transport.asend(HttpRequest("chat", b"{}", url=url), stream=False, timeouts=PATIENT)
        finally:
            await transport.aclose()

    return asyncio.run(go())


BOTH_WAYS = pytest.mark.parametrize("send", [send, asend])
Send = Callable[[HttpxTransport, str], Any]


@BOTH_WAYS
def test_a_server_of_an_authority_that_is_named_is_trusted(send: Send, server: Server, trusted: str) -> None:
    response = send(HttpxTransport(verify=trusted), server.url)

    assert isinstance(response, HttpResponse)
    assert response.body == b'{"ok":true}'


@BOTH_WAYS
def test_a_server_that_nobody_vouches_for_is_not_spoken_to(send: Send, server: Server) -> None:
    with pytest.raises(ConnectionFailed, match="certificate"):
        send(HttpxTransport(), server.url)


@BOTH_WAYS
def test_a_certificate_for_another_name_is_refused(send: Send, authority: trustme.CA, trusted: str) -> None:
    server = serve(authority, "llm.example.internal")

    with pytest.raises(ConnectionFailed, match="certificate"):
        send(HttpxTransport(verify=trusted), server.url)
    server.close()


@BOTH_WAYS
def test_who_looks_away_is_answered(send: Send, server: Server) -> None:
    assert send(HttpxTransport(verify=False), server.url).body == b'{"ok":true}'


@BOTH_WAYS
def test_the_client_shows_its_own_certificate(send: Send, authority: trustme.CA, trusted: str, tmp_path: Path) -> None:
    server = serve(authority, ask_clients=True)
    mine = authority.issue_cert("client.example", common_name="client.example")
    chain, key = tmp_path / "client.pem", tmp_path / "client.key"
    mine.cert_chain_pems[0].write_to_path(str(chain))
    mine.private_key_pem.write_to_path(str(key))

    assert send(HttpxTransport(verify=trusted, cert=(str(chain), str(key))), server.url).body == b'{"ok":true}'
    assert server.names == ["client.example"]
    server.close()


@BOTH_WAYS
def test_who_shows_no_certificate_where_one_is_wanted_fails(send: Send, authority: trustme.CA, trusted: str) -> None:
    server = serve(authority, ask_clients=True)

    with pytest.raises(ConnectionFailed):
        send(HttpxTransport(verify=trusted), server.url)
    server.close()


@BOTH_WAYS
def test_plain_words_on_a_secure_port_are_an_error(send: Send, trusted: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def speak_plainly() -> None:
        connection, _ = listener.accept()
        with suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    threading.Thread(target=speak_plainly, daemon=True).start()

    with pytest.raises(ConnectionFailed):
        send(HttpxTransport(verify=trusted), f"https://127.0.0.1:{listener.getsockname()[1]}/")
    listener.close()
