"""
Streams in which something was taken out, said twice, moved, or replaced by a value of another kind.

Whatever comes of it: no error but the library's own, the same at every cut of the bytes, and calls that can be told
apart. Converted, such a stream ends in the target's own way, complete or with an error. Every case is made from its
number, so that one that fails can be looked at again.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from polywire import convert_stream
from polywire.errors import ModelError
from polywire.events import ResponseCollector
from polywire.framing.runs import connect
from polywire.framing.tail import last_events
from polywire.plugins import wire_named
from polywire.responses import ChatResponse

CASES = 120
CUTS = (1, 7, 64)


def chat(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def calls(*items: dict[str, Any]) -> dict[str, Any]:
    return chat({"tool_calls": list(items)})


def block(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def grow(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "usage": {"input_tokens": 9},
}
RESPONSE = {"id": "r1", "object": "response", "status": "in_progress", "output": [], "model": "m"}
TEXT = {
    "type": "message",
    "id": "msg",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Héllo", "annotations": []}],
}
CALL = {"type": "function_call", "id": "fc", "call_id": "a", "name": "f", "arguments": '{"a":1}', "status": "completed"}

STREAMS: dict[str, list[Any]] = {
    "openai": [
        chat({"role": "assistant", "content": ""}),
        chat({"reasoning_content": "R"}),
        chat({"content": "Hé"}),
        chat({"content": "llo"}),
        calls({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}),
        calls({"index": 0, "function": {"arguments": '{"a":'}}),
        calls({"index": 0, "function": {"arguments": "1}"}}),
        calls({"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}),
        chat({}, "tool_calls"),
        {"id": "x", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
        "[DONE]",
    ],
    "anthropic": [
        {"type": "message_start", "message": MESSAGE},
        block(0, type="thinking", thinking="", signature=""),
        grow(0, type="thinking_delta", thinking="R"),
        grow(0, type="signature_delta", signature="SIG"),
        stop(0),
        block(1, type="text", text=""),
        grow(1, type="text_delta", text="Hé"),
        grow(1, type="text_delta", text="llo"),
        stop(1),
        block(2, type="tool_use", id="a", name="f", input={}),
        grow(2, type="input_json_delta", partial_json='{"a":'),
        grow(2, type="input_json_delta", partial_json="1}"),
        stop(2),
        block(3, type="tool_use", id="b", name="g", input={}),
        stop(3),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ],
    "gemini": [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "R", "thought": True}]}}], "responseId": "r"},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hé"}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "llo"}]}}]},
        {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"functionCall": {"id": "a", "name": "f", "args": {"a": 1}}, "thoughtSignature": "S"},
                            {"functionCall": {"name": "g"}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3, "totalTokenCount": 11},
        },
    ],
    "ollama": [
        {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", "thinking": "R"}},
        {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "Hé"}, "done": False},
        {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "llo"}, "done": False},
        {
            "message": {
                "content": "",
                "tool_calls": [
                    {"id": "a", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}},
                    {"function": {"name": "g", "arguments": {}}},
                ],
            },
            "done": False,
        },
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 2},
    ],
    "openai-responses": [
        {"type": "response.created", "response": RESPONSE},
        {"type": "response.output_item.added", "output_index": 0, "item": {**TEXT, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hé"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "llo"},
        {"type": "response.output_item.done", "output_index": 0, "item": TEXT},
        {"type": "response.output_item.added", "output_index": 1, "item": {**CALL, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a":'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "1}"},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
        {"type": "response.completed", "response": {**RESPONSE, "status": "completed", "output": [TEXT, CALL]}},
    ],
}

VALUES: list[Any] = [
    None, "", 0, 1, -1, True, [], {}, "x", [None], {"a": 1}, 1.5, "null", [[]], 10**20, "\ud83d", "é" * 3,
]  # fmt: skip


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but its top."""
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*place, key)
            yield from places(value[key], (*place, key))


def mutated(wire: str, number: int) -> list[Any]:
    """The wire's stream with one to three changes."""
    chance = random.Random(f"{wire} {number}")
    events = copy.deepcopy(STREAMS[wire])
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(events))
        match chance.randrange(7):
            case 0 if len(events) > 1:
                del events[at]
            case 1:
                events.insert(at, copy.deepcopy(events[at]))
            case 2:
                other = chance.randrange(len(events))
                events[at], events[other] = events[other], events[at]
            case kind:
                found = list(places(events[at]))
                if not found:
                    continue
                *way, last = chance.choice(found)
                holder = events[at]
                for key in way:
                    holder = holder[key]
                if kind == 3 and isinstance(holder, dict):
                    del holder[last]
                else:
                    holder[last] = [holder[last]] if kind == 4 else chance.choice(VALUES)
    return events


def written(wire: str, events: Iterable[Any]) -> bytes:
    """The bytes of a stream; half a character stays half."""
    lines: list[str] = []
    for event in events:
        text = event if isinstance(event, str) else json.dumps(event)
        kind = event.get("type") if isinstance(event, dict) else None
        named = wire in {"anthropic", "openai-responses"} and isinstance(kind, str) and kind.isascii()
        lines.append(f"event: {kind}\n" if named else "")
        lines.append(f"{text}\n" if wire == "ollama" else f"data: {text}\n\n")
    return "".join(lines).encode("utf-8", "replace")


def read(wire: str, chunks: Iterable[bytes]) -> ChatResponse | tuple[type[ModelError], str]:
    """What comes of a stream: an answer, or one of the library's errors."""
    reader = wire_named(wire)
    framing, decoder, collector = reader.framing(), reader.stream_decoder(), ResponseCollector()
    connect(framing, decoder)
    try:
        for chunk in chunks:
            for frame in framing.feed(chunk):
                if not decoder.ended:
                    collector.add_all(decoder.feed(frame))
        collector.add_all(last_events(framing, decoder))
    except ModelError as error:
        return type(error), error.message
    return collector.response()


@pytest.mark.parametrize("wire", STREAMS)
def test_a_mutated_stream_is_read_or_refused_alike_at_every_cut(wire: str) -> None:
    for number in range(CASES):
        data = written(wire, mutated(wire, number))
        whole = read(wire, [data])
        for size in CUTS:
            cut = read(wire, [data[at : at + size] for at in range(0, len(data), size)])
            assert cut == whole, f"case {number} of {wire}, cut at {size}"
        if isinstance(whole, ChatResponse):
            ids = [call.id for call in whole.tool_calls]
            assert len(set(ids)) == len(ids), f"case {number} of {wire}"
            # What is handed out can be printed and stored.
            f"{whole.text}{whole.thinking}".encode()


@pytest.mark.parametrize("target", STREAMS)
@pytest.mark.parametrize("wire", STREAMS)
def test_a_mutated_stream_is_converted_to_an_end(wire: str, target: str) -> None:
    for number in range(CASES // 4):
        data = written(wire, mutated(wire, number))
        came, went = read(wire, [data]), read(target, convert_stream([data], source=wire, target=target))
        assert isinstance(went, ChatResponse) == isinstance(came, ChatResponse), f"case {number} of {wire} to {target}"
        if isinstance(went, ChatResponse) and isinstance(came, ChatResponse):
            # Streams that contradict themselves may be told in another order; no call is made up.
            known = {*(call.name for call in came.tool_calls), "f", "g", "unnamed"}
            assert {call.name for call in went.tool_calls} <= known
