"""Demands of single services that are no media: ranges, thinking in plain calls, turns, tags, addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.contents import ThinkingContent
from polywire.messages import AiMessage, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning, ToolChoice
from polywire.requests import ChatRequest
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS
from polywire_openai import OpenAIChatCodec

Send = Callable[..., Any]
TOOLS = (ToolSpecification("get_time"), ToolSpecification("now"))
HERE = Origin("openai")


@pytest.mark.parametrize(
    ("name", "given", "written"),
    [
        ("temperature", 0.0, 0.01),
        ("temperature", 1.0, 0.99),
        ("temperature", 0.5, 0.5),
        ("top_p", 1.0, 0.99),
        ("top_p", 0.0, 0.01),
    ],
)
def test_zhipus_numbers_stay_between_0_and_1(send: Send, name: str, given: float, written: float) -> None:
    sent = send("zhipu", **{name: given})

    assert sent.body[name] == written
    assert sent.told("approximated", name) is (given != written)


class TestWhileThinking:
    def test_deepseek_ignores_sampling_and_that_is_told(self, send: Send) -> None:
        asked = {"temperature": 0.5, "top_p": 0.5, "presence_penalty": 0.1, "stop_sequences": ("x",)}

        thinking = send("deepseek", reasoning=Reasoning("high"), **asked)
        silent = send("deepseek", reasoning=Reasoning("none"), **asked)

        assert {"temperature", "top_p", "presence_penalty"}.isdisjoint(thinking.body)
        assert thinking.body["stop"] == ["x"]
        assert thinking.told("dropped", "temperature")
        assert silent.body["temperature"] == 0.5
        assert not silent.notices

    @pytest.mark.parametrize(
        ("reasoning", "choice"),
        [
            (Reasoning("high"), "auto"),
            (Reasoning(budget_tokens=100), "auto"),
            (Reasoning("none"), {"type": "function", "function": {"name": "now"}}),
            (None, {"type": "function", "function": {"name": "now"}}),
        ],
    )
    def test_a_thinking_qwen_cannot_be_made_to_call(self, send: Send, reasoning: Reasoning | None, choice: Any) -> None:
        sent = send("qwen", tools=TOOLS, tool_choice=ToolChoice.tool("now"), reasoning=reasoning)

        assert sent.body["tool_choice"] == choice
        assert sent.told("approximated", "tool_choice") is (choice == "auto")
        if choice == "auto":
            assert [tool["function"]["name"] for tool in sent.body["tools"]] == ["now"]


@pytest.mark.parametrize(
    ("model", "stream", "reasoning", "written"),
    [
        ("qwen3-32b", False, None, False),
        ("qwen3-32b", False, Reasoning("high"), False),
        ("qwen3-32b", False, Reasoning("none"), False),
        ("qwen3-32b", True, Reasoning("high"), True),
        ("qwen3-32b", True, None, None),
        ("qwen3-235b-a22b-thinking-2507", False, None, None),
        ("qwen3-30b-a3b-instruct-2507", False, None, None),
        ("qwen-plus", False, Reasoning("high"), True),
    ],
)
def test_open_qwen_models_think_in_streams_alone(
    model: str, stream: bool, reasoning: Reasoning | None, written: bool | None
) -> None:
    codec = OpenAIChatCodec(ROWS["qwen"].profiles())

    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model=model, reasoning=reasoning)), stream=stream)

    assert json.loads(encoded.http.body).get("enable_thinking") is written
    asked = reasoning is not None and reasoning.effort == "none"
    switched = model == "qwen3-32b" and not stream and not asked
    assert ("approximated" in {notice.kind for notice in encoded.notices if "streams" in notice.message}) is switched


def test_a_budget_below_what_fireworks_takes_is_raised(send: Send) -> None:
    sent = send("fireworks", reasoning=Reasoning(budget_tokens=100))

    assert sent.body["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert sent.told("approximated", "reasoning")


@pytest.mark.parametrize("name", ["groq", "vllm"])
def test_thinking_may_be_hidden(send: Send, name: str) -> None:
    sent = send(name, reasoning=Reasoning("high", visible=False))

    assert (sent.body["reasoning_effort"], sent.body["include_reasoning"]) == ("high", False)
    assert not sent.notices


class TestTheUserAfterATool:
    HISTORY = (
        UserMessage("q"),
        AiMessage(ToolCall("D681PevKs", "now"), HERE),
        ToolResultMessage("D681PevKs", "now", "noon"),
        UserMessage("stop"),
    )

    def test_mistral_hears_a_word_of_the_models_between(self, send: Send) -> None:
        sent = send("mistral", self.HISTORY, tools=TOOLS)

        assert [message["role"] for message in sent.body["messages"]] == [
            "user", "assistant", "tool", "assistant", "user"
        ]  # fmt: skip
        assert sent.told("approximated", "messages[3]")

    def test_newer_models_need_none(self, send: Send) -> None:
        row = ROWS["mistral"]
        profiles = row.profiles().overridden({"quirks": {"user_after_tool": True}})
        request = ChatRequest(self.HISTORY, ChatRequestParameters(model="m", tools=TOOLS))

        encoded = OpenAIChatCodec(profiles).encode(request, stream=False)

        assert [message["role"] for message in json.loads(encoded.http.body)["messages"]][-2:] == ["tool", "user"]

    def test_nobody_else_hears_one(self, send: Send) -> None:
        assert [message["role"] for message in send("groq", self.HISTORY, tools=TOOLS).body["messages"]][-2:] == [
            "tool", "user"
        ]  # fmt: skip


@pytest.mark.parametrize(("name", "follows"), [("lm-studio", True), ("together", True), ("vllm", False)])
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_thinking_goes_back_as_it_came_where_a_service_has_two_names_for_it(
    send: Send, name: str, follows: bool, field: str
) -> None:
    thought = ThinkingContent("Hm.", extras={"openai": {"field": field}})
    history = [
        UserMessage("q"),
        AiMessage([thought, ToolCall("c1", "now")], HERE),
        ToolResultMessage("c1", "now", "noon"),
    ]

    message = send(name, history, tools=TOOLS).body["messages"][1]

    assert message[field if follows else "reasoning"] == "Hm."


# Tags: what servers leave in the text where they have no parser for the model's thinking

TAGGED = "<think>\nLet me see.\n</think>\n\nNoon."
WITH_TAGS = [name for name in ROWS if name != "azure-openai"]


def chunk(text: str) -> bytes:
    piece = {"choices": [{"index": 0, "delta": {"content": text}}], "id": "c1", "object": "chat.completion.chunk"}
    return b"data: " + json.dumps(piece).encode() + b"\n\n"


@pytest.mark.parametrize("name", WITH_TAGS)
@pytest.mark.parametrize(
    ("text", "thinking", "said"),
    [(TAGGED, "Let me see.", "Noon."), ("Noon. <think>x</think>", None, "Noon. <think>x</think>")],
)
def test_thinking_between_tags_is_read_at_the_beginning_alone(
    name: str, text: str, thinking: str | None, said: str
) -> None:
    codec = OpenAIChatCodec(ROWS[name].profiles())
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=True)
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    plain = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}

    whole = codec.decode(HttpResponse(200, Headers(), json.dumps(plain).encode()), encoded)
    assert (whole.thinking, whole.text) == (thinking, said)

    for at in range(len(text) + 1):
        response = read(codec, encoded, [chunk(piece) for piece in (text[:at], text[at:]) if piece] + [end])
        assert (response.thinking, response.text) == (thinking, said)


def read(codec: OpenAIChatCodec, encoded: Any, pieces: list[bytes]) -> Any:
    from polywire.events import ResponseCollector

    framing, decoder, collector = encoded.framing(), codec.stream_decoder(encoded), ResponseCollector()
    for piece in pieces:
        for frame in framing.feed(piece):
            collector.add_all(decoder.feed(frame))
    for frame in framing.finish():
        collector.add_all(decoder.feed(frame))
    collector.add_all(decoder.finish())
    return collector.response()


# Addresses


@pytest.mark.parametrize("base_url", ["https://api.deepseek.com/beta", "https://api.deepseek.com/beta/"])
def test_deepseeks_tools_are_strict_at_its_beta_address(send: Send, base_url: str) -> None:
    tool = ToolSpecification("now", None, {"type": "object", "properties": {"tz": {"type": "string"}}}, strict=True)

    sent = send("deepseek", settings={"base_url": base_url}, tools=(tool,))
    usual = send("deepseek", tools=(tool,))

    assert sent.body["tools"][0]["function"]["strict"] is True
    assert sent.body["tools"][0]["function"]["parameters"]["additionalProperties"] is False
    assert "strict" not in usual.body["tools"][0]["function"]
    assert usual.told("dropped", "tools.now")


@pytest.mark.parametrize(
    ("name", "base_url", "url"),
    [
        ("qwen", "https://ws1.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1", "/compatible-mode/v1/chat/completions"),
        ("zhipu", "https://open.bigmodel.cn/api/paas/v4", "/api/paas/v4/chat/completions"),
        ("zhipu", "https://api.z.ai/api/coding/paas/v4", "/api/coding/paas/v4/chat/completions"),
        ("moonshot", "https://api.moonshot.cn/v1", "/v1/chat/completions"),
        ("ollama-compatible", "https://ollama.com/v1", "/v1/chat/completions"),
        ("together", "https://api.together.xyz/v1", "/v1/chat/completions"),
    ],
)  # fmt: skip
def test_a_services_other_addresses_are_base_urls(send: Send, name: str, base_url: str, url: str) -> None:
    assert send(name, settings={"base_url": base_url}).url.endswith(url)


def test_openrouter_hears_who_calls(send: Send) -> None:
    headers = {"HTTP-Referer": "https://example.com", "X-OpenRouter-Title": "Example"}

    sent = send("openrouter", settings={"headers": headers})

    assert sent.headers["http-referer"] == "https://example.com"
    assert sent.headers["x-openrouter-title"] == "Example"
