"""The whole suite of the usual transport again, with async calls over aiohttp; and what only aiohttp has."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from polywire.codec import HttpRequest, HttpResponse
from polywire.errors import ConnectionFailed
from polywire.transport import HttpStream, Timeouts
from polywire.transport.answers import cut

aiohttp = pytest.importorskip("aiohttp", reason="the extra polywire[aiohttp] is not installed")

from polywire.transport.aiohttp_transport import AiohttpTransport  # noqa: E402


def _suite() -> ModuleType:
    path = Path(__file__).with_name("test_httpx_transport.py")
    spec = importlib.util.spec_from_file_location("transport_suite_over_aiohttp", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.__dict__.update(
        HttpxTransport=AiohttpTransport,
        REFUSED=(httpx.ConnectError, aiohttp.ClientConnectorError),
        BROKEN=(httpx.TransportError, aiohttp.ClientError),
        SILENT=(httpx.ReadTimeout, aiohttp.ServerTimeoutError),
    )
    return module


_SUITE = _suite()
serve, no_proxy_variables = _SUITE.serve, _SUITE.no_proxy_variables
globals().update({name: value for name, value in vars(_SUITE).items() if name.startswith("test_")})


# What only aiohttp has


DEFAULT = Timeouts(connect=5, read=5, write=5, pool=0.5)


def test_an_answer_that_comes_before_the_request_was_taken() -> None:
    """A server may refuse a body that is too large without reading it; nothing of it may reach the next request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chat"

        async def serve(loop: asyncio.AbstractEventLoop) -> None:
            for number in range(3):
                connection, _ = await loop.sock_accept(listener)
                await loop.sock_recv(connection, 1000)
                await loop.sock_sendall(connection, b"HTTP/1.1 413 X\r\nContent-Length: 1\r\n\r\n%d" % number)
                with contextlib.suppress(OSError):  # the client cuts the connection with its body half sent
                    while await loop.sock_recv(connection, 1_000_000):
                        pass
                connection.close()

        async def run() -> list[bytes]:
            transport = AiohttpTransport(max_connections=1)
            loop = asyncio.get_running_loop()
            listener.setblocking(False)
            serving = asyncio.create_task(serve(loop))
            request = HttpRequest("chat", b"x" * 30_000_000, url=url)
            bodies = []
            for _ in range(3):
                answer = await transport.asend(request, stream=False, timeouts=DEFAULT)
                assert isinstance(answer, HttpResponse)
                assert answer.status == 413
                bodies.append(answer.body)
            await transport.aclose()
            await serving
            return bodies

        assert asyncio.run(run()) == [b"0", b"1", b"2"]


def test_a_call_that_is_cancelled_with_its_body_half_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it never reads
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chat"

        async def run() -> set[asyncio.Task[Any]]:
            transport = AiohttpTransport(max_connections=1)
            request = HttpRequest("chat", b"x" * 30_000_000, url=url)
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await transport.asend(request, stream=False, timeouts=DEFAULT)
            await asyncio.sleep(0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            await transport.aclose()
            return left  # type: ignore[return-value]

        assert asyncio.run(run()) == set()


def test_a_connection_that_breaks_with_the_body_half_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chat"
        listener.setblocking(False)

        async def run() -> None:
            transport = AiohttpTransport()
            request = HttpRequest("chat", b"x" * 30_000_000, url=url)
            sending = asyncio.create_task(transport.asend(request, stream=False, timeouts=DEFAULT))
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            connection.close()
            with pytest.raises(ConnectionFailed):
                await sending
            await transport.aclose()

        asyncio.run(run())


def test_an_answer_that_nobody_reads_or_closes_gives_its_connection_back(serve: Any) -> None:
    server = serve(_SUITE.long_streams)
    transport = AiohttpTransport(max_connections=1)

    async def run() -> None:
        for _ in range(3):
            answer = await transport.asend(_SUITE.request_to(server, "stream"), stream=True, timeouts=DEFAULT)
            assert isinstance(answer, HttpStream)
            del answer
            gc.collect()

    asyncio.run(run())


def test_an_answer_that_nobody_reads_outlives_its_loop(serve: Any) -> None:
    server = serve(_SUITE.long_streams)
    transport = AiohttpTransport()
    loop = asyncio.new_event_loop()
    answer = loop.run_until_complete(
        transport.asend(_SUITE.request_to(server, "stream"), stream=True, timeouts=DEFAULT)
    )
    loop.run_until_complete(transport.aclose())
    loop.close()
    assert isinstance(answer, HttpStream)
    del answer
    gc.collect()


class StubbornSocket:
    """As uvloop has it: it knows its descriptor and refuses everything else."""

    def __init__(self, connection: socket.socket) -> None:
        self.fileno = connection.fileno

    def shutdown(self, how: int) -> None:
        msg = "transport sockets do not support shutdown() method"
        raise TypeError(msg)


def test_a_connection_of_another_event_loop_is_cut_by_its_descriptor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        cut(StubbornSocket(ours))
        theirs.settimeout(5)
        assert theirs.recv(1) == b""
        assert ours.fileno() >= 0
    cut(StubbornSocket(ours))  # closed by now: there is nothing to cut


def test_no_task_is_made_for_a_call(serve: Any) -> None:
    server = serve(_SUITE.echo)
    made: list[Any] = []

    def counting(loop: asyncio.AbstractEventLoop, coroutine: Any, **given: Any) -> asyncio.Task[Any]:
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **given)

    async def run() -> None:
        transport = AiohttpTransport()
        await transport.asend(_SUITE.request_to(server), stream=False, timeouts=DEFAULT)
        asyncio.get_running_loop().set_task_factory(counting)
        for _ in range(3):
            await transport.asend(_SUITE.request_to(server), stream=False, timeouts=DEFAULT)
        asyncio.get_running_loop().set_task_factory(None)

    asyncio.run(run())
    assert made == []
