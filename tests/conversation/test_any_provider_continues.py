"""
A conversation with tools and thinking, begun on one provider, goes on with any other, and back again.

Each side answers in its vendor's documented bytes; none is written by our encoders. Every request is held against the
vendor's own types, and read back: its calls and results must close, one for one, with every argument and every word.
What only its own vendor can read (thinking, signatures) may be in no other's request, and a notice says so.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ollama._types as ollama_types
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from google.genai import types as google_types
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.strict_types import check

from polywire.codec import Codec, Wire
from polywire.history import Ledger
from polywire.http_model import HttpChatModel
from polywire.messages import AiMessage, Message, SystemMessage, ToolError, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters
from polywire.requests import ToolSpecification
from polywire.responses import ChatResponse
from polywire.serialization import messages_from_json, messages_to_json
from polywire.testing.transport import FakeTransport, Reply
from polywire_anthropic import AnthropicCodec, AnthropicWire
from polywire_gemini import GeminiCodec, GeminiWire
from polywire_ollama import OllamaCodec, OllamaWire
from polywire_openai import COMPATIBLE_PROFILES, OpenAIChatCodec, OpenAIWire

TOOLS = (
    ToolSpecification(
        "get_time",
        "The time in a zone.",
        {"type": "object", "properties": {"tz": {"type": "string"}}, "required": ["tz"]},
    ),
    ToolSpecification("now", "The time here.", {}),
)


def check_openai(body: dict[str, Any]) -> None:
    problems = check(body, CompletionCreateParamsNonStreaming)
    # The field of compatible endpoints for thinking is none of the vendor's own.
    assert [problem for problem in problems if "reasoning_content" not in problem] == []


def check_anthropic(body: dict[str, Any]) -> None:
    assert check(body, MessageCreateParamsNonStreaming) == []
    roles = [message["role"] for message in body["messages"]]
    assert all(one != other for one, other in itertools.pairwise(roles)), "roles alternate"
    for turn, answer in itertools.pairwise(body["messages"]):
        calls = (
            [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
            if turn["role"] == "assistant"
            else []
        )
        results = [block["tool_use_id"] for block in answer["content"][: len(calls)] if block["type"] == "tool_result"]
        assert results == calls, "the results come first, right after their calls"


def check_gemini(body: dict[str, Any]) -> None:
    for content in [*body["contents"], body["systemInstruction"]]:
        google_types.Content.model_validate(content)
    for tool in body["tools"]:
        google_types.Tool.model_validate(tool)
    for turn, answer in itertools.pairwise(body["contents"]):
        calls = [part["functionCall"] for part in turn["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in answer["parts"] if "functionResponse" in part]
        assert [call["name"] for call in calls] == [result["name"] for result in results]
        assert [call.get("id") for call in calls] == [result.get("id") for result in results]
        if calls:
            assert "thoughtSignature" in next(part for part in turn["parts"] if "functionCall" in part)


def check_ollama(body: dict[str, Any]) -> None:
    ollama_types.ChatRequest.model_validate(body)
    for message in body["messages"]:
        assert isinstance(message["content"], str)
        assert all(isinstance(call["function"]["arguments"], dict) for call in message.get("tool_calls", ()))
        assert message["role"] != "tool" or message["tool_name"]


@dataclass(frozen=True)
class Side:
    """One provider: its codec, its answers in its own bytes, and what in them is for its own eyes."""

    name: str
    codec: Codec
    wire: Wire
    model: str
    check: Callable[[dict[str, Any]], None]
    calls: bytes
    """Thinks, and asks for two tools."""
    one_call: bytes
    """Asks for one tool."""
    words: bytes
    """Says "Done."."""
    private: tuple[str, ...]
    """Of `calls`: what no other may see."""


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def openai_answer(message: dict[str, Any], reason: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 62, "completion_tokens": 18, "total_tokens": 80}
    return compact(
        {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


def openai_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def anthropic_answer(content: list[dict[str, Any]], reason: str) -> bytes:
    head = {"id": "msg_2", "type": "message", "role": "assistant", "model": "m"}
    tail = {"stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 4, "output_tokens": 61}}
    return compact({**head, "content": content, **tail})


def gemini_answer(*parts: dict[str, Any]) -> bytes:
    candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}
    return compact({"candidates": [candidate], "modelVersion": "m", "responseId": "r1"})


def ollama_answer(**message: Any) -> bytes:
    head = {"model": "m", "created_at": "2026-12-01T10:00:00Z", "done": True, "done_reason": "stop"}
    return compact({**head, "message": {"role": "assistant", "content": "", **message}})


SIDES = [
    Side(
        "openai",
        OpenAIChatCodec(COMPATIBLE_PROFILES),
        OpenAIWire(),
        "some-model",
        check_openai,
        openai_answer(
            {
                "content": None,
                "reasoning_content": "Two of them, says OpenAI's.",
                "tool_calls": [
                    openai_call("call_1", "get_time", '{"tz":"Asia/東京"}'),
                    openai_call("call_2", "now", "{}"),
                ],
            },
            "tool_calls",
        ),
        openai_answer({"content": "Once more.", "tool_calls": [openai_call("call_1", "now", "")]}, "tool_calls"),
        openai_answer({"content": "Done."}, "stop"),
        ("Two of them, says OpenAI's.",),
    ),
    Side(
        "anthropic",
        AnthropicCodec(),
        AnthropicWire(),
        "claude-opus-5-5",
        check_anthropic,
        anthropic_answer(
            [
                {"type": "thinking", "thinking": "Two of them, says Anthropic's.", "signature": "EqQBanthropic"},
                {"type": "redacted_thinking", "data": "eHl6anthropic"},
                {"type": "tool_use", "id": "toolu_a", "name": "get_time", "input": {"tz": "Asia/東京"}},
                {"type": "tool_use", "id": "toolu_b", "name": "now", "input": {}},
            ],
            "tool_use",
        ),
        anthropic_answer(
            [{"type": "text", "text": "Once more."}, {"type": "tool_use", "id": "toolu_c", "name": "now", "input": {}}],
            "tool_use",
        ),
        anthropic_answer([{"type": "text", "text": "Done."}], "end_turn"),
        ("Two of them, says Anthropic's.", "EqQBanthropic", "eHl6anthropic"),
    ),
    Side(
        "gemini",
        GeminiCodec(),
        GeminiWire(),
        "gemini-3-flash",
        check_gemini,
        gemini_answer(
            {"text": "Two of them, says Gemini.", "thought": True},
            {
                "functionCall": {"id": "fc-1", "name": "get_time", "args": {"tz": "Asia/東京"}},
                "thoughtSignature": "Q3BvQ2c=",
            },
            {"functionCall": {"id": "fc-2", "name": "now"}},
        ),
        gemini_answer({"text": "Once more."}, {"functionCall": {"name": "now"}, "thoughtSignature": "T25jZQ=="}),
        gemini_answer({"text": "Done."}),
        ("Two of them, says Gemini.", "Q3BvQ2c="),
    ),
    Side(
        "ollama",
        OllamaCodec(),
        OllamaWire(),
        "qwen3",
        check_ollama,
        ollama_answer(
            thinking="Two of them, says Ollama's.",
            tool_calls=[
                {"id": "call_ab12cd34", "function": {"index": 0, "name": "get_time", "arguments": {"tz": "Asia/東京"}}},
                {"id": "call_k3j2h1g0", "function": {"index": 1, "name": "now", "arguments": {}}},
            ],
        ),
        # An older server: neither ids nor indexes.
        ollama_answer(content="Once more.", tool_calls=[{"function": {"name": "now", "arguments": {}}}]),
        ollama_answer(content="Done."),
        ("Two of them, says Ollama's.",),
    ),
]
PAIRS = list(itertools.product(SIDES, SIDES))
pairs = pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a.name}-{b.name}" for a, b in PAIRS])


def ask(side: Side, history: list[Message], answer: bytes) -> tuple[ChatResponse, dict[str, Any]]:
    """Send a history to one provider; return its answer, and the request, held against the vendor's types."""
    transport = FakeTransport(Reply(body=answer))
    model = HttpChatModel(
        side.codec,
        base_url="https://endpoint.test",
        transport=transport,
        provider=side.name,
        defaults=ChatRequestParameters(model=side.model, tools=TOOLS, max_tokens=1000),
    )
    response = model.chat(history)
    body = transport.last.json
    side.check(body)
    again = FakeTransport(Reply(body=answer))
    model = HttpChatModel(
        side.codec,
        base_url="https://endpoint.test",
        transport=again,
        provider=side.name,
        defaults=ChatRequestParameters(model=side.model, tools=TOOLS, max_tokens=1000),
    )
    assert asyncio.run(model.achat(history)) == response
    assert again.last.json == body
    return response, body


def results_of(response: ChatResponse) -> list[Message]:
    """The first call succeeds, a second one fails; they come back in the other order."""
    results: list[Message] = []
    for number, call in enumerate(response.tool_calls):
        if number:
            error = ToolError("timeout", "the clock of the house is offline", True)
            results.insert(0, ToolResultMessage(call.id, call.name, error.message, True, error))
        else:
            results.append(ToolResultMessage(call.id, call.name, "12:00 正午"))
    return results


def stored(history: list[Message]) -> list[Message]:
    """The same history, as it comes back from a file."""
    return list(messages_from_json(json.loads(json.dumps(messages_to_json(history)))))


def told(side: Side, body: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Read a request back: its calls with their results, turn by turn. They must close."""
    messages = list(side.wire.decode_request(body).value.messages)
    Ledger(messages).check()
    calls = [call for message in messages if isinstance(message, AiMessage) for call in message.tool_calls]
    results: dict[int, list[ToolResultMessage]] = {}
    turn = 0
    found: list[tuple[str, Any, Any]] = []
    for message in messages:
        if isinstance(message, AiMessage):
            turn += 1
        elif isinstance(message, ToolResultMessage):
            results.setdefault(turn, []).append(message)
    turn = 0
    for message in messages:
        if isinstance(message, AiMessage):
            turn += 1
            answers = {result.call_id: result for result in results.get(turn, ())}
            assert len(answers) == len(message.tool_calls)
            for call in message.tool_calls:
                answer = answers[call.id]
                found.append((call.name, call.input, ("failed" if answer.is_error else "succeeded", answer.text)))
    assert len(found) == len(calls)
    return found


START: list[Message] = [SystemMessage("Be brief."), UserMessage("What time is it in Tokyo, and here?")]
SUCCESS = ("succeeded", "12:00 正午")
FAILURE = ("failed", "the clock of the house is offline")
FIRST_TURN = [("get_time", {"tz": "Asia/東京"}, SUCCESS), ("now", {}, FAILURE)]


@pairs
def test_a_turn_with_thinking_and_calls_is_answered_by_any_other(first: Side, second: Side) -> None:
    asked, _ = ask(first, START, first.calls)
    assert [call.name for call in asked.tool_calls] == ["get_time", "now"]
    assert asked.thinking is not None
    assert first.private[0] in asked.thinking
    history = stored([*START, asked.message, *results_of(asked)])

    answer, body = ask(second, history, second.words)

    assert answer.text == "Done."
    assert told(second, body) == FIRST_TURN
    sent = json.dumps(body, ensure_ascii=False)
    lost = [notice for notice in answer.notices if notice.kind == "dropped" and "thinking" in notice.message]
    if first is second:
        assert not lost
    else:
        assert not [text for text in first.private if text in sent], "what is sealed for one is shown to no other"
        assert [notice.subject for notice in lost] == ["messages[2]"]
        assert first.name in lost[0].message


@pairs
def test_and_back_again_with_everything_that_was_the_firsts_own(first: Side, second: Side) -> None:
    asked, _ = ask(first, START, first.calls)
    history = [*START, asked.message, *results_of(asked)]
    more, _ = ask(second, history, second.one_call)
    assert [call.name for call in more.tool_calls] == ["now"]
    history = stored([*history, more.message, *results_of(more)])

    answer, body = ask(first, history, first.words)

    assert answer.text == "Done."
    assert told(first, body) == [*FIRST_TURN, ("now", {}, SUCCESS)]
    # What was sealed for the first goes back to it as it came, whoever answered in between.
    sent = json.dumps(body, ensure_ascii=False)
    seals = first.private[1:]
    assert not [seal for seal in seals if seal not in sent]
    assert "Once more." in sent


@pytest.mark.parametrize("order", [(0, *rest) for rest in itertools.permutations(range(1, len(SIDES)))])
def test_one_conversation_goes_around_all_of_them(order: tuple[int, ...]) -> None:
    history = list(START)
    for number in order:
        response, _ = ask(SIDES[number], history, SIDES[number].one_call)
        history = [*history, response.message, *results_of(response)]

    for side in SIDES:
        answer, body = ask(side, history, side.words)
        assert answer.text == "Done."
        assert told(side, body) == [("now", {}, SUCCESS)] * len(SIDES)


@pytest.mark.parametrize("side", SIDES, ids=[side.name for side in SIDES])
def test_the_answers_are_read_as_they_are_meant(side: Side) -> None:
    response, _ = ask(side, START, side.calls)

    assert [call.input for call in response.tool_calls] == [{"tz": "Asia/東京"}, {}]
    assert len({call.id for call in response.tool_calls}) == 2
    assert response.finish_reason == "tool_calls"
    assert response.text is None
    origin = response.message.origin
    assert origin is not None
    assert (origin.wire, origin.provider, origin.model) == (side.name, side.name, side.model)
