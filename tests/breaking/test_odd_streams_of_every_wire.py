"""
Streams and bodies as odd servers of the other wires send them.

What a wire's reference promises, and one server or other does not keep: indexes that grow, ids that differ, fields that
are there, errors of one shape. Text is never lost, a call never runs with other arguments than the model wrote, and ids
within one answer are distinct, for results name them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, error_of, read_plain, read_streamed, sse

from polywire.errors import ModelError, RateLimited, ServerError
from polywire.history import check_history
from polywire.messages import ToolResultMessage, UserMessage
from polywire.responses import ChatResponse, FinishReason

# Anthropic

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}
START = {"type": "message_start", "message": MESSAGE}
STOP = {"type": "message_stop"}


def begin(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, value: Any) -> dict[str, Any]:
    field = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}[kind]
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: value}}


def close(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}


def of_anthropic(*events: Any, reason: str = "end_turn") -> ChatResponse:
    return read_streamed("anthropic", sse(START, *events, end(reason), STOP, named=True))


def test_blocks_that_all_have_the_index_0() -> None:
    answer = of_anthropic(
        begin(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", "R"),
        close(0),
        begin(0, type="text", text=""),
        delta(0, "text_delta", "A"),
        close(0),
        begin(0, type="tool_use", id="t", name="f", input={}),
        delta(0, "input_json_delta", '{"a":1}'),
        close(0),
        begin(0, type="tool_use", id="u", name="g", input={}),
        close(0),
        reason="tool_use",
    )

    assert (answer.thinking, answer.text) == ("R", "A")
    assert calls_of(answer) == [("t", "f", '{"a":1}'), ("u", "g", "{}")]
    assert [type(part).__name__ for part in answer.message.parts] == [
        "ThinkingContent",
        "TextContent",
        "ToolCall",
        "ToolCall",
    ]


def test_blocks_that_begin_before_the_one_of_their_index_has_ended() -> None:
    answer = of_anthropic(
        begin(0, type="text", text=""),
        delta(0, "text_delta", "A"),
        begin(0, type="tool_use", id="t", name="f", input={}),
        delta(0, "input_json_delta", "{}"),
        close(0),
        reason="tool_use",
    )

    assert (answer.text, calls_of(answer)) == ("A", [("t", "f", "{}")])


@pytest.mark.parametrize("opened", ["text", "thinking"])
def test_deltas_of_another_kind_than_their_block(opened: str) -> None:
    answer = of_anthropic(
        begin(0, type=opened, **{opened: ""}),
        delta(0, "thinking_delta", "R"),
        delta(0, "text_delta", "A"),
        close(0),
    )

    assert (answer.thinking, answer.text) == ("R", "A")


def test_a_tools_input_that_is_an_object_and_no_text() -> None:
    answer = of_anthropic(
        begin(0, type="tool_use", id="t", name="f", input={}),
        delta(0, "input_json_delta", None),
        delta(0, "input_json_delta", {"a": 1}),
        close(0),
        reason="tool_use",
    )

    assert calls_of(answer) == [("t", "f", '{"a":1}')]


def test_a_character_in_two_halves_is_one() -> None:
    halves = b"".join(
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}\n\n' % text
        for text in (b"a", b"b\\ud83d", b"\\ude00c", b"d")
    )
    before, after = sse(START, begin(0, type="text", text="")), sse(close(0), end("end_turn"), STOP)

    assert read_streamed("anthropic", before + halves + after).text == "ab\U0001f600cd"


ANTHROPIC_ERRORS: list[tuple[Any, type[ModelError], str]] = [
    ({"detail": "no such route"}, ServerError, "no such route"),
    ({"object": "error", "message": "engine died", "code": 500}, ServerError, "engine died"),
    ({"message": "slow down", "code": 429}, RateLimited, "slow down"),
    ({"type": "error", "error": "bare"}, ServerError, "bare"),
]


@pytest.mark.parametrize(("event", "kind", "message"), ANTHROPIC_ERRORS)
def test_errors_of_other_shapes_in_anthropics_stream(event: Any, kind: type[ModelError], message: str) -> None:
    for before in ([], [START, begin(0, type="text", text="Hel")]):
        error = error_of("anthropic", sse(*before, event, named=True))

        assert type(error) is kind
        assert error.message == message
        assert (error.partial.text if error.partial else None) == ("Hel" if before else None)


def test_an_error_event_that_is_plain_text() -> None:
    error = error_of("anthropic", sse(START, named=True) + b"event: error\ndata: upstream went away\n\n")

    assert type(error) is ServerError
    assert error.message == "upstream went away"


# Responses

CREATED = {"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress"}}
TEXT_ITEM = {"type": "message", "id": "msg", "role": "assistant", "status": "completed"}


def completed(*output: Any, **fields: Any) -> dict[str, Any]:
    response = {"id": "r", "object": "response", "status": "completed", "output": list(output), **fields}
    return {"type": "response.completed", "response": response}


def test_a_text_of_which_only_the_end_is_told() -> None:
    answer = read_streamed(
        "openai-responses",
        sse(
            CREATED,
            {"type": "response.output_item.added", "output_index": 0, "item": {**TEXT_ITEM, "content": []}},
            {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hi"},
            completed(),
            named=True,
        ),
    )

    assert answer.text == "Hi"


def test_arguments_of_which_only_the_end_is_told() -> None:
    item = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""}
    answer = read_streamed(
        "openai-responses",
        sse(
            CREATED,
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"a":1}'},
            completed(),
            named=True,
        ),
    )

    assert calls_of(answer) == [("c", "f", '{"a":1}')]


def test_a_text_that_grew_less_than_it_is() -> None:
    whole = {**TEXT_ITEM, "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}
    answer = read_streamed(
        "openai-responses",
        sse(
            CREATED,
            {"type": "response.output_item.added", "output_index": 0, "item": {**TEXT_ITEM, "content": []}},
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "H"},
            {"type": "response.output_item.done", "output_index": 0, "item": whole},
            completed(whole),
            named=True,
        ),
    )

    assert answer.text == "Hi"  # and the deltas said all of it, which the reader asserts


def test_a_body_where_a_stream_was_asked_for() -> None:
    whole = {**TEXT_ITEM, "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}

    answer = read_streamed("openai-responses", json.dumps(completed(whole)["response"]).encode())

    assert answer.text == "Hi"
    assert answer.finish_reason is FinishReason.STOP


def test_an_error_under_any_events_name() -> None:
    error = error_of("openai-responses", b'event: message\ndata: {"error": {"message": "full", "code": 429}}\n\n')

    assert type(error) is RateLimited


@pytest.mark.parametrize("status", ["incomplete", None])
def test_a_free_text_call_that_was_cut_is_never_run(status: str | None) -> None:
    item = {"type": "custom_tool_call", "id": "ctc", "call_id": "c", "name": "sql", "input": "DELETE FROM a"}
    body = {
        "id": "r",
        "object": "response",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [item if status is None else {**item, "status": status}],
    }

    answer = read_plain("openai-responses", body)

    assert answer.finish_reason is FinishReason.LENGTH
    assert not answer.tool_calls[0].is_valid


# Gemini and Ollama


def test_gemini_lists_with_nothing_in_them_and_an_end_mark_of_another_wire() -> None:
    answer = read_streamed(
        "gemini",
        sse(
            {"candidates": None},
            {"candidates": [None]},
            {"candidates": [{"content": {"parts": [None, {"text": "Hi"}]}, "finishReason": "STOP"}], "error": None},
            done=True,
        ),
    )

    assert answer.text == "Hi"


def test_ollama_says_that_there_is_no_error() -> None:
    lines = [
        {"message": {"role": "assistant", "content": "Hi"}, "done": False, "error": None},
        {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "error": None},
    ]

    assert read_streamed("ollama", b"".join(json.dumps(line).encode() + b"\n" for line in lines)).text == "Hi"
    assert read_plain("ollama", {**lines[0], "done": True, "done_reason": "stop"}).text == "Hi"


def test_ollama_errors_that_are_objects_are_told_by_their_kind() -> None:
    error = error_of("ollama", b'{"error": {"message": "slow down", "code": 429}}\n')

    assert type(error) is RateLimited
    assert error.status == 429


# Ids

DOUBLE_IDS: dict[str, tuple[dict[str, Any], bytes]] = {}


def _double(provider: str, body: dict[str, Any], stream: bytes) -> None:
    DOUBLE_IDS[provider] = (body, stream)


_BLOCKS = [{"type": "tool_use", "id": "same", "name": "f", "input": {"a": number}} for number in (1, 2)]
_double(
    "anthropic",
    {**MESSAGE, "content": _BLOCKS, "stop_reason": "tool_use"},
    sse(START, begin(0, **_BLOCKS[0]), close(0), begin(1, **_BLOCKS[1]), close(1), end("tool_use"), STOP, named=True),
)
_PARTS = [{"functionCall": {"id": "same", "name": "f", "args": {"a": number}}} for number in (1, 2)]
_GEMINI = {"responseId": "g", "candidates": [{"content": {"role": "model", "parts": _PARTS}, "finishReason": "STOP"}]}
_double("gemini", _GEMINI, sse(_GEMINI))
_CALLS = [{"id": "same", "function": {"index": 0, "name": "f", "arguments": {"a": number}}} for number in (1, 2)]
_OLLAMA = {"created_at": "t", "message": {"role": "assistant", "content": "", "tool_calls": _CALLS}, "done": True}
_double("ollama", {**_OLLAMA, "done_reason": "stop"}, json.dumps({**_OLLAMA, "done_reason": "stop"}).encode() + b"\n")
_ITEMS = [
    {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": "same",
        "name": "f",
        "arguments": f'{{"a":{number}}}',
        "status": "completed",
    }
    for number in (1, 2)
]
_double("openai-responses", completed(*_ITEMS)["response"], sse(CREATED, completed(*_ITEMS), named=True))
_TOOL_CALLS = [
    {"id": "same", "type": "function", "function": {"name": "f", "arguments": f'{{"a":{number}}}'}} for number in (1, 2)
]
_double(
    "openai-compatible",
    {"id": "x", "choices": [{"message": {"content": None, "tool_calls": _TOOL_CALLS}, "finish_reason": "tool_calls"}]},
    sse({"id": "x", "choices": [{"delta": {"tool_calls": _TOOL_CALLS}, "finish_reason": "tool_calls"}]}, done=True),
)


@pytest.mark.parametrize("provider", DOUBLE_IDS)
def test_two_calls_of_one_id_get_two(provider: str) -> None:
    body, stream = DOUBLE_IDS[provider]

    plain, streamed = read_plain(provider, body), read_streamed(provider, stream)

    assert calls_of(plain) == calls_of(streamed)
    assert [json.loads(call.arguments) for call in plain.tool_calls] == [{"a": 1}, {"a": 2}]
    assert plain.tool_calls[0].id == "same"
    results = [ToolResultMessage(call.id, call.name, "ok") for call in plain.tool_calls]
    check_history([UserMessage("q"), plain.message, *results])  # raises where ids are not distinct


# Items of the Responses API


def item_events(index: int | None, item: dict[str, Any], delta: dict[str, Any]) -> list[dict[str, Any]]:
    place = {} if index is None else {"output_index": index}
    empty = {**item, "content": []} if item["type"] == "message" else {**item, "arguments": ""}
    return [
        {"type": "response.output_item.added", **place, "item": empty},
        {**delta, **place},
        {"type": "response.output_item.done", **place, "item": item},
    ]


@pytest.mark.parametrize("index", [0, None])
def test_items_that_all_have_one_index_or_none(index: int | None) -> None:
    text = {**TEXT_ITEM, "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
    events = [
        CREATED,
        *item_events(index, text, {"type": "response.output_text.delta", "content_index": 0, "delta": "Hi"}),
        *item_events(index, call, {"type": "response.function_call_arguments.delta", "delta": "{}"}),
        completed(text, call),
    ]

    answer = read_streamed("openai-responses", sse(*events, named=True))

    assert (answer.text, calls_of(answer)) == ("Hi", [("c", "f", "{}")])


def test_events_that_are_said_twice_add_nothing() -> None:
    text = {**TEXT_ITEM, "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}
    added, delta, done = item_events(0, text, {"type": "response.output_text.delta", "content_index": 0, "delta": "Hi"})

    answer = read_streamed(
        "openai-responses", sse(CREATED, added, added, delta, done, delta, done, completed(text), named=True)
    )

    assert answer.text == "Hi"  # and the deltas say it once, which the reader asserts
