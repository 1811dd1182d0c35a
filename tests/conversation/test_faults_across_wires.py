"""Kinds of faults that cross wires, several instances each: thinking torn from its place, media in the wrong form, options."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from polywire import convert
from polywire.contents import ImageContent, TextContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.messages import AiMessage, Message, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning
from polywire.requests import ChatRequest
from polywire.tool_specifications import ToolSpecification
from polywire_anthropic import AnthropicCodec
from polywire_gemini import GeminiCodec
from polywire_openai import OPENAI_PROFILES, OpenAIChatCodec

TOOLS = (ToolSpecification("w"), ToolSpecification("f"))
PNG = b"\x89PNG\r\n\x1a\n"
PICTURE = base64.b64encode(PNG).decode()
OPENAI = OpenAIChatCodec(OPENAI_PROFILES)


def body_of(
    codec: Any, messages: list[Message] | str, model: str = "m", **parameters: Any
) -> tuple[dict[str, Any], Any]:
    request = ChatRequest(messages, ChatRequestParameters(model=model, **parameters))
    encoded = codec.encode(request, stream=False)
    return json.loads(encoded.http.body), encoded.notices


# Thinking: in its place, with its bytes


ANTHROPIC_TURNS: dict[str, list[Any]] = {
    "thinking, text, call": [ThinkingContent("plan", "c2lnMQ=="), TextContent("ok"), ToolCall("t1", "w")],
    "thinking, call": [ThinkingContent("plan", "c2lnMQ=="), ToolCall("t1", "w")],
    "redacted, thinking, call": [
        ThinkingContent("", redacted="ZGF0YQ=="),
        ThinkingContent("plan", "c2lnMQ=="),
        ToolCall("t1", "w"),
    ],
    "thinking between texts": [
        TextContent("first"),
        ThinkingContent("plan", "c2lnMQ=="),
        TextContent("then"),
        ToolCall("t1", "w"),
    ],
}


@pytest.mark.parametrize("name", ANTHROPIC_TURNS)
def test_signed_thinking_keeps_its_place_and_its_bytes(name: str) -> None:
    parts = ANTHROPIC_TURNS[name]
    history: list[Message] = [
        UserMessage("q"),
        AiMessage(parts, Origin("anthropic")),
        ToolResultMessage("t1", "w", "sun"),
    ]

    body, _ = body_of(
        AnthropicCodec(), history, "claude-sonnet-4-5", tools=TOOLS, reasoning=Reasoning(budget_tokens=2048)
    )

    kinds = {TextContent: "text", ToolCall: "tool_use"}
    content = body["messages"][1]["content"]
    assert [block["type"] for block in content] == [
        kinds.get(type(part)) or ("redacted_thinking" if part.redacted is not None else "thinking") for part in parts
    ]
    sealed = [(block["thinking"], block["signature"]) for block in content if block["type"] == "thinking"]
    assert sealed == [("plan", "c2lnMQ==")]


def test_two_turns_of_the_model_keep_each_its_own_thinking() -> None:
    history: list[Message] = [
        UserMessage("q"),
        AiMessage([ThinkingContent("one", "czE="), TextContent("a")], Origin("anthropic")),
        AiMessage([ThinkingContent("two", "czI="), ToolCall("t1", "w")], Origin("anthropic")),
        ToolResultMessage("t1", "w", "sun"),
    ]

    body, _ = body_of(
        AnthropicCodec(), history, "claude-sonnet-4-5", tools=TOOLS, reasoning=Reasoning(budget_tokens=2048)
    )

    blocks = [block for message in body["messages"] if message["role"] == "assistant" for block in message["content"]]
    assert [block["type"] for block in blocks] == ["thinking", "text", "thinking", "tool_use"]
    assert [block["signature"] for block in blocks if block["type"] == "thinking"] == ["czE=", "czI="]


# Media


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("data:image/jpg;base64,/9j/4AAQ", "image/jpeg"),
        ("data:image/JPEG;base64,/9j/4AAQ", "image/jpeg"),
        ("data:image/pjpeg;base64,/9j/4AAQ", "image/jpeg"),
        ("data:image/png;charset=utf-8;base64,iVBORw0KGgo=", "image/png"),
        ("DATA:image/webp;BASE64,UklGRgQAAABXRUJQ", "image/webp"),
    ],
)
def test_a_data_url_of_any_spelling_is_bytes_of_the_right_type(url: str, media_type: str) -> None:
    payload = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}],
    }

    converted = convert(payload, source="openai", target="anthropic")

    source = converted.payload["messages"][0]["content"][0]["source"]
    assert source == {"type": "base64", "media_type": media_type, "data": url.partition(",")[2]}


@pytest.mark.parametrize(
    "url", ["data:image/svg+xml;base64,PHN2Zy8+", "data:image/bmp;base64,Qk0=", "data:image/tiff;base64,SUkqAA=="]
)
def test_a_picture_of_a_kind_that_is_not_taken_is_refused_before_the_call(url: str) -> None:
    history: list[Message] = [UserMessage([ImageContent(url=url)])]

    with pytest.raises(UnsupportedByModel, match="image/"):
        body_of(AnthropicCodec(), history, "claude-sonnet-4-5")
    with pytest.raises(UnsupportedByModel, match="image/"):
        body_of(OPENAI, history, "gpt-5.1")


RESULTS: dict[str, list[list[Any]]] = {
    "a picture and a text": [["shot", ImageContent(data=PNG)], ["ok"]],
    "pictures alone": [[ImageContent(data=PNG)], [ImageContent(data=PNG)]],
    "a picture at an address": [["ok"], [ImageContent(url="https://example.com/a.png")]],
    "two pictures in one": [[ImageContent(data=PNG), "and", ImageContent(data=PNG)], ["ok"]],
}


@pytest.mark.parametrize("name", RESULTS)
def test_pictures_of_results_follow_all_results_in_one_message_and_are_never_text(name: str) -> None:
    results = RESULTS[name]
    history: list[Message] = [
        UserMessage("q"),
        AiMessage([ToolCall(f"t{at}", "w") for at in range(len(results))]),
        *(ToolResultMessage(f"t{at}", "w", contents) for at, contents in enumerate(results)),
        UserMessage("go on"),
    ]

    body, _ = body_of(OPENAI, history, "gpt-5.1", tools=TOOLS)

    messages = body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    for at, message in enumerate(messages[2:4]):
        assert isinstance(message["content"], str)
        assert PICTURE not in message["content"]
        assert all(text in message["content"] for text in results[at] if isinstance(text, str))
    pictures = [part for part in messages[4]["content"] if part["type"] == "image_url"]
    assert len(pictures) == sum(isinstance(item, ImageContent) for contents in results for item in contents)


@pytest.mark.parametrize(
    "url", ["https://example.com/a.png", "http://example.com/b?x=1&y=%20", "https://example.com/c.jpg#frag"]
)
def test_an_address_stays_an_address(url: str) -> None:
    history: list[Message] = [UserMessage(["see", ImageContent(url=url)])]

    body, _ = body_of(AnthropicCodec(), history, "claude-sonnet-4-5")

    assert body["messages"][0]["content"][1]["source"] == {"type": "url", "url": url}


# Options


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5-mini", "o3", "o4-mini", "gpt-6", "o1"])
def test_reasoning_models_have_one_name_for_the_limit(model: str) -> None:
    body, _ = body_of(OPENAI, "q", model, max_tokens=50)

    assert body["max_completion_tokens"] == 50
    assert "max_tokens" not in body


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-1", "claude-3-5-haiku-latest", "claude-unknown"])
def test_a_limit_is_never_missing_where_it_is_demanded(model: str) -> None:
    body, _ = body_of(AnthropicCodec(), "q", model)

    assert body["max_tokens"] > 0


@pytest.mark.parametrize(
    ("stops", "kept"),
    [(("\n", "END"), ["END"]), (("\n",), None), ((" ", "\t\n", "\u00a0"), None), (("a", " ", "b"), ["a", "b"])],
)
def test_stop_sequences_of_white_space_alone_stay_behind_with_a_notice(stops: tuple[str, ...], kept: Any) -> None:
    body, notices = body_of(AnthropicCodec(), "q", "claude-sonnet-4-5", stop_sequences=stops)

    assert body.get("stop_sequences") == kept
    assert any(notice.subject == "stop_sequences" for notice in notices)


@pytest.mark.parametrize(("codec", "model", "limit"), [(OPENAI, "gpt-4.1", 4), (GeminiCodec(), "gemini-2.5-flash", 5)])
def test_a_stop_is_a_list_of_one_and_too_many_are_refused_with_the_limit(codec: Any, model: str, limit: int) -> None:
    body, _ = body_of(codec, "q", model, stop_sequences="END")
    assert (body.get("stop") or body["generationConfig"]["stopSequences"]) == ["END"]

    for count in (limit + 1, limit + 9):
        with pytest.raises(UnsupportedByModel, match=f"at most {limit}"):
            body_of(codec, "q", model, stop_sequences=[f"s{number}" for number in range(count)])


CHOICES: tuple[tuple[Any, dict[str, Any]], ...] = (
    ("auto", {"type": "auto"}),
    ("required", {"type": "any"}),
    ("none", {"type": "none"}),
    ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
)


@pytest.mark.parametrize("parallel", [None, False, True])
@pytest.mark.parametrize(("choice", "theirs"), CHOICES)
def test_a_choice_goes_to_the_other_wire_and_comes_back(
    choice: Any, theirs: dict[str, Any], parallel: bool | None
) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    payload: dict[str, Any] = {
        "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}], "tools": [tool], "tool_choice": choice,
    }  # fmt: skip
    if parallel is not None:
        payload["parallel_tool_calls"] = parallel

    there = convert(payload, source="openai", target="anthropic").payload
    back = convert(there, source="anthropic", target="openai").payload

    switch = {"disable_parallel_tool_use": True} if parallel is False and choice != "none" else {}
    sent = {key: value for key, value in there["tool_choice"].items() if value is not False}
    assert sent == theirs | switch
    assert back["tool_choice"] == choice
    if switch:
        assert back["parallel_tool_calls"] is False


def test_the_parallel_switch_alone_needs_no_choice() -> None:
    body, _ = body_of(AnthropicCodec(), "q", "claude-sonnet-4-5", tools=TOOLS, parallel_tool_calls=False)

    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
