"""
A chat server that does everything wrong that servers do, and keeps a record of what it saw. Run as a program.

It speaks a small wire: `{"id", "stream"}` in; `{"text", "tokens"}` out, or server-sent events `{"start"}`, `{"text"}`,
`{"tokens", "finish"}` and `[DONE]`. What it does to a request depends on the request's id and on how often it was sent, so
that runs repeat themselves. From the fourth sending on it behaves.
"""

from __future__ import annotations

import asyncio
import json
import random
import struct
import sys
import time
from collections import Counter
from typing import Any

BEFORE_THE_ANSWER = ["429", "429-ms", "500", "503-html", "529", "reset", "half-open", "truncated", "200-error"]
IN_A_STREAM = ["cut-head", "cut-start", "error-event", "stall-head", "slow", "keep-alive"]
AFTER_CONTENT = ["cut-content", "stall-content", "reset-content"]
WEIGHTS = {"429-ms": 0.4, "half-open": 0.4, "stall-head": 0.4, "stall-content": 0.3, "keep-alive": 0.5}


class Server:
    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()
        self.arrivals: list[tuple[float, float, str, str]] = []  # received, sent, id, behaviour
        self.tokens: list[tuple[float, int]] = []
        self.running = 0
        self.most_running = 0
        self.connections = 0

    def behaviour(self, number: str, stream: bool) -> str:
        attempt = self.sent[number]
        chance = random.Random(f"{number}:{attempt}")
        if attempt > 3 or chance.random() > 0.45:
            return "good"
        choices = BEFORE_THE_ANSWER + (IN_A_STREAM + AFTER_CONTENT if stream else [])
        return chance.choices(choices, [WEIGHTS.get(choice, 1.0) for choice in choices])[0]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                received = time.monotonic()
                lines = head.decode().split("\r\n")
                length = next(
                    (int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")), 0
                )
                body = await reader.readexactly(length)
                if lines[0].startswith("GET /report"):
                    await self.answer(writer, 200, json.dumps(self.report()).encode())
                    continue
                payload = json.loads(body)
                number = payload["id"]
                self.sent[number] += 1
                behaviour = self.behaviour(number, payload["stream"])
                self.arrivals.append((received, payload["sent"], number, behaviour))
                self.running += 1
                self.most_running = max(self.most_running, self.running)
                try:
                    if not await self.act(behaviour, payload, received, reader, writer):
                        return
                finally:
                    self.running -= 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def act(
        self, behaviour: str, payload: Any, received: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Do it; whether the connection lives on."""
        error = json.dumps({"error": {"message": f"{behaviour} for {payload['id']}"}}).encode()
        match behaviour:
            case "429":
                await self.answer(writer, 429, error)
            case "429-ms":
                await self.answer(writer, 429, error, {"retry-after-ms": "30"})
            case "500":
                await self.answer(writer, 500, error)
            case "529":
                await self.answer(writer, 529, error)
            case "503-html":
                page = b"<html><head><title>503 Unavailable</title></head></html>"
                await self.answer(writer, 503, page, {"content-type": "text/html"})
            case "200-error":
                inner = json.dumps(
                    {"error": {"code": 529, "message": "overloaded", "type": "overloaded_error"}}
                ).encode()
                await self.answer(writer, 200, inner) if not payload["stream"] else await self.events(
                    writer, [json.loads(inner)], whole=True
                )
                return not payload["stream"]
            case "reset":
                self.reset(writer)
                return False
            case "half-open":
                await gone(reader)
                return False
            case "truncated":
                writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"te')
                await writer.drain()
                return False
            case _ if not payload["stream"]:
                await self.work(payload)
                text, tokens = words(payload["id"]), cost(payload["id"])
                self.tokens.append((received, tokens))
                await self.answer(writer, 200, json.dumps({"text": text, "tokens": tokens}).encode())
            case _:
                return await self.stream(behaviour, payload, received, reader, writer)
        return True

    async def work(self, payload: Any) -> None:
        await asyncio.sleep(random.Random(payload["id"]).random() * 0.01)

    async def stream(
        self, behaviour: str, payload: Any, received: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        number = payload["id"]
        await self.events(writer, [])
        if behaviour == "cut-head":
            return False
        if behaviour == "stall-head":
            await gone(reader)
            return False
        await self.chunk(writer, {"start": number})
        if behaviour == "cut-start":
            return False
        if behaviour == "error-event":
            await self.chunk(writer, {"error": {"message": "overloaded", "type": "overloaded_error"}})
            return False
        if behaviour == "slow":
            await asyncio.sleep(0.1)
        if behaviour == "keep-alive":  # for ever, and never a word
            while not reader.at_eof():
                writer.write(chunked(b": ping\n\n"))
                await writer.drain()
                await asyncio.sleep(0.05)
            return False
        await self.work(payload)
        self.tokens.append((received, cost(number)))
        for index, word in enumerate(words(number).split(" ")):
            await self.chunk(writer, {"text": word if index == 0 else f" {word}"})
            if index == 1 and behaviour in AFTER_CONTENT:
                if behaviour == "reset-content":
                    await asyncio.sleep(0.02)
                    self.reset(writer)
                if behaviour == "stall-content":
                    await gone(reader)
                return False
        await self.chunk(writer, {"tokens": cost(number), "finish": "stop"})
        writer.write(chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()
        return True

    async def answer(
        self, writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)
        await writer.drain()

    async def events(self, writer: asyncio.StreamWriter, events: list[Any], *, whole: bool = False) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for event in events:
            await self.chunk(writer, event)
        if whole:
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def chunk(self, writer: asyncio.StreamWriter, event: Any) -> None:
        writer.write(chunked(b"data: " + json.dumps(event).encode() + b"\n\n"))
        await writer.drain()

    def reset(self, writer: asyncio.StreamWriter) -> None:
        socket = writer.get_extra_info("socket")
        socket.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SOL_SOCKET, SO_LINGER: close with a reset
        writer.transport.abort()

    def report(self) -> dict[str, Any]:
        return {
            "arrivals": self.arrivals,
            "tokens": self.tokens,
            "running": self.running,
            "most_running": self.most_running,
            "connections": self.connections,
        }


def chunked(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def words(number: str) -> str:
    return f"answer to {number} and no other"


def cost(number: str) -> int:
    return 20 + random.Random(number).randrange(41)


async def gone(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has had enough."""
    await reader.read()


async def main() -> None:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=500)
    print(listening.sockets[0].getsockname()[1], flush=True)
    async with listening:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
