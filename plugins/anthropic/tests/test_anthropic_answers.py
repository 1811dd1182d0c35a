"""Answers, plain and streamed: the same values from both, from any cut of the bytes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.codec import Encoded, Headers, HttpResponse
from polywire.contents import OpaqueContent, TextContent, ThinkingContent
from polywire.errors import (
    EmptyResponse,
    ModelError,
    Overloaded,
    ProtocolError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from polywire.events import (
    PartEnd,
    ResponseCollector,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from polywire.messages import AiMessage, Origin, ToolCall
from polywire.parameters import ChatRequestParameters
from polywire.requests import ChatRequest, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire_anthropic import AnthropicCodec

CODEC = AnthropicCodec()


def encoded(**parameters: Any) -> Encoded:
    return CODEC.encode(ChatRequest("q", ChatRequestParameters(model="claude-opus-5-5", **parameters)), stream=True)


def read_plain(body: Mapping[str, Any] | bytes, request: Encoded | None = None) -> ChatResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode(HttpResponse(200, Headers(), data), request or encoded())


def events_of_chunks(chunks: Sequence[bytes], request: Encoded | None = None) -> list[StreamEvent]:
    """What the driver does: frames as they come, until the end mark or the end of the bytes."""
    request = request or encoded()
    assert request.framing is not None
    framing, decoder = request.framing(), CODEC.stream_decoder(request)
    events: list[StreamEvent] = []
    for chunk in chunks:
        for frame in framing.feed(chunk):
            if not decoder.ended:
                events += decoder.feed(frame)
    if not decoder.ended:
        for frame in framing.finish():
            events += decoder.feed(frame)
    return [*events, *decoder.finish()]


def collect(events: Sequence[StreamEvent]) -> ChatResponse:
    collector = ResponseCollector()
    collector.add_all(events)
    assert collector.ended
    return collector.response()


def sse(*events: Mapping[str, Any]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def start(**message: Any) -> dict[str, Any]:
    head: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    return {"type": "message_start", "message": {**head, "usage": {"input_tokens": 9, "output_tokens": 1}, **message}}


def block(index: int, content_block: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": index, "content_block": content_block}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}]


def text_delta(text: str) -> dict[str, str]:
    return {"type": "text_delta", "text": text}


def input_delta(text: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": text}


def end(reason: str = "end_turn", **delta: Any) -> list[dict[str, Any]]:
    fields = {"stop_reason": reason, "stop_sequence": None, **delta}
    return [{"type": "message_delta", "delta": fields, "usage": {"output_tokens": 4}}, {"type": "message_stop"}]


def read_stream(*events: Mapping[str, Any], request: Encoded | None = None) -> ChatResponse:
    return collect(events_of_chunks([sse(*events)], request))


TEXT: dict[str, Any] = {"type": "text", "text": ""}


# --- recorded answers ---

PLAIN_TEXT = "CompletableFuture 是 Java 8 引入的异步编程工具，用来表示一个尚未完成、但未来会给出结果的计算。"
STREAMED_TEXT = "CompletableFuture 是 Java 8 引入的异步编程工具。"


def test_a_recorded_answer(golden: Callable[[str], bytes]) -> None:
    response = read_plain(golden("anthropic-text.json"))

    assert response == ChatResponse(
        AiMessage(PLAIN_TEXT, Origin("anthropic", None, "claude-opus-5-5")),
        TokenUsage(20, 42, 62),
        FinishReason.STOP,
        (),
        {
            "id": "msg_01AbCdEfGh",
            "type": "message",
            "model": "claude-3-5-sonnet-latest",
            "raw_finish_reason": "end_turn",
        },
    )


def test_a_recorded_stream(golden: Callable[[str], bytes]) -> None:
    events = events_of_chunks([golden("anthropic-text.sse")])

    response = collect(events)
    assert response.text == STREAMED_TEXT
    assert response.usage == TokenUsage(20, 24, 44)
    assert response.finish_reason is FinishReason.STOP
    assert response.metadata["id"] == "msg_01AbCdEfGh"
    assert response.notices == ()
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "CompletableFuture",
        " 是 Java 8 引入的异步编程工具。",
    ]


RICH = sse(
    start(),
    {"type": "ping"},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "思"},
        {"type": "thinking_delta", "thinking": "考"},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *block(1, TEXT, text_delta("Ok 😀"), text_delta(".")),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_a", "name": "f", "input": {}},
        input_delta(""),
        input_delta('{"tz": "U'),
        input_delta('TC"}'),
    ),
    *block(3, {"type": "tool_use", "id": "toolu_b", "name": "now", "input": {}}),
    *end("tool_use"),
)
RICH_PARTS = (
    ThinkingContent("思考", "c2ln"),
    TextContent("Ok 😀."),
    ToolCall("toolu_a", "f", '{"tz":"UTC"}', "anthropic"),
    ToolCall("toolu_b", "now", "{}", "anthropic"),
)


@pytest.mark.parametrize("name", ["recorded", "rich"])
def test_every_cut_in_two_and_single_bytes_give_the_same(name: str, golden: Callable[[str], bytes]) -> None:
    data = RICH if name == "rich" else golden("anthropic-text.sse")
    whole = events_of_chunks([data])

    for at in range(len(data) + 1):
        assert events_of_chunks([data[:at], data[at:]]) == whole
    assert events_of_chunks([data[at : at + 1] for at in range(len(data))]) == whole


@pytest.mark.parametrize("name", ["recorded", "rich"])
def test_a_stream_cut_short_anywhere_completes_only_after_a_stop_reason(
    name: str, golden: Callable[[str], bytes]
) -> None:
    data = RICH if name == "rich" else golden("anthropic-text.sse")
    whole = collect(events_of_chunks([data]))
    # The last byte of the event that tells the stop reason, and of the end mark: up to here nothing is known.
    reason_known = data.index(b"\n", data.index(b"data:", data.index(b"event: message_delta")))
    complete = len(data.rstrip())

    for at in range(len(data)):
        try:
            response = collect(events_of_chunks([data[:at]]))
        except StreamInterrupted:
            assert at < reason_known
        except EmptyResponse:
            assert b"message_start" not in data[:at] or at < data.index(b"event: content_block_start")
        else:
            assert at >= reason_known
            assert response.message == whole.message
            assert response.finish_reason is whole.finish_reason
            assert [notice.subject for notice in response.notices] == ([] if at >= complete else ["stream"])


def test_thinking_text_and_calls_in_one_stream() -> None:
    events = events_of_chunks([RICH])

    response = collect(events)
    assert response.message.parts == RICH_PARTS
    assert response.finish_reason is FinishReason.TOOL_CALLS
    kinds = [type(event) for event in events]
    assert kinds[0] is ResponseStart
    assert kinds.count(ThinkingDelta) == 2
    assert [event.part for event in events if isinstance(event, (ToolCallStart, ToolCallEnd))] == [2, 2, 3, 3]
    assert "".join(event.arguments for event in events if isinstance(event, ToolCallDelta)) == '{"tz": "UTC"}'


def plain_body(content: Sequence[Mapping[str, Any]], reason: str = "end_turn", **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": reason,
        "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 4}, **fields,
    }  # fmt: skip


CITATION = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
SEARCH = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv_1",
    "content": [{"type": "web_search_result", "url": "u"}],
}
SAME = [
    ([{"type": "text", "text": "Hello"}], [block(0, TEXT, text_delta("Hel"), text_delta("lo"))], "end_turn"),
    ([{"type": "text", "text": "Hello"}], [block(0, {"type": "text", "text": "Hel"}, text_delta("lo"))], "end_turn"),
    ([{"type": "text", "text": "", "citations": None}], [block(0, TEXT)], "end_turn"),
    ([], [], "refusal"),
    (
        [{"type": "thinking", "thinking": "", "signature": "c2ln"}, {"type": "text", "text": "a"}],
        [
            block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "c2ln"}),
            block(1, TEXT, text_delta("a")),
        ],
        "end_turn",
    ),
    (
        [{"type": "redacted_thinking", "data": "eHl6"}, {"type": "text", "text": "a"}],
        [block(0, {"type": "redacted_thinking", "data": "eHl6"}), block(1, TEXT, text_delta("a"))],
        "end_turn",
    ),
    (
        [{"type": "text", "text": "a", "citations": [CITATION, CITATION]}],
        [
            block(
                0,
                {"type": "text", "text": "", "citations": []},
                {"type": "citations_delta", "citation": CITATION},
                text_delta("a"),
                {"type": "citations_delta", "citation": CITATION},
            )
        ],
        "end_turn",
    ),
    (
        [{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "é"}}, SEARCH],
        [
            block(
                0,
                {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
                input_delta('{"query"'),
                input_delta(': "é"}'),
            ),
            block(1, SEARCH),
        ],
        "pause_turn",
    ),
    (
        [{"type": "hologram", "state": 2, "text": "abc"}],
        [block(0, {"type": "hologram", "state": 1, "text": "a"}, {"type": "x_delta", "text": "bc", "state": 2})],
        "end_turn",
    ),
    (
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": {"b": [1, 2.5, None, "é"]}}, "caller": {"type": "direct"}}],
        [
            block(
                0,
                {"type": "tool_use", "id": "t1", "name": "f", "input": {}, "caller": {"type": "direct"}},
                input_delta('{"a": {"b": [1, 2.5, '),
                input_delta('null, "\\u00e9"]}}'),
            )
        ],
        "tool_use",
    ),
    (
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}],
        [block(0, {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}})],
        "tool_use",
    ),
    (
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
        [block(0, {"type": "tool_use", "id": "t1", "name": "f"}, input_delta("{}"))],
        "tool_use",
    ),
    (
        [{"type": "tool_use", "id": "", "name": "f", "input": {}}, {"type": "tool_use", "id": None, "name": "f", "input": {}}],
        [block(0, {"type": "tool_use", "id": "", "name": "f"}), block(1, {"type": "tool_use", "name": "f"})],
        "tool_use",
    ),
    (
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
        [block(0, {"type": "tool_use", "id": "t1", "name": "f", "input": {}})],
        "max_tokens",
    ),
    (
        [{"type": "tool_use", "id": "t1", "name": "f", "input": {"INVALID_JSON": "[1]"}}],
        [block(0, {"type": "tool_use", "id": "t1", "name": "f"}, input_delta('{"INVALID_JSON": "[1]"}'))],
        "tool_use",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("content", "blocks", "reason"), SAME)
def test_a_stream_and_a_plain_answer_are_the_same(content: Any, blocks: Any, reason: str) -> None:
    plain = read_plain(plain_body(content, reason))
    streamed = read_stream(start(), *[event for events in blocks for event in events], *end(reason))

    assert streamed == plain


words = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def answers(draw: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same random blocks whole, and as a stream that is cut into deltas anywhere."""

    def pieces(text: str) -> list[str]:
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
        return [text[start:stop] for start, stop in itertools.pairwise([0, *cuts, len(text)])]

    whole: list[dict[str, Any]] = []
    streamed: list[dict[str, Any]] = []
    for index in range(draw(st.integers(0, 5))):
        match draw(st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking", "hologram"])):
            case "text":
                text = draw(words)
                begun, *rest = pieces(text)
                whole.append({"type": "text", "text": text})
                streamed += block(index, {"type": "text", "text": begun}, *map(text_delta, rest))
            case "thinking":
                text, seal = draw(words), draw(words)
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
                deltas += [{"type": "signature_delta", "signature": piece} for piece in pieces(seal)]
                whole.append({"type": "thinking", "thinking": text, "signature": seal})
                streamed += block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)
            case "tool_use":
                value = draw(
                    st.dictionaries(words, st.none() | st.booleans() | words | st.integers(-(2**53), 2**53), max_size=3)
                )
                head = {"type": "tool_use", "id": draw(words), "name": draw(words)}
                text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(1)))
                whole.append({**head, "input": value})
                streamed += block(index, {**head, "input": {}}, *map(input_delta, pieces(text)))
            case kind:
                opaque = {"type": kind, "data": draw(words)}
                whole.append(opaque)
                streamed += block(index, opaque)
    return whole, streamed


@settings(max_examples=150, deadline=None)
@given(answers(), st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn"]))
def test_random_answers_are_the_same_in_both_forms(answer: Any, reason: str) -> None:
    whole, streamed = answer

    assert read_stream(start(), *streamed, *end(reason)) == read_plain(plain_body(whole, reason))


def test_blocks_side_by_side_are_told_apart_by_their_index() -> None:
    first = block(0, {"type": "tool_use", "id": "a", "name": "f"}, input_delta('{"x":'), input_delta("1}"))
    second = block(1, {"type": "tool_use", "id": "b", "name": "g"}, input_delta('{"y":'), input_delta("2}"))
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]

    response = read_stream(start(), *mixed, *end("tool_use"))

    assert [(call.id, call.name, call.input) for call in response.tool_calls] == [
        ("a", "f", {"x": 1}),
        ("b", "g", {"y": 2}),
    ]


@pytest.mark.parametrize("reason", ["tool_use", "max_tokens"])
def test_calls_without_arguments_side_by_side_all_end(reason: str) -> None:
    first = block(0, {"type": "tool_use", "id": "a", "name": "f"})
    second = block(1, {"type": "tool_use", "id": "b", "name": "g"})
    text = block(2, {"type": "text", "text": "x"})

    events = events_of_chunks(
        [sse(start(), *[e for row in zip(first, second, text, strict=True) for e in row], *end(reason))]
    )

    assert [event.call.id for event in events if isinstance(event, ToolCallEnd)] == ["a", "b"]
    assert [call.incomplete for call in collect(events).tool_calls] == [False, False]


def test_text_at_the_start_of_a_block_is_also_a_delta() -> None:
    events = events_of_chunks([sse(start(), *block(0, {"type": "text", "text": "Hel"}, text_delta("lo")), *end())])

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]


def test_a_signature_in_pieces_and_a_start_without_one() -> None:
    thinking = block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "pl"},
        {"type": "thinking_delta", "thinking": "an"},
        {"type": "signature_delta", "signature": "c2ln"},
        {"type": "signature_delta", "signature": "MQ=="},
    )

    response = read_stream(start(), *thinking, *block(1, TEXT, text_delta("ok")), *end())

    assert response.message.parts == (ThinkingContent("plan", "c2lnMQ=="), TextContent("ok"))
    assert response.text == "ok"


# --- what means nothing ---

NOTHING = [
    b'event: ping\ndata: {"type":"ping"}\n\n',
    b'event: shiny_new_event\ndata: {"type":"shiny_new_event","x":1}\n\n',
    b": a comment\n\n",
    b"data:\n\n",
    b"data: \n\n",
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"shiny_delta","x":1}}\n\n',
    b'data: {"type":"content_block_delta","index":7,"delta":{"type":"shiny_delta","x":1}}\n\n',
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}\n\n',
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}\n\n',
    b'data: {"type":"content_block_stop","index":9}\n\n',
]


@pytest.mark.parametrize("noise", NOTHING)
def test_what_means_nothing_changes_nothing(noise: bytes) -> None:
    frames = [sse(event) for event in (start(), *block(0, TEXT, text_delta("H"), text_delta("i")), *end())]
    expected = collect(events_of_chunks(frames))

    for place in range(len(frames) + 1):
        assert collect(events_of_chunks([*frames[:place], noise, *frames[place:]])) == expected


def test_events_without_an_event_line_and_with_odd_framing() -> None:
    data = sse(start(), *block(0, TEXT, text_delta("a\u2028b")), *end())
    bare = b"".join(line + b"\r\n" for line in data.split(b"\n") if not line.startswith(b"event:"))

    assert collect(events_of_chunks([bare])) == collect(events_of_chunks([data]))


def test_a_lone_surrogate_in_a_delta_does_not_kill_the_stream() -> None:
    data = sse(start(), *block(0, TEXT), *end()).replace(
        b'data: {"type": "content_block_stop"',
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud83d"}}\n\n'
        b'data: {"type": "content_block_stop"',
    )

    # No text with half a character in it can be printed, stored or sent.
    assert collect(events_of_chunks([data])).text == "a\ufffd"


def test_deltas_that_the_fast_reader_does_not_take_are_read_all_the_same() -> None:
    odd = {"type": "content_block_delta", "index": 0, "delta": None}
    blocks = [
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "R", "text": None}),
        *block(1, {"type": "text", "text": "a"}, {**text_delta("b"), "thinking": 5}),
        *block(2, {"type": "tool_use", "id": "t", "name": "f"}, {**input_delta('{"a":1}'), "text": None}),
    ]

    response = read_stream(start(), odd, *blocks, *end("tool_use"))

    assert (response.thinking, response.text, response.tool_calls[0].input) == ("R", "ab", {"a": 1})


@pytest.mark.parametrize("event", ["[1]", '"x"', '{"type":"content_block_start","index":0,"content_block":"x"}'])
def test_an_event_of_another_shape_is_a_protocol_error(event: str) -> None:
    with pytest.raises(ProtocolError):
        events_of_chunks([sse(start()), f"data: {event}\n\n".encode(), sse(*end())])


def test_a_message_start_that_says_nothing_changes_nothing() -> None:
    assert read_stream({"type": "message_start", "message": None}, *block(0, TEXT, text_delta("a")), *end()).text == "a"


def test_a_message_start_that_has_the_beginning_already() -> None:
    begun = start(content=[{"type": "text", "text": "He"}])
    rest = [
        {"type": "content_block_delta", "index": 0, "delta": text_delta("llo")},
        {"type": "content_block_stop", "index": 0},
    ]

    assert read_stream(begun, *rest, *end()).text == "Hello"


def test_a_server_tools_input_that_is_no_json_is_kept_as_text() -> None:
    tool = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}

    (part,) = read_stream(start(), *block(0, tool, input_delta('{"q')), *end("max_tokens")).message.parts

    assert part == OpaqueContent("anthropic", {**tool, "input": '{"q'})


def test_a_delta_whose_block_never_began_opens_it() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": text_delta("Hi")}

    assert read_stream(start(), delta, *end()).text == "Hi"


def test_a_tools_input_whose_call_never_began_is_an_error() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": input_delta("{}")}

    with pytest.raises(ProtocolError):
        read_stream(start(), delta, *end())


def test_blocks_that_are_never_stopped_end_with_the_answer() -> None:
    opened = block(0, {"type": "tool_use", "id": "t", "name": "f"}, input_delta('{"a":1}'))[:-1]

    assert read_stream(start(), *opened, *end("tool_use")).tool_calls[0].input == {"a": 1}


def test_a_server_that_does_not_stream_answers_in_one_event() -> None:
    body = plain_body(
        [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}], "tool_use"
    )

    assert collect(events_of_chunks([f"data: {json.dumps(body)}\n\n".encode()])) == read_plain(body)


# --- why it ended ---


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("pause_turn", FinishReason.PAUSE),
        ("compaction", FinishReason.PAUSE),
        ("refusal", FinishReason.REFUSAL),
        ("shiny_reason", FinishReason.OTHER),
        ("eos", FinishReason.STOP),
    ],
)
def test_stop_reasons(raw: str, expected: FinishReason) -> None:
    for response in (
        read_plain(plain_body([{"type": "text", "text": "partial"}], raw)),
        read_stream(start(), *block(0, TEXT, text_delta("partial")), *end(raw)),
    ):
        assert response.finish_reason is expected
        assert response.metadata["raw_finish_reason"] == raw
        assert response.text == "partial"
        assert response.usage == TokenUsage(9, 4, 13)


@pytest.mark.parametrize("raw", ["end_turn", "tool_use", "stop"])
def test_calls_decide_over_a_clean_stop(raw: str) -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}

    assert read_plain(plain_body([call], raw)).finish_reason is FinishReason.TOOL_CALLS
    assert read_stream(start(), *block(0, call), *end(raw)).finish_reason is FinishReason.TOOL_CALLS


def test_the_matched_stop_sequence_and_the_details_of_a_refusal_are_kept() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "No."}

    stopped = read_stream(start(), *end("stop_sequence", stop_sequence="END"))
    refused = read_stream(start(), *end("refusal", stop_details=details))

    assert stopped.metadata["stop_sequence"] == "END"
    assert refused.metadata["stop_details"] == details
    assert refused == read_plain(plain_body([], "refusal", stop_details=details))


@pytest.mark.parametrize("raw", [None, ""])
def test_an_answer_without_a_reason_is_other(raw: Any) -> None:
    assert read_plain(plain_body([{"type": "text", "text": "a"}], raw)).finish_reason is FinishReason.OTHER
    assert (
        read_stream(start(), *block(0, TEXT, text_delta("a")), {"type": "message_stop"}).finish_reason
        is FinishReason.OTHER
    )


@pytest.mark.parametrize("cut", ['{"path":"a","text":"abc', "", '{"a":'])
def test_a_call_that_the_limit_cut_is_incomplete(cut: str) -> None:
    deltas = [input_delta(cut)] if cut else []

    response = read_stream(
        start(), *block(0, {"type": "tool_use", "id": "t", "name": "f"}, *deltas), *end("max_tokens")
    )

    (call,) = response.tool_calls
    assert call.incomplete
    assert not call.is_valid
    assert response.finish_reason is FinishReason.LENGTH
    if cut:
        assert call.arguments == cut


def test_only_the_last_call_can_have_been_cut() -> None:
    blocks = [
        *block(0, {"type": "tool_use", "id": "a", "name": "f"}),
        *block(1, {"type": "tool_use", "id": "b", "name": "f"}),
    ]

    response = read_stream(start(), *blocks, *end("max_tokens"))

    assert [call.incomplete for call in response.tool_calls] == [False, True]


def test_broken_arguments_of_an_answer_that_ended_well_are_invalid_and_kept() -> None:
    (call,) = read_stream(
        start(), *block(0, {"type": "tool_use", "id": "t", "name": "f"}, input_delta('{"a')), *end("tool_use")
    ).tool_calls

    assert (call.arguments, call.incomplete, call.is_valid) == ('{"a', False, False)


# --- usage ---


def test_cached_tokens_are_a_part_of_the_input() -> None:
    usage = {
        "input_tokens": 4, "cache_read_input_tokens": 2000, "cache_creation_input_tokens": 96, "output_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 18}, "service_tier": "standard", "inference_geo": None,
    }  # fmt: skip

    response = read_plain(plain_body([], usage=usage))

    assert response.usage == TokenUsage(2100, 30, 2130, 2000, 96, 18)
    assert response.metadata["usage_details"] == {
        "service_tier": "standard",
        "output_tokens_details": {"thinking_tokens": 18},
    }


def test_counts_that_are_repeated_in_a_stream_are_not_added_up() -> None:
    response = read_stream(
        start(usage={"input_tokens": 30, "cache_read_input_tokens": 12, "output_tokens": 1}),
        *block(0, TEXT, text_delta("a")),
        {
            "type": "message_delta",
            "delta": {"stop_reason": None},
            "usage": {"input_tokens": 30, "cache_read_input_tokens": 12, "output_tokens": 20},
        },
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    )

    assert response.usage == TokenUsage(42, 50, 92, 12)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, TokenUsage()),
        ({}, TokenUsage()),
        ({"input_tokens": None, "output_tokens": None}, TokenUsage()),
        ({"output_tokens": 5}, TokenUsage(None, 5)),
        ({"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": None}, TokenUsage(3, 5, 8)),
        ({"input_tokens": 3, "output_tokens": 5, "output_tokens_details": None}, TokenUsage(3, 5, 8)),
        (
            {"input_tokens": 3, "output_tokens": 5, "cache_creation": {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 1}},
            TokenUsage(11, 5, 16, None, 8),
        ),
        ({"input_tokens": "3", "output_tokens": True}, TokenUsage()),
    ],
)  # fmt: skip
def test_usage_that_is_not_there_is_unknown(usage: Any, expected: TokenUsage) -> None:
    assert read_plain(plain_body([], usage=usage)).usage == expected


# --- what goes wrong ---


@pytest.mark.parametrize("data", [b"", b": ping\n\n: ping\n\n", sse({"type": "ping"}), b"data: [DONE]\n\n"])
def test_a_stream_without_events_is_empty(data: bytes) -> None:
    with pytest.raises(EmptyResponse) as caught:
        events_of_chunks([data])

    assert caught.value.retryable


def test_a_plain_answer_without_a_body_is_empty() -> None:
    with pytest.raises(EmptyResponse):
        read_plain(b"  ")


@pytest.mark.parametrize("body", [b"<html>hi</html>", b"[1]", b"{}", b'{"content": 5}', b'{"content": [5]}'])
def test_a_plain_answer_of_another_shape_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_plain(body)


def test_an_event_that_is_no_json_is_a_protocol_error_unless_it_is_the_last() -> None:
    begun = sse(start(), *block(0, TEXT, text_delta("a")))

    with pytest.raises(ProtocolError):
        events_of_chunks([begun, b"data: {broken\n\n", sse(*end())])
    with pytest.raises(StreamInterrupted):
        events_of_chunks([begun, b"data: {broken\n\n"])


OVERLOADED = {
    "type": "error",
    "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"},
    "request_id": "req_1",
}


@pytest.mark.parametrize("before", [(), (start(),), (start(), *block(0, TEXT, text_delta("Hel"))[:2])])
def test_an_error_inside_a_stream_is_that_error(before: Any) -> None:
    with pytest.raises(Overloaded) as caught:
        events_of_chunks([sse(*before, OVERLOADED)])

    error = caught.value
    assert (error.message, error.status, error.request_id, error.retryable) == ("Overloaded", 529, "req_1", True)


@pytest.mark.parametrize(
    ("payload", "kind", "message"),
    [
        ({"error": {"message": "queue full", "type": "rate_limit_error"}}, RateLimited, "queue full"),
        ({"error": {"message": "queue full", "code": 429}}, RateLimited, "queue full"),
        ({"error": "it failed"}, ServerError, "it failed"),
        ({"type": "error", "error": "model overloaded"}, ModelError, "model overloaded"),
        ({"type": "error", "error": {"message": "x", "type": "api_error"}}, ServerError, "x"),
    ],
)
def test_an_error_in_a_200_answer_is_an_error_in_every_shape(
    payload: Any, kind: type[ModelError], message: str
) -> None:
    with pytest.raises(kind) as plain:
        read_plain(payload)
    with pytest.raises(kind) as streamed:
        events_of_chunks([f"data: {json.dumps(payload)}\n\n".encode()])

    assert plain.value.message == streamed.value.message == message
    assert plain.value.status not in {200, None}


def test_a_tools_name_is_mapped_back_in_both_forms() -> None:
    request = encoded(tools=[ToolSpecification("files.read")])
    sent = json.loads(request.http.body)["tools"][0]["name"]
    call = {"type": "tool_use", "id": "t", "name": sent, "input": {"a": 1}}

    plain = read_plain(plain_body([call], "tool_use"), request)
    events = events_of_chunks([sse(start(), *block(0, call), *end("tool_use"))], request)

    assert plain.tool_calls[0].name == "files.read"
    assert collect(events) == plain
    assert next(event.name for event in events if isinstance(event, ToolCallStart)) == "files.read"


def test_unknown_blocks_are_kept_whole() -> None:
    response = read_plain(plain_body([SEARCH]))

    assert response.message.parts == (OpaqueContent("anthropic", SEARCH),)
    assert any(isinstance(event, PartEnd) for event in events_of_chunks([sse(start(), *block(0, SEARCH), *end())]))


def test_headers_that_say_something_are_named() -> None:
    assert encoded().metadata_headers["request-id"] == "request_id"
    assert encoded().metadata_headers["anthropic-ratelimit-*"] == "rate_limits"
