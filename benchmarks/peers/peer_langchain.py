"""LangChain: `langchain-openai` and `langchain-anthropic`."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import ToolMessage, convert_to_messages
from workload import MODELS, TOOLS, openai_messages, search


class Peer:
    """One side of a comparison: see `polywire_side` for the interface."""

    def __init__(self, base: str) -> None:
        self.base = base

    def _model(self, kind: str, *, tools: bool = False) -> Any:
        made = self._made(kind)
        return made.bind_tools(TOOLS) if tools else made

    def _made(self, kind: str) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model=MODELS["openai"], temperature=0.2, api_key="k", base_url=f"{self.base}/{kind}/v1")

    def call(self, messages: int) -> Any:
        model, history = self._model("plain", tools=messages > 2), convert_to_messages(openai_messages(messages))
        return lambda: model.invoke(history).text

    def acall(self, messages: int) -> Any:
        model, history = self._model("plain", tools=messages > 2), convert_to_messages(openai_messages(messages))

        async def once() -> str:
            return (await model.ainvoke(history)).text  # type: ignore[no-any-return]

        return once

    def stream(self, events: int) -> Any:
        model, history = self._model(f"stream-{events}"), convert_to_messages(openai_messages(2))
        return lambda: sum(1 for chunk in model.stream(history) if chunk.text)

    def astream(self, events: int) -> Any:
        model, history = self._model(f"stream-{events}"), convert_to_messages(openai_messages(2))

        async def once() -> int:
            count = 0
            async for chunk in model.astream(history):
                if chunk.text:
                    count += 1
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        model, history = self._model("hold"), convert_to_messages(openai_messages(2))
        held: list[Any] = []

        async def open_one() -> None:
            stream = model.astream(history)
            await anext(stream)
            held.append(stream)

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [model, held]

    def tool_loop(self, rounds: int) -> Any:
        model = self._model(f"tools-{rounds}", tools=True)

        def once() -> int:
            messages, done = convert_to_messages(openai_messages(2)), 0
            while True:
                answer = model.invoke(messages)
                if not answer.tool_calls:
                    return done
                messages.append(answer)
                for call in answer.tool_calls:
                    messages.append(ToolMessage(search(**call["args"]), tool_call_id=call["id"]))
                    done += 1

        return once

    def convert(self, messages: int) -> Any:
        from langchain_anthropic.chat_models import _format_messages, convert_to_anthropic_tool

        history = openai_messages(messages)

        def once() -> Any:
            tools = [convert_to_anthropic_tool(each) for each in TOOLS]
            return _format_messages(convert_to_messages(history), model=MODELS["anthropic"]), tools

        return once


class PeerOnAnthropic(Peer):
    def _made(self, kind: str) -> Any:
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model=MODELS["anthropic"], temperature=0.2, max_tokens=1024, api_key="k", base_url=f"{self.base}/{kind}"
        )
