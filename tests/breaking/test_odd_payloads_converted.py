"""
Payloads of odd clients, converted: every one comes out right, or is refused with a word on what and where, or is told.

Nothing that a client may put into a body ends in an error of Python's own, and no field is left out in silence.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from polywire import aconvert_stream, convert, convert_stream
from polywire.errors import BadRequest, PolywireError, ProtocolError
from polywire.tool_specifications import ToolSpecification

ASK = {"role": "user", "content": "q"}
WIRES = ("openai", "openai-responses", "anthropic", "gemini", "ollama")


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [ASK], **fields}


def tool(name: str = "f", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **function}}


# What is no payload at all


@pytest.mark.parametrize("payload", ["", "{", "5", '"text"', "null", b"\xff\xfe", "[" * 100_000])
def test_a_text_that_is_no_payload(payload: str | bytes) -> None:
    with pytest.raises(ProtocolError, match="the payload"):
        convert(payload, source="openai", target="anthropic")


SHAPES: list[Any] = [
    None,
    5,
    "text",
    True,
    [],
    {},
    [None],
    [5],
    ["text"],
    [[]],
    [{}],
    [{"role": None}],
    [{"role": "user", "content": 5}],
    [{"role": "user", "content": [None]}],
    [{"role": "user", "content": [5]}],
    [{"role": "user", "parts": 5}],
    [{"role": "user", "parts": [None]}],
    [{"role": "model", "parts": [{"functionCall": {"name": 5}}]}],
    [{"role": "assistant", "content": None, "tool_calls": 5}],
    [{"role": "assistant", "content": None, "tool_calls": [{"function": 5}]}],
    [{"role": "tool", "content": None}],
    [{"type": "function_call"}],
    [{"type": "function_call_output"}],
    [{"type": "reasoning", "summary": 5}],
]


@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_conversations_of_any_shape_are_read_or_refused(source: str, shape: Any) -> None:
    field = {"gemini": "contents", "openai-responses": "input"}.get(source, "messages")
    for payload, kind in (({"model": "m", field: shape}, "request"), (shape, "messages"), (shape, "response")):
        try:
            converted = convert(copy.deepcopy(payload), source=source, target="anthropic", kind=kind).payload
        except PolywireError:
            continue
        except TypeError:
            # This is for the program that hands over no JSON object at all, not for what stands in one.
            converted = {} if not isinstance(payload, (dict, list)) else None
        assert isinstance(converted, (dict, list))


FIELDS = {
    "openai": ("response_format", "stop", "seed", "temperature", "tools", "tool_choice", "parallel_tool_calls",
               "reasoning_effort", "max_tokens", "frequency_penalty", "reasoning", "thinking", "functions"),
    "anthropic": ("system", "stop_sequences", "temperature", "tools", "tool_choice", "thinking", "output_config",
                  "max_tokens", "metadata"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "field"), [(source, field) for source in FIELDS for field in FIELDS[source]])
@pytest.mark.parametrize("value", ["x", 5, True, [None], {"a": 1}, [{"a": 1}]], ids=repr)
def test_a_field_of_another_shape_is_refused_or_told(source: str, field: str, value: Any) -> None:
    target = "anthropic" if source == "openai" else "openai"
    plain = convert(body(max_tokens=9), source=source, target=target).payload
    try:
        converted = convert(body(max_tokens=9) | {field: value}, source=source, target=target)
    except PolywireError as error:
        told = field in str(error) or "request body" in str(error)
    else:
        # Without tools the switch says nothing.
        silent = (field, value) == ("parallel_tool_calls", True)
        told = bool(converted.notices) or converted.payload != plain or silent
    assert told


# Tools


def test_a_tool_in_the_flat_form_is_a_tool() -> None:
    flat = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}

    written = convert(body(tools=[flat]), source="openai", target="anthropic").payload

    assert written["tools"] == [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]


def test_null_keywords_of_a_schema_are_not_sent() -> None:
    schema = {"type": "object", "properties": None, "required": None}
    before = copy.deepcopy(schema)

    written = convert(body(tools=[tool(parameters=schema)]), source="openai", target="anthropic").payload

    assert written["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    assert schema == before


def test_a_schema_that_is_put_together_from_objects_is_an_objects() -> None:
    either = {"oneOf": [{"properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}

    assert ToolSpecification("f", None, either).parameters["type"] == "object"
    with pytest.raises(ValueError, match="root"):
        ToolSpecification("f", None, {"anyOf": [{"type": "object"}, {"type": "null"}]})


@pytest.mark.parametrize("target", WIRES)
def test_a_choice_of_a_tool_that_is_not_offered_is_refused(target: str) -> None:
    choice = {"type": "function", "function": {"name": "get_tim"}}

    with pytest.raises(BadRequest, match=r"no tool 'get_tim' is offered; did you mean 'get_time'"):
        convert(body(tools=[tool("get_time")], tool_choice=choice), source="openai", target=target)


def test_a_choice_of_a_renamed_tool_is_one_that_is_offered() -> None:
    choice = {"type": "function", "function": {"name": "files.read"}}

    written = convert(body(tools=[tool("files.read")], tool_choice=choice), source="openai", target="anthropic").payload

    assert written["tool_choice"]["name"] == written["tools"][0]["name"]


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("tools", [{}, {"tools": []}, {"tools": None}])
@pytest.mark.parametrize("choice", ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}])
def test_a_choice_without_tools_is_not_sent(choice: Any, tools: dict[str, Any], target: str) -> None:
    asked = body(tool_choice=choice, parallel_tool_calls=False, **tools)

    converted = convert(asked, source="openai", target=target)

    assert not {"tools", "tool_choice", "parallel_tool_calls", "toolConfig"} & converted.payload.keys()
    # To leave out what forces a call is told; the others ask for what happens anyway.
    forced = choice not in ("auto", "none")
    assert any(notice.subject == "tool_choice" for notice in converted.notices) == forced


# Calls and results


@pytest.mark.parametrize("nothing", ["", None])
def test_calls_and_results_without_ids_belong_together_in_their_order(nothing: Any) -> None:
    calls = [{"id": nothing, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    results = [{"role": "tool", "tool_call_id": nothing, "content": text} for text in ("of f", "of g")]
    turn = {"role": "assistant", "content": None, "tool_calls": calls}

    converted = convert([ASK, turn, *results, turn, *results], source="openai", target="anthropic")

    said = converted.payload
    uses = [block for message in said if message["role"] == "assistant" for block in message["content"]]
    answers = [block for message in said[2::2] for block in message["content"]]
    assert [block["id"] for block in uses] == [block["tool_use_id"] for block in answers]
    assert len({block["id"] for block in uses}) == 4
    assert [block["content"] for block in answers] == ["of f", "of g"] * 2
    assert [notice.kind for notice in converted.notices if "no id" in notice.message] == ["repaired"] * 4


@pytest.mark.parametrize(
    ("content", "text"),
    [({"a": 1}, '{"a":1}'), ([{"a": "é"}], '[{"a":"é"}]'), ([1, 2], "[1,2]"), (5, "5"), (False, "false")],
)
def test_a_tools_output_that_is_no_text_is_written_as_json(content: Any, text: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"role": "assistant", "content": None, "tool_calls": call}  # one call that is no list, too

    converted = convert(
        [ASK, turn, {"role": "tool", "tool_call_id": "c", "content": content}], source="openai", target="anthropic"
    )

    assert converted.payload[-1]["content"][0]["content"] == text
    assert any(notice.subject == "messages[2]" for notice in converted.notices)


# Streams


class Broke(Exception):
    """What a program's own source of bytes raises."""


def _chunks() -> Iterator[bytes]:
    yield b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n'
    raise Broke("gone")


async def _achunks() -> AsyncIterator[bytes]:
    for chunk in _chunks():
        yield chunk


def test_a_source_that_breaks_is_told_to_the_target_and_passes_through() -> None:
    written: list[bytes] = []
    with pytest.raises(Broke):
        written.extend(convert_stream(_chunks(), source="openai", target="anthropic"))

    assert b"event: error" in b"".join(written)
    assert b"Hel" in b"".join(written)


def test_an_async_source_that_breaks_is_told_to_the_target_and_passes_through() -> None:
    written: list[bytes] = []

    async def run() -> None:
        async for piece in aconvert_stream(_achunks(), source="openai", target="anthropic"):
            written.append(piece)  # noqa: PERF401

    with pytest.raises(Broke):
        asyncio.run(run())
    assert b"event: error" in b"".join(written)


@pytest.mark.parametrize("source", ["gemini", "ollama", "openai", "anthropic", "openai-responses"])
@pytest.mark.parametrize(
    "data",
    [
        b'{"candidates":5}',
        b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":5}}]}}]}',
        b'{"message":5,"done":false}',
        b'{"message":{"content":5},"done":true,"done_reason":"stop"}',
        b'{"choices":5}',
        b'{"choices":[{"delta":{"content":{"a":1},"tool_calls":5}}]}',
        b'{"type":"content_block_start","index":0,"content_block":5}',
        b'{"type":"response.output_item.added","item":5}',
        b'{"type":"response.completed","response":5}',
    ],
)
def test_a_stream_of_another_shape_is_told_in_the_targets_way(source: str, data: bytes) -> None:
    bytes_in = data + b"\n" if source == "ollama" else b"data: " + data + b"\n\n"

    written = b"".join(convert_stream([bytes_in], source=source, target="anthropic"))

    assert b"message_stop" in written or b"event: error" in written


# Content


@pytest.mark.parametrize("url", ["", "a.png", "//host/a.png"])
@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
def test_an_image_whose_url_is_none_is_refused(url: str, target: str) -> None:
    image = {"type": "image_url", "image_url": {"url": url}}

    with pytest.raises(BadRequest, match=r"messages\[0\].* is no url"):
        convert([{"role": "user", "content": [image]}], source="openai", target=target)


def test_a_part_without_a_type_that_has_text_is_text() -> None:
    converted = convert([{"role": "user", "content": [{"text": "hello"}]}], source="openai", target="anthropic")

    assert converted.payload == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("target", ["gemini", "ollama", "openai"])
def test_the_texts_of_a_tools_result_do_not_run_together(target: str) -> None:
    texts = [{"type": "text", "text": "first line"}, {"type": "text", "text": "second line"}]
    turns = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": texts}]},
    ]

    written = convert(turns, source="anthropic", target=target).payload

    result = written[2]["parts"][0]["functionResponse"]["response"] if target == "gemini" else written[2]["content"]
    assert result in ({"output": "first line\nsecond line"}, "first line\nsecond line", texts)
