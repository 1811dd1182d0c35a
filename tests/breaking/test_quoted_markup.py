"""
Markup that is only spoken of: tags in code blocks, behind backticks, and thinking that does not begin the answer.

Such text stays text, at any split, plain and streamed; markup after it is read as ever.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, read_plain, read_streamed, sse

from polywire.responses import FinishReason

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
CALLS = {"profile": {"tool_markup": ["hermes", "qwen_xml", "glm", "invoke"]}}
THINKS = {"profile": {"think_tags": True, "tool_markup": ["hermes"], "quirks": {"think_tags_opening": "optional"}}}


def read(text: str, table: dict[str, object]) -> tuple[str | None, str | None, list[tuple[str, str]], FinishReason]:
    """Thinking, text, calls and end of an answer with this content; the same in every way of getting it."""
    body = {"id": "x", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    plain = read_plain("openai-compatible", body, **table)
    third = max(1, len(text) // 3)
    pieces = [text[at : at + third] for at in range(0, len(text), third)]
    for cut in (pieces, list(text)):
        chunks = [{"id": "x", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in cut]
        end = {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        streamed = read_streamed("openai-compatible", sse(*chunks, end, done=True), **table)
        assert (streamed.thinking, streamed.text, calls_of(streamed)) == (plain.thinking, plain.text, calls_of(plain))
    return plain.thinking, plain.text, [call[1:] for call in calls_of(plain)], plain.finish_reason


@pytest.mark.parametrize(
    "text",
    [
        f"Write:\n```\n{CALL}\n```\nand no more",
        f"```xml\n{CALL}\n```",
        f"~~~\nx\n{CALL}\n~~~\nok",
        f"  ```python\ncode = '''{CALL}'''\n  ```",
        f"Write `{CALL}` there",
        "```\n<tool_call><function=f><parameter=a>1</parameter></function></tool_call>\n```",
        '```\n<function_calls><invoke name="f"></invoke></function_calls>\n```',
        f"```\n{CALL}",  # the block is never closed
    ],
)
def test_a_quoted_call_stays_text(text: str) -> None:
    assert read(text, CALLS) == (None, text, [], FinishReason.STOP)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"```\n{CALL}\n```\nNow: {CALL}", f"```\n{CALL}\n```\nNow:"),
        (f"The ` key.{CALL}", "The ` key."),
        (f"```\ncode\n```\n{CALL}", "```\ncode\n```"),
        (f"a ``` in a line\n{CALL}", "a ``` in a line"),
    ],
)
def test_a_call_after_a_quotation_is_one(text: str, said: str) -> None:
    assert read(text, CALLS) == (None, said, [("f", '{"a":1}')], FinishReason.TOOL_CALLS)


@pytest.mark.parametrize(
    "text",
    [
        "```\n<think>x</think>\n```\nok",
        "Hi <think>x</think> there",
        "Write <think> and then </think>.",
        "a `<think>` tag",
    ],
)
def test_thinking_that_does_not_begin_the_answer_is_text(text: str) -> None:
    assert read(text, THINKS) == (None, text, [], FinishReason.STOP)


@pytest.mark.parametrize(
    ("text", "thinking", "said"),
    [
        ("<think>a ```\ncode\n``` b</think>ok", "a ```\ncode\n``` b", "ok"),
        ("it was not opened</think>\n\nok", "it was not opened", "ok"),
        ("<think>a <think> tag</think>ok", "a <think> tag", "ok"),
        ("<think>never closed", "never closed", None),
    ],
)
def test_thinking_that_begins_the_answer_is_thinking(text: str, thinking: str, said: str | None) -> None:
    assert read(text, THINKS)[:2] == (thinking, said)


def test_a_code_block_left_open_in_thinking_quotes_nothing_after_it() -> None:
    assert read(f"<think>```\nplan</think>Go.{CALL}", THINKS) == (
        "```\nplan",
        "Go.",
        [("f", '{"a":1}')],
        FinishReason.TOOL_CALLS,
    )
