"""Kinds of faults that clients of these services have had, several instances each: thinking, addresses, options, tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.contents import ImageContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.events import ResponseCollector
from polywire.framing.tail import last_events
from polywire.messages import AiMessage, Message, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, ToolChoice
from polywire.requests import ChatRequest
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS
from polywire_openai import OpenAIChatCodec

Send = Callable[..., Any]
TOOLS = (ToolSpecification("w"), ToolSpecification("f"))


# Thinking that must come back on turns with calls

MUST = {
    # the rows whose vendors demand it or say that they want it, and the field it stands in
    "deepseek": "reasoning_content",
    "moonshot": "reasoning_content",
    "qwen": "reasoning_content",
    "zhipu": "reasoning_content",
    "fireworks": "reasoning_content",
    "vllm": "reasoning",
    "openrouter": "reasoning",
}


def read(name: str, message: dict[str, Any], *, pieces: int) -> AiMessage:
    """Read an answer: whole, or streamed with its thinking in so many pieces."""
    codec = OpenAIChatCodec(ROWS[name].profiles())
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=pieces > 0)
    if not pieces:
        body = {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        return codec.decode(HttpResponse(200, Headers(), json.dumps(body).encode()), encoded).message
    field = MUST[name]
    text = message[field]
    cuts = [len(text) * at // pieces for at in range(pieces + 1)]
    deltas: list[dict[str, Any]] = [{field: text[start:end], "content": None} for start, end in pairwise(cuts)]
    calls = [{"index": at, **call} for at, call in enumerate(message["tool_calls"])]
    deltas.append({"content": message["content"], "tool_calls": calls})
    chunks = [{"id": "c1", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    framing, decoder, collector = encoded.framing(), codec.stream_decoder(encoded), ResponseCollector()
    for data in [*map(json.dumps, chunks), "[DONE]"]:
        for frame in framing.feed(f"data: {data}\n\n".encode()):
            collector.add_all(decoder.feed(frame))
    collector.add_all(last_events(framing, decoder))
    return collector.response().message


@pytest.mark.parametrize("pieces", [0, 1, 3])
@pytest.mark.parametrize("content", ["", None, "I look."])
@pytest.mark.parametrize("name", MUST)
def test_thinking_comes_back_with_the_calls_it_led_to(send: Send, name: str, content: str | None, pieces: int) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "w", "arguments": "{}"}}
    said = {"role": "assistant", "content": content, MUST[name]: "need weather", "tool_calls": [call]}

    message = read(name, said, pieces=pieces)
    sent = send(name, [UserMessage("q"), message, ToolResultMessage("c1", "w", "sun")], tools=TOOLS)

    replayed = sent.body["messages"][1]
    assert replayed[MUST[name]] == "need weather"
    assert replayed["tool_calls"] == [call]
    # Only DeepSeek refuses null beside thinking; the others keep it for "nothing was said".
    assert replayed["content"] == (content or ("" if name == "deepseek" else None))


@pytest.mark.parametrize("parts", [1, 2])
def test_several_thoughts_of_one_turn_are_one_text_in_their_order(send: Send, parts: int) -> None:
    thoughts = [ThinkingContent(f"thought {number} ") for number in range(parts)]
    turn = AiMessage([*thoughts, ToolCall("c1", "w")], Origin("openai"))

    sent = send("deepseek", [UserMessage("q"), turn, ToolResultMessage("c1", "w", "sun")], tools=TOOLS)

    assert sent.body["messages"][1]["reasoning_content"] == "".join(f"thought {number} " for number in range(parts))


@pytest.mark.parametrize(
    "url", ["https://example.com/a.png", "http://example.com/b?x=1&y=%20", "https://example.com/c.jpg#frag"]
)
def test_an_address_stays_an_address_where_it_is_taken_and_is_refused_elsewhere(send: Send, url: str) -> None:
    history: list[Message] = [UserMessage(["see", ImageContent(url=url)])]

    for name in ("ollama-compatible", "lm-studio"):
        with pytest.raises(UnsupportedByModel, match="load the bytes"):
            send(name, history)
    assert send("openrouter", history).body["messages"][0]["content"][1]["image_url"]["url"] == url


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5-mini", "o3", "o4-mini", "gpt-6", "o1"])
def test_reasoning_models_have_one_name_for_the_limit_wherever_they_are(send: Send, model: str) -> None:
    azure = send("azure-openai", model=model, max_tokens=50).body
    elsewhere = send("openai-compatible", model=model, max_tokens=50).body

    for each in (azure, elsewhere):
        assert each["max_completion_tokens"] == 50
        assert "max_tokens" not in each


@pytest.mark.parametrize("name", ["deepseek", "mistral", "ollama-compatible", "zhipu", "together", "qwen"])
def test_services_that_know_only_the_old_name_get_only_that(send: Send, name: str) -> None:
    body = send(name, max_tokens=50).body

    assert body["max_tokens"] == 50
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize("name", [*ROWS])
@pytest.mark.parametrize("choice", [ToolChoice("auto"), ToolChoice("none"), ToolChoice("required")])
@pytest.mark.parametrize("tools", [None, ()])
def test_without_tools_nothing_about_tools_is_sent(send: Send, name: str, choice: ToolChoice, tools: Any) -> None:
    history = [
        UserMessage("q"),
        AiMessage(ToolCall("callaaaaa", "w"), Origin("openai")),
        ToolResultMessage("callaaaaa", "w", "sun"),
    ]

    body = send(name, history, tools=tools, tool_choice=choice, parallel_tool_calls=True).body

    assert {"tools", "tool_choice", "parallel_tool_calls"}.isdisjoint(body)
    assert body["messages"][1]["tool_calls"]
