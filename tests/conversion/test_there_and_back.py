"""
OpenAI's wire and Anthropic's, there and back, through the core's values.

What must hold: the ledger closes at every stage; nothing that both wires know is lost; what one of them cannot carry is
in the notices. "The same" is up to the published normal form: a string is one text block, adjacent roles are merged,
empty text is dropped, arguments that are no JSON object are wrapped.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.histories import histories, turns

from polywire import aconvert_stream, convert, convert_stream
from polywire.contents import ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import HistoryError, ModelError
from polywire.events import ResponseCollector, events_of
from polywire.framing.tail import last_events
from polywire.history import Ledger
from polywire.messages import (
    AiMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.requests import ChatRequest, ChatRequestParameters, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire_anthropic import AnthropicWire
from polywire_openai import OpenAIWire

OPENAI, ANTHROPIC = OpenAIWire(), AnthropicWire()
WIRES = {"openai": OPENAI, "anthropic": ANTHROPIC}
PNG = b"\x89PNG\r\n\x1a\n"


def closed(messages: Sequence[Message]) -> None:
    Ledger(messages).check()


def told(messages: Iterable[Message]) -> list[Any]:
    """What a history says in terms that both wires know: words, calls and results, turn by turn."""
    said: list[Any] = []

    def add(kind: str, value: Any) -> None:
        if said and said[-1][0] == kind and kind in {"user", "assistant"}:
            said[-1] = (kind, said[-1][1] + value)
        elif value or kind not in {"user", "assistant"}:
            said.append((kind, value))

    for message in messages:
        if isinstance(message, UserMessage):
            add("user", _words(message.contents))
        elif isinstance(message, SystemMessage):
            add("system", _words(message.contents))
        elif isinstance(message, AiMessage):
            add("assistant", "".join(part.text for part in message.parts if isinstance(part, TextContent)))
            for call in message.tool_calls:
                add("call", (call.name, _input(call)))
        elif isinstance(message, ToolResultMessage):
            add("result", (message.is_error, message.text.split("[image")[0].strip()))
    return said


def without_last_blanks(said: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Anthropic takes none at the end of an answer that it shall go on with."""
    if not said or said[-1][0] != "assistant":
        return said
    kept = said[-1][1].rstrip()
    return said[:-1] + ([("assistant", kept)] if kept else [])


def _words(contents: Iterable[Any]) -> str:
    return "".join(
        item.text for item in contents if isinstance(item, TextContent) and not item.text.startswith("[image")
    )


def _input(call: ToolCall) -> Any:
    if not call.is_valid:
        return call.arguments
    value = call.input
    return value["INVALID_JSON"] if set(value) == {"INVALID_JSON"} else value


STAGES = [("anthropic", "openai", "anthropic"), ("openai", "anthropic", "openai")]


@pytest.mark.parametrize("stages", STAGES, ids="-".join)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(media=False))
def test_what_both_wires_know_survives_every_stage(stages: tuple[str, ...], history: tuple[Message, ...]) -> None:
    payload = (
        WIRES[stages[0]].encode_request(ChatRequest(history, ChatRequestParameters(model="m", max_tokens=9))).value
    )
    first = WIRES[stages[0]].decode_request(payload).value.messages
    closed(first)

    for source, target in itertools.pairwise(stages):
        payload = convert(payload, source=source, target=target).payload
        closed(WIRES[target].decode_request(payload).value.messages)

    last = WIRES[stages[-1]].decode_request(payload).value.messages
    assert without_last_blanks(told(last)) == without_last_blanks(told(first))


@pytest.mark.parametrize("name", ["openai", "anthropic"])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_wire_reads_and_writes_its_own_exactly(name: str, data: st.DataObject) -> None:
    history = data.draw(histories(thinking=name == "anthropic", opaque=name if name == "anthropic" else None))
    wire = WIRES[name]
    written = wire.encode_request(ChatRequest(history, ChatRequestParameters(model="m", max_tokens=9))).value

    again = wire.encode_request(wire.decode_request(written).value)

    assert again.value == written
    assert not [notice for notice in again.notices if notice.kind == "dropped"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(thinking=True, opaque="anthropic"))
def test_what_openai_cannot_carry_is_in_the_notices(history: tuple[Message, ...]) -> None:
    payload = ANTHROPIC.encode_request(ChatRequest(history, ChatRequestParameters(model="m", max_tokens=9))).value
    read = ANTHROPIC.decode_request(payload).value.messages
    sealed = [
        part
        for message in read
        if isinstance(message, AiMessage)
        for part in message.parts
        if isinstance(part, (ThinkingContent, OpaqueContent))
    ]

    there = convert(payload, source="anthropic", target="openai")

    assert bool(sealed) <= bool([notice for notice in there.notices if notice.kind == "dropped"])
    closed(OPENAI.decode_request(there.payload).value.messages)


def twenty_turns() -> list[Message]:
    history: list[Message] = [SystemMessage("Be brief."), UserMessage(["Look:", ImageContent(data=PNG)])]
    for number in range(20):
        calls = [
            ToolCall(f"toolu_{number}_{each}", "search", {"page": each, "q": "é"}) for each in range(number % 3 + 1)
        ]
        history.append(
            AiMessage(
                [ThinkingContent(f"plan {number}", f"c2ln{number}"), f"Turn {number}.", *calls], Origin("anthropic")
            )
        )
        for each, call in enumerate(calls):
            if each == 1:
                error = ToolError("timeout", "too slow", True, {"seconds": 3}) if number % 2 else None
                history.append(ToolResultMessage(call.id, "search", "too slow", True, error))
            elif each == 2:
                history.append(ToolResultMessage(call.id, "search", ["shot", ImageContent(data=PNG)]))
            else:
                history.append(ToolResultMessage(call.id, "search", f"found {number}"))
        if number % 4 == 0:
            history.append(UserMessage(f"Go on {number}."))
    return [*history, AiMessage("Done.")]


def test_twenty_turns_go_there_and_back_and_close_at_every_stage() -> None:
    tools = (ToolSpecification("search", "Search.", {"type": "object", "properties": {"q": {"type": "string"}}}),)
    request = ChatRequest(twenty_turns(), ChatRequestParameters(model="m", max_tokens=9, tools=tools))
    anthropic = ANTHROPIC.encode_request(request).value
    begun = ANTHROPIC.decode_request(anthropic).value.messages
    closed(begun)

    openai = convert(anthropic, source="anthropic", target="openai")
    closed(OPENAI.decode_request(openai.payload).value.messages)
    back = convert(openai.payload, source="openai", target="anthropic")
    ended = ANTHROPIC.decode_request(back.payload).value.messages
    closed(ended)

    assert told(ended) == told(begun)
    lost = [notice for notice in openai.notices if notice.kind == "dropped"]
    assert len([notice for notice in lost if "thinking" in notice.message]) == 20
    moved = [notice for notice in openai.notices if notice.kind == "approximated"]
    assert len([notice for notice in moved if "media" in notice.message]) == sum(
        number % 3 == 2 for number in range(20)
    )
    images = [
        part
        for message in ended
        if isinstance(message, UserMessage)
        for part in message.contents
        if isinstance(part, ImageContent)
    ]
    assert len(images) == 1 + sum(number % 3 == 2 for number in range(20))
    assert json.loads(json.dumps(back.payload)) == back.payload


def test_an_open_history_is_refused_or_repaired_in_convert_too() -> None:
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"t{each}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in (1, 2)
        ]},
        {"role": "tool", "tool_call_id": "t1", "content": "ok"},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    for target in ("anthropic", "openai"):
        with pytest.raises(HistoryError, match="t2"):
            convert(messages, source="openai", target=target)
        repaired = convert(messages, source="openai", target=target, history="repair")
        closed(WIRES[target].decode_messages(repaired.payload).value)
        assert repaired.notices


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(turn=turns(thinking=False, opaque=None, invalid=False, media=False), cut=st.integers(1, 40))
@pytest.mark.parametrize(("source", "target"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_streams_turn_into_the_other_wire_at_any_split(source: str, target: str, turn: list[Message], cut: int) -> None:
    [message] = [each for each in turn if isinstance(each, AiMessage)]
    reason = FinishReason.TOOL_CALLS if message.tool_calls else FinishReason.STOP
    response = ChatResponse(message, TokenUsage(7, 5), reason, metadata={"id": "r", "model": "m"})
    encoder = WIRES[source].stream_encoder()
    body = b"".join(encoder.feed(event) for event in events_of(response)) + encoder.finish()

    whole = b"".join(convert_stream([body], source=source, target=target))
    pieces = [body[at : at + cut] for at in range(0, len(body), cut)]
    in_pieces = b"".join(convert_stream(pieces, source=source, target=target))

    assert in_pieces == whole
    read = decoded(target, whole)
    assert told([read.message]) == told([message])
    assert read.finish_reason is reason
    assert (read.usage.input_tokens, read.usage.output_tokens) == (7, 5)


def decoded(name: str, body: bytes) -> ChatResponse:
    framing, decoder = WIRES[name].framing(), WIRES[name].stream_decoder()
    collector = ResponseCollector()
    for frame in framing.feed(body):
        if not decoder.ended:
            collector.add_all(decoder.feed(frame))
    collector.add_all(last_events(framing, decoder))
    return collector.response()


def test_async_streams_convert_as_sync_ones_do() -> None:
    encoder = OPENAI.stream_encoder()
    response = ChatResponse(
        AiMessage(["Hello é", ToolCall("c1", "f", '{"a": 1}')]), TokenUsage(3, 4), FinishReason.TOOL_CALLS
    )
    body = b"".join(encoder.feed(event) for event in events_of(response)) + encoder.finish()

    async def pieces() -> Any:
        for at in range(len(body)):
            yield body[at : at + 1]

    async def main() -> bytes:
        return b"".join([out async for out in aconvert_stream(pieces(), source="openai", target="anthropic")])

    assert asyncio.run(main()) == b"".join(convert_stream([body], source="openai", target="anthropic"))


@pytest.mark.parametrize(("source", "target"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_a_stream_that_breaks_off_is_an_error_in_the_other_wire_never_an_end(source: str, target: str) -> None:
    encoder = WIRES[source].stream_encoder()
    response = ChatResponse(
        AiMessage("The answer is forty-two."), TokenUsage(3, 4), FinishReason.STOP, metadata={"id": "r", "model": "m"}
    )
    body = b"".join(encoder.feed(event) for event in events_of(response)) + encoder.finish()
    whole = told([decoded(target, b"".join(convert_stream([body], source=source, target=target))).message])

    for at in range(1, len(body)):
        out = b"".join(convert_stream([body[:at]], source=source, target=target))
        try:
            read = decoded(target, out)
        except Exception as error:
            assert isinstance(error, ModelError), error  # noqa: PT017 - either way will do
        else:
            assert told([read.message]) == whole


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("source", "target"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_a_body_that_asks_for_a_stream_still_does(source: str, target: str, stream: bool) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": stream}

    there = convert(body, source=source, target=target)

    assert (there.payload["stream"], there.notices) == (stream, ())
    assert convert(there.payload, source=target, target=source).payload["stream"] is stream
    del body["stream"]
    assert "stream" not in convert(body, source=source, target=target).payload


def test_what_a_stream_shall_hold_besides_is_told_where_the_target_has_no_word_for_it() -> None:
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    there = convert(body, source="openai", target="anthropic")

    assert there.payload["stream"] is True
    assert "stream_options" not in there.payload
    assert any(notice.kind == "dropped" and "stream_options" in notice.message for notice in there.notices)


def test_what_a_tools_error_says_beside_its_message_is_told_where_it_does_not_travel() -> None:
    error = ToolError("timeout", "too slow", True, {"after": 5})
    history = [UserMessage("hi"), AiMessage(ToolCall("c", "search")), ToolResultMessage("c", "search", error=error)]

    written = ANTHROPIC.encode_messages(history)

    assert [notice.message for notice in written.notices if "timeout" in notice.message]
    back = ANTHROPIC.decode_messages(written.value).value[-1]
    assert isinstance(back, ToolResultMessage)
    assert (back.is_error, back.text) == (True, "too slow")
