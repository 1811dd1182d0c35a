"""
A fast local server for benchmarks: fixed answers, no work of its own worth measuring.

The first segment of the path says what comes back, the rest is whatever the client's wire adds:

    /plain/…        one JSON answer
    /stream-N/…     a stream of N text events, sent at once
    /hold/…         a stream that sends its first event and then waits until the client goes
    /tools-N/…      a call of the tool `search`, until the request holds N results; then the plain answer

    python benchmarks/server.py            prints "READY <port>"; ends when its standard input closes
"""

from __future__ import annotations

import asyncio
import sys
from functools import lru_cache
from itertools import cycle, islice
from typing import Any

import msgspec
from wire_answers import WIRES

encode = msgspec.json.encode
WORDS = ("A ", "wire ", "format ", "is ", "how ", "data ", "travels, ", "and ", "so ", "on, ")
"""What streams say, over and over: a stream of one word only is taken for a fault by some clients."""


ARGUMENTS = {"query": "a page of the archive, please"}


def openai_answer(call: int | None = None) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": "A wire format is how data travels."}
    if call is not None:
        function = {"name": "search", "arguments": encode(ARGUMENTS).decode()}
        message |= {"content": None, "tool_calls": [{"id": f"call_{call}", "type": "function", "function": function}]}
    reason = "stop" if call is None else "tool_calls"
    return encode(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1796000000,
            "model": "bench",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29},
        }
    )


def anthropic_answer(call: int | None = None) -> bytes:
    content: dict[str, object] = {"type": "text", "text": "A wire format is how data travels."}
    if call is not None:
        content = {"type": "tool_use", "id": f"toolu_{call}", "name": "search", "input": ARGUMENTS}
    return encode(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "bench",
            "content": [content],
            "stop_reason": "end_turn" if call is None else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 20, "output_tokens": 9},
        }
    )


def openai_chunk(delta: object, finish: str | None = None) -> bytes:
    return encode(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1796000000,
            "model": "bench",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
    )


@lru_cache(maxsize=16)
def openai_stream(events: int) -> list[bytes]:
    frames = [openai_chunk({"role": "assistant", "content": ""})]
    frames += islice(cycle([openai_chunk({"content": word}) for word in WORDS]), events)
    frames.append(openai_chunk({}, "stop"))
    usage = {"prompt_tokens": 20, "completion_tokens": events, "total_tokens": 20 + events}
    frames.append(
        encode(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion.chunk",
                "created": 1796000000,
                "model": "bench",
                "choices": [],
                "usage": usage,
            }
        )
    )
    frames.append(b"[DONE]")
    return [b"data: " + frame + b"\n\n" for frame in frames]


@lru_cache(maxsize=16)
def anthropic_stream(events: int) -> list[bytes]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 1},
    }
    bodies: list[dict[str, object]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
            for word in islice(cycle(WORDS), events)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": events},
        },
        {"type": "message_stop"},
    ]
    return [b"event: " + str(body["type"]).encode() + b"\ndata: " + encode(body) + b"\n\n" for body in bodies]


def chunked(data: bytes) -> bytes:
    return b"%x\r\n" % len(data) + data + b"\r\n"


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def pieces(data: bytes) -> bytes:
    """Cut as a busy network does: pieces of a few kilobytes, at no border of the events."""
    return b"".join(chunked(data[start : start + 4096]) for start in range(0, len(data), 4096)) + b"0\r\n\r\n"


def whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@lru_cache(maxsize=32)
def other_answer(kind: str, end: str) -> bytes:
    """The answer on one of the wires of `wire_answers`."""
    if kind == "plain":
        return whole(WIRES[end](None))
    return STREAM_HEAD + pieces(WIRES[end](islice(cycle(WORDS), int(kind.removeprefix("stream-")))))


@lru_cache(maxsize=128)
def answer(kind: str, anthropic: bool, call: int | None = None) -> bytes:
    """The whole answer to a request, as bytes; for `hold` only its beginning."""
    if kind == "plain":
        body = anthropic_answer(call) if anthropic else openai_answer(call)
        return whole(body)
    frames = anthropic_stream if anthropic else openai_stream
    if kind == "hold":
        return STREAM_HEAD + chunked(b"".join(frames(1)[: 3 if anthropic else 2]))
    return STREAM_HEAD + pieces(b"".join(frames(int(kind.removeprefix("stream-")))))


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            head, separator, rest = self.buffer.partition(b"\r\n\r\n")
            if not separator:
                return
            length = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            path = head.split(b" ", 2)[1].partition(b"?")[0].decode()
            kind, anthropic, call = path.split("/")[1], path.endswith("/messages"), None
            if kind.startswith("tools-"):
                results = rest[:length].count(b'"tool_result"' if anthropic else b'"tool_call_id"')
                kind, call = "plain", results if results < int(kind.removeprefix("tools-")) else None
            assert self.transport is not None
            if (end := next((end for end in WIRES if path.endswith(end)), None)) is not None:
                self.transport.write(other_answer(kind, end))
                continue
            self.transport.write(answer(kind, anthropic, call))


async def main() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(f"READY {server.sockets[0].getsockname()[1]}", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
