"""The same program on a model in this process and on a server over HTTP: only the settings differ."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywire import ChatResponse, LlmFactory, StreamingChatResponseHandler, ToolResultMessage, UserMessage, tool
from polywire.responses import FinishReason

pytestmark = pytest.mark.real_llama

QUESTION = "Say in one sentence what a translator does."


def settings_for(provider: str, address: str) -> dict[str, Any]:
    providers = {"local": {}, "server": {"plugin": "openai", "base_url": address}}
    return {
        "default_model": "assistant",
        "providers": {provider: providers[provider]},
        "models": {"assistant": {"provider": provider, "model": "smollm2", "temperature": 0.0, "max_tokens": 60}},
    }


@pytest.fixture(params=["local", "server"])
def settings(request: pytest.FixtureRequest, llama_server: str) -> dict[str, Any]:
    return settings_for(request.param, llama_server)


def as_toml(settings: dict[str, Any]) -> str:
    lines = [f"default_model = {json.dumps(settings['default_model'])}"]
    for group in ("providers", "models"):
        for name, table in settings[group].items():
            lines.append(f"[{group}.{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join(lines)


def from_dict(settings: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> LlmFactory:
    return LlmFactory.from_config(settings)


def from_path(settings: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> LlmFactory:
    path = folder / "mine.toml"
    path.write_text(as_toml(settings), encoding="utf-8")
    return LlmFactory.from_config(path)


def from_nothing(settings: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> LlmFactory:
    (folder / "settings.toml").write_text(as_toml(settings), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("POLYWIRE_SETTINGS", raising=False)
    return LlmFactory.from_config()


@pytest.mark.parametrize("factory_from", [from_dict, from_path, from_nothing])
def test_the_settings_decide(
    factory_from: Callable[..., LlmFactory],
    settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with factory_from(settings, tmp_path, monkeypatch) as factory:
        response = factory.chat_model().chat(QUESTION)

    assert "translat" in (response.text or "").lower()
    assert response.finish_reason is FinishReason.STOP
    assert response.usage.output_tokens


def test_sync_async_and_streamed_say_the_same(settings: dict[str, Any]) -> None:
    async def asynchronously() -> tuple[ChatResponse, ChatResponse]:
        async with LlmFactory.from_config(settings) as factory:
            model = factory.streaming_chat_model()
            return await model.achat(QUESTION), await model.astream(QUESTION).collect()

    with LlmFactory.from_config(settings) as factory:
        model = factory.streaming_chat_model()
        model.chat(QUESTION)  # the prompt is in the cache from here on, for all of them alike
        plain = model.chat(QUESTION)
        with model.stream(QUESTION) as stream:
            pieces = list(stream.text_stream())
    answers = [plain, stream.response, *asyncio.run(asynchronously())]

    assert len(pieces) > 5
    assert "".join(pieces) == plain.text
    assert [answer.text for answer in answers] == [plain.text] * 4
    assert [answer.usage.output_tokens for answer in answers] == [plain.usage.output_tokens] * 4
    assert [answer.finish_reason for answer in answers] == [FinishReason.STOP] * 4


def test_a_handler_is_told(settings: dict[str, Any]) -> None:
    class Handler(StreamingChatResponseHandler):
        def __init__(self) -> None:
            self.text = ""
            self.completed: list[ChatResponse] = []

        def on_partial_response(self, text: str) -> None:
            self.text += text

        def on_complete_response(self, response: ChatResponse) -> None:
            self.completed.append(response)

    handler = Handler()
    with LlmFactory.from_config(settings) as factory:
        factory.streaming_chat_model().stream(QUESTION).send_to(handler)

    (response,) = handler.completed
    assert handler.text == response.text


def test_the_name_of_a_model_needs_no_table(llama_server: str) -> None:
    with LlmFactory.from_config({"providers": {"local": {}}}) as factory:
        assert factory.chat_model("local:smollm2").chat(QUESTION, max_tokens=5).text


def test_a_tool_loop_is_the_same_program(settings: dict[str, Any]) -> None:
    @tool
    def get_weather(city: str) -> str:
        """Tell the weather in a city."""
        return "Sunny, 22 degrees"

    specification = get_weather.specification
    with LlmFactory.from_config(settings) as factory:
        model = factory.chat_model()
        history: list[Any] = [UserMessage("What is the weather in Rome?")]
        asked = model.chat(history, tools=[specification], max_tokens=200)
        assert asked.tool_calls
        history += [asked.message]
        history += [ToolResultMessage(call.id, call.name, get_weather("Rome")) for call in asked.tool_calls]
        told = model.chat(history, tools=[specification])

    assert {call.name for call in asked.tool_calls} == {"get_weather"}
    assert told.tool_calls == ()
    assert told.text


def test_a_stream_broken_off_leaves_the_model_free(settings: dict[str, Any]) -> None:
    with LlmFactory.from_config(settings) as factory:
        model = factory.streaming_chat_model()
        with model.stream("Tell me a very long story.", max_tokens=3000) as stream:
            next(iter(stream))

        assert model.chat(QUESTION, max_tokens=4, deadline=30).text
