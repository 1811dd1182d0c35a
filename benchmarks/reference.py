"""
The reference of every ratio: a reused plain `httpx` client, fast JSON, and a minimal hand-written SSE loop.

It does the work that must be done and nothing else: no errors, no retries, no odd servers.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import msgspec
from workload import TOOLS, openai_messages, openai_to_anthropic, search

encode = msgspec.json.encode
decode = msgspec.json.decode
HEADERS = {"content-type": "application/json", "authorization": "Bearer k"}


def body(messages: int, *, stream: bool) -> dict[str, Any]:
    payload: dict[str, Any] = {"model": "bench", "messages": openai_messages(messages), "temperature": 0.2}
    if messages > 2:
        payload["tools"] = TOOLS
    if stream:
        payload |= {"stream": True, "stream_options": {"include_usage": True}}
    return payload


class Reference:
    """One side of a comparison: see `polywire_side` for the other."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.client = httpx.Client(timeout=60)

    def call(self, messages: int) -> Any:
        payload = body(messages, stream=False)

        def once() -> str:
            response = self.client.post(
                f"{self.base}/plain/v1/chat/completions", content=encode(payload), headers=HEADERS
            )
            return decode(response.content)["choices"][0]["message"]["content"]  # type: ignore[no-any-return]

        return once

    def acall(self, messages: int) -> Any:
        payload = body(messages, stream=False)
        client = httpx.AsyncClient(timeout=60)

        async def once() -> str:
            response = await client.post(
                f"{self.base}/plain/v1/chat/completions", content=encode(payload), headers=HEADERS
            )
            return decode(response.content)["choices"][0]["message"]["content"]  # type: ignore[no-any-return]

        return once

    def tool_loop(self, rounds: int) -> Any:
        url = f"{self.base}/tools-{rounds}/v1/chat/completions"

        def once() -> int:
            payload = body(2, stream=False) | {"tools": TOOLS}
            history, done = payload["messages"], 0
            while True:
                response = self.client.post(url, content=encode(payload), headers=HEADERS)
                message = decode(response.content)["choices"][0]["message"]
                history.append(message)
                if not message.get("tool_calls"):
                    assert done == rounds
                    return done
                for call in message["tool_calls"]:
                    result = search(**decode(call["function"]["arguments"]))
                    history.append({"role": "tool", "tool_call_id": call["id"], "content": result})
                    done += 1

        return once

    def convert(self, messages: int) -> Any:
        payload = {**body(messages, stream=False), "max_tokens": 1024}
        return lambda: openai_to_anthropic(payload)

    def stream(self, events: int) -> Any:
        payload = body(2, stream=True)

        def once() -> int:
            count, texts = 0, []
            with self.client.stream(
                "POST", f"{self.base}/stream-{events}/v1/chat/completions", content=encode(payload), headers=HEADERS
            ) as response:
                rest = b""
                for chunk in response.iter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n\n")
                    for line in lines:
                        data = line[6:]
                        if data == b"[DONE]":
                            break
                        choices = decode(data)["choices"]
                        if choices and (text := choices[0]["delta"].get("content")):
                            count += 1
                            texts.append(text)
            "".join(texts)
            return count

        return once

    def astream(self, events: int) -> Any:
        payload = body(2, stream=True)
        client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))

        async def once() -> int:
            count, texts = 0, []
            async with client.stream(
                "POST", f"{self.base}/stream-{events}/v1/chat/completions", content=encode(payload), headers=HEADERS
            ) as response:
                rest = b""
                async for chunk in response.aiter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n\n")
                    for line in lines:
                        data = line[6:]
                        if data == b"[DONE]":
                            break
                        choices = decode(data)["choices"]
                        if choices and (text := choices[0]["delta"].get("content")):
                            count += 1
                            texts.append(text)
            "".join(texts)
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))
        payload = encode(body(2, stream=True))
        held: list[Any] = []

        async def open_one() -> None:
            request = client.build_request(
                "POST", f"{self.base}/hold/v1/chat/completions", content=payload, headers=HEADERS
            )
            response = await client.send(request, stream=True)
            chunks = response.aiter_bytes()
            await anext(chunks)
            held.append((response, chunks))

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [client, held]
