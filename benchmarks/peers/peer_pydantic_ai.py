"""The model layer of pydantic-ai: its models, called directly."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from pydantic_ai import ModelRequest, ModelResponse, ToolDefinition
from pydantic_ai.direct import model_request, model_request_stream, model_request_stream_sync, model_request_sync
from pydantic_ai.messages import SystemPromptPart, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from workload import MODELS, TOOLS, openai_messages, search

TOOL_DEFINITIONS = [
    ToolDefinition(
        name=each["function"]["name"],  # type: ignore[index]
        description=each["function"]["description"],  # type: ignore[index]
        parameters_json_schema=each["function"]["parameters"],  # type: ignore[index]
    )
    for each in TOOLS
]


def history_of(count: int) -> list[Any]:
    """The workload's conversation in its messages."""
    made: list[Any] = []
    for message in openai_messages(count):
        match message["role"]:
            case "system":
                made.append(ModelRequest(parts=[SystemPromptPart(message["content"])]))
            case "user":
                made[-1].parts.append(UserPromptPart(message["content"]))
            case "assistant":
                call = message["tool_calls"][0]
                part = ToolCallPart(call["function"]["name"], call["function"]["arguments"], tool_call_id=call["id"])
                made.append(ModelResponse(parts=[part]))
            case _:
                result = ToolReturnPart("search", message["content"], tool_call_id=message["tool_call_id"])
                made.append(ModelRequest(parts=[result]))
    return made


def parameters(*, tools: bool) -> Any:
    return ModelRequestParameters(function_tools=TOOL_DEFINITIONS if tools else [])


class Peer:
    """One side of a comparison: see `polywire_side` for the interface."""

    def __init__(self, base: str) -> None:
        self.base = base

    def _model(self, kind: str) -> Any:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        provider = OpenAIProvider(base_url=f"{self.base}/{kind}/v1", api_key="k")
        return OpenAIChatModel(MODELS["openai"], provider=provider, settings={"temperature": 0.2})

    def call(self, messages: int) -> Any:
        model, history, wanted = self._model("plain"), history_of(messages), parameters(tools=messages > 2)
        return lambda: model_request_sync(model, history, model_request_parameters=wanted).text

    def acall(self, messages: int) -> Any:
        model, history, wanted = self._model("plain"), history_of(messages), parameters(tools=messages > 2)

        async def once() -> Any:
            return (await model_request(model, history, model_request_parameters=wanted)).text

        return once

    def stream(self, events: int) -> Any:
        model, history = self._model(f"stream-{events}"), history_of(2)

        def once() -> int:
            with model_request_stream_sync(model, history) as stream:
                return sum(1 for _ in stream)

        return once

    def astream(self, events: int) -> Any:
        model, history = self._model(f"stream-{events}"), history_of(2)

        async def once() -> int:
            count = 0
            async with model_request_stream(model, history) as stream:
                async for _ in stream:
                    count += 1
            return count

        return once

    async def hold(self, streams: int) -> list[Any]:
        model, history = self._model("hold"), history_of(2)
        held: list[Any] = []

        async def open_one() -> None:
            stack = AsyncExitStack()
            stream = await stack.enter_async_context(model_request_stream(model, history))
            events = aiter(stream)
            await anext(events)
            held.append((stack, events))

        await asyncio.gather(*(open_one() for _ in range(streams)))
        return [model, held]

    def tool_loop(self, rounds: int) -> Any:
        model, wanted = self._model(f"tools-{rounds}"), parameters(tools=True)

        def once() -> int:
            messages, done = history_of(2), 0
            while True:
                answer = model_request_sync(model, messages, model_request_parameters=wanted)
                calls = answer.tool_calls
                if not calls:
                    assert isinstance(answer.parts[0], TextPart)
                    return done
                results = [
                    ToolReturnPart(call.tool_name, search(**call.args_as_dict()), tool_call_id=call.tool_call_id)
                    for call in calls
                ]
                messages += [answer, ModelRequest(parts=results)]
                done += len(calls)

        return once

    def convert(self, messages: int) -> Any:
        """From its own messages: it reads no other wire's."""
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        model = AnthropicModel(MODELS["anthropic"], provider=AnthropicProvider(api_key="k"))
        history, wanted = history_of(messages), parameters(tools=True)

        def once() -> Any:
            work = model._map_message(history, wanted, {})
            try:
                work.send(None)
            except StopIteration as done:
                return done.value
            msg = "it waits for something"
            raise AssertionError(msg)

        return once


class PeerOnAnthropic(Peer):
    def _model(self, kind: str) -> Any:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        provider = AnthropicProvider(base_url=f"{self.base}/{kind}", api_key="k")
        return AnthropicModel(MODELS["anthropic"], provider=provider, settings={"temperature": 0.2, "max_tokens": 1024})
