"""The same work through polywire, as an application does it: a settings dict, the factory, a model by name."""

from __future__ import annotations

import asyncio
from typing import Any

from workload import TOOLS, openai_messages, search, tool_specifications, values

from polywire import ChatRequest, ChatRequestParameters, LlmFactory, convert
from polywire.tools import ToolService


def settings(base: str, kind: str, provider: str = "openai", transport: str = "httpx", **model: Any) -> dict[str, Any]:
    """Settings for one model whose answers the benchmark server makes."""
    suffix = "" if provider == "anthropic" else "/v1"
    return {
        "default_model": "bench",
        "providers": {provider: {"api_key": "k", "base_url": f"{base}/{kind}{suffix}", "transport": transport}},
        "models": {"bench": {"provider": provider, "model": "bench", "temperature": 0.2, **model}},
    }


class Polywire:
    """One side of a comparison: see `reference` for the other."""

    provider = "openai"

    def __init__(self, base: str, **model: Any) -> None:
        self.base = base
        self.model_settings = model

    def _model(self, kind: str) -> Any:
        config = settings(self.base, kind, self.provider, **self.model_settings)
        return LlmFactory.from_config(config).streaming_chat_model()

    def _request(self, messages: int) -> ChatRequest:
        tools = tool_specifications() if messages > 2 else None
        return ChatRequest(values(messages), ChatRequestParameters(tools=tools))

    def call(self, messages: int) -> Any:
        model, request = self._model("plain"), self._request(messages)
        return lambda: model.chat(request).text

    def acall(self, messages: int) -> Any:
        model, request = self._model("plain"), self._request(messages)

        async def once() -> str:
            return (await model.achat(request)).text  # type: ignore[no-any-return]

        return once

    def tool_loop(self, rounds: int) -> Any:
        model, request, service = self._model(f"tools-{rounds}"), self._request(2), ToolService([search])

        def once() -> int:
            result = service.chat(model, request)
            assert len(result.executions) == rounds
            return rounds

        return once

    def convert(self, messages: int) -> Any:
        payload = {"model": "bench", "messages": openai_messages(messages), "tools": TOOLS, "max_tokens": 1024}
        return lambda: convert(payload, source="openai", target="anthropic").payload

    def stream(self, events: int) -> Any:
        model, request = self._model(f"stream-{events}"), self._request(2)

        def once() -> int:
            return sum(1 for _ in model.stream(request))

        return once

    def astream(self, events: int) -> Any:
        model, request = self._model(f"stream-{events}"), self._request(2)

        async def once() -> int:
            count = 0
            async for _ in model.astream(request):
                count += 1
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        model, request = self._model("hold"), self._request(2)
        held: list[Any] = []

        async def open_one() -> None:
            stream = model.astream(request)
            await anext(stream)
            held.append(stream)

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [model, held]


class PolywireAnthropic(Polywire):
    """The same through the other wire."""

    provider = "anthropic"


class PolywireAiohttp:
    """The same with async calls over aiohttp. Sync calls go over httpx as ever, so they are not measured again."""

    def __init__(self, base: str) -> None:
        side = Polywire(base, transport="aiohttp")
        self.acall, self.astream, self.hold = side.acall, side.astream, side.hold
