"""
OpenAI's Responses as other servers stream them: indexes with gaps, from 1, or none; ends that were never begun by deltas.

What is told twice counts once, what is told only at its end is not lost, and a piece belongs to the item that it names.
Facts of the wire: openai 3.57.0, types/responses (`output_index`, `item_id`, the `.done` events and what each holds).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, read_plain, read_streamed, sse

from polywire.contents import TextContent, ThinkingContent
from polywire.responses import ChatResponse, FinishReason

USAGE = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "R"}],
    "encrypted_content": "E",
}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "A", "annotations": []}],
}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c_1",
    "name": "f",
    "arguments": '{"a":1}',
    "status": "completed",
}
OTHER = {**CALL, "id": "fc_2", "call_id": "c_2", "name": "g", "arguments": '{"b":2}'}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def body(*output: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m",
        "output": list(output),
        "usage": USAGE,
    }


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


CREATED = event("created", response={**body(), "status": "in_progress", "usage": None})


def of(*events: Any, output: tuple[Any, ...] = ()) -> ChatResponse:
    end = event("completed", response=body(*output))
    return read_streamed("openai-responses", sse(CREATED, *events, end, named=True))


def told(item: dict[str, Any], index: int | None) -> list[dict[str, Any]]:
    """The events of one item, with its text or arguments in one delta."""
    place = {} if index is None else {"output_index": index}
    begun = {**item, "content": [], "summary": [], "arguments": ""}
    events = [event("output_item.added", **place, item={key: begun[key] for key in begun if key in item})]
    where = {**place, "item_id": item["id"]}
    if item["type"] == "message":
        events.append(event("output_text.delta", **where, content_index=0, delta=item["content"][0]["text"]))
    elif item["type"] == "function_call":
        events.append(event("function_call_arguments.delta", **where, delta=item["arguments"]))
    elif item["type"] == "reasoning":
        events.append(event("reasoning_summary_text.delta", **where, summary_index=0, delta=item["summary"][0]["text"]))
    return [*events, event("output_item.done", **place, item=item)]


ALL = (REASONING, MESSAGE, SEARCH, CALL, OTHER)


@pytest.mark.parametrize("indexes", [(0, 1, 2, 3, 4), (1, 2, 3, 4, 5), (0, 3, 4, 9, 11), (None,) * 5, (0,) * 5])
@pytest.mark.parametrize("named", [True, False])
def test_each_item_counts_once_whatever_its_index(indexes: Any, named: bool) -> None:
    events = [each for item, index in zip(ALL, indexes, strict=True) for each in told(item, index)]
    # At the end some servers list the items without their ids.
    listed = ALL if named else tuple({key: item[key] for key in item if key != "id"} for item in ALL)

    answer = of(*events, output=listed)

    assert answer.message == read_plain("openai-responses", body(*ALL)).message
    assert answer.finish_reason is FinishReason.TOOL_CALLS
    assert calls_of(answer) == [("c_1", "f", '{"a":1}'), ("c_2", "g", '{"b":2}')]


def test_items_that_only_the_end_tells_stand_among_the_others() -> None:
    answer = of(*told(MESSAGE, 1), output=(REASONING, MESSAGE, CALL))

    assert answer.message == read_plain("openai-responses", body(REASONING, MESSAGE, CALL)).message


def test_pieces_without_an_index_belong_to_the_item_that_they_name() -> None:
    answer = of(
        event("output_item.added", item={**CALL, "arguments": ""}),
        event("output_item.added", item={**OTHER, "arguments": ""}),
        event("function_call_arguments.delta", item_id="fc_1", delta='{"a"'),
        event("function_call_arguments.delta", item_id="fc_2", delta='{"b"'),
        event("function_call_arguments.delta", item_id="fc_1", delta=":1}"),
        event("function_call_arguments.delta", item_id="fc_2", delta=":2}"),
        event("output_item.done", item=CALL),
        event("output_item.done", item=OTHER),
    )

    assert calls_of(answer) == [("c_1", "f", '{"a":1}'), ("c_2", "g", '{"b":2}')]


BEGUN = event("output_item.added", output_index=0, item={**MESSAGE, "content": []})
THOUGHT = event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1", "summary": []})


@pytest.mark.parametrize(
    "events",
    [
        (event("output_text.done", output_index=0, content_index=0, text="A"),),
        (event("content_part.done", output_index=0, content_index=0, part={"type": "output_text", "text": "A"}),),
        (
            event("output_text.delta", output_index=0, content_index=0, delta="A"),
            event("output_text.done", output_index=0, content_index=0, text="A"),
            event("content_part.done", output_index=0, content_index=0, part={"type": "output_text", "text": "A"}),
        ),
    ],
)
def test_a_text_is_told_once_however_its_end_says_it(events: Any) -> None:
    assert of(BEGUN, *events).text == "A"


@pytest.mark.parametrize(
    "events",
    [
        (event("refusal.done", output_index=0, content_index=0, refusal="No"),),
        (event("content_part.done", output_index=0, content_index=0, part={"type": "refusal", "refusal": "No"}),),
        (
            event("refusal.delta", output_index=0, content_index=0, delta="No"),
            event("refusal.done", output_index=0, content_index=0, refusal="No"),
        ),
    ],
)
def test_a_refusal_is_told_once_however_its_end_says_it(events: Any) -> None:
    answer = of(BEGUN, *events)

    assert (answer.text, answer.finish_reason) == ("No", FinishReason.REFUSAL)


@pytest.mark.parametrize(
    "events",
    [
        (event("reasoning_summary_text.done", output_index=0, summary_index=0, text="R"),),
        (event("reasoning_text.done", output_index=0, content_index=0, text="R"),),
        (
            event("reasoning_text.delta", output_index=0, content_index=0, delta="R"),
            event("reasoning_text.done", output_index=0, content_index=0, text="R"),
        ),
    ],
)
def test_thinking_is_told_once_however_its_end_says_it(events: Any) -> None:
    assert of(THOUGHT, *events).thinking == "R"


@pytest.mark.parametrize(
    "events",
    [
        ("delta", "done"),
        ("delta",),
        ("done",),
    ],
)
def test_free_text_for_a_tool_is_whole_without_its_item(events: tuple[str, ...]) -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c_1", "name": "sql", "input": ""}
    said = {
        "delta": [
            event("custom_tool_call_input.delta", output_index=0, item_id="ctc_1", delta=each)
            for each in ("sel", "ect")
        ],
        "done": [event("custom_tool_call_input.done", output_index=0, item_id="ctc_1", input="select")],
    }
    answer = of(
        event("output_item.added", output_index=0, item=item), *(each for name in events for each in said[name])
    )

    assert calls_of(answer) == [("c_1", "sql", '{"input":"select"}')]


@pytest.mark.parametrize("kind", ["output_text", "reasoning_summary_text"])
def test_a_character_in_two_halves_is_one(kind: str) -> None:
    begun = BEGUN if kind == "output_text" else THOUGHT
    halves = [
        event(f"{kind}.delta", output_index=0, delta=each) for each in ("a\ud83d", "\ude00b", "c", "d\ud83d", "\ude00")
    ]

    answer = of(begun, *halves)

    assert (answer.text or answer.thinking) == "a\U0001f600bcd\U0001f600"


def test_half_a_character_that_stays_alone_is_told_as_none() -> None:
    assert of(BEGUN, event("output_text.delta", output_index=0, content_index=0, delta="a\ud83d")).text == "a\ufffd"


BARE_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "f", "status": "completed"}
BARE_CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c_1", "name": "sql", "status": "completed"}
NOTHING: list[dict[str, Any]] = [{}, {"it": None}, {"it": ""}]


def said_and_done(item: dict[str, Any], field: str, last: Mapping[str, Any], *deltas: dict[str, Any]) -> ChatResponse:
    """An item that grows, and whose end says of `field` what `last` does: nothing."""
    done = {**item, **({field: last["it"]} if last else {})}
    return of(
        event("output_item.added", output_index=0, item={**item, field: ""}),
        *deltas,
        event("output_item.done", output_index=0, item=done),
        output=(done,),
    )


@pytest.mark.parametrize("last", NOTHING)
def test_the_pieces_of_a_calls_arguments_count_where_its_end_has_none(last: dict[str, Any]) -> None:
    deltas = [event("function_call_arguments.delta", output_index=0, delta=each) for each in ('{"x"', ":1}")]

    answer = said_and_done(BARE_CALL, "arguments", last, *deltas)

    assert calls_of(answer) == [("c_1", "f", '{"x":1}')]


@pytest.mark.parametrize("last", NOTHING)
def test_the_pieces_of_a_tools_free_text_count_where_its_end_has_none(last: dict[str, Any]) -> None:
    deltas = [event("custom_tool_call_input.delta", output_index=0, delta=each) for each in ("sel", "ect")]

    answer = said_and_done(BARE_CUSTOM, "input", last, *deltas)

    assert calls_of(answer) == [("c_1", "sql", '{"input":"select"}')]


@pytest.mark.parametrize("last", [{}, {"it": None}, {"it": []}, {"it": [{"type": "summary_text", "text": ""}]}])
def test_the_pieces_of_thinking_count_where_its_end_has_none(last: dict[str, Any]) -> None:
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "SEAL"}

    answer = said_and_done(
        item, "summary", last, event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="R")
    )

    (thought,) = answer.message.parts
    assert isinstance(thought, ThinkingContent)
    assert (thought.text, thought.signature) == ("R", "SEAL")


@pytest.mark.parametrize("last", [{}, {"it": None}, {"it": []}, {"it": [{"type": "output_text", "text": None}]}])
def test_the_pieces_of_a_text_count_where_its_end_has_none(last: dict[str, Any]) -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "phase": "final"}

    answer = said_and_done(
        item, "content", last, event("output_text.delta", output_index=0, content_index=0, delta="Hi")
    )

    (text,) = answer.message.parts
    assert isinstance(text, TextContent)
    assert text.text == "Hi"
    assert text.extras["openai-responses"]["phase"] == "final"


def test_an_end_under_its_short_name() -> None:
    """As some of the vendor's own servers have it."""
    whole = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": []}
    body = sse(BEGUN, event("output_text.delta", output_index=0, delta="Hi"), event("done", response=whole), named=True)

    assert read_streamed("openai-responses", body).text == "Hi"


def test_an_index_below_0_is_none() -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    answer = of(
        event("output_item.added", output_index=-1, item=item),
        event("output_text.delta", output_index=-1, item_id="msg_1", content_index=0, delta="Hi"),
    )

    assert answer.text == "Hi"
