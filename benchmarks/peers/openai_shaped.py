"""What the peers share that speak OpenAI's terms to every provider: a function that takes messages and returns choices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from workload import MODELS, TOOLS, openai_messages, search


class OpenAiShaped:
    """One side of a comparison: see `polywire_side` for the interface, and a peer's file for what it adds."""

    wire = "openai"

    def __init__(self, base: str) -> None:
        self.base = base

    def address(self, kind: str) -> str:
        """The base URL for one kind of answer, as the SDKs take it."""
        return f"{self.base}/{kind}/v1" if self.wire == "openai" else f"{self.base}/{kind}"

    @property
    def model(self) -> str:
        """The model's name, as the vendor has it."""
        return MODELS[self.wire]

    def sender(self, kind: str) -> Any:
        """A function of messages, tools and `stream` that returns what the peer does."""
        raise NotImplementedError

    def asender(self, kind: str) -> Any:
        """The same, asynchronous."""
        raise NotImplementedError

    def _arguments(self, messages: int) -> dict[str, Any]:
        arguments: dict[str, Any] = {"messages": openai_messages(messages), "temperature": 0.2}
        if messages > 2:
            arguments["tools"] = TOOLS
        return arguments

    def call(self, messages: int) -> Any:
        send, arguments = self.sender("plain"), self._arguments(messages)
        return lambda: send(**arguments).choices[0].message.content

    def acall(self, messages: int) -> Any:
        send, arguments = self.asender("plain"), self._arguments(messages)

        async def once() -> str:
            return (await send(**arguments)).choices[0].message.content  # type: ignore[no-any-return]

        return once

    def stream(self, events: int) -> Any:
        send, arguments = self.sender(f"stream-{events}"), self._arguments(2)

        def once() -> int:
            count = 0
            for chunk in send(**arguments, stream=True):
                if chunk.choices and chunk.choices[0].delta.content:
                    count += 1
            return count

        return once

    def astream(self, events: int) -> Any:
        send, arguments = self.asender(f"stream-{events}"), self._arguments(2)

        async def once() -> int:
            count = 0
            async for chunk in await send(**arguments, stream=True):
                if chunk.choices and chunk.choices[0].delta.content:
                    count += 1
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        send, arguments = self.asender("hold"), self._arguments(2)
        held: list[Any] = []

        async def open_one() -> None:
            stream = await send(**arguments, stream=True)
            chunks = aiter(stream)
            await anext(chunks)
            held.append((Closing(stream), chunks))

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [send, held]

    def tool_loop(self, rounds: int) -> Any:
        send = self.sender(f"tools-{rounds}")

        def once() -> int:
            messages: list[Any] = openai_messages(2)
            done = 0
            while True:
                message = send(messages=messages, tools=TOOLS, temperature=0.2).choices[0].message
                if not message.tool_calls:
                    return done
                messages.append(message)
                for call in message.tool_calls:
                    result = search(**json.loads(call.function.arguments))
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
                    done += 1

        return once


class Closing:
    """A stream under the one name by which `worker` closes it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def aclose(self) -> None:
        close = getattr(self.stream, "aclose", None) or self.stream.close
        await close()
