"""
The weather example: one program, and only the settings say which model runs it. On the scripted model, on a real model in
this process, and on the same model behind both wires of a real llama.cpp server.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from polywire import LlmFactory, ToolCall, ToolService
from polywire.history import Ledger
from polywire.responses import FinishReason
from polywire.testing import ScriptedChatModel
from polywire.tools import ToolExecutionEnd

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from weather import ask, get_weather

QUESTION = "What is the weather in Hangzhou?"


def settings_for(wire: str, address: str) -> dict[str, Any]:
    providers: dict[str, dict[str, Any]] = {
        "local": {},
        "openai": {"base_url": address},
        # A local server knows the older version of the wire, and needs a key that it does not look at.
        "anthropic": {"base_url": address.removesuffix("/v1"), "api_key": "unused", "version": "2023-06-01"},
    }
    model = {"provider": wire, "model": "smollm2", "temperature": 0.0, "max_tokens": 80}
    return {"default_model": "assistant", "providers": {wire: providers[wire]}, "models": {"assistant": model}}


def check(result: Any) -> None:
    assert result.stopped == "answer"
    assert result.executions
    execution = result.executions[0]
    assert execution.call.name == "get_weather"
    assert result.responses[0].finish_reason is FinishReason.TOOL_CALLS
    assert result.text
    Ledger(result.messages).check()
    assert result.usage.output_tokens


def test_on_the_scripted_model() -> None:
    model = ScriptedChatModel(ToolCall("c1", "get_weather", {"city": "Hangzhou"}), "It is 22 °C and sunny.")

    result = ask(model, QUESTION)

    assert result.executions[0].result.text == "Weather in Hangzhou: 22 °C, sunny"
    assert result.text == "It is 22 °C and sunny."


@pytest.mark.real_llama
@pytest.mark.parametrize("wire", ["local", "openai", "anthropic"])
def test_on_a_real_model(wire: str, llama_server: str) -> None:
    with LlmFactory.from_config(settings_for(wire, llama_server)) as factory:
        check(ask(factory.chat_model(), QUESTION))


@pytest.mark.real_llama
@pytest.mark.parametrize("wire", ["local", "openai", "anthropic"])
def test_on_a_real_model_streamed_and_async(wire: str, llama_server: str) -> None:
    service = ToolService([get_weather], max_round_trips=5)

    async def main() -> Any:
        async with LlmFactory.from_config(settings_for(wire, llama_server)) as factory:
            model = factory.streaming_chat_model()
            stream = service.astream(model, QUESTION)
            seen = [event async for event in stream]
            return seen, stream.result

    seen, result = asyncio.run(main())

    check(result)
    assert any(isinstance(event, ToolExecutionEnd) for event in seen)
