"""Streams of any origin, written as this wire's events: legal at every event, and read by the vendor's own package."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

import anthropic
import httpx2 as httpx
import pytest
from hypothesis import given, settings
from support.histories import histories

from polywire.contents import ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.conversion import StreamConverter
from polywire.errors import Overloaded, RateLimited
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseCollector,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
    events_of,
)
from polywire.framing.sse import SseFraming
from polywire.messages import AiMessage, Origin, ToolCall
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire_anthropic import AnthropicWire
from polywire_anthropic.stream import AnthropicStreamDecoder
from polywire_anthropic.stream_encoder import AnthropicStreamEncoder

FOREIGN = ResponseStart({"id": "chatcmpl-1", "model": "gpt", "created": 5}, Origin("openai"))
OWN = ResponseStart({"id": "msg_1", "model": "claude", "type": "message"}, Origin("anthropic"))


def written(events: Iterable[StreamEvent]) -> tuple[bytes, tuple[Notice, ...]]:
    encoder = AnthropicStreamEncoder()
    data = b"".join([*(encoder.feed(event) for event in events), encoder.finish()])
    return data, encoder.notices


def parsed(data: bytes) -> list[dict[str, Any]]:
    framing = SseFraming()
    frames = [*framing.feed(data), *framing.finish()]
    events = [json.loads(frame.data) for frame in frames]
    assert [frame.event for frame in frames] == [event["type"] for event in events]
    return events


def check_legal(events: Sequence[dict[str, Any]]) -> None:
    """One message, blocks one after another numbered from 0, nothing empty, an end."""
    assert [events[0]["type"], events[-2]["type"], events[-1]["type"]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    open_block: dict[str, Any] | None = None
    count = 0
    for event in events[1:-2]:
        match event["type"]:
            case "content_block_start":
                assert open_block is None
                assert event["index"] == count
                open_block = event
                count += 1
            case "content_block_delta":
                assert open_block is not None
                assert event["index"] == count - 1
                delta = {key: value for key, value in event["delta"].items() if key != "type"}
                assert all(delta.values())
            case "content_block_stop":
                assert open_block is not None
                assert event["index"] == count - 1
                open_block = None
            case other:
                pytest.fail(f"unexpected {other}")
    assert open_block is None


def read_back(data: bytes) -> ChatResponse:
    decoder, collector, framing = AnthropicStreamDecoder(), ResponseCollector(), SseFraming()
    for frame in framing.feed(data):
        collector.add_all(decoder.feed(frame))
    collector.add_all(decoder.finish())
    return collector.response()


def vendor_client(data: bytes, content_type: str) -> anthropic.Anthropic:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": content_type}, content=data))
    return anthropic.Anthropic(
        api_key="k", base_url="http://127.0.0.1", http_client=httpx.Client(transport=transport), max_retries=0
    )


def vendor_reads_stream(data: bytes) -> Any:
    with (
        vendor_client(data, "text/event-stream") as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}]) as stream,
    ):
        for _ in stream:
            pass
        return stream.get_final_message()


def vendor_reads_answer(body: dict[str, Any]) -> Any:
    with vendor_client(json.dumps(body).encode(), "application/json") as client:
        return client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "q"}])


def call(part: int, call_id: str, name: str, *fragments: str) -> list[StreamEvent]:
    arguments = "".join(fragments)
    return [
        ToolCallStart(call_id, name, part),
        *(ToolCallDelta(fragment, part) for fragment in fragments),
        ToolCallEnd(ToolCall(call_id, name, arguments), part),
    ]


def test_a_call_that_comes_first() -> None:
    data, notices = written(
        [
            FOREIGN,
            *call(0, "c1", "f", '{"a"', ":1}"),
            UsageUpdate(TokenUsage(3, 4)),
            ResponseEnd(FinishReason.TOOL_CALLS),
        ]
    )

    assert parsed(data) == [
        {
            "type": "message_start",
            "message": {
                "id": "chatcmpl-1", "type": "message", "role": "assistant", "model": "gpt", "content": [],
                "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        },
        {
            "type": "content_block_start", "index": 0,
            "content_block": {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"input_tokens": 3, "output_tokens": 4},
        },
        {"type": "message_stop"},
    ]  # fmt: skip
    assert notices == ()


def test_thinking_then_text_then_a_call() -> None:
    data, _ = written(
        [
            FOREIGN,
            ThinkingDelta("R", 0),
            TextDelta("T", 1),
            *call(2, "c1", "f"),
            PartEnd(ThinkingContent("R"), 0),
            ResponseEnd(FinishReason.TOOL_CALLS),
        ]
    )

    events = parsed(data)
    check_legal(events)
    starts = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert starts == ["thinking", "text", "tool_use"]


def test_calls_side_by_side_wait_for_the_open_one() -> None:
    one, two = call(0, "c1", "x", '{"a":', "1}"), call(1, "c2", "y", '{"b":', "2}")
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]

    data, _ = written([FOREIGN, *mixed, TextDelta("done", 2), ResponseEnd(FinishReason.TOOL_CALLS)])

    check_legal(parsed(data))
    response = read_back(data)
    assert [(each.id, each.arguments) for each in response.tool_calls] == [("c1", '{"a":1}'), ("c2", '{"b":2}')]
    assert response.text == "done"


def test_what_does_not_wait_goes_out_at_once() -> None:
    encoder = AnthropicStreamEncoder()
    encoder.feed(FOREIGN)

    assert b'"Hel"' in encoder.feed(TextDelta("Hel"))
    assert parsed(encoder.feed(TextDelta("lo"))) == [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}}
    ]


def test_whole_parts_and_seals_of_this_wire() -> None:
    citation = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
    parts: list[Any] = [
        ThinkingContent("plan", "c2ln"),
        ThinkingContent("", "c2ln"),
        ThinkingContent(redacted="eHl6"),
        TextContent("Hi", extras={"anthropic": {"citations": [citation]}}),
        OpaqueContent("anthropic", block),
        ToolCall("t1", "f", '{"a":1}', "anthropic"),
    ]
    response = ChatResponse(
        AiMessage(parts, Origin("anthropic", None, "claude")),
        TokenUsage(8, 5, None, 3, 2, 1),
        FinishReason.TOOL_CALLS,
        (),
        {
            "id": "msg_1", "type": "message", "model": "claude", "raw_finish_reason": "tool_use",
            "usage_details": {"service_tier": "standard", "output_tokens_details": {"thinking_tokens": 1}},
        },
    )  # fmt: skip

    data, notices = written(events_of(response))

    check_legal(parsed(data))
    assert notices == ()
    assert read_back(data) == response


def test_what_this_wire_cannot_hold_is_told() -> None:
    events: list[StreamEvent] = [
        FOREIGN,
        PartEnd(ImageContent(url="https://example.com/a.png"), 0),
        PartEnd(OpaqueContent("openai", {"type": "x"}), 1),
        PartEnd(ThinkingContent(redacted="seal"), 2),
        TextDelta("a", 3),
        ResponseEnd(FinishReason.ERROR, {"raw_finish_reason": "network_error"}),
    ]

    data, notices = written(events)

    check_legal(parsed(data))
    assert [notice.kind for notice in notices[:4]] == ["dropped", "dropped", "dropped", "approximated"]
    assert "network_error" in notices[3].message


def test_a_seal_that_comes_too_late_is_told_and_stops_nothing() -> None:
    citation = {"type": "char_location"}
    events: list[StreamEvent] = [
        OWN,
        ThinkingDelta("R", 0),
        TextDelta("T", 1),
        PartEnd(ThinkingContent("R", "c2ln"), 0),
        TextDelta("U", 1),
        *call(2, "t", "f", "{}"),
        PartEnd(TextContent("TU", extras={"anthropic": {"citations": [citation]}}), 1),
        ResponseEnd(FinishReason.TOOL_CALLS),
    ]

    data, notices = written(events)

    check_legal(parsed(data))
    assert read_back(data).text == "TU"
    assert [notice.subject for notice in notices if notice.kind == "dropped"] == ["part 0", "part 1"]


def test_foreign_ids_fit_and_doubles_become_two() -> None:
    events: list[StreamEvent] = [
        FOREIGN,
        *call(0, "functions.f:0", "f"),
        *call(1, "c", "f"),
        *call(2, "c", "f"),
        ResponseEnd(FinishReason.TOOL_CALLS),
    ]

    data, notices = written(events)

    ids = [each.id for each in read_back(data).tool_calls]
    assert len(set(ids)) == 3
    assert ids[1] == "c"
    assert all(each.replace("_", "").isalnum() for each in ids)
    assert [notice.kind for notice in notices if notice.subject != "usage"] == ["approximated", "approximated"]


def test_a_call_without_fragments_is_written_whole_and_a_broken_one_wrapped() -> None:
    events: list[StreamEvent] = [
        FOREIGN,
        ToolCallStart("a", "f", 0),
        ToolCallEnd(ToolCall("a", "f", '{"x":1}'), 0),
        ToolCallStart("b", "f", 1),
        ToolCallEnd(ToolCall("b", "f", "[1]"), 1),
        ToolCallStart("c", "f", 2),
        ToolCallEnd(ToolCall("c", "f"), 2),
        ResponseEnd(FinishReason.TOOL_CALLS),
    ]

    data, _ = written(events)

    check_legal(parsed(data))
    assert [each.arguments for each in read_back(data).tool_calls] == ['{"x":1}', "[1]", "{}"]


def test_calls_that_never_ended_are_stopped_with_the_answer() -> None:
    events: list[StreamEvent] = [
        FOREIGN,
        ToolCallStart("a", "f", 0),
        ToolCallDelta('{"x', 0),
        ToolCallStart("b", "f", 1),
        ResponseEnd(FinishReason.LENGTH),
    ]

    data, _ = written(events)

    check_legal(parsed(data))
    assert [each.id for each in read_back(data).tool_calls] == ["a", "b"]


def test_an_answer_of_nothing() -> None:
    data, _ = written([FOREIGN, ResponseEnd(FinishReason.STOP)])

    check_legal(parsed(data))
    assert vendor_reads_stream(data).content == []


def test_notices_of_the_stream_write_nothing() -> None:
    assert AnthropicStreamEncoder().feed(NoticeAdded(Notice("information", "x", "y"))) == b""


def test_an_error_is_told_in_this_wires_way() -> None:
    encoder = AnthropicStreamEncoder()
    encoder.feed(FOREIGN)
    encoder.feed(TextDelta("Hel"))

    data = encoder.error(Overloaded("busy", request_id="req_1"))

    assert parsed(data) == [
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "request_id": "req_1"}
    ]
    with pytest.raises(Overloaded, match="busy"):
        read_back(data)
    with pytest.raises(RateLimited):
        read_back(encoder.error(RateLimited("slow")))


def test_a_stream_that_never_says_why_it_ended_ends_in_an_error() -> None:
    data, _ = written([FOREIGN, TextDelta("Hel")])

    assert parsed(data)[-1]["type"] == "error"


# --- the vendor's own package reads it ---


def test_the_vendors_package_reads_the_stream() -> None:
    data, _ = written(
        [
            OWN,
            UsageUpdate(TokenUsage(20, 1, None, 5)),
            ThinkingDelta("plan", 0),
            PartEnd(ThinkingContent("plan", "c2ln"), 0),
            TextDelta("Hel", 1),
            TextDelta("lo é", 1),
            *call(2, "t1", "f", '{"a":', '"é"}'),
            UsageUpdate(TokenUsage(20, 30, None, 5, None, 18)),
            ResponseEnd(FinishReason.TOOL_CALLS, {"raw_finish_reason": "tool_use"}),
        ]
    )

    message = vendor_reads_stream(data)

    assert (message.id, message.model, message.role, message.type) == ("msg_1", "claude", "assistant", "message")
    thinking, text, tool_use = message.content
    assert (thinking.type, thinking.thinking, thinking.signature) == ("thinking", "plan", "c2ln")
    assert (text.type, text.text) == ("text", "Hello é")
    assert (tool_use.type, tool_use.id, tool_use.name, tool_use.input) == ("tool_use", "t1", "f", {"a": "é"})
    assert (message.stop_reason, message.stop_sequence) == ("tool_use", None)
    usage = message.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (15, 5, 30)


def test_the_vendors_package_reads_the_answer() -> None:
    response = ChatResponse(
        AiMessage([ThinkingContent("R"), TextContent("T"), ToolCall("c1", "f", '{"a":1}')], Origin("openai")),
        TokenUsage(10, 5, None, 4, 1, 2),
        FinishReason.STOP,
        (),
        {"id": "chatcmpl-1", "model": "gpt", "stop_sequence": "END"},
    )

    message = vendor_reads_answer(AnthropicWire().encode_response(response).value)

    assert (message.id, message.model, message.role, message.type) == ("chatcmpl-1", "gpt", "assistant", "message")
    thinking, text, tool_use = message.content
    assert (thinking.thinking, thinking.signature) == ("R", "")
    assert (text.text, text.citations) == ("T", None)
    assert (tool_use.id, tool_use.name, tool_use.input) == ("c1", "f", {"a": 1})
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 5)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (4, 1)
    assert usage.output_tokens_details.thinking_tokens == 2


def test_the_vendors_package_raises_what_an_error_says() -> None:
    data = written([FOREIGN, TextDelta("Hel")])[0].rsplit(b"event: error", 1)[0]
    data += AnthropicStreamEncoder().error(Overloaded("busy"))

    with pytest.raises(anthropic.APIStatusError, match="busy"):
        vendor_reads_stream(data)


# --- there and back ---


def test_a_stream_of_this_wire_goes_there_and_back_at_every_cut() -> None:
    data, _ = written(
        [
            OWN,
            UsageUpdate(TokenUsage(9, 1)),
            ThinkingDelta("思", 0),
            PartEnd(ThinkingContent("思", "c2ln"), 0),
            TextDelta("Hé", 1),
            *call(2, "t1", "f", '{"a":1}'),
            UsageUpdate(TokenUsage(9, 4)),
            ResponseEnd(FinishReason.TOOL_CALLS, {"raw_finish_reason": "tool_use"}),
        ]
    )

    for at in range(len(data) + 1):
        converter = StreamConverter(AnthropicWire(), AnthropicWire())
        again = converter.feed(data[:at]) + converter.feed(data[at:]) + converter.finish()
        assert again == data
        assert converter.notices == ()


def interleaved(groups: Sequence[Sequence[StreamEvent]]) -> list[StreamEvent]:
    return [event for row in itertools.zip_longest(*groups) for event in row if event is not None]


@settings(max_examples=100, deadline=None)
@given(histories(thinking=True, opaque="anthropic", media=False))
def test_random_answers_are_written_legally_in_any_order(messages: Any) -> None:
    for message in messages:
        if not isinstance(message, AiMessage):
            continue
        parts = [part for part in message.parts if not (isinstance(part, TextContent) and not part.text)]
        response = ChatResponse(
            AiMessage(parts, Origin("anthropic", None, "m")), TokenUsage(1, 1), metadata={"id": "i", "model": "m"}
        )
        events = list(events_of(response))
        head, body, tail = events[:1], events[1:-2], events[-2:]

        data, _ = written(events)
        check_legal(parsed(data))
        back = read_back(data)
        if len({each.id for each in message.tool_calls}) == len(message.tool_calls):
            assert [part for part in back.message.parts if not isinstance(part, ToolCall)] == [
                part for part in parts if not isinstance(part, ToolCall)
            ]
            assert len(back.tool_calls) == len(message.tool_calls)

        groups = [[event for event in body if event.part == index] for index in range(len(parts))]  # type: ignore[union-attr]
        mixed, _ = written([*head, *interleaved(groups), *tail])
        check_legal(parsed(mixed))
        assert sorted(each.arguments for each in read_back(mixed).tool_calls) == sorted(
            each.arguments for each in back.tool_calls
        )
