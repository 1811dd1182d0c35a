"""
Usage as odd endpoints report it: what is no count stays unknown, parts are parts of their whole, nothing is summed twice.

The rules are those of the canonical numbers: cached and cache-write tokens are parts of the input, reasoning tokens are
part of the output, an unknown count is `None`, and of running totals the latest counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import read_plain, read_streamed, sse

from polywire.responses import TokenUsage

COMPATIBLE = "openai-compatible"

USAGES: list[tuple[dict[str, Any], TokenUsage]] = [
    ({"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": 15.0}, TokenUsage(10, 5, 15)),
    ({"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -1}, TokenUsage()),
    ({"prompt_tokens": True, "completion_tokens": "many", "total_tokens": [1]}, TokenUsage()),
    ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}, TokenUsage(10, 5, 15)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": []}, TokenUsage(10, 5, 15)),
    # Cached tokens beside the prompt, not in it: no part is more than its whole.
    (
        {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 10}},
        TokenUsage(13, 1, 14, cached_tokens=10),
    ),
    ({"prompt_tokens": 4, "completion_tokens": 1, "cached_tokens": 4}, TokenUsage(4, 1, 5, cached_tokens=4)),
    # Reasoning beside the completion, told by the total, or by being more than it.
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "total_tokens": 21,
            "completion_tokens_details": {"reasoning_tokens": 9},
        },
        TokenUsage(10, 11, 21, reasoning_tokens=9),
    ),
    (
        {"prompt_tokens": 10, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 9}},
        TokenUsage(10, 11, 21, reasoning_tokens=9),
    ),
]


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_usage_of_chat_completions(usage: dict[str, Any], expected: TokenUsage) -> None:
    body = {"id": "x", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    chunk = {"id": "x", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}

    assert read_plain(COMPATIBLE, body).usage == expected
    assert read_streamed(COMPATIBLE, sse(chunk, {"choices": [], "usage": usage}, done=True)).usage == expected


def test_a_count_that_is_not_a_number_costs_nobody_the_answer() -> None:
    chunk = '{"id":"x","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":NaN}}'

    answer = read_streamed(COMPATIBLE, sse(chunk, done=True))

    assert (answer.text, answer.usage) == ("Hi", TokenUsage())


@pytest.mark.parametrize("zeros_first", [True, False])
def test_zeros_beside_counts_are_no_news(zeros_first: bool) -> None:
    counts = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    first, last = (zeros, counts) if zeros_first else (counts, zeros)
    body = sse(
        {"id": "x", "choices": [{"index": 0, "delta": {"content": "Hi"}}], "usage": first},
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": last},
        done=True,
    )

    assert read_streamed(COMPATIBLE, body).usage == TokenUsage(11, 4, 15)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 4.0, "output_tokens": 1.0}, TokenUsage(4, 1, 5)),
        ({"input_tokens": -1, "output_tokens": 2}, TokenUsage(None, 2)),
        (
            {"input_tokens": 4, "cache_read_input_tokens": None, "cache_creation_input_tokens": -1, "output_tokens": 2},
            TokenUsage(4, 2, 6),
        ),
    ],
)
def test_usage_of_messages(usage: dict[str, Any], expected: TokenUsage) -> None:
    body = {"id": "m", "type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}

    assert read_plain("anthropic", {**body, "usage": usage}).usage == expected


def test_counts_with_fractions_and_below_nothing_on_the_other_wires() -> None:
    gemini = {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 4.0, "candidatesTokenCount": 1, "totalTokenCount": -1},
    }
    ollama = {
        "message": {"content": "Hi"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": -1,
        "eval_count": 2,
    }

    assert read_plain("gemini", gemini).usage == TokenUsage(4, 1, 5)
    assert read_streamed("gemini", sse(gemini)).usage == TokenUsage(4, 1, 5)
    assert read_plain("ollama", ollama).usage == TokenUsage(None, 2)
    assert read_streamed("ollama", json.dumps(ollama).encode()).usage == TokenUsage(None, 2)
