"""
Each wire against a minimal reader of its own bytes: a plain call and a streamed event.

    python benchmarks/wires.py                       ten rounds, as a table
    python benchmarks/wires.py --rounds 20 --wires gemini,ollama --write

The reader is a reused plain `httpx` client with fast JSON and a few lines that take the text out of each event, and
nothing else. Both sides read the same bytes, in turn, in one process; figures are its CPU. The ratios are medians over the
rounds, and in brackets those of the minima.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
from harness import cores, put, serving, told

from polywire import LlmFactory

decode = msgspec.json.decode
EVENTS = 5000
CALLS = 150


class Reader:
    """The minimal reader of one wire."""

    def __init__(
        self,
        path: str,
        text_of_answer: Callable[[Any], str],
        text_of_event: Callable[[Any], str | None],
        *,
        head: bytes = b"data: ",
        end: bytes = b"\n\n",
        stream_path: str = "",
    ) -> None:
        self.path, self.stream_path = path, stream_path or path
        self.text_of_answer, self.text_of_event = text_of_answer, text_of_event
        self.head, self.end = head, end

    def call(self, client: httpx.Client, base: str) -> Callable[[], Any]:
        url, text_of_answer = f"{base}/plain{self.path}", self.text_of_answer
        payload = {"model": "bench", "messages": [{"role": "user", "content": "What is a wire format?"}]}
        headers = {"content-type": "application/json", "authorization": "Bearer k"}

        def once() -> str:
            response = client.post(url, content=msgspec.json.encode(payload), headers=headers)
            return text_of_answer(decode(response.content))

        return once

    def stream(self, client: httpx.Client, base: str) -> Callable[[], Any]:
        url, text_of_event = f"{base}/stream-{EVENTS}{self.stream_path}", self.text_of_event
        head, end, skip = self.head, self.end, len(self.head)

        def once() -> int:
            texts = []
            with client.stream("POST", url, content=b"{}") as response:
                rest = b""
                for chunk in response.iter_bytes():
                    *frames, rest = (rest + chunk).split(end)
                    for frame in frames:
                        data = frame[skip:] if frame.startswith(head) else frame.partition(b"\ndata: ")[2]
                        if data != b"[DONE]" and (text := text_of_event(decode(data))):
                            texts.append(text)
            "".join(texts)
            return len(texts)

        return once


def chat_delta(event: Any) -> str | None:
    choices = event["choices"]
    return choices[0]["delta"].get("content") if choices else None


READERS = {
    "openai": Reader("/v1/chat/completions", lambda answer: answer["choices"][0]["message"]["content"], chat_delta),
    "openai-responses": Reader(
        "/v1/responses",
        lambda answer: answer["output"][0]["content"][0]["text"],
        lambda event: event["delta"] if event["type"] == "response.output_text.delta" else None,
        head=b"event: response.output_text.delta\ndata: ",
    ),
    "anthropic": Reader(
        "/v1/messages",
        lambda answer: answer["content"][0]["text"],
        lambda event: event["delta"]["text"] if event["type"] == "content_block_delta" else None,
        head=b"event: content_block_delta\ndata: ",
    ),
    "gemini": Reader(
        "/v1beta/models/bench:generateContent",
        lambda answer: answer["candidates"][0]["content"]["parts"][0]["text"],
        lambda event: event["candidates"][0]["content"]["parts"][0]["text"],
        end=b"\r\n\r\n",
        stream_path="/v1beta/models/bench:streamGenerateContent?alt=sse",
    ),
    "ollama": Reader(
        "/api/chat",
        lambda answer: answer["message"]["content"],
        lambda event: event["message"]["content"],
        head=b"",
        end=b"\n",
    ),
}
VERSIONS = {"openai": "/v1", "openai-responses": "/v1", "gemini": "/v1beta"}


def model(base: str, kind: str, provider: str) -> Any:
    return LlmFactory.from_config(
        {
            "default_model": "bench",
            "providers": {provider: {"api_key": "k", "base_url": f"{base}/{kind}{VERSIONS.get(provider, '')}"}},
            "models": {"bench": {"provider": provider, "model": "bench"}},
        }
    ).streaming_chat_model()


def calls(base: str, provider: str) -> Callable[[], Any]:
    one = model(base, "plain", provider)
    return lambda: one.chat("What is a wire format?").text


def streams(base: str, provider: str) -> Callable[[], Any]:
    one = model(base, f"stream-{EVENTS}", provider)

    def once() -> int:
        for _ in (stream := one.stream("What is a wire format?")):
            pass
        assert stream.response.text
        return EVENTS

    return once


def cpu(work: Callable[[], Any], times: int, pieces: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times / pieces


def measured(base: str, wire: str, rounds: int) -> list[str]:
    """The cells of one wire."""
    reader, client, cells = READERS[wire], httpx.Client(timeout=60), []
    for minimal, own, times, pieces in (
        (reader.call(client, base), calls(base, wire), CALLS, 1),
        (reader.stream(client, base), streams(base, wire), 1, EVENTS),
    ):
        assert minimal(), own()
        own()
        theirs, ours = [], []
        for _ in range(rounds):
            theirs.append(cpu(minimal, times, pieces))
            ours.append(cpu(own, times, pieces))
        ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
        cells.append(f"{statistics.median(theirs) * 1e6:.4g} ({min(theirs) * 1e6:.4g})")
        cells.append(f"{ratio:.2f} ({min(ours) / min(theirs):.2f})")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--wires", default=",".join(READERS))
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    client, server = cores()
    if client is not None:
        os.sched_setaffinity(0, {client})
    lines = [
        "| wire | plain call: its reader, µs CPU | polywire | streamed event: its reader, µs CPU | polywire |",
        "|---|---|---|---|---|",
    ]
    with serving(server) as base:
        for wire in options.wires.split(","):
            lines.append(f"| {wire} | " + " | ".join(measured(base, wire, options.rounds)) + " |")
            print(f"{wire} done", file=sys.stderr, flush=True)
    text = "\n".join(lines)
    print(text)
    if options.write:
        put("wires", f"{told(options.rounds)}:\n\n{text}")


if __name__ == "__main__":
    main()
