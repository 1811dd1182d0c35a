"""What Ollama answers: lines cut anywhere, calls in every shape, error lines, and streams that break off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from polywire.codec import Encoded, Headers, HttpRequest, HttpResponse
from polywire.errors import (
    EmptyResponse,
    ModelError,
    NotFound,
    ProtocolError,
    ServerError,
    StreamInterrupted,
)
from polywire.events import ResponseCollector, StreamEvent
from polywire.framing.ndjson import NdjsonFraming
from polywire.messages import Message, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire_ollama import OllamaCodec

ENCODED = Encoded(HttpRequest(""))


def lines(*items: Any, end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps(item, ensure_ascii=False).encode() + end for item in items)


def events_of(pieces: Iterable[bytes], encoded: Encoded = ENCODED) -> Iterator[StreamEvent]:
    framing, decoder = NdjsonFraming(), OllamaCodec().stream_decoder(encoded)
    for piece in pieces:
        for frame in framing.feed(piece):
            yield from decoder.feed(frame)
    for frame in framing.finish():
        yield from decoder.feed(frame)
    yield from decoder.finish()


def read(pieces: Iterable[bytes]) -> ChatResponse:
    collector = ResponseCollector()
    collector.add_all(events_of(pieces))
    return collector.response()


def plain(body: Any) -> ChatResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return OllamaCodec().decode(HttpResponse(200, Headers(), data), ENCODED)


def every_way(stream: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, and at every split into two."""
    yield [stream]
    yield [stream[at : at + 1] for at in range(len(stream))]
    for at in range(1, len(stream)):
        yield [stream[:at], stream[at:]]


def say(content: str = "", **message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **message}, "done": False}


DONE = {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 2}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
def test_lines_are_read_however_they_are_cut(end: bytes) -> None:
    stream = lines(say("Hé"), {"message": {"content": "llo\u2028"}, "done": False}, DONE, end=end)
    for pieces in every_way(stream):
        response = read(pieces)
        assert response.text == "Héllo\u2028"
        assert response.finish_reason is FinishReason.STOP
        assert response.usage == TokenUsage(26, 2, 28)


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    index = {"index": more.pop("index")} if "index" in more else {}
    return {**more, "function": {**index, "name": name, "arguments": arguments}}


CALLS: list[tuple[str, list[dict[str, Any]]]] = [
    ("both in one line, without ids", [say(tool_calls=[call("read", {"p": "a"}), call("read", {"p": "b"})])]),
    ("one a line, without ids", [say(tool_calls=[call("read", {"p": each})]) for each in "ab"]),
    ("the same index in both", [say(tool_calls=[call("read", {"p": each}, index=0)]) for each in "ab"]),
    (
        "with ids and indexes",
        [say(tool_calls=[call("read", {"p": each}, id=f"call_{each}", index=at)]) for at, each in enumerate("ab")],
    ),
]


@pytest.mark.parametrize("chunks", [chunks for _, chunks in CALLS], ids=[name for name, _ in CALLS])
def test_every_call_is_one_of_its_own_and_makes_stop_a_call_for_tools(chunks: list[dict[str, Any]]) -> None:
    for pieces in every_way(lines(*chunks, DONE)):
        response = read(pieces)
        assert [each.input for each in response.tool_calls] == [{"p": "a"}, {"p": "b"}]
        assert len({each.id for each in response.tool_calls}) == 2
        assert response.finish_reason is FinishReason.TOOL_CALLS

    messages: list[Message] = [UserMessage("a"), response.message]
    messages += [ToolResultMessage(each.id, each.name, "out") for each in response.tool_calls]
    request = ChatRequest(messages, ChatRequestParameters(model="m"))
    body = json.loads(OllamaCodec().encode(request, stream=False).http.body)
    sent = body["messages"][1]["tool_calls"]
    assert [each["function"]["arguments"] for each in sent] == [{"p": "a"}, {"p": "b"}]
    assert [each["tool_name"] for each in body["messages"][2:]] == ["read", "read"]
    assert [each["tool_call_id"] for each in body["messages"][2:]] == [each["id"] for each in sent]


@pytest.mark.parametrize("arguments", [None, {}, ""])
def test_a_call_without_arguments_has_none(arguments: Any) -> None:
    assert plain({**DONE, "message": {"content": "", "tool_calls": [call("now", arguments)]}}).tool_calls[0].input == {}


def test_a_plain_answer_and_a_stream_are_the_same() -> None:
    whole = {
        **DONE,
        "model": "qwen3",
        "created_at": "2026-12-01T10:00:00Z",
        "message": {"role": "assistant", "content": "Hi", "thinking": "Hm.", "tool_calls": [call("now", {})]},
        "total_duration": 900,
    }
    head = {"model": "qwen3", "created_at": "2026-12-01T10:00:00Z"}
    stream = lines(
        {**head, **say(thinking="Hm")},
        {**head, **say(thinking=".")},
        {**head, **say("Hi")},
        {**head, **say(tool_calls=[call("now", {})])},
        {**head, **DONE, "total_duration": 900},
    )

    assert read([stream]) == plain(whole)


def test_thinking_is_never_in_the_text() -> None:
    response = read([lines(say(thinking="Need "), say(thinking="time."), say("12:00"), DONE)])

    assert (response.thinking, response.text) == ("Need time.", "12:00")


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("load", FinishReason.OTHER),
        ("", FinishReason.ERROR),
    ],
)
def test_every_done_reason_has_its_meaning(reason: str, meant: FinishReason) -> None:
    body = {**say("x"), "done": True, "done_reason": reason}

    assert plain(body).finish_reason is meant
    assert read([lines(body)]).finish_reason is meant


ERRORS: list[tuple[str, type[ModelError]]] = [
    ("runner stopped", ServerError),
    ("an error was encountered while running the model", ServerError),
    ("server busy, please try again. maximum pending requests exceeded", ModelError),
]


@pytest.mark.parametrize(("text", "kind"), ERRORS)
def test_an_error_line_is_that_error_after_what_came_before(text: str, kind: type[ModelError]) -> None:
    stream = lines(say("Yes"), {"error": text})
    for pieces in every_way(stream):
        collector = ResponseCollector()
        with pytest.raises(kind, match=text[:12]) as caught:
            collector.add_all(events_of(pieces))
        assert caught.value.retryable
        assert not isinstance(caught.value, (StreamInterrupted, ProtocolError))
        assert collector.response().text == "Yes"


@pytest.mark.parametrize("body", [{"error": "runner stopped"}, {"error": {"message": "runner stopped"}}])
def test_an_error_in_a_plain_answer_is_that_error(body: Any) -> None:
    with pytest.raises(ServerError, match="runner stopped"):
        plain(body)


@pytest.mark.parametrize(
    ("status", "text", "kind", "retryable"),
    [
        (400, '"llama" does not support tools', ModelError, False),
        (400, "the input length exceeds the context length", ModelError, False),
        (404, "model 'x' not found, try pulling it first", NotFound, False),
        (500, "llama runner process has terminated", ServerError, True),
        (503, "server busy, please try again. maximum pending requests exceeded", ServerError, True),
    ],
)
def test_errors_are_of_their_kind(status: int, text: str, kind: type[ModelError], retryable: bool) -> None:
    error = OllamaCodec().decode_error(HttpResponse(status, Headers(), json.dumps({"error": text}).encode()))

    assert isinstance(error, kind)
    assert error.retryable is retryable
    assert text in str(error)
    assert ("context" not in text) or error.kind == "context_length"


STREAM = lines(say("Hé"), say("llo"), DONE)


@pytest.mark.parametrize("cut", range(len(STREAM)))
def test_a_stream_without_its_last_line_is_never_complete(cut: int) -> None:
    # The last line counts from its closing brace on; the line end itself may be missing.
    if cut == len(STREAM) - 1:
        assert read([STREAM[:cut]]).text == "Héllo"
        return
    with pytest.raises((StreamInterrupted, EmptyResponse, ProtocolError)):
        read([STREAM[:cut]])


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_an_empty_body_is_an_empty_response(body: bytes) -> None:
    with pytest.raises(EmptyResponse):
        plain(body)
    with pytest.raises(EmptyResponse):
        read([body])


@pytest.mark.parametrize("body", [b"[]", b"not json", b'{"done": true}', b'"text"'])
def test_an_answer_that_is_none_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        plain(body)


def test_names_that_had_to_be_changed_come_back_as_they_were() -> None:
    tool = ToolSpecification("files.read all", None, {})
    request = ChatRequest("a", ChatRequestParameters(model="m", tools=(tool,)))
    encoded = OllamaCodec().encode(request, stream=True)
    sent = json.loads(encoded.http.body)["tools"][0]["function"]["name"]
    assert sent != tool.name

    collector = ResponseCollector()
    collector.add_all(events_of([lines(say(tool_calls=[call(sent, {})]), DONE)], encoded))

    assert collector.response().tool_calls[0].name == "files.read all"
