"""A refusal of one of OpenAI's APIs is one of the other's, whole, streamed and in a history, whoever reads it then."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import read_plain, read_streamed, sse

from polywire import convert, convert_stream
from polywire.responses import FinishReason

SAID = {"type": "output_text", "text": "Well. ", "annotations": []}
NO = {"type": "refusal", "refusal": "No way"}


def item(*parts: Any) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(parts)}


def response(*parts: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item(*parts)]}


def chat(message: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
    }


WHOLE = {"openai": chat({"content": None, "refusal": "No way"}), "openai-responses": response(NO)}
STREAMS = {
    "openai": sse(
        *(
            {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in (
                ({"role": "assistant", "content": ""}, None),
                ({"refusal": "No"}, None),
                ({"refusal": " way"}, None),
                ({}, "stop"),
            )
        ),
        done=True,
    ),
    "openai-responses": sse(
        {"type": "response.created", "response": {**response(), "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item()},
        {"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": {**NO, "refusal": ""}},
        {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "No"},
        {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": " way"},
        {"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "No way"},
        {"type": "response.output_item.done", "output_index": 0, "item": item(NO)},
        {"type": "response.completed", "response": response(NO)},
        named=True,
    ),
}


def assert_refused(answer: Any) -> None:
    assert (answer.text, answer.finish_reason) == ("No way", FinishReason.REFUSAL)
    assert [bool(part.extras[wire].get("refusal")) for part in answer.message.parts for wire in part.extras] == [True]


@pytest.mark.parametrize("target", STREAMS)
@pytest.mark.parametrize("source", STREAMS)
def test_a_streamed_refusal_is_one_on_the_other_side(source: str, target: str) -> None:
    for size in (1, 7, 10_000):
        chunks = [STREAMS[source][at : at + size] for at in range(0, len(STREAMS[source]), size)]
        written = b"".join(convert_stream(chunks, source=source, target=target))

        assert b'"content":"No' not in written
        assert b"output_text.delta" not in written
    assert_refused(read_streamed(target, written))


@pytest.mark.parametrize("target", WHOLE)
@pytest.mark.parametrize("source", WHOLE)
def test_a_whole_refusal_is_one_on_the_other_side(source: str, target: str) -> None:
    assert_refused(read_plain(target, convert(WHOLE[source], source=source, target=target).payload))


def test_a_refusal_in_a_history_is_one_on_the_other_side() -> None:
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "refusal": "No way"}]
    listed = convert(said, source="openai", target="openai-responses").payload

    assert listed[1]["content"] == [NO]
    assert convert(listed, source="openai-responses", target="openai").payload == said


def test_a_text_before_a_refusal_stays_text() -> None:
    events = [
        {"type": "response.created", "response": {**response(), "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item()},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Well. "},
        {"type": "response.refusal.delta", "output_index": 0, "content_index": 1, "delta": "No way"},
        {"type": "response.output_item.done", "output_index": 0, "item": item(SAID, NO)},
        {"type": "response.completed", "response": response(SAID, NO)},
    ]
    streamed = read_streamed("openai-responses", sse(*events, named=True))

    assert streamed.message == read_plain("openai-responses", response(SAID, NO)).message
    written = b"".join(convert_stream([sse(*events, named=True)], source="openai-responses", target="openai"))
    assert b'"content":"Well. "' in written
    assert b'"refusal":"No way"' in written


@pytest.mark.parametrize(("deltas", "part"), [("refusal", SAID), ("output_text", NO)])
def test_what_the_end_calls_otherwise_than_its_deltas_is_said_once(deltas: str, part: Any) -> None:
    told = part.get("text") or part["refusal"]
    events = [
        {"type": "response.created", "response": {**response(), "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item()},
        {"type": f"response.{deltas}.delta", "output_index": 0, "content_index": 0, "delta": told},
        {"type": "response.output_item.done", "output_index": 0, "item": item(part)},
        {"type": "response.completed", "response": response(part)},
    ]

    assert read_streamed("openai-responses", sse(*events, named=True)).text == told
