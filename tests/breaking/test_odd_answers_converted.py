"""
Answers converted between wires: what only one wire can say is told in a notice, never passed off as something else.

An end that was no clean one never becomes a clean one in silence, what one vendor sealed for itself is not handed on as
another's, and each item of a message's `tool_calls` is a call of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, read_plain, sse

from polywire import convert
from polywire.conversion import StreamConverter

WIRES = ("openai", "openai-responses", "anthropic", "gemini", "ollama")


def message(*content: Any, stop: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def events_of(answer: dict[str, Any]) -> bytes:
    """The answer as its own wire streams it, with each block whole at its start."""
    blocks = [
        event
        for index, block in enumerate(answer["content"])
        for event in (
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        )
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": answer["stop_reason"]}, "usage": {"output_tokens": 1}}
    start = {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    return sse(start, *blocks, end, {"type": "message_stop"}, named=True)


def both_ways(answer: dict[str, Any], target: str) -> list[tuple[str, list[str]]]:
    """What a plain and a streamed conversion write, as text, with the subjects of their notices."""
    plain = convert(answer, source="anthropic", target=target)
    stream = StreamConverter("anthropic", target)
    written = stream.feed(events_of(answer)) + stream.finish()
    return [
        (repr(plain.payload), [notice.subject for notice in plain.notices]),
        (written.decode(), [notice.subject for notice in stream.notices]),
    ]


@pytest.mark.parametrize("target", [wire for wire in WIRES if wire != "anthropic"])
@pytest.mark.parametrize("stop", ["pause_turn", "a_word_of_tomorrow"])
def test_an_end_without_a_word_is_told(target: str, stop: str) -> None:
    for written, subjects in both_ways(message({"type": "text", "text": "Hi"}, stop=stop), target):
        # One wire has a word of its own for an end of no other kind.
        assert "finish_reason" in subjects or (target == "gemini" and "OTHER" in written)


@pytest.mark.parametrize("target", [wire for wire in WIRES if wire != "anthropic"])
def test_a_refusal_without_words_is_no_clean_end(target: str) -> None:
    for written, subjects in both_ways(message(stop="refusal"), target):
        signs = ("content_filter", "SAFETY", "refusal", "'finish_reason'")
        assert "finish_reason" in subjects or any(sign in written for sign in signs)
        assert '"finish_reason":"stop"' not in written
        assert "'finish_reason': 'stop'" not in written


@pytest.mark.parametrize("target", ["openai", "openai-responses", "gemini", "ollama"])
def test_what_a_vendor_sealed_for_itself_does_not_leave_its_wire(target: str) -> None:
    answer = message(
        {"type": "thinking", "thinking": "plan", "signature": "SEAL-OF-ONE"},
        {"type": "redacted_thinking", "data": "SEAL-OF-TWO"},
        {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"q": "SEAL-OF-THREE"}},
        {"type": "text", "text": "Hi"},
    )

    for written, subjects in both_ways(answer, target):
        assert "SEAL" not in written
        assert "Hi" in written
        assert len(subjects) >= 1


def test_each_item_of_a_whole_message_is_a_call_of_its_own() -> None:
    calls = [
        {"id": "same", "type": "function", "function": {"name": "f", "arguments": text}}
        for text in ("", '{"a":1}', "{}")
    ]
    body = {"id": "x", "choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}

    read = calls_of(read_plain("openai-compatible", body))

    assert [call[1:] for call in read] == [("f", "{}"), ("f", '{"a":1}'), ("f", "{}")]
    assert len({call[0] for call in read}) == 3
