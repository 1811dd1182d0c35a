"""
Request and answer bodies in which something was taken out, doubled, moved, or replaced by a value of another kind.

From every wire to every wire: converted into plain JSON that its own wire reads again, or refused by one of the library's
own errors; and what was handed in stays what it was. Every case is made from its number.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from polywire import convert
from polywire.errors import PolywireError

CASES = 30
WIRES = ("openai", "openai-responses", "anthropic", "gemini", "ollama")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}


def call(identity: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "enum": [1, 2]},
        "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "c": {"$ref": "#/$defs/C"},
        "t": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["a"],
    "$defs": {"C": {"type": "object", "properties": {"x": {"type": "string"}}}},
}
REQUEST = {
    "model": "m",
    "temperature": 0.5,
    "max_tokens": 9,
    "stop": ["END"],
    "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True}}
    ],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "parallel_tool_calls": False,
    "response_format": {
        "type": "json_schema",
        "json_schema": {
            "name": "n",
            "schema": {"type": "object", "properties": {"q": {"type": "integer", "minimum": 1}}},
        },
    },
    "reasoning_effort": "low",
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "text", "text": "q"}, PICTURE]},
        {
            "role": "assistant",
            "content": "ok",
            "reasoning_content": "R",
            "tool_calls": [call("a:1", "f", '{"a":1}'), call("b", "g.h", "")],
        },
        {"role": "tool", "tool_call_id": "a:1", "content": "r1"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "r2"}, PICTURE]},
        {"role": "assistant", "content": "mid"},
        {"role": "user", "content": "bye"},
    ],
}
ANSWER = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "tool_calls": [call("a:1", "f", '{"a":1}')]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
}
BODIES = {"request": REQUEST, "response": ANSWER}

VALUES: list[Any] = [
    None, "", 0, 1, -1, True, [], {}, "x", [None], {"a": 1}, 1.5, "null", [[]], 10**20, "\ud83d", "é" * 3,
]  # fmt: skip


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*place, key)
            yield from places(value[key], (*place, key))


def body_of(wire: str, kind: Any) -> Any:
    """The body in the terms of a wire, as plain JSON."""
    converted = convert(BODIES[kind], source="openai", target=wire, kind=kind)
    return json.loads(json.dumps(converted.payload))


def mutated(body: Any, name: str) -> Any:
    chance = random.Random(name)
    body = copy.deepcopy(body)
    for _ in range(chance.choice((1, 1, 2, 3))):
        *way, last = chance.choice(list(places(body)) or [("nothing",)])
        if last == "nothing":
            break
        holder = body
        for key in way:
            holder = holder[key]
        match chance.randrange(7):
            case 0:
                del holder[last]
            case 1:
                holder[last] = [holder[last]]
            case 2 if isinstance(holder, list):
                holder.insert(last, copy.deepcopy(holder[last]))
            case 3 if isinstance(holder, list):
                chance.shuffle(holder)
            case _:
                holder[last] = copy.deepcopy(chance.choice(VALUES))
    return body


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("source", WIRES)
def test_a_mutated_body_is_converted_or_refused(source: str, kind: Any) -> None:
    whole = body_of(source, kind)
    for number in range(CASES):
        body = mutated(whole, f"{kind} {source} {number}")
        before = copy.deepcopy(body)
        for target in WIRES:
            for history in ("strict", "repair"):
                try:
                    written = convert(body, source=source, target=target, kind=kind, history=history).payload  # type: ignore[arg-type]
                except PolywireError:
                    continue
                json.dumps(written)
                assert body == before, f"case {number} of {source} to {target}: what was handed in has changed"
                convert(written, source=target, target=target, kind=kind)  # raises where its own wire cannot read it


@pytest.mark.parametrize("target", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": True}}},
        {"type": "object", "properties": {"a": {"enum": 5}}},
        {"type": "object", "properties": {"a": {"anyOf": {"type": "string"}}}},
        {"type": "object", "properties": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": 5},
    ],
)
def test_a_schema_that_is_none_is_refused_by_name_or_sent_as_it_is(schema: dict[str, Any], target: str) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    try:
        convert(body, source="openai", target=target)
    except PolywireError as error:
        told = str(error)
    else:
        told = "tools.f"
    assert "tools.f" in told
