"""Tool calls in every shape that endpoints are known to send, streamed and plain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.events import ResponseCollector, ToolCallDelta, ToolCallEnd, ToolCallStart
from polywire.responses import FinishReason
from polywire_openai.decode import decode_response
from polywire_openai.stream import OpenAIStreamDecoder


def item(
    index: int | None = None, id: Any = ..., name: Any = ..., arguments: Any = ..., type: Any = "function", **more: Any
) -> dict[str, Any]:
    """One item of `tool_calls`; what is left out is not there at all."""
    made: dict[str, Any] = dict(more)
    if index is not None:
        made["index"] = index
    if id is not ...:
        made["id"] = id
    if type is not None:
        made["type"] = type
    made["function"] = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not ...}
    return made


def found(response: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in response.tool_calls]


SHAPES = {
    "B40 index 0 on every call": (
        [[item(0, "c1", "add", '{"a":1}')], [item(0, "c2", "w", '{"c":"T"}')]],
        [("c1", "add", '{"a":1}'), ("c2", "w", '{"c":"T"}')],
    ),
    "index 0 on every call, in fragments": (
        [[item(0, "c1", "f", "")], [item(0, arguments='{"a":')], [item(0, arguments="1}")],
         [item(0, "c2", "g", "")], [item(0, arguments='{"b":')], [item(0, arguments="2}")]],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "index 0 on every call, ids repeated in continuations": (
        [[item(0, "c1", "f", '{"a":')], [item(0, "c2", "g", '{"b":')], [item(0, "c1", arguments="1}")],
         [item(0, "c2", arguments="2}")]],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "B42 index missing": (
        [[item(None, "c1", "r", '{"p":"a"}')], [item(None, "c2", "r", '{"p":"b"}')]],
        [("c1", "r", '{"p":"a"}'), ("c2", "r", '{"p":"b"}')],
    ),
    "index null": (
        [[{"index": None, "id": "c1", "function": {"name": "r", "arguments": '{"p":'}}],
         [{"index": None, "id": None, "function": {"name": None, "arguments": '"a"}'}}]],
        [("c1", "r", '{"p":"a"}')],
    ),
    "index missing, continuations without an id": (
        [[item(None, "c1", "f", "")], [item(None, arguments='{"a"')], [item(None, arguments=":1}")],
         [item(None, "c2", "g", '{"b"')], [item(None, arguments=":2}")]],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "index missing, id on every fragment": (
        [[item(None, "c1", "f", '{"a"')], [item(None, "c2", "g", '{"b"')], [item(None, "c1", "f", ":1}")],
         [item(None, "c2", "g", ":2}")]],
        [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')],
    ),
    "B43 interleaved": (
        [[item(0, "c1", "x", '{"a":', type=None), item(1, "c2", "y", '{"b":', type=None)],
         [item(1, arguments="2}", type=None), item(0, arguments="1}", type=None)]],
        [("c1", "x", '{"a":1}'), ("c2", "y", '{"b":2}')],
    ),
    "B44 name and id in every chunk": (
        [[item(0, "c1", "lookup_city", '{"a"')], [item(0, "c1", "lookup_city", ":1")], [item(0, "c1", "lookup_city", "}")]],
        [("c1", "lookup_city", '{"a":1}')],
    ),
    "B45 name in fragments": (
        [[item(0, "c1", "get_", "")], [item(0, name="weather", arguments="{}")]],
        [("c1", "get_weather", "{}")],
    ),
    "name so far said again, longer": (
        [[item(0, "c1", "get_")], [item(0, name="get_weather")], [item(0, arguments="{}")]],
        [("c1", "get_weather", "{}")],
    ),
    "B46 empty id in continuations": (
        [[item(0, "c1", "f", "")], [item(0, "", arguments='{"a": ')], [item(0, "", arguments='"1"}')]],
        [("c1", "f", '{"a": "1"}')],
    ),
    "empty id and null name in continuations": (
        [[item(0, "c1", "f", "")], [item(0, "", None, '{"tz":"UTC"}')]],
        [("c1", "f", '{"tz":"UTC"}')],
    ),
    "B49 two calls in one delta": (
        [[item(0, "c1", "q", '{"s":1}'), item(1, "c2", "q", '{"s":2}')]],
        [("c1", "q", '{"s":1}'), ("c2", "q", '{"s":2}')],
    ),
    "B52 no arguments": ([[item(0, "c1", "now", "")]], [("c1", "now", "{}")]),
    "arguments missing": ([[item(0, "c1", "now")]], [("c1", "now", "{}")]),
    "arguments null": ([[item(0, "c1", "now", None)]], [("c1", "now", "{}")]),
    "arguments an object": ([[item(0, "c1", "f", {"a": [1, "ü"]})]], [("c1", "f", '{"a":[1,"ü"]}')]),
    "B54 index begins at 1 and has gaps": (
        [[item(1, "c1", "f", "{}")], [item(4, "c2", "g", "{}")]],
        [("c1", "f", "{}"), ("c2", "g", "{}")],
    ),
    "a whole call said twice": (
        [[item(0, "c1", "f", '{"a":1}')], [item(0, "c1", "f", '{"a":1}')]],
        [("c1", "f", '{"a":1}')],
    ),
    "id after the name": (
        [[item(0, name="f")], [item(0, "c1", arguments="{}")]],
        [("c1", "f", "{}")],
    ),
    "an item that is no object": ([["x", item(0, "c1", "f", "{}")]], [("c1", "f", "{}")]),
    "text after whole arguments": (
        [[item(0, "c1", "f", '{"a":1}')], [item(0, arguments="\n")]],
        [("c1", "f", '{"a":1}\n')],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, read_stream: Any, chunks: Any) -> None:
    deltas, expected = SHAPES[shape]
    for finish in ("tool_calls", "stop"):
        read = read_stream(chunks(*({"tool_calls": calls} for calls in deltas), finish=finish))

        assert found(read.response) == expected
        assert read.response.finish_reason is FinishReason.TOOL_CALLS
        assert read.response.text is None

        starts = [event for event in read.events if type(event) is ToolCallStart]
        ends = [event for event in read.events if type(event) is ToolCallEnd]
        assert [(event.id, event.name) for event in starts] == [each[:2] for each in expected]
        assert [(event.call.id, event.call.name) for event in ends] == [each[:2] for each in expected]
        for start, end in zip(starts, ends, strict=True):
            told = "".join(e.arguments for e in read.events if type(e) is ToolCallDelta and e.part == start.part)
            assert (told or "{}") == end.call.arguments


@pytest.mark.parametrize(
    "items",
    [
        [item(None, "", "f", "{}"), item(None, None, "g", "{}")],
        [item(None, name="f", arguments=""), item(None, name="g", arguments="")],
        [item(None, name="f", arguments="{}"), item(None, name="f", arguments="{}")],
        [item(None, "null", "f", "{}"), item(None, "null", "g", "{}")],
        [item(None, "same", "f", "{}"), item(None, "same", "g", '{"a":1}')],
    ],
)
def test_ids_are_made_where_none_came_alike_in_a_stream_and_a_body(
    items: list[Any], read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    streamed = read_stream(chunks({"tool_calls": items})).response
    plain = answer(body_of({"content": None, "tool_calls": items}))
    again = answer(body_of({"content": None, "tool_calls": items}))
    ids = [call.id for call in plain.tool_calls]

    assert len(ids) == len(set(ids)) == 2
    assert all(ids)
    assert streamed.message == plain.message == again.message


@pytest.mark.parametrize("indexed", [True, False])
def test_whole_calls_without_ids_one_after_another(indexed: bool, read_stream: Any, chunks: Any) -> None:
    index = 0 if indexed else None
    deltas = [{"tool_calls": [item(index, name="r", arguments=f'{{"p":{n}}}')]} for n in range(3)]
    response = read_stream(chunks(*deltas)).response

    assert [call.arguments for call in response.tool_calls] == ['{"p":0}', '{"p":1}', '{"p":2}']
    assert len({call.id for call in response.tool_calls}) == 3


@pytest.mark.parametrize("raw", ["[1,2]", '"abc"', "42", "true", '{"city": "Par', "{]"])
def test_arguments_that_are_no_object_are_kept_and_never_run(
    raw: str, read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    streamed = read_stream(chunks({"tool_calls": [item(0, "c1", "f", raw)]})).response
    plain = answer(body_of({"content": None, "tool_calls": [item(None, "c1", "f", raw)]}))
    [call] = plain.tool_calls

    assert streamed.message == plain.message
    assert (call.arguments, call.is_valid, call.incomplete) == (raw, False, False)


@pytest.mark.parametrize("arguments", ['{"path":"a","text":"abc', "", None])
@pytest.mark.parametrize("finish", ["length", "content_filter", "network_error"])
def test_a_call_at_the_cut_is_incomplete(
    arguments: Any, finish: str, read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    streamed = read_stream(chunks({"tool_calls": [item(0, "c1", "write", arguments)]}, finish=finish)).response
    plain = answer(body_of({"content": None, "tool_calls": [item(None, "c1", "write", arguments)]}, finish))
    [call] = streamed.tool_calls

    assert streamed.message == plain.message
    assert streamed.finish_reason is plain.finish_reason is not FinishReason.TOOL_CALLS
    assert (call.incomplete, call.is_valid) == (True, False)
    assert call.arguments == (arguments or "")


def test_a_whole_call_at_the_cut_may_run(read_stream: Any, chunks: Any) -> None:
    [call] = read_stream(chunks({"tool_calls": [item(0, "c1", "f", '{"a":1}')]}, finish="length")).response.tool_calls

    assert call.is_valid


def test_calls_beside_text_and_thinking_stand_in_order(
    read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    call = item(None, "c1", "f", "{}")
    streamed = read_stream(
        chunks(
            {"role": "assistant", "reasoning_content": "R"}, {"tool_calls": [{**call, "index": 0}]}, {"content": "T"}
        )
    ).response
    plain = answer(body_of({"content": "T", "reasoning_content": "R", "tool_calls": [call]}))

    assert streamed.message == plain.message
    assert [part.kind for part in streamed.message.parts] == ["thinking", "text", "tool_call"]


def test_fields_of_a_call_that_are_not_known_are_kept(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    signature = {"google": {"thought_signature": "U0lH"}}
    call = item(None, "c1", "f", "{}", extra_content=signature)
    streamed = read_stream(chunks({"tool_calls": [{**call, "index": 0}]})).response
    plain = answer(body_of({"content": None, "tool_calls": [call]}))

    assert streamed.message == plain.message
    assert streamed.tool_calls[0].extras == {"openai": {"extra_content": signature}}


def test_custom_calls_hold_their_text_as_the_argument_input(
    read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    def custom(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "custom", "custom": {"input": text, **more}}

    streamed = read_stream(
        chunks({"tool_calls": [{"index": 0, "id": "c1", **custom("SELECT ", name="run_sql")}]},
               {"tool_calls": [{"index": 0, **custom('"a"')}]})
    ).response  # fmt: skip
    plain = answer(body_of({"content": None, "tool_calls": [{"id": "c1", **custom('SELECT "a"', name="run_sql")}]}))
    [call] = plain.tool_calls

    assert streamed.message == plain.message
    assert call.input == {"input": 'SELECT "a"'}
    assert call.extras == {"openai": {"type": "custom"}}


def test_the_old_function_call(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    streamed = read_stream(
        chunks({"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"arguments": '{"a":1}'}},
               finish="function_call")
    ).response  # fmt: skip
    plain = answer(body_of({"content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}}, "function_call"))

    assert streamed.message == plain.message
    assert streamed.finish_reason is FinishReason.TOOL_CALLS
    assert streamed.tool_calls[0].input == {"a": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def answers(draw: Any) -> tuple[list[tuple[str, str, str]], list[dict[str, Any]]]:
    """Calls, and the deltas in which an endpoint with indexes, of whatever habits, streams them."""
    count = draw(st.integers(1, 3))
    calls = [
        (f"c{n}", draw(st.sampled_from(["f", "g", "get_weather"])),
         json.dumps(draw(st.dictionaries(st.text(max_size=4), json_values, max_size=2))))
        for n in range(count)
    ]  # fmt: skip
    streams: list[list[dict[str, Any]]] = []
    for number, (call_id, name, arguments) in enumerate(calls):
        repeat_id, repeat_name, empty_id = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=4)))
        pieces = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        fragments = []
        for place, piece in enumerate(pieces):
            first = place == 0
            fragment = item(
                number,
                call_id if first or repeat_id else "" if empty_id else ...,
                name if first or repeat_name else ...,
                piece,
                type="function" if first else None,
            )
            fragments.append(fragment)
        streams.append(fragments)
    deltas: list[dict[str, Any]] = []
    interleave = draw(st.booleans())
    while any(streams):
        open_ones = [each for each in streams if each]
        chosen = draw(st.sampled_from(open_ones)) if interleave else open_ones[0]
        deltas.append({"tool_calls": [chosen.pop(0)]})
    return calls, deltas


@settings(max_examples=150, deadline=None)
@given(answers())
def test_random_fragments_give_what_the_body_gives(drawn: Any) -> None:
    from polywire.codec import Frame

    calls, deltas = drawn
    decoder, collector = OpenAIStreamDecoder(), ResponseCollector()
    for delta in deltas:
        body = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        collector.add_all(decoder.feed(Frame(json.dumps(body).encode())))
    last = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    collector.add_all(decoder.feed(Frame(json.dumps(last).encode())))
    decoder.feed(Frame(b"[DONE]"))
    collector.add_all(decoder.finish())
    streamed = collector.response()
    # Where calls are interleaved they stand in the order in which they began.
    order = list(dict.fromkeys(delta["tool_calls"][0]["index"] for delta in deltas))
    message = {"content": None, "tool_calls": [item(None, *calls[number]) for number in order]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    plain = decode_response({"id": "c", "model": "m", "choices": [choice]})

    assert found(streamed) == [calls[number] for number in order]
    assert streamed.message == plain.message
