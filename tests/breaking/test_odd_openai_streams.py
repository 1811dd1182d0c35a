"""
Streams of Chat Completions as odd servers send them: fragments of calls in every disorder, chunks of other shapes.

The rules are those of the wire's reference (fragments are told apart by index, then id, then name; what is missing at
the end is made), and that no text is lost or said twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, error_of, read_plain, read_streamed, sse

from polywire.errors import EmptyResponse, ProtocolError, RateLimited, ServerError, StreamInterrupted
from polywire.responses import FinishReason

PROVIDER = "openai-compatible"
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CALLS_END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def say(text: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def call(**fields: Any) -> dict[str, Any]:
    """One item of `tool_calls`."""
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**fields, "function": function}


def calls(*items: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": list(items)}, "finish_reason": None}]}


FRAGMENTS: dict[str, tuple[list[Any], list[tuple[str | None, str, str]]]] = {
    # chunks -> calls; an id of None is one that was made
    "the id comes with the last fragment": (
        [calls(call(index=0, name="f", arguments='{"x":')), calls(call(index=0, id="z", arguments="1}"))],
        [("z", "f", '{"x":1}')],
    ),
    "the id comes last, without an index": (
        [calls(call(name="f", arguments='{"x":')), calls(call(id="z", arguments="1}"))],
        [("z", "f", '{"x":1}')],
    ),
    "the id comes alone, after the arguments": (
        [calls(call(index=0, name="f", arguments='{"x":1}')), calls({"index": 0, "id": "z"})],
        [("z", "f", '{"x":1}')],
    ),
    "indexes as text": (
        [
            calls(call(index="0", id="a", name="f", arguments='{"x":')),
            calls(call(index="1", id="b", name="g", arguments='{"y":')),
            calls(call(index="0", arguments="1}"), call(index="1", arguments="2}")),
        ],
        [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')],
    ),
    "indexes with a fraction of nothing": (
        [
            calls(call(index=0.0, id="a", name="f", arguments='{"x":')),
            calls(call(index=1.0, id="b", name="g", arguments='{"y":')),
            calls(call(index=0.0, arguments="1}"), call(index=1.0, arguments="2}")),
        ],
        [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')],
    ),
    "ids that are numbers, interleaved without indexes": (
        [
            calls(call(id=7, name="f", arguments='{"x":'), call(id=8, name="g", arguments='{"y":')),
            calls(call(id=8, arguments="2}"), call(id=7, arguments="1}")),
        ],
        [("7", "f", '{"x":1}'), ("8", "g", '{"y":2}')],
    ),
    "an empty object stands in for what follows": (
        [calls(call(index=0, id="a", name="f", arguments="{}")), calls(call(index=0, arguments='{"x":1}'))],
        [("a", "f", '{"x":1}')],
    ),
    "an empty object that is no text stands in, the name comes again": (
        [
            calls(call(index=0, id="a", name="f", arguments={})),
            calls(call(index=0, id="a", name="f", arguments='{"x":1}')),
        ],
        [("a", "f", '{"x":1}')],
    ),
    "an empty object is all": (
        [calls(call(index=0, id="a", name="f", arguments="{}")), calls(call(index=0, arguments=""))],
        [("a", "f", "{}")],
    ),
    "an empty object, and then another call": (
        [
            calls(call(index=0, id="a", name="f", arguments="{}")),
            calls(call(index=1, id="b", name="g", arguments="{}")),
        ],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "no ids and no indexes, the second call begins with its name": (
        [
            calls(call(name="f", arguments="")),
            calls(call(arguments='{"x":1}')),
            calls(call(name="g", arguments="")),
            calls(call(arguments='{"y":1}')),
        ],
        [(None, "f", '{"x":1}'), (None, "g", '{"y":1}')],
    ),
    "index 0 for all and no ids, the second call begins with its name": (
        [
            calls(call(index=0, name="f", arguments="")),
            calls(call(index=0, arguments='{"x":1}')),
            calls(call(index=0, name="g", arguments="")),
            calls(call(index=0, arguments='{"y":1}')),
        ],
        [(None, "f", '{"x":1}'), (None, "g", '{"y":1}')],
    ),
    "the name is said once more after the whole arguments": (
        [
            calls(call(name="f", arguments="")),
            calls(call(arguments='{"x":1}')),
            calls(call(name="f", arguments="")),
        ],
        [(None, "f", '{"x":1}')],
    ),
    "two calls of one id": (
        [
            calls(call(index=0, id="a", name="f", arguments='{"x":1}')),
            calls(call(index=1, id="a", name="g", arguments='{"x":2}')),
        ],
        [("a", "f", '{"x":1}'), (None, "g", '{"x":2}')],
    ),
    "items that are null, and functions that are": (
        [
            calls(None),
            calls(call(index=0, id="a", name="f", arguments=None)),
            calls({"index": 0, "function": None}),
            calls(call(index=0, name=None, arguments="{}")),
        ],
        [("a", "f", "{}")],
    ),
    "text on both sides": (
        [calls(call(index=0, id="a", name="f", arguments='{"x":')), say("B"), calls(call(index=0, arguments="1}"))],
        [("a", "f", '{"x":1}')],
    ),
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_of_calls(name: str) -> None:
    chunks, expected = FRAGMENTS[name]

    answer = read_streamed(PROVIDER, sse(*chunks, CALLS_END, done=True))

    found = calls_of(answer)
    assert [each[1:] for each in found] == [each[1:] for each in expected]
    assert all(one[0] == wanted[0] for one, wanted in zip(found, expected, strict=True) if wanted[0] is not None)
    assert len({each[0] for each in found}) == len(found)
    assert all(each[0] for each in found)
    assert answer.finish_reason is FinishReason.TOOL_CALLS


CHUNKS: dict[str, tuple[bytes, str]] = {
    "one choice that is no list": (
        sse({"choices": {"index": 0, "delta": {"content": "Hi"}}}, END, done=True),
        "Hi",
    ),
    "null as a heartbeat": (sse("null", say("Hi"), "null", END, done=True), "Hi"),
    "no blank lines between the events": (
        sse(say("H"), say("i"), END, done=True).replace(b"\n\n", b"\n"),
        "Hi",
    ),
    "the whole message at the end of its deltas": (
        sse(
            say("H"),
            say("i"),
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]},
            done=True,
        ),
        "Hi",
    ),
    "the whole message at the end says more than its deltas": (
        sse(
            say("H"),
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi!"}, "finish_reason": "stop"}]},
            done=True,
        ),
        "Hi!",
    ),
    "messages in place of deltas": (
        sse(
            {"choices": [{"index": 0, "message": {"content": "H"}}]},
            {"choices": [{"index": 0, "message": {"content": "i"}}]},
            END,
        ),
        "Hi",
    ),
    "a character in two halves": (
        sse(
            '{"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\ude00b"}}]}',
            END,
            done=True,
        ),
        "a\U0001f600b",
    ),
    "a half that stays alone": (
        sse(
            '{"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}',
            '{"choices":[{"index":0,"delta":{"content":"b"}}]}',
            '{"choices":[{"index":0,"delta":{"content":"c\\ude00\\ud83d"}}]}',
            END,
            done=True,
        ),
        "a\ufffdbc\ufffd\ufffd",
    ),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_chunks_of_other_shapes(name: str) -> None:
    body, expected = CHUNKS[name]

    answer = read_streamed(PROVIDER, body)

    assert answer.text == expected
    assert answer.finish_reason is FinishReason.STOP


def test_the_whole_message_at_the_end_brings_no_call_or_thought_twice() -> None:
    message = {
        "role": "assistant",
        "content": "Hi",
        "reasoning_content": "R",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    body = sse(
        {"choices": [{"index": 0, "delta": {"reasoning_content": "R"}}]},
        say("Hi"),
        calls(call(index=0, id="a", name="f", arguments="{}")),
        {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]},
        done=True,
    )

    answer = read_streamed(PROVIDER, body)

    assert (answer.text, answer.thinking, calls_of(answer)) == ("Hi", "R", [("a", "f", "{}")])


def delta(**fields: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def details(text: str) -> dict[str, Any]:
    return delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": text}])


HALVES = ("a\ud83d", "\ude00b", "c", "d\ud83d", "\ude00", "e\ud83d")
"""Some servers cut a text between the two halves of a character; the last one here never gets its second."""
WHOLE = "a\U0001f600bcd\U0001f600e\ufffd"


@pytest.mark.parametrize(
    "piece",
    [
        lambda text: delta(content=text),
        lambda text: delta(reasoning_content=text),
        lambda text: delta(reasoning=text, content=""),
        lambda text: delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]),
        details,
        lambda text: delta(refusal=text),
    ],
    ids=["content", "reasoning_content", "reasoning", "thinking chunk", "reasoning_details", "refusal"],
)
def test_a_character_in_two_halves_is_one(piece: Any) -> None:
    answer = read_streamed(PROVIDER, sse(*map(piece, HALVES), END, done=True))

    assert (answer.text or answer.thinking) == WHOLE
    assert repr(answer.message.parts).encode()


def test_sealed_thinking_goes_back_without_half_characters() -> None:
    answer = read_streamed(PROVIDER, sse(*map(details, HALVES), END, done=True))

    (thought,) = answer.message.parts
    assert thought.extras["openai"]["reasoning_details"][0]["text"] == WHOLE


@pytest.mark.parametrize("first", ['{"x":"', ""])
def test_a_character_of_a_calls_arguments_in_two_halves_is_one(first: str) -> None:
    pieces = [*HALVES, '"}'] if first else ['{"x":"' + HALVES[0], *HALVES[1:], '"}']
    begun = calls(call(index=0, id="a", name="f", arguments=first))
    body = sse(begun, *(calls(call(index=0, arguments=each)) for each in pieces), CALLS_END, done=True)

    assert calls_of(read_streamed(PROVIDER, body)) == [("a", "f", f'{{"x":"{WHOLE}"}}')]


def test_half_a_character_at_the_cut_of_a_calls_arguments() -> None:
    cut = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    body = sse(calls(call(index=0, id="a", name="f", arguments='{"x":"\ud83d')), cut, done=True)

    assert calls_of(read_streamed(PROVIDER, body)) == [("a", "f", '{"x":"\ufffd')]


def test_a_plain_answer_with_one_choice_that_is_no_list() -> None:
    answer = read_plain(PROVIDER, b'{"choices": {"message": {"content": "a\\ud83d"}, "finish_reason": "stop"}}')

    assert answer.text == "a\ufffd"


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"error": {}}, ServerError, "said no more"),
        ({"error": ""}, ServerError, "said no more"),
        ({"error": {"message": {"why": "full"}}}, ServerError, '{"why":"full"}'),
        ({"error": 503}, ServerError, "503"),
        ({"error_code": 18, "error_msg": "quota of the second"}, ServerError, "quota of the second"),
        ({"error": "Too Many Requests", "message": "slow down", "statusCode": 429}, RateLimited, "slow down"),
    ],
)
def test_errors_that_say_little(event: Any, kind: type[Exception], message: str) -> None:
    for before in ((), (say("Hi"),)):
        error = error_of(PROVIDER, sse(*before, event, done=True))

        assert type(error) is kind
        assert message in error.message
        assert (error.partial.text if error.partial else None) == ("Hi" if before else None)


def test_a_chunk_that_is_not_json_is_told_though_the_end_mark_follows() -> None:
    error = error_of(PROVIDER, sse(say("Hi"), '{"choices": [}', done=True))

    assert type(error) is ProtocolError
    assert error.partial is not None
    assert error.partial.text == "Hi"


@pytest.mark.parametrize(
    ("events", "kind", "message"),
    [
        ([{"id": "x", "choices": []}], EmptyResponse, "no choice in it"),
        ([{"id": "x", "choices": [], "usage": {"prompt_tokens": 3}}], EmptyResponse, "no choice in it"),
        ([{"code": "InvalidParameter", "msg": "too hot"}], ProtocolError, "too hot"),
        (
            [{"choices": None, "base_resp": {"status_code": 1008, "status_msg": "no balance"}}],
            ProtocolError,
            "no balance",
        ),
        ([{"type": "ping"}], ProtocolError, "no choices"),
    ],
)
def test_a_stream_without_any_choice_is_no_answer(events: Any, kind: type[Exception], message: str) -> None:
    """A plain answer of this kind is an error too; some services say in it what went wrong, in words of their own."""
    error = error_of(PROVIDER, sse(*events, done=True))

    assert type(error) is kind
    assert message in str(error)


def test_a_finish_reason_that_says_null_is_none() -> None:
    """DashScope's own wire has it with every piece, and so have gateways to it."""
    piece = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "null"}]}

    assert read_streamed(PROVIDER, sse(piece, END, done=True)).finish_reason is FinishReason.STOP
    assert type(error_of(PROVIDER, sse(piece))) is StreamInterrupted


@pytest.mark.parametrize("name", ["ping", "heartbeat", "keepalive", "keep-alive"])
@pytest.mark.parametrize("data", ["ping", "{}", "2026-12-02T17:00:00Z", "1"])
def test_an_event_that_keeps_the_connection_alive_says_nothing_whatever_it_holds(name: str, data: str) -> None:
    alive = f"event: {name}\ndata: {data}\n\n".encode()
    body = alive + sse(say("Hi")) + alive + sse(END) + alive + b"data: [DONE]\n\n"

    answer = read_streamed(PROVIDER, body)

    assert answer.text == "Hi"
    assert not answer.notices
