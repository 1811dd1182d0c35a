"""
What a wire has no place for is told or refused, on every wire alike: names, marks for a cache, details, fields of other
wires, messages of nothing but another wire's blocks, and more pictures than a model takes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import model_of

from polywire.contents import AudioContent, CacheMark, DocumentContent, ImageContent, OpaqueContent, TextContent
from polywire.errors import UnsupportedByModel
from polywire.messages import AiMessage, Message, Origin, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import ToolSpecification

PNG = b"\x89PNG\r\n\x1a\n"
ANSWERS: dict[str, Any] = {
    "gemini": {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]},
    "ollama": {"message": {"role": "assistant", "content": "ok"}, "done": True, "done_reason": "stop"},
    "openai": {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
    "openai-compatible": {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"},
}
OTHERS = ["gemini", "ollama"]


def told(provider: str, *messages: Message, table: Any = None, **parameters: Any) -> tuple[Any, list[tuple[str, str]]]:
    model, transport = model_of(provider, ANSWERS[provider], **(table or {}))
    answer = model.chat(list(messages), **parameters)
    return transport.last.json, [(notice.kind, notice.subject) for notice in answer.notices]


@pytest.mark.parametrize("provider", OTHERS)
@pytest.mark.parametrize(
    ("message", "subject"),
    [
        (UserMessage("q", "bob"), "messages[1]"),
        (SystemMessage("s", "app"), "messages[1]"),
        (UserMessage(TextContent("q", CacheMark())), "cache"),
        (UserMessage(["q", ImageContent(data=PNG, detail="high")]), "messages[1]"),
        (UserMessage(TextContent("q", extras={"openai": {"annotations": []}})), "messages[1]"),
        (AiMessage(TextContent("a", extras={"anthropic": {"citations": []}}), Origin("anthropic")), "messages[1]"),
        (UserMessage("q", extras={"anthropic": {"x": 1}}), "messages[1]"),
    ],
)
def test_what_stands_beside_the_words_is_told(provider: str, message: Message, subject: str) -> None:
    body, notices = told(provider, UserMessage("first"), message)

    assert [notice for notice in notices if notice[0] == "dropped"] == [("dropped", subject)]
    assert "first" in str(body)


def test_a_documents_name_is_told() -> None:
    document = DocumentContent(data=b"%PDF-1", name="report")

    assert told("gemini", UserMessage(["q", document]))[1] == [("dropped", "messages[0]")]


@pytest.mark.parametrize("provider", OTHERS)
def test_a_mark_on_a_tool_is_told_once_with_the_others(provider: str) -> None:
    tool = ToolSpecification("f", cache=CacheMark())

    assert told(provider, UserMessage(TextContent("q", CacheMark())), tools=[tool])[1] == [("dropped", "cache")]


@pytest.mark.parametrize("provider", ["gemini", "ollama", "openai-compatible", "anthropic"])
def test_a_message_of_nothing_but_another_wires_blocks_is_left_out_whole(provider: str) -> None:
    block = OpaqueContent("another", {"type": "its_own", "images": ["secret"]})
    for message in (UserMessage(block), SystemMessage(block), UserMessage(["", block])):
        body, notices = told(provider, UserMessage("q"), AiMessage("a"), message, UserMessage("r"))

        assert "its_own" not in str(body)
        assert "secret" not in str(body)
        assert notices == [("dropped", "messages[2]")]


@pytest.mark.parametrize("provider", ["gemini", "anthropic"])
def test_a_conversation_that_says_nothing_is_refused_before_the_network(provider: str) -> None:
    with pytest.raises(UnsupportedByModel, match="needs a message"):
        told(provider, SystemMessage("s"))


@pytest.mark.parametrize("provider", [*OTHERS, "openai-compatible", "anthropic"])
def test_more_pictures_than_a_model_takes_are_refused_before_the_network(provider: str) -> None:
    table = {"profile": {"max_images": 2}}
    picture = ImageContent(data=PNG)
    told(provider, UserMessage(["q", picture, picture]), table=table)

    with pytest.raises(UnsupportedByModel, match=r"messages\[1\]\.contents\[0\]: this model takes at most 2 images"):
        told(provider, UserMessage(["q", picture, picture]), UserMessage([picture, "r"]), table=table)


CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


@pytest.mark.parametrize("provider", OTHERS)
def test_a_model_without_tools_on_its_wire_has_them_as_text(provider: str) -> None:
    answers = {
        "gemini": {"candidates": [{"content": {"parts": [{"text": CALL}]}, "finishReason": "STOP"}]},
        "ollama": {"message": {"role": "assistant", "content": CALL}, "done": True, "done_reason": "stop"},
    }
    tool = ToolSpecification("f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    model, transport = model_of(provider, answers[provider], profile={"tool_calling": "markup"})
    answer = model.chat("q", tools=[tool])

    assert "tools" not in transport.last.json
    assert "tool_call" in str(transport.last.json)
    assert [(call.name, call.input) for call in answer.tool_calls] == [("f", {"a": 1})]
    assert [(notice.kind, notice.subject) for notice in answer.notices] == [("approximated", "tools")]


@pytest.mark.parametrize("provider", OTHERS)
def test_thinking_between_tags_is_thinking(provider: str) -> None:
    text = "<think>R</think>A"
    answers = {
        "gemini": {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]},
        "ollama": {"message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"},
    }
    model, _ = model_of(provider, answers[provider], profile={"think_tags": True})
    answer = model.chat("q")

    assert (answer.thinking, answer.text) == ("R", "A")


@pytest.mark.parametrize("provider", ["gemini", "ollama", "anthropic", "openai"])
def test_what_another_model_spoke_is_told_in_words(provider: str) -> None:
    sound = AudioContent(data=b"\1\2", media_type="audio/pcm", transcript="hello there")
    body, notices = told(provider, UserMessage("q"), AiMessage(sound, Origin("another")), UserMessage("r"))

    assert "hello there" in str(body)
    assert notices == [("approximated", "messages[1]")]


@pytest.mark.parametrize("provider", ["gemini", "ollama", "openai-compatible"])
def test_media_that_is_not_taken_is_named_by_its_place_in_the_callers_conversation(provider: str) -> None:
    shot, bad = ImageContent(data=PNG), ImageContent(data=b"II*\0", media_type="image/tiff")
    start = [UserMessage("q"), AiMessage(ToolCall("c", "f", "{}"))]
    for profile in ({}, {"parallel_tool_calls": False}):
        with pytest.raises(UnsupportedByModel, match=r"messages\[2\]\.contents\[1\]: this model takes no image/tiff"):
            told(provider, *start, ToolResultMessage("c", "f", ["shot", bad]), table={"profile": profile})
        result = ToolResultMessage("c", "f", ["shot", shot])
        with pytest.raises(UnsupportedByModel, match=r"messages\[4\]\.contents\[0\]: this model takes no image/tiff"):
            told(provider, *start, result, AiMessage("a"), UserMessage([bad, "r"]), table={"profile": profile})
