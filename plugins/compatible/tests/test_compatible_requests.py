"""What is sent to each service: where, with which key, and every field in which it differs from OpenAI's own wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywire.codec import Frame, Headers, HttpResponse
from polywire.contents import CacheMark, DocumentContent, ImageContent, TextContent, ThinkingContent
from polywire.errors import BadRequest, UnsupportedByModel
from polywire.events import ResponseCollector
from polywire.messages import AiMessage, Message, Origin, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat, ToolChoice
from polywire.requests import ChatRequest
from polywire.testing import load_recordings
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS
from polywire_compatible.provider import polywire_provider
from polywire_openai import OpenAIChatCodec

Send = Callable[..., Any]
RECORDINGS = Path(__file__).parent / "recordings"
TOOLS = (ToolSpecification("get_time"), ToolSpecification("now"))
HERE = Origin("openai")


def answered(*ids: str, thinking: ThinkingContent | None = None) -> list[Any]:
    """A user's question, the model's calls of it, their results."""
    calls = [ToolCall(call_id, "get_time", {"tz": "UTC"}) for call_id in ids]
    results = [ToolResultMessage(call.id, call.name, "noon") for call in calls]
    return [UserMessage("q"), AiMessage([*([thinking] if thinking else []), *calls], HERE), *results]


def read(name: str, file: str) -> AiMessage:
    """The message of a recorded answer."""
    recording = next(each for each in load_recordings(RECORDINGS / name) if each.name == file)
    codec = OpenAIChatCodec(ROWS[name].profiles())
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=False)
    return codec.decode(HttpResponse(200, Headers(), recording.body), encoded).message


# Where, and with which key

ADDRESSES = {
    "deepseek": "https://api.deepseek.com/chat/completions",
    "qwen": "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions",
    "openrouter": "https://openrouter.ai/api/v1/chat/completions",
    "vllm": "http://localhost:8000/v1/chat/completions",
    "llama-cpp": "http://localhost:8080/v1/chat/completions",
    "lm-studio": "http://localhost:1234/v1/chat/completions",
    "ollama-compatible": "http://localhost:11434/v1/chat/completions",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "xai": "https://api.x.ai/v1/chat/completions",
    "moonshot": "https://api.moonshot.ai/v1/chat/completions",
    "zhipu": "https://api.z.ai/api/paas/v4/chat/completions",
    "together": "https://api.together.ai/v1/chat/completions",
    "fireworks": "https://api.fireworks.ai/inference/v1/chat/completions",
    "azure-openai": "https://res.openai.azure.com/openai/v1/chat/completions",
    "openai-compatible": "https://res.openai.azure.com/chat/completions",
}
KEYS = {
    "deepseek": "DEEPSEEK_API_KEY", "qwen": "DASHSCOPE_API_KEY", "openrouter": "OPENROUTER_API_KEY",
    "vllm": "VLLM_API_KEY", "llama-cpp": "LLAMA_API_KEY", "lm-studio": "LM_API_TOKEN",
    "ollama-compatible": "OLLAMA_API_KEY", "mistral": "MISTRAL_API_KEY", "groq": "GROQ_API_KEY", "xai": "XAI_API_KEY",
    "moonshot": "MOONSHOT_API_KEY", "zhipu": "ZAI_API_KEY", "together": "TOGETHER_API_KEY",
    "fireworks": "FIREWORKS_API_KEY", "azure-openai": "AZURE_OPENAI_API_KEY",
}  # fmt: skip
KEYLESS = ("vllm", "llama-cpp", "lm-studio", "ollama-compatible", "openai-compatible")


def test_every_row_has_an_address_in_this_table() -> None:
    assert set(ADDRESSES) == set(ROWS)
    assert set(KEYS) == set(ROWS) - {"openai-compatible"}


@pytest.mark.parametrize(("name", "address"), ADDRESSES.items())
def test_a_request_goes_to_the_services_address(send: Send, name: str, address: str) -> None:
    assert send(name).url == address


@pytest.mark.parametrize("name", [name for name in ADDRESSES if name != "azure-openai"])
def test_the_key_is_a_bearer_token(send: Send, name: str) -> None:
    assert send(name).headers["authorization"] == "Bearer sk-test"


@pytest.mark.parametrize("name", KEYLESS)
def test_a_server_without_a_key_gets_no_authorization(send: Send, name: str) -> None:
    sent = send(name, settings={"api_key": None})

    assert not {"authorization", "api-key", "x-api-key"} & set(sent.headers)


@pytest.mark.parametrize("name", ROWS)
def test_a_provider_names_its_key_and_whether_it_needs_one(name: str) -> None:
    provider = polywire_provider(name)
    assert provider is not None

    assert provider.variables.get("api_key", ("",))[0] == KEYS.get(name, "")
    assert provider.needs_key(provider.settings()) is (name not in KEYLESS)


def test_a_name_that_is_no_row_is_nobodys() -> None:
    assert polywire_provider("nobody") is None


@pytest.mark.parametrize(
    "base_url", ["https://eastus.example.com/compatible-mode/v1", "https://eastus.example.com/compatible-mode/v1/"]
)
def test_the_settings_address_counts(send: Send, base_url: str) -> None:
    sent = send("qwen", settings={"base_url": base_url})

    assert sent.url == "https://eastus.example.com/compatible-mode/v1/chat/completions"


class TestAzure:
    def test_the_key_has_a_header_of_its_own(self, send: Send) -> None:
        sent = send("azure-openai")

        assert sent.headers["api-key"] == "sk-test"
        assert "authorization" not in sent.headers

    def test_an_entra_token_is_a_bearer_token_and_needs_no_key(self, send: Send) -> None:
        sent = send("azure-openai", settings={"api_key": None, "access_token": "eyJ0"})

        assert sent.headers["authorization"] == "Bearer eyJ0"
        assert "api-key" not in sent.headers

        provider = polywire_provider("azure-openai")
        assert provider is not None
        assert provider.needs_key(provider.settings.model_validate({"access_token": "eyJ0"})) is False

    def test_the_older_address_holds_the_deployment_and_the_version(self, send: Send) -> None:
        sent = send("azure-openai", model="my deployment", settings={"api_version": "2024-10-21"})

        assert sent.url == (
            "https://res.openai.azure.com/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21"
        )

    def test_a_request_for_another_deployment_goes_there(self, send: Send) -> None:
        settings = {"api_version": "2024-10-21", "base_url": "https://res.openai.azure.com/openai"}

        sent = send("azure-openai", settings=settings, asked_model="mini")

        assert sent.url.endswith(".com/openai/deployments/mini/chat/completions?api-version=2024-10-21")
        assert sent.body["model"] == "mini"

    @pytest.mark.parametrize("base_url", ["https://res.openai.azure.com", "https://res.openai.azure.com/openai/v1/"])
    def test_the_v1_address_is_doubled_by_nothing(self, send: Send, base_url: str) -> None:
        assert send("azure-openai", settings={"base_url": base_url}).url == ADDRESSES["azure-openai"]

    def test_the_older_version_and_a_token_have_their_usual_variables(self) -> None:
        provider = polywire_provider("azure-openai")
        assert provider is not None

        assert provider.variables["base_url"] == ("AZURE_OPENAI_ENDPOINT",)
        assert provider.variables["api_version"] == ("OPENAI_API_VERSION",)
        assert provider.variables["access_token"] == ("AZURE_OPENAI_AD_TOKEN",)

    def test_reasoning_models_have_their_own_limit_and_no_parallel_switch(self, send: Send) -> None:
        sent = send("azure-openai", model="o3-mini", max_tokens=9, tools=TOOLS, parallel_tool_calls=False)

        assert sent.body["max_completion_tokens"] == 9
        assert "parallel_tool_calls" not in sent.body


# Thinking, and its way back


class TestDeepSeek:
    def test_a_turn_with_calls_brings_its_thinking_back_beside_empty_content(self, send: Send) -> None:
        message = read("deepseek", "tools.json")
        results = [ToolResultMessage(call.id, call.name, "noon") for call in message.tool_calls]

        sent = send("deepseek", [UserMessage("q"), message, *results], tools=TOOLS)

        assert sent.body["messages"][1] == {
            "role": "assistant",
            "content": "",
            "reasoning_content": "Both clocks.",
            "tool_calls": [
                {
                    "id": "call_00_a",
                    "type": "function",
                    "function": {"name": "get_time", "arguments": '{"tz":"UTC"}'},
                },
                {"id": "call_01_b", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        }

    def test_thinking_that_is_not_there_is_sent_as_an_empty_text(self, send: Send) -> None:
        sent = send("deepseek", answered("call_a"), tools=TOOLS)

        assert sent.body["messages"][1]["reasoning_content"] == ""
        assert sent.body["messages"][1]["content"] == ""

    def test_a_later_request_still_holds_it(self, send: Send) -> None:
        history = [*answered("call_a"), AiMessage("It is noon.", HERE), UserMessage("and now?")]

        sent = send("deepseek", history, tools=TOOLS)

        assert sent.body["messages"][1]["reasoning_content"] == ""
        assert sent.body["messages"][3] == {"role": "assistant", "content": "It is noon."}

    def test_another_wires_thinking_is_not_its_own(self, send: Send) -> None:
        message = AiMessage([ThinkingContent("secret", "c2ln"), ToolCall("c1", "now")], Origin("anthropic"))

        sent = send("deepseek", [UserMessage("q"), message, ToolResultMessage("c1", "now", "noon")], tools=TOOLS)

        assert sent.body["messages"][1]["reasoning_content"] == ""
        assert "secret" not in json.dumps(sent.body)

    @pytest.mark.parametrize(
        ("effort", "written"),
        [
            ("none", {"thinking": {"type": "disabled"}}),
            ("minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
            ("low", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
            ("medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
            ("high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
            ("xhigh", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
            ("max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ],
    )
    def test_efforts(self, send: Send, effort: Any, written: dict[str, Any]) -> None:
        sent = send("deepseek", reasoning=Reasoning(effort))

        assert {key: value for key, value in sent.body.items() if key not in {"model", "messages"}} == written

    def test_only_json_without_a_schema(self, send: Send) -> None:
        sent = send("deepseek", response_format=ResponseFormat("json_schema", {"type": "object"}))

        assert sent.body["response_format"] == {"type": "json_object"}
        assert sent.told("approximated", "response_format")

    def test_one_name_for_the_limit_and_no_switches_of_openais(self, send: Send) -> None:
        strict = (ToolSpecification("now", strict=True),)
        sent = send("deepseek", max_tokens=9, tools=strict, parallel_tool_calls=False)

        assert sent.body["max_tokens"] == 9
        assert "max_completion_tokens" not in sent.body
        assert "parallel_tool_calls" not in sent.body
        assert "strict" not in sent.body["tools"][0]["function"]
        assert sent.told("dropped", "parallel_tool_calls")
        assert sent.told("dropped", "tools.now")


ECHOED = {
    # the row: the field that goes back, on a turn with calls and on one without
    "deepseek": ("reasoning_content", True, False),
    "qwen": ("reasoning_content", True, True),
    "openrouter": ("reasoning", True, False),
    "vllm": ("reasoning", True, False),
    "llama-cpp": ("reasoning_content", True, False),
    "ollama-compatible": ("reasoning", True, False),
    "groq": ("reasoning", True, False),
    "moonshot": ("reasoning_content", True, False),
    "zhipu": ("reasoning_content", True, True),
    "together": ("reasoning", True, False),
    "fireworks": ("reasoning_content", True, True),
    "xai": ("reasoning_content", False, False),
}


@pytest.mark.parametrize(("name", "field", "with_calls", "without"), [(key, *value) for key, value in ECHOED.items()])
def test_thinking_goes_back_under_its_own_name(
    send: Send, name: str, field: str, with_calls: bool, without: bool
) -> None:
    thought = ThinkingContent("Let me see.", extras={"openai": {"field": field}})
    history = [*answered("call_a", thinking=thought), AiMessage([thought, "noon"], HERE), UserMessage("and?")]

    messages = send(name, history, tools=TOOLS).body["messages"]

    assert messages[1].get(field) == ("Let me see." if with_calls else None)
    assert messages[3].get(field) == ("Let me see." if without else None)
    assert messages[3]["content"] == "noon"


class TestOpenRouter:
    def test_details_go_back_unmodified(self, send: Send) -> None:
        message = read("openrouter", "tools.json")
        results = [ToolResultMessage(call.id, call.name, "noon") for call in message.tool_calls]

        sent = send("openrouter", [UserMessage("q"), message, *results], tools=TOOLS)

        assert sent.body["messages"][1]["reasoning_details"] == [
            {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 0}
        ]
        assert "reasoning" not in sent.body["messages"][1]

    @pytest.mark.parametrize(
        ("reasoning", "written"),
        [
            (Reasoning("xhigh"), {"effort": "xhigh"}),
            (Reasoning("none"), {"effort": "none"}),
            (Reasoning(budget_tokens=2048), {"max_tokens": 2048}),
            (Reasoning("low", visible=False), {"effort": "low", "exclude": True}),
        ],
    )
    def test_effort_or_budget(self, send: Send, reasoning: Reasoning, written: dict[str, Any]) -> None:
        assert send("openrouter", reasoning=reasoning).body["reasoning"] == written

    def test_cache_marks_are_anthropics(self, send: Send) -> None:
        system = SystemMessage([TextContent("long", cache=CacheMark("1h"))])

        sent = send("openrouter", [system, UserMessage("q")])

        assert sent.body["messages"][0]["content"] == [
            {"type": "text", "text": "long", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        ]

    def test_several_named_tools_are_passed_through(self, send: Send) -> None:
        sent = send("openrouter", tools=TOOLS, tool_choice=ToolChoice("auto", ("now",)))

        assert sent.body["tool_choice"]["type"] == "allowed_tools"
        assert len(sent.body["tools"]) == 2


class TestMistral:
    def test_ids_have_nine_characters_the_same_for_call_and_result_and_at_every_turn(self, send: Send) -> None:
        history = answered("functions.get_time:0", "call_abc")
        longer = [*history, AiMessage("noon", HERE), *answered("call_0")]

        messages, more = (send("mistral", each, tools=TOOLS).body["messages"] for each in (history, longer))

        ids = [call["id"] for call in messages[1]["tool_calls"]]
        assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", each) for each in ids)
        assert len(set(ids)) == 2
        assert [message["tool_call_id"] for message in messages[2:]] == ids
        assert more[: len(messages)] == messages

    def test_its_own_ids_stay(self, send: Send) -> None:
        sent = send("mistral", answered("D681PevKs"), tools=TOOLS)

        assert sent.body["messages"][2] == {
            "role": "tool",
            "tool_call_id": "D681PevKs",
            "name": "get_time",
            "content": "noon",
        }
        assert not sent.notices

    def test_fields_that_it_refuses_are_not_sent(self, send: Send) -> None:
        sent = send("mistral", [UserMessage("q", name="ann")], seed=7, max_tokens=9, presence_penalty=0.5)

        assert sent.body == {
            "model": "m",
            "messages": [{"role": "user", "content": "q"}],
            "random_seed": 7,
            "presence_penalty": 0.5,
            "max_tokens": 9,
        }
        assert sent.told("dropped", "messages[0]")

    def test_thinking_goes_back_as_the_chunk_that_it_was(self, send: Send) -> None:
        thought = ThinkingContent("Let me see.", "c2ln", extras={"openai": {"field": "content"}})

        sent = send("mistral", [UserMessage("q"), AiMessage([thought, "noon"], HERE), UserMessage("and?")])

        assert sent.body["messages"][1]["content"] == [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}], "signature": "c2ln"},
            {"type": "text", "text": "noon"},
        ]

    @pytest.mark.parametrize("stream", [False, True])
    def test_what_else_a_chunk_of_thinking_says_goes_back_with_it(self, send: Send, stream: bool) -> None:
        chunk = {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "Let me see."}],
            "signature": "c2ln",
            "closed": True,
        }
        said = {"role": "assistant", "content": [chunk, {"type": "text", "text": "noon"}]}
        codec = OpenAIChatCodec(ROWS["mistral"].profiles())
        encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=stream)
        choice = {"index": 0, "delta" if stream else "message": said, "finish_reason": "stop"}
        body = json.dumps({"id": "c1", "choices": [choice]}).encode()
        if stream:
            decoder, collector = codec.stream_decoder(encoded), ResponseCollector()
            collector.add_all(decoder.feed(Frame(body)))
            collector.add_all(decoder.feed(Frame(b"[DONE]")))
            collector.add_all(decoder.finish())
            message = collector.response().message
        else:
            message = codec.decode(HttpResponse(200, Headers(), body), encoded).message

        sent = send("mistral", [UserMessage("q"), message, UserMessage("and?")])

        assert sent.body["messages"][1]["content"] == said["content"]

    @pytest.mark.parametrize(
        ("document", "address"),
        [
            (DocumentContent(url="https://example.com/a.pdf"), "https://example.com/a.pdf"),
            (DocumentContent(data=b"%PDF-1.4"), "data:application/pdf;base64,JVBERi0xLjQ="),
        ],
    )
    def test_a_document_is_an_address(self, send: Send, document: DocumentContent, address: str) -> None:
        sent = send("mistral", [UserMessage(["q", document])])

        assert sent.body["messages"][0]["content"][1] == {"type": "document_url", "document_url": address}


# What is switched on, and how

SWITCHES: tuple[tuple[str, str, Reasoning, dict[str, Any]], ...] = (
    ("qwen", "qwen-plus", Reasoning("none"), {"enable_thinking": False}),
    ("qwen", "qwen-plus", Reasoning(budget_tokens=512), {"enable_thinking": True, "thinking_budget": 512}),
    ("vllm", "m", Reasoning("max"), {"reasoning_effort": "max"}),
    ("llama-cpp", "m", Reasoning("none"), {"reasoning_effort": "none"}),
    ("lm-studio", "m", Reasoning("xhigh"), {"reasoning_effort": "xhigh"}),
    ("ollama-compatible", "m", Reasoning("minimal"), {"reasoning_effort": "low"}),
    ("ollama-compatible", "m", Reasoning("xhigh"), {"reasoning_effort": "max"}),
    ("mistral", "m", Reasoning("high"), {"reasoning_effort": "high"}),
    ("groq", "m", Reasoning("none"), {"reasoning_effort": "none"}),
    ("groq", "m", Reasoning("max"), {"reasoning_effort": "high"}),
    ("xai", "grok-3-mini", Reasoning("low"), {"reasoning_effort": "low"}),
    ("xai", "grok-3-mini", Reasoning("medium"), {"reasoning_effort": "low"}),
    ("xai", "grok-4", Reasoning("low"), {}),
    ("xai", "grok-4-1-fast-reasoning", Reasoning("low"), {}),
    ("xai", "grok-4.20-0309-non-reasoning", Reasoning("low"), {}),
    ("xai", "grok-4.20-multi-agent-0309", Reasoning("xhigh"), {"reasoning_effort": "xhigh"}),
    ("xai", "grok-4.3", Reasoning("none"), {"reasoning_effort": "none"}),
    ("xai", "grok-4.5", Reasoning("none"), {"reasoning_effort": "low"}),
    ("moonshot", "kimi-k2.6", Reasoning("none"), {"thinking": {"type": "disabled"}}),
    ("moonshot", "kimi-k3", Reasoning("max"), {"reasoning_effort": "max"}),
    ("moonshot", "kimi-k3", Reasoning("none"), {"reasoning_effort": "low"}),
    ("zhipu", "glm-4.6", Reasoning("none"), {"thinking": {"type": "disabled"}}),
    ("zhipu", "glm-4.6", Reasoning("high"), {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
    ("together", "m", Reasoning("none"), {"reasoning": {"enabled": False}}),
    ("together", "m", Reasoning("low"), {"reasoning_effort": "low"}),
    ("fireworks", "m", Reasoning(budget_tokens=2048), {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ("fireworks", "m", Reasoning("none"), {"reasoning_effort": "none"}),
    ("fireworks", "accounts/fireworks/models/gpt-oss-20b", Reasoning("none"), {"reasoning_effort": "low"}),
)


@pytest.mark.parametrize(("name", "model", "reasoning", "written"), SWITCHES)
def test_thinking_is_asked_for_in_the_services_form(
    send: Send, name: str, model: str, reasoning: Reasoning, written: dict[str, Any]
) -> None:
    sent = send(name, model=model, reasoning=reasoning)

    assert {key: value for key, value in sent.body.items() if key not in {"model", "messages"}} == written


def test_an_effort_that_a_model_does_not_know_is_told(send: Send) -> None:
    assert send("moonshot", model="kimi-k3", reasoning=Reasoning("medium")).told("approximated", "reasoning")
    assert send("xai", model="grok-4", reasoning=Reasoning("low")).told("dropped", "reasoning")


# Tools that must, may and must not be called

CHOICES: tuple[tuple[str, ToolChoice, Any, tuple[str, ...]], ...] = (
    # what is asked, the choice that is sent, and the tools that are offered
    ("qwen", ToolChoice("required"), "auto", ("get_time", "now")),
    ("qwen", ToolChoice.tool("now"), {"type": "function", "function": {"name": "now"}}, ("get_time", "now")),
    ("llama-cpp", ToolChoice.tool("now"), "required", ("now",)),
    ("llama-cpp", ToolChoice("none"), "none", ("get_time", "now")),
    ("lm-studio", ToolChoice.tool("now"), "required", ("now",)),
    ("ollama-compatible", ToolChoice.tool("now"), "auto", ("now",)),
    ("ollama-compatible", ToolChoice("required"), "auto", ("get_time", "now")),
    ("ollama-compatible", ToolChoice("none"), None, ()),
    ("moonshot", ToolChoice("required"), "auto", ("get_time", "now")),
    ("moonshot", ToolChoice.tool("now"), "auto", ("now",)),
    ("zhipu", ToolChoice("none"), None, ()),
    ("zhipu", ToolChoice.tool("now"), "auto", ("now",)),
    ("vllm", ToolChoice.tool("now"), {"type": "function", "function": {"name": "now"}}, ("get_time", "now")),
    ("vllm", ToolChoice("auto", ("now",)), "auto", ("now",)),
    ("mistral", ToolChoice("required"), "required", ("get_time", "now")),
    ("groq", ToolChoice("required", ("get_time", "now")), "required", ("get_time", "now")),
)


@pytest.mark.parametrize(("name", "choice", "written", "offered"), CHOICES)
def test_a_choice_is_kept_as_far_as_the_service_can(
    send: Send, name: str, choice: ToolChoice, written: Any, offered: tuple[str, ...]
) -> None:
    sent = send(name, tools=TOOLS, tool_choice=choice)

    assert sent.body.get("tool_choice") == written
    assert tuple(tool["function"]["name"] for tool in sent.body.get("tools", ())) == offered
    exact = written == choice.mode or isinstance(written, dict)
    assert exact or sent.told("approximated", "tool_choice")


@pytest.mark.parametrize("name", ["deepseek", "lm-studio", "ollama-compatible", "moonshot", "zhipu", "together"])
def test_a_service_without_the_parallel_switch_is_not_sent_one(send: Send, name: str) -> None:
    sent = send(name, tools=TOOLS, parallel_tool_calls=True)

    assert "parallel_tool_calls" not in sent.body
    assert sent.told("dropped", "parallel_tool_calls")


def test_dashscope_makes_parallel_calls_only_when_told_to(send: Send) -> None:
    assert send("qwen", tools=TOOLS, parallel_tool_calls=True).body["parallel_tool_calls"] is True


# Sampling, limits and forms

LIMITS = {
    name: "max_completion_tokens" if name in {"groq", "moonshot", "azure-openai"} else "max_tokens" for name in ROWS
}


@pytest.mark.parametrize(("name", "field"), LIMITS.items())
def test_the_limit_has_the_services_name(send: Send, name: str, field: str) -> None:
    body = send(name, max_tokens=9).body

    assert body[field] == 9
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


@pytest.mark.parametrize(
    ("name", "model", "refused"),
    [
        ("groq", "m", {"presence_penalty", "frequency_penalty"}),
        ("xai", "grok-4", {"presence_penalty", "frequency_penalty", "stop_sequences"}),
        ("moonshot", "kimi-k2.6", {"temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"}),
        ("zhipu", "m", {"presence_penalty", "frequency_penalty"}),
        ("vllm", "m", set()),
    ],
)
def test_sampling_that_is_refused_is_left_out_and_told(send: Send, name: str, model: str, refused: set[str]) -> None:
    asked = {
        "temperature": 0.5, "top_p": 0.5, "seed": 1, "presence_penalty": 0.5, "frequency_penalty": 0.5,
        "stop_sequences": ("x",),
    }  # fmt: skip
    sent = send(name, model=model, **asked)

    written = {"stop" if key == "stop_sequences" else key for key in asked if key not in refused}
    assert set(sent.body) - {"model", "messages"} == written
    assert {notice.subject for notice in sent.notices if notice.kind == "dropped"} == refused


@pytest.mark.parametrize(("name", "limit"), [("groq", 4), ("moonshot", 5)])
def test_more_stop_sequences_than_the_service_takes_are_refused(send: Send, name: str, limit: int) -> None:
    stops = tuple("abcdefgh")

    assert send(name, stop_sequences=stops[:limit]).body["stop"] == list(stops[:limit])
    with pytest.raises(UnsupportedByModel, match=f"at most {limit}"):
        send(name, stop_sequences=stops[: limit + 1])


def test_together_takes_stops_only_as_a_list(send: Send) -> None:
    assert send("together", stop_sequences="x").body["stop"] == ["x"]


def test_lm_studio_knows_schemas_and_no_other_json(send: Send) -> None:
    assert "response_format" not in send("lm-studio", response_format="json").body
    assert send("lm-studio", response_format={"type": "object"}).body["response_format"]["type"] == "json_schema"


def test_ollamas_compatible_route_takes_no_addresses_of_pictures(send: Send) -> None:
    with pytest.raises(UnsupportedByModel, match="load the bytes"):
        send("ollama-compatible", [UserMessage(["q", ImageContent(url="https://example.com/a.png")])])


def test_dashscope_has_its_instructions_first(send: Send) -> None:
    history = [UserMessage("q"), AiMessage("a", HERE), SystemMessage("be brief"), UserMessage("and?")]

    sent = send("qwen", history)

    assert [message["role"] for message in sent.body["messages"]] == ["system", "user", "assistant", "user"]
    assert sent.told("approximated", "messages")


@pytest.mark.parametrize("name", ROWS)
def test_usage_is_asked_for_in_streams_where_it_must_be(name: str) -> None:
    row = ROWS[name]
    codec = OpenAIChatCodec(row.profiles(), path=row.path)
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=True)

    body = json.loads(encoded.http.body)
    unasked = name in {"openrouter", "mistral", "fireworks"}
    assert body["stream"] is True
    assert body.get("stream_options") == (None if unasked else {"include_usage": True})


def test_kimi_gets_its_own_ids_back_verbatim(send: Send) -> None:
    message = read("moonshot", "tools.json")
    results = [ToolResultMessage(call.id, call.name, "noon") for call in message.tool_calls]

    messages = send("moonshot", [UserMessage("q"), message, *results], tools=TOOLS).body["messages"]

    assert messages[1]["reasoning_content"] == "Both clocks."
    assert [each["tool_call_id"] for each in messages[2:]] == ["functions.get_time:0", "functions.now:1"]


def test_a_gateways_signatures_on_calls_go_back() -> None:
    row = ROWS["openai-compatible"]
    codec = OpenAIChatCodec(row.profiles())
    seal = {"google": {"thought_signature": "c2ln"}}
    call = ToolCall("c1", "now", extras={"openai": {"extra_content": seal}})
    history: list[Message] = [UserMessage("q"), AiMessage(call, HERE), ToolResultMessage("c1", "now", "noon")]

    encoded = codec.encode(ChatRequest(history, ChatRequestParameters(model="m")), stream=False)

    assert json.loads(encoded.http.body)["messages"][1]["tool_calls"][0]["extra_content"] == seal


def test_a_request_without_a_model_is_refused() -> None:
    with pytest.raises(BadRequest, match="names no model"):
        OpenAIChatCodec(ROWS["deepseek"].profiles()).encode(ChatRequest("q"), stream=False)


def test_every_row_and_rule_says_where_it_is_from() -> None:
    for row in ROWS.values():
        table = row.profiles()
        assert row.source
        assert table.source
        assert all(rule.source and re.fullmatch(r"\d{4}-\d\d-\d\d", rule.date) for rule in table.rules)
