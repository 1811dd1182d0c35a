"""A call over real HTTP, cancelled after every number of turns of its loop: nothing of it is left anywhere."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.models import ChatModel
from polywire.policy import DeadlinePolicy, FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy

CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"index": 0, "delta": {"content": "Hel"}}]},
    {"choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}


class Server:
    """Refuses every first request and answers the second, in several pieces."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                streamed = json.loads(await reader.readexactly(length)).get("stream")
                self.requests += 1
                if self.requests % 2:
                    await self.write(writer, b"HTTP/1.1 500 X\r\ncontent-length: 2\r\n\r\n", b"{}")
                elif streamed:
                    pieces = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS]
                    body = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b"data: [DONE]\n\n"]]
                    kind = b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                    await self.write(writer, b"HTTP/1.1 200 OK\r\n" + kind, *body, b"0\r\n\r\n")
                else:
                    answer = json.dumps(ANSWER).encode()
                    await self.write(writer, b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer), answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def write(self, writer: asyncio.StreamWriter, *pieces: bytes) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)


@pytest.mark.parametrize("way", ["plain", "streamed"])
def test_limiter_pool_and_breaker_are_as_if_the_call_had_never_been(way: str) -> None:
    cancelled = asyncio.run(cancel_everywhere(way))

    assert cancelled > 10


async def cancel_everywhere(way: str) -> int:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    settings = {
        "providers": {"openai": {"api_key": "k", "base_url": f"http://127.0.0.1:{port}/v1", "max_connections": 1}},
        "models": {"a": {"provider": "openai", "model": "m"}},
    }
    limit = LimitPolicy(concurrency=1, requests_per_minute=10_000_000, tokens_per_minute=1_000_000_000)
    limiter: Any = limit.limiter
    fallback = FallbackPolicy({"spare": ChatModel.from_function(lambda _: "spare")}, breaker_failures=1)
    breaker: Any = fallback.breaker()
    cancelled = 0
    async with LlmFactory.from_config(settings) as factory:
        inner: Any = factory.chat_model("a")
        inner = inner.model if isinstance(inner, PolicyModel) else inner
        policies = [DeadlinePolicy(total=30, first_event=20, between_events=20), fallback]
        model: Any = PolicyModel(inner, [*policies, RetryPolicy(attempts=2, initial_wait=0), limit])

        async def call() -> Any:
            return await (model.achat("q") if way == "plain" else model.astream("q").collect())

        for turns in range(1000):
            server.requests = 0
            task = asyncio.ensure_future(call())
            for _ in range(turns):
                await asyncio.sleep(0)
            if task.done():
                assert task.result().text == "Hello"
                break
            task.cancel()
            await asyncio.wait([task])
            cancelled += task.cancelled()

            assert (limiter.in_use, limiter.waiting) == (0, 0)
            assert breaker.state == "closed"
            # The pool has one connection: one that leaked would leave the next call without.
            server.requests = 1
            assert (await asyncio.wait_for(call(), 5)).text == "Hello"
    listening.close()
    return cancelled
