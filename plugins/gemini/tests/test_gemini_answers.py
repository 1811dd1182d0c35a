"""What Gemini answers: every shape of a stream, whole and cut anywhere, and errors wherever they stand."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.codec import Encoded, Frame, Headers, HttpRequest, HttpResponse
from polywire.contents import TextContent
from polywire.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    ContentFiltered,
    EmptyResponse,
    ModelError,
    NotFound,
    Overloaded,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    StreamInterrupted,
)
from polywire.events import ResponseCollector, StreamEvent
from polywire.framing.sse import SseFraming
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_gemini import GeminiCodec

ENCODED = Encoded(HttpRequest(""))


def sse(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def events_of(pieces: Iterable[bytes]) -> Iterator[StreamEvent]:
    framing, decoder = SseFraming(), GeminiCodec().stream_decoder(ENCODED)
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
    return GeminiCodec().decode(HttpResponse(200, Headers(), data), ENCODED)


def every_way(stream: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, and at every split into two."""
    yield [stream]
    yield [stream[at : at + 1] for at in range(len(stream))]
    for at in range(1, len(stream)):
        yield [stream[:at], stream[at:]]


def part(*parts: Any, reason: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], **more}


USAGE = {"promptTokenCount": 4, "candidatesTokenCount": 1, "totalTokenCount": 5}
# The documented shapes of a stream: chunks without content, parts or candidates occur.
WITHOUT_CONTENT = sse(
    part({"text": "Hé"}),
    {"candidates": [{"content": {}, "finishReason": "STOP", "index": 0}], "usageMetadata": USAGE},
    {"usageMetadata": USAGE},
)
BARE_ERROR = b"""{
  "error": {
    "code": 503,
    "message": "The model is overloaded.",
    "status": "UNAVAILABLE"
  }
}
"""


def test_chunks_without_content_parts_or_candidates_are_read() -> None:
    for pieces in every_way(WITHOUT_CONTENT):
        response = read(pieces)
        assert response.text == "Hé"
        assert response.finish_reason is FinishReason.STOP
        assert response.usage == TokenUsage(4, 1, 5)


@pytest.mark.parametrize(
    "last", [{"candidates": [{"finishReason": "STOP"}]}, {"candidates": [{"content": {"parts": None}, "finishReason": "STOP"}]}]
)  # fmt: skip
def test_a_last_chunk_may_hold_next_to_nothing(last: Any) -> None:
    response = read([sse(part({"text": "Hi"}), last)])

    assert (response.text, response.finish_reason) == ("Hi", FinishReason.STOP)


def test_thoughts_are_apart_and_a_late_signature_is_kept_on_its_own_part() -> None:
    stream = sse(
        part({"text": "Con", "thought": True}),
        part({"text": "sider", "thought": True}),
        part({"text": "Hel"}),
        part({"text": "lo"}),
        part({"text": "", "thoughtSignature": "CiQB"}, reason="STOP"),
    )
    for pieces in every_way(stream):
        response = read(pieces)
        assert (response.thinking, response.text) == ("Consider", "Hello")
        last = response.message.parts[-1]
        assert isinstance(last, TextContent)
        assert last.extras == {"gemini": {"part": {"thoughtSignature": "CiQB"}}}


@pytest.mark.parametrize("cut", range(len(WITHOUT_CONTENT)))
def test_a_stream_that_breaks_off_is_complete_only_with_a_finish_reason(cut: int) -> None:
    complete_from = len(WITHOUT_CONTENT) - len(sse({"usageMetadata": USAGE})) - len("\r\n\r\n")
    pieces = [WITHOUT_CONTENT[:cut]]
    if cut < complete_from:
        with pytest.raises((StreamInterrupted, EmptyResponse, ProtocolError)):
            read(pieces)
    elif cut <= complete_from + len("\r\n\r\ndata: ") or cut >= len(WITHOUT_CONTENT) - len("\r\n\r\n"):
        assert read(pieces).finish_reason is FinishReason.STOP
    else:
        with pytest.raises(ProtocolError):  # half a frame: the driver, which knows of the broken connection, decides
            read(pieces)


@pytest.mark.parametrize("gap", [b"", b"\n", b"\r\n"])
def test_an_error_that_stands_bare_in_the_stream_is_that_error(gap: bytes) -> None:
    stream = sse(part({"text": "Yes"})) + gap + BARE_ERROR
    for pieces in every_way(stream):
        collector = ResponseCollector()
        with pytest.raises(Overloaded, match="The model is overloaded") as caught:
            collector.add_all(events_of(pieces))
        assert caught.value.retryable
        assert collector.response().text == "Yes"


@pytest.mark.parametrize(
    "error",
    [
        sse({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        sse([{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]),
        b"[" + BARE_ERROR + b"]\n",
        BARE_ERROR.replace(b"\n", b"\r\n"),
        BARE_ERROR.replace(b"\n", b""),
    ],
)
def test_an_error_is_the_same_in_every_shape(error: bytes) -> None:
    for pieces in every_way(error):
        with pytest.raises(Overloaded, match="The model is overloaded"):
            read(pieces)


ANSWERS = [part({"text": "Hel"}), part({"text": "lo é"}), part({"text": ""}, reason="STOP", usageMetadata=USAGE)]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_stream_that_comes_as_one_array_is_read_like_the_events(indent: int | None) -> None:
    array = json.dumps(ANSWERS, indent=indent).encode()

    for pieces in every_way(array):
        response = read(pieces)
        assert (response.text, response.finish_reason, response.usage) == (
            "Hello é",
            FinishReason.STOP,
            TokenUsage(4, 1, 5),
        )
    assert plain(array) == read([array])


def test_an_error_at_the_end_of_an_array_comes_after_what_stands_before_it() -> None:
    array = json.dumps([*ANSWERS[:2], json.loads(BARE_ERROR)]).encode()
    decoder = GeminiCodec().stream_decoder(ENCODED)

    events = decoder.feed(Frame(array))

    assert "".join(event.text for event in events if hasattr(event, "text")) == "Hello é"
    with pytest.raises(Overloaded):
        decoder.finish()


BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}}


@pytest.mark.parametrize(
    "reason",
    ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", "BRAND_NEW"],
)
def test_a_blocked_prompt_is_a_filter_error_with_its_reason_and_never_retried(reason: str) -> None:
    body = {**BLOCKED, "promptFeedback": {"blockReason": reason}}
    asks: list[Callable[[], ChatResponse]] = [lambda: plain(body), lambda: read([sse(body)])]
    for ask in asks:
        with pytest.raises(ContentFiltered, match=reason) as caught:
            ask()
        assert not caught.value.retryable
        assert caught.value.code == reason


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        *((word, FinishReason.CONTENT_FILTER) for word in (
            "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR",
        )),
        *((word, FinishReason.ERROR) for word in (
            "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE",
            "MALFORMED_RESPONSE",
        )),
        ("CONTINUATION", FinishReason.PAUSE),
        *((word, FinishReason.OTHER) for word in ("LANGUAGE", "OTHER", "NO_IMAGE", "FINISH_REASON_UNSPECIFIED", "NEWS")),
    ],
)  # fmt: skip
def test_every_finish_reason_has_its_meaning(word: str, reason: FinishReason) -> None:
    for response in (plain(part({"text": "x"}, reason=word)), read([sse(part({"text": "x"}, reason=word))])):
        assert response.finish_reason is reason
        assert response.metadata["raw_finish_reason"] == word


def test_a_call_makes_stop_a_call_for_tools() -> None:
    chunk = part({"functionCall": {"name": "now"}}, reason="STOP")

    assert plain(chunk).finish_reason is FinishReason.TOOL_CALLS
    assert plain(chunk).tool_calls[0].arguments == "{}"
    assert (
        read([sse(part({"functionCall": {"name": "now"}}), part(reason="STOP"))]).finish_reason
        is FinishReason.TOOL_CALLS
    )


def test_thoughts_are_part_of_the_output_and_cached_tokens_of_the_input() -> None:
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 80,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 30,
        "toolUsePromptTokenCount": 5,
        "totalTokenCount": 145,
    }

    response = plain(part({"text": "x"}, reason="STOP", usageMetadata=usage))

    assert response.usage == TokenUsage(105, 40, 145, cached_tokens=80, reasoning_tokens=30)


@pytest.mark.parametrize("odd", [None, "12", {}, []])
def test_a_count_that_is_no_number_is_unknown(odd: Any) -> None:
    usage = {"promptTokenCount": 4, "totalTokenCount": 5, "thoughtsTokenCount": odd, "cachedContentTokenCount": odd}

    response = plain(part({"text": "x"}, reason="STOP", usageMetadata=usage))

    assert response.usage == TokenUsage(4, 0, 5)


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (400, {"status": "INVALID_ARGUMENT", "message": "bad"}, ModelError, False),
        (400, {"status": "INVALID_ARGUMENT", "message": "API key not valid.", "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}, AuthenticationFailed, False),
        (404, {"status": "NOT_FOUND", "message": "no such model"}, NotFound, False),
        (429, {"status": "RESOURCE_EXHAUSTED", "message": "quota", "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]}, RateLimited, True),
        (429, {"status": "RESOURCE_EXHAUSTED", "message": "quota", "details": [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
                {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]}, QuotaExceeded, False),
        (503, {"status": "UNAVAILABLE", "message": "overloaded"}, Overloaded, True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrapped", [False, True])
def test_errors_are_of_their_kind_wrapped_in_a_list_or_not(
    status: int, error: dict[str, Any], kind: type[ModelError], retryable: bool, wrapped: bool
) -> None:
    body: Any = {"error": {"code": status, **error}}
    answer = HttpResponse(status, Headers(), json.dumps([body] if wrapped else body).encode())

    found = GeminiCodec().decode_error(answer)

    assert isinstance(found, kind)
    assert found.retryable is retryable
    if "retryDelay" in json.dumps(error):
        assert found.retry_after == 37


KEY = "AIza-very-secret-key"


def settings(**provider: Any) -> dict[str, Any]:
    return {
        "providers": {"gemini": {"api_key": KEY, **provider}},
        "models": {
            "assistant": {"provider": "gemini", "model": "gemini-2.5-flash"},
            "vectors": {"provider": "gemini", "model": "gemini-embedding-001", "kind": "embedding"},
        },
    }


FAILURES: list[Any] = [
    Reply(status=404, body={"error": {"code": 404, "status": "NOT_FOUND", "message": f"no model for {KEY}"}}),
    Reply(status=503, body={"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}),
    Reply(status=401, body=f"bad key {KEY}"),
    ConnectionFailed("cannot connect"),
    Reply(body=b"not json"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=range(len(FAILURES)))
@pytest.mark.parametrize("way", ["chat", "achat", "stream", "embed"])
def test_the_key_travels_in_a_header_and_shows_nowhere(
    failure: Any, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport = FakeTransport(failure)
    factory = LlmFactory.from_config(settings(), environ={}, transport=transport)
    model = factory.streaming_chat_model("assistant")
    calls: dict[str, Callable[[], object]] = {
        "chat": lambda: model.chat("hello"),
        "achat": lambda: asyncio.run(model.achat("hello")),
        "stream": lambda: list(model.stream("hello")),
        "embed": lambda: factory.embedding_model("vectors").embed("hello"),
    }
    with factory, pytest.raises(ModelError) as caught:
        calls[way]()
    error = caught.value
    shown = [
        str(error),
        repr(error),
        str(error.body),
        "".join(traceback.format_exception(error)),
        caplog.text,
        repr(model),
    ]
    shown += [repr(error.__cause__), repr(error.__context__), repr(transport.last.request), transport.last.url]

    assert transport.last.headers["x-goog-api-key"] == KEY
    assert not [text for text in shown if KEY in text]
    assert "key=" not in transport.last.url


def test_embeddings_work_from_end_to_end() -> None:
    def echo(request: HttpRequest) -> Reply:
        requests = json.loads(request.body)["requests"]
        texts = [each["content"]["parts"][0]["text"] for each in requests]
        return Reply(body={"embeddings": [{"values": [3.0 * len(text), 4.0 * len(text)]} for text in texts]})

    transport = FakeTransport(echo, repeat=True)
    with LlmFactory.from_config(settings(), environ={}, transport=transport) as factory:
        model = factory.embedding_model("vectors")
        texts = ["x" * (number % 5 + 1) for number in range(101)]
        response = model.embed(texts, purpose="document")
        short = asyncio.run(model.aembed("abc", dimensions=2))

    first = transport.requests[0]
    assert first.url == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents"
    )
    assert first.json["requests"][0] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "x"}]},
        "taskType": "RETRIEVAL_DOCUMENT",
    }
    assert [len(each.json["requests"]) for each in transport.requests] == [100, 1, 1]
    assert [vector[0] for vector in response.vectors] == [3.0 * len(text) for text in texts]
    assert response.usage == TokenUsage()
    # Shortened vectors are not of length one as they come.
    assert short.vector == pytest.approx((0.6, 0.8))
    assert transport.last.json["requests"][0]["outputDimensionality"] == 2


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"embeddings": {}}', b'{"embeddings": [], "error": {"code": 500}}']
)
def test_an_answer_without_embeddings_is_an_error(body: bytes) -> None:
    factory = LlmFactory.from_config(settings(), environ={}, transport=FakeTransport(Reply(body=body)))
    with factory, pytest.raises(ModelError):
        factory.embedding_model("vectors").embed("hello")
