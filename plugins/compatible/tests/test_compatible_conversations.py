"""A conversation begun on any row goes on with any other: recorded calls and thinking of the one in a request to the other."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.events import ResponseCollector
from polywire.framing.tail import last_events
from polywire.messages import AiMessage, Message, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters
from polywire.requests import ChatRequest
from polywire.serialization import messages_from_json, messages_to_json
from polywire.testing import Recording, load_recordings
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS
from polywire_openai import OpenAIChatCodec

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from support.strict_types import check

RECORDINGS = Path(__file__).parent / "recordings"
THINKING = {"reasoning", "reasoning_content", "reasoning_details"}
# What a row takes on the model's messages besides OpenAI's own fields.
TAKES = {
    "deepseek": {"reasoning_content"}, "qwen": {"reasoning_content"}, "openrouter": {"reasoning", "reasoning_details"},
    "vllm": {"reasoning"}, "llama-cpp": {"reasoning_content"}, "lm-studio": {"reasoning", "reasoning_content"},
    "ollama-compatible": {"reasoning"}, "mistral": set(), "groq": {"reasoning"}, "xai": set(),
    "moonshot": {"reasoning_content"}, "zhipu": {"reasoning_content"}, "together": {"reasoning", "reasoning_content"},
    "fireworks": {"reasoning_content"}, "azure-openai": set(), "openai-compatible": THINKING,
}  # fmt: skip


def decode(name: str, recording: Recording) -> AiMessage:
    codec = OpenAIChatCodec(ROWS[name].profiles())
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=recording.stream)
    if not recording.stream:
        return codec.decode(HttpResponse(200, Headers(), recording.body), encoded).message
    framing, decoder, collector = encoded.framing(), codec.stream_decoder(encoded), ResponseCollector()
    for frame in framing.feed(recording.body):
        collector.add_all(decoder.feed(frame))
    collector.add_all(last_events(framing, decoder))
    return collector.response().message


@cache
def turns(name: str) -> tuple[Message, ...]:
    """Every recorded turn of a row with calls, each with its results and the user's next word, and one with thinking."""
    history: list[Message] = [UserMessage("q")]
    for recording in load_recordings(RECORDINGS / name):
        expected = recording.expected
        if expected.error or not (expected.tool_calls or expected.thinking) or not expected.finish_reason:
            continue
        message = decode(name, recording)
        history.append(message)
        history += [ToolResultMessage(call.id, call.name, f"result of {call.id}") for call in message.tool_calls]
        if message.tool_calls:
            history.append(AiMessage("Noon."))
        history.append(UserMessage("and now?"))
    return tuple(messages_from_json(messages_to_json(history)))


def test_every_row_has_a_recorded_turn_with_calls() -> None:
    for name in ROWS:
        assert any(isinstance(message, ToolResultMessage) for message in turns(name)), name


@pytest.mark.parametrize(("source", "target"), list(product(ROWS, ROWS)))
def test_another_rows_turns_go_out_whole_and_in_the_targets_form(source: str, target: str) -> None:
    history = turns(source)
    names = {call.name for message in history if isinstance(message, AiMessage) for call in message.tool_calls}
    parameters = ChatRequestParameters(model="m", tools=tuple(ToolSpecification(name) for name in sorted(names)))

    encoded = OpenAIChatCodec(ROWS[target].profiles()).encode(ChatRequest(history, parameters), stream=False)

    messages: list[dict[str, Any]] = json.loads(encoded.http.body)["messages"]
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    given = [call for message in history if isinstance(message, AiMessage) for call in message.tool_calls]
    assert asked == answered
    assert len(asked) == len(given)
    arguments = [
        json.loads(call["function"]["arguments"]) for message in messages for call in message.get("tool_calls", ())
    ]
    assert arguments == [call.input for call in given]
    if target == "mistral":
        assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", each) for each in asked)
    for message in messages:
        assert THINKING & message.keys() <= TAKES[target], message
    if target == "mistral" or not TAKES[target]:
        return
    # But for its thinking each message is OpenAI's own.
    from openai.types.chat import ChatCompletionMessageParam

    for message in messages:
        bare = {key: value for key, value in message.items() if key not in TAKES[target]}
        assert [problem for problem in check(bare, ChatCompletionMessageParam) if "builtin" not in problem] == []


@pytest.mark.parametrize("target", [name for name in ROWS if "reasoning_details" not in TAKES[name]])
def test_openrouters_sealed_thinking_stays_with_it(target: str) -> None:
    encoded = OpenAIChatCodec(ROWS[target].profiles()).encode(
        ChatRequest(turns("openrouter"), ChatRequestParameters(model="m", tools=(ToolSpecification("get_time"),))),
        stream=False,
    )

    assert b"gAAA" not in encoded.http.body
    assert any("thinking" in notice.message for notice in encoded.notices)
