"""The SDK `anthropic`."""

from __future__ import annotations

import asyncio
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from openai_shaped import Closing
from workload import MODELS, TOOLS, openai_messages, openai_to_anthropic, search


def arguments(messages: int, *, tools: bool = False) -> dict[str, Any]:
    offered = TOOLS if tools or messages > 2 else []
    body = {"model": MODELS["anthropic"], "messages": openai_messages(messages), "tools": offered, "max_tokens": 1024}
    # The SDK has no parameter of that name any more.
    return {**openai_to_anthropic(body), "extra_body": {"temperature": 0.2}}


class Peer:
    """One side of a comparison: see `polywire_side` for the interface."""

    def __init__(self, base: str) -> None:
        self.base = base

    def _client(self, kind: str) -> Any:
        return Anthropic(api_key="k", base_url=f"{self.base}/{kind}")

    def _async_client(self, kind: str) -> Any:
        return AsyncAnthropic(api_key="k", base_url=f"{self.base}/{kind}")

    def call(self, messages: int) -> Any:
        create, given = self._client("plain").messages.create, arguments(messages)
        return lambda: create(**given).content[0].text

    def acall(self, messages: int) -> Any:
        create, given = self._async_client("plain").messages.create, arguments(messages)

        async def once() -> str:
            return (await create(**given)).content[0].text  # type: ignore[no-any-return]

        return once

    def stream(self, events: int) -> Any:
        create, given = self._client(f"stream-{events}").messages.create, arguments(2)

        def once() -> int:
            count = 0
            for event in create(**given, stream=True):
                if event.type == "content_block_delta" and event.delta.text:
                    count += 1
            return count

        return once

    def astream(self, events: int) -> Any:
        create, given = self._async_client(f"stream-{events}").messages.create, arguments(2)

        async def once() -> int:
            count = 0
            async for event in await create(**given, stream=True):
                if event.type == "content_block_delta" and event.delta.text:
                    count += 1
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        create, given = self._async_client("hold").messages.create, arguments(2)
        held: list[Any] = []

        async def open_one() -> None:
            stream = await create(**given, stream=True)
            events = aiter(stream)
            await anext(events)
            held.append((Closing(stream), events))

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [create, held]

    def tool_loop(self, rounds: int) -> Any:
        create, given = self._client(f"tools-{rounds}").messages.create, arguments(2, tools=True)

        def once() -> int:
            messages: list[Any] = list(given["messages"])
            done = 0
            while True:
                answer = create(**{**given, "messages": messages})
                calls = [block for block in answer.content if block.type == "tool_use"]
                if not calls:
                    return done
                messages.append({"role": "assistant", "content": answer.content})
                results = [
                    {"type": "tool_result", "tool_use_id": call.id, "content": search(**call.input)} for call in calls
                ]
                messages.append({"role": "user", "content": results})
                done += len(calls)

        return once
