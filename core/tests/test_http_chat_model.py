"""The HTTP driver: one course for plain, streamed, sync and async calls."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from typing import Any

import pytest

from polywire.auth import BearerAuth, HeaderAuth, NoAuth, Secret
from polywire.codec import Encoded, Frame, HttpRequest, HttpResponse
from polywire.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    EmptyResponse,
    HistoryError,
    ModelError,
    ModelTimeout,
    NotFound,
    ProtocolError,
    RateLimited,
    ServerError,
    SettingsError,
    StreamInterrupted,
    UnsupportedByModel,
)
from polywire.events import NoticeAdded, ResponseEnd, ResponseStart, StreamEvent, TextDelta
from polywire.framing.sse import SseFraming
from polywire.http_errors import error_from_payload, error_from_response
from polywire.http_model import HttpChatModel, join_url
from polywire.http_sources import HttpSource
from polywire.messages import AiMessage, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, FinishReason, Notice
from polywire.testing.transport import FakeTransport, Reply
from polywire.watchdog import Watchdog

KEY = "sk-test-DO-NOT-LEAK-123"
DROPPED = Notice("dropped", "seed", "the model takes no seed")
FULL = b'data: {"text":"Hel"}\n\n: ping\n\ndata: {"text":"lo \xe6\x9d\xb1\xe4\xba\xac"}\n\ndata: {"finish":"stop"}\n\ndata: [DONE]\n\n'


class ToyDecoder:
    def __init__(self) -> None:
        self.ended = False
        self.finished = False
        self.events = 0

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if frame.data == b"[DONE]":
            self.ended = True
            return ()
        payload = json.loads(frame.data)
        if "error" in payload:
            raise error_from_payload(payload)
        if "finish" in payload:
            self.finished = True
            return ()
        self.events += 1
        return (TextDelta(payload["text"]),)

    def finish(self) -> Sequence[StreamEvent]:
        if self.finished:
            return (ResponseEnd(FinishReason.STOP, {"raw_finish_reason": "stop"}),)
        if self.events and not self.ended:
            msg = "the stream stopped before a finish reason"
            raise StreamInterrupted(msg)
        if self.events:
            return (ResponseEnd(FinishReason.OTHER),)
        msg = "nothing came"
        raise EmptyResponse(msg)


class ToyCodec:
    wire = "toy"

    def __init__(self, notices: tuple[Notice, ...] = (), path: str = "v1/chat") -> None:
        self.notices = notices
        self.path = path
        self.fault: Callable[[], Any] = lambda: None

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        body = {
            "model": request.parameters.model,
            "temperature": request.parameters.temperature,
            "stream": stream,
            "messages": [message.role for message in request.messages],
        }
        return Encoded(
            HttpRequest(self.path, json.dumps(body).encode(), {"Content-Type": "application/json", "X-Codec": "1"}),
            self.notices,
            SseFraming,
            metadata_headers={"x-request-id": "request_id", "x-ratelimit-*": "rate_limits"},
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        payload = json.loads(response.body)
        if "error" in payload:
            raise error_from_payload(payload)
        return ChatResponse(AiMessage(payload["text"]), metadata={"raw_finish_reason": "stop"})

    def decode_error(self, response: HttpResponse) -> ModelError:
        self.fault()
        return error_from_response(response)

    def stream_decoder(self, encoded: Encoded) -> ToyDecoder:
        return ToyDecoder()


def model_of(*answers: Any, **arguments: Any) -> tuple[HttpChatModel, FakeTransport]:
    transport = FakeTransport(*answers)
    settings: dict[str, Any] = {
        "codec": ToyCodec(),
        "base_url": "https://h.example/api",
        "defaults": ChatRequestParameters(model="m-1", temperature=0.5),
        "provider": "office",
        **arguments,
    }
    return HttpChatModel(settings.pop("codec"), transport=transport, **settings), transport


Ask = Callable[..., ChatResponse]


def ask_plain(model: HttpChatModel, request: Any, /, **parameters: Any) -> ChatResponse:
    response: ChatResponse = model.chat(request, **parameters)
    return response


def ask_plain_async(model: HttpChatModel, request: Any, /, **parameters: Any) -> ChatResponse:
    response: ChatResponse = asyncio.run(model.achat(request, **parameters))
    return response


def ask_stream(model: HttpChatModel, request: Any, /, **parameters: Any) -> ChatResponse:
    response: ChatResponse = model.stream(request, **parameters).collect()
    return response


def ask_stream_async(model: HttpChatModel, request: Any, /, **parameters: Any) -> ChatResponse:
    response: ChatResponse = asyncio.run(model.astream(request, **parameters).collect())
    return response


WAYS = [ask_plain, ask_plain_async, ask_stream, ask_stream_async]
STREAMS = [ask_stream, ask_stream_async]
every_way = pytest.mark.parametrize("ask", WAYS)
both_streams = pytest.mark.parametrize("ask", STREAMS)


def body_for(ask: Ask) -> Any:
    return FULL if ask in STREAMS else {"text": "Hello 東京"}


# The whole course


@every_way
def test_one_answer_however_it_is_asked_for(ask: Ask) -> None:
    codec = ToyCodec((DROPPED,))
    headers = {"X-Request-Id": "r-1", "X-RateLimit-Remaining-Requests": "9", "X-Other": "x"}
    model, transport = model_of(Reply(body=body_for(ask), headers=headers), codec=codec, auth=BearerAuth(KEY))

    response = ask(model, "hi")

    assert response == ChatResponse(
        AiMessage("Hello 東京", Origin("toy", "office", "m-1")),
        finish_reason=FinishReason.STOP,
        notices=(DROPPED,),
        metadata={"request_id": "r-1", "rate_limits": {"remaining-requests": "9"}, "raw_finish_reason": "stop"},
    )
    assert transport.last.url == "https://h.example/api/v1/chat"
    assert transport.last.headers["authorization"] == f"Bearer {KEY}"
    assert transport.last.json == {"model": "m-1", "temperature": 0.5, "stream": ask in STREAMS, "messages": ["user"]}
    assert transport.open_streams == 0


@every_way
def test_the_request_wins_over_the_defaults_and_the_settings_headers_over_the_codecs(ask: Ask) -> None:
    model, transport = model_of(body_for(ask), headers={"x-codec": "2", "X-Team": "search"})

    response = ask(model, "hi", model="m-2", temperature=0.0)

    assert transport.last.json["model"] == "m-2"
    assert transport.last.json["temperature"] == 0.0
    assert response.message.origin == Origin("toy", "office", "m-2")
    assert dict(transport.last.headers) == {"content-type": "application/json", "x-codec": "2", "x-team": "search"}


def test_notices_of_a_stream_follow_its_start() -> None:
    model, _ = model_of(FULL, codec=ToyCodec((DROPPED,)))

    events = list(model.stream("hi"))

    assert type(events[0]) is ResponseStart
    assert events[0].origin == Origin("toy", "office", "m-1")
    assert events[1] == NoticeAdded(DROPPED)
    assert events[2] == TextDelta("Hel")
    assert type(events[-1]) is ResponseEnd
    assert len(events) == 5


# Refused on this side


@every_way
def test_a_missing_model_is_told_before_the_network(ask: Ask) -> None:
    model, transport = model_of(defaults=ChatRequestParameters())

    with pytest.raises(SettingsError, match="no model is named"):
        ask(model, "hi")
    assert transport.requests == []


@every_way
def test_a_history_that_does_not_close_is_refused_before_the_network(ask: Ask) -> None:
    model, transport = model_of()
    history = [UserMessage("q"), AiMessage([ToolCall("c1", "f", "{}")]), UserMessage("and?")]

    with pytest.raises(HistoryError, match="c1"):
        ask(model, history)
    assert transport.requests == []


@every_way
def test_a_repaired_history_gives_notices(ask: Ask) -> None:
    model, transport = model_of(body_for(ask), history="repair")

    response = ask(model, [UserMessage("q"), AiMessage([ToolCall("c1", "f", "{}")]), UserMessage("and?")])

    assert transport.last.json["messages"] == ["user", "assistant", "tool", "user"]
    assert [notice.kind for notice in response.notices] == ["repaired"]


@every_way
@pytest.mark.parametrize("subject", ["seed", "reasoning.effort", "stop_sequences[4]"])
def test_what_is_unsupported_can_be_an_error(ask: Ask, subject: str) -> None:
    codec = ToyCodec((Notice("dropped", subject, "not here"),))
    model, transport = model_of(codec=codec, unsupported="error")

    with pytest.raises(UnsupportedByModel, match="not here") as caught:
        ask(model, "hi")
    assert transport.requests == []
    assert (caught.value.provider, caught.value.model) == ("office", "m-1")


@pytest.mark.parametrize(
    "notice",
    [Notice("approximated", "seed", "m"), Notice("dropped", "messages[3]", "m"), Notice("information", "seed", "m")],
)
def test_other_notices_are_no_error(notice: Notice) -> None:
    model, _ = model_of({"text": "x"}, codec=ToyCodec((notice,)), unsupported="error")

    assert model.chat("hi").notices == (notice,)


@pytest.mark.parametrize(
    "base_url", ["", "h.example", "ftp://h.example", "http://", "http://[bad", "http://h:port", "https://u:secret@h"]
)
def test_a_base_url_that_is_no_http_address(base_url: str) -> None:
    with pytest.raises(SettingsError, match="base_url") as caught:
        model_of(base_url=base_url)
    assert "secret" not in str(caught.value)


def test_a_misspelt_setting() -> None:
    with pytest.raises(SettingsError, match="did you mean 'error'"):
        model_of(unsupported="eror")


# Failed answers


@every_way
def test_a_failed_answer_is_the_codecs_error_with_all_that_is_known(ask: Ask) -> None:
    reply = Reply(
        status=429,
        body={"error": {"message": "slow down", "type": "rate_limit_error"}},
        headers={"retry-after": "2", "x-request-id": "r-9"},
    )
    model, transport = model_of(reply)

    with pytest.raises(RateLimited) as caught:
        ask(model, "hi")

    error = caught.value
    assert (error.status, error.message, error.retry_after) == (429, "slow down", 2.0)
    assert (error.provider, error.model, error.request_id) == ("office", "m-1", "r-9")
    assert transport.open_streams == 0


@every_way
@pytest.mark.parametrize(
    ("base_url", "body", "words"),
    [
        ("https://h/", {"detail": "Not Found"}, "Not Found; asked was POST /chat: is base_url right?"),
        (
            "https://h/api",
            b"<html><title>404: no model here</title></html>",
            "404: no model here; asked was POST /api/chat:",
        ),
        ("https://h/", b"", "with an empty body; asked was POST /chat:"),
        ("https://h/?key=query-secret", {"error": "no route"}, "no route; asked was POST /chat:"),
        ("https://h/0123456789abcdef-path-secret/v1", {"error": "no route"}, "no route; asked was POST /…/v1/chat:"),
    ],
)
def test_an_address_that_is_not_there_is_told_from_a_model_that_is_not(
    ask: Ask, base_url: str, body: Any, words: str
) -> None:
    transport = FakeTransport(Reply(status=404, body=body))
    model = HttpChatModel(
        ToyCodec(path="chat"),
        base_url=base_url,
        transport=transport,
        defaults=ChatRequestParameters(model="toy-1"),
    )

    with pytest.raises(NotFound) as caught:
        ask(model, "hello")

    assert words in str(caught.value)
    assert words in caught.value.args[0]
    assert "secret" not in str(caught.value)


@every_way
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "The model `toy-1` does not exist", "code": "model_not_found"}},
        {"error": {"message": "toy-1 is unknown", "code": "model_not_found"}},
        {"type": "error", "error": {"type": "not_found_error", "message": "model: toy-1"}},
        {"error": "model 'toy-1' not found"},
    ],
)
def test_a_model_that_is_not_there_is_told_in_the_vendors_words_alone(ask: Ask, body: Any) -> None:
    model, _ = model_of(Reply(status=404, body=body))

    with pytest.raises(NotFound) as caught:
        ask(model, "hello")

    assert "base_url" not in str(caught.value)


@every_way
def test_a_date_in_a_header_counts_from_the_injected_clock(ask: Ask) -> None:
    reply = Reply(status=503, headers={"retry-after": "Wed, 21 Oct 2026 07:28:03 GMT"})
    model, _ = model_of(reply, clock=lambda: 1_792_567_680.0)

    with pytest.raises(ServerError) as caught:
        ask(model, "hi")
    assert caught.value.retry_after == pytest.approx(3.0)


@every_way
def test_a_codec_that_fails_on_an_error_does_not_hide_it(ask: Ask) -> None:
    codec = ToyCodec()
    codec.fault = lambda: dict[str, str]()["missing"]
    model, _ = model_of(Reply(status=500, body="boom"), codec=codec)

    with pytest.raises(ServerError, match="boom") as caught:
        ask(model, "hi")
    assert isinstance(caught.value.__cause__, KeyError)


@every_way
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_that_names_the_host(ask: Ask, status: int) -> None:
    model, _ = model_of(Reply(status=status, headers={"Location": "https://login.example/?next=x"}))

    with pytest.raises(ProtocolError, match=r"login\.example") as caught:
        ask(model, "hi")
    assert caught.value.status == status


@pytest.mark.parametrize("ask", [ask_plain, ask_plain_async])
@pytest.mark.parametrize(
    ("body", "words"),
    [("<html><title>Sign in</title>", "Sign in"), ({"texts": "x"}, "texts"), ([1], "1"), (b'{"text": "cut', "cut")],
)
def test_an_answer_that_a_codec_cannot_read_is_a_protocol_error(ask: Ask, body: Any, words: str) -> None:
    model, _ = model_of(Reply(body=body, headers={"x-request-id": "r"}))

    with pytest.raises(ProtocolError, match=words) as caught:
        ask(model, "hi")
    assert caught.value.__cause__ is not None
    assert "JSON" not in str(caught.value)
    assert (caught.value.provider, caught.value.request_id) == ("office", "r")


@pytest.mark.parametrize("ask", [ask_plain, ask_plain_async])
@pytest.mark.parametrize("body", [b"", b" \n"])
def test_an_answer_with_nothing_in_it_is_an_empty_response(ask: Ask, body: bytes) -> None:
    model, _ = model_of(body)

    with pytest.raises(EmptyResponse):
        ask(model, "hi")


@both_streams
def test_a_web_page_is_no_stream(ask: Ask) -> None:
    model, _ = model_of(Reply(body="<html><title>Sign in</title>", headers={"Content-Type": "text/html; charset=x"}))

    with pytest.raises(ProtocolError, match="web page"):
        ask(model, "hi")


@every_way
@pytest.mark.parametrize("error", [ConnectionFailed("refused"), ModelTimeout("slow")])
def test_an_error_of_the_transport_passes_with_names(ask: Ask, error: ModelError) -> None:
    model, _ = model_of(error)

    with pytest.raises(type(error)) as caught:
        ask(model, "hi")
    assert caught.value is error
    assert (error.provider, error.model) == ("office", "m-1")


@every_way
@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), SystemExit(3), LookupError("bug")])
def test_what_is_no_error_of_the_call_passes_untouched(ask: Ask, error: BaseException) -> None:
    model, transport = model_of(error)

    with pytest.raises(type(error)):
        ask(model, "hi")
    assert len(transport.requests) == 1


@every_way
def test_a_key_that_the_server_repeats_is_hidden(ask: Ask) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": f"bad {KEY}"}}
    model, _ = model_of(Reply(status=401, body=body), auth=HeaderAuth("X-Key", KEY))

    with pytest.raises(AuthenticationFailed) as caught:
        ask(model, "hi")
    error = caught.value
    assert KEY not in f"{error} {error!r} {error.body} {error.code} {error.args} {vars(error)}"


# How a stream ends


def chunks_of(body: bytes) -> list[list[bytes]]:
    """Whole, byte by byte, and cut in two at every place."""
    return [
        [body],
        [body[at : at + 1] for at in range(len(body))],
        *([body[:at], body[at:]] for at in range(1, len(body))),
    ]


def test_the_cut_never_matters() -> None:
    for chunks in chunks_of(FULL):
        model, transport = model_of(Reply(chunks=chunks))
        assert model.stream("hi").collect().text == "Hello 東京"
        assert transport.open_streams == 0


@both_streams
def test_truncated_at_every_byte_it_is_complete_or_interrupted(ask: Ask) -> None:
    after_finish = FULL.index(b'"stop"}') + len(b'"stop"}')
    first_text = FULL.index(b'"Hel"}') + len(b'"Hel"}')
    for at in range(len(FULL)):
        model, transport = model_of(Reply(body=FULL[:at]))
        if at >= after_finish:
            assert ask(model, "hi").text == "Hello 東京"
            continue
        with pytest.raises((StreamInterrupted, EmptyResponse)) as caught:
            ask(model, "hi")
        error = caught.value
        assert error.partial is not None
        assert "Hello 東京".startswith(error.partial.text or "")
        assert (error.partial.text is not None) is (at >= first_text)
        assert error.retryable
        assert error.provider == "office"
        assert transport.open_streams == 0


@both_streams
def test_a_broken_connection_after_content_is_an_interruption(ask: Ask) -> None:
    broken = ConnectionFailed("reset by peer")
    model, _ = model_of(Reply(chunks=[b'data: {"text":"Hel"}\n\n', broken]))

    with pytest.raises(StreamInterrupted, match="reset by peer") as caught:
        ask(model, "hi")
    assert caught.value.__cause__ is broken
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"


@both_streams
@pytest.mark.parametrize("error", [ConnectionFailed("reset"), ModelTimeout("nothing for 5 s")])
@pytest.mark.parametrize("before", [[], [b": ping\n\n"], [b'data: {"te']])
def test_a_broken_connection_before_any_content_stays_itself(ask: Ask, error: ModelError, before: list[bytes]) -> None:
    model, _ = model_of(Reply(chunks=[*before, error]))

    with pytest.raises(type(error)) as caught:
        ask(model, "hi")
    assert caught.value is error
    assert error.provider == "office"


@both_streams
def test_a_connection_that_breaks_after_the_finish_reason_completes_with_a_notice(ask: Ask) -> None:
    body = FULL[: FULL.index(b"data: [DONE]")]
    model, _ = model_of(Reply(chunks=[body, ConnectionFailed("reset by peer")]))

    response = ask(model, "hi")

    assert response.text == "Hello 東京"
    assert response.finish_reason is FinishReason.STOP
    assert [notice.kind for notice in response.notices] == ["repaired"]
    assert "reset by peer" in response.notices[0].message


@both_streams
def test_an_error_after_some_events_of_a_batch_loses_none_of_them(ask: Ask) -> None:
    body = (
        b'data: {"text":"a"}\n\ndata: {"text":"b"}\n\ndata: {"error":{"type":"overloaded_error","message":"busy"}}\n\n'
    )
    model, transport = model_of(Reply(body=body, headers={"x-request-id": "r-3"}))

    with pytest.raises(ModelError, match="busy") as caught:
        ask(model, "hi")
    assert caught.value.kind == "overloaded"
    assert caught.value.partial is not None
    assert caught.value.partial.text == "ab"
    assert caught.value.request_id == "r-3"
    assert transport.open_streams == 0


@both_streams
@pytest.mark.parametrize("frame", [b"data: not json\n\n", b'data: {"other":1}\n\n', b"data: [1]\n\n"])
def test_a_decoder_that_fails_is_a_protocol_error(ask: Ask, frame: bytes) -> None:
    model, _ = model_of(b'data: {"text":"a"}\n\n' + frame + b'data: {"text":"b"}\n\n')

    with pytest.raises(ProtocolError) as caught:
        ask(model, "hi")
    assert caught.value.__cause__ is not None
    assert caught.value.partial is not None
    assert caught.value.partial.text == "a"


@both_streams
@pytest.mark.parametrize("body", [b"", b": ping\n\n: ping\n\ndata: [DONE]\n\n", b"data:\n\n"])
def test_a_stream_without_events_is_an_empty_response(ask: Ask, body: bytes) -> None:
    model, _ = model_of(body)

    with pytest.raises(EmptyResponse) as caught:
        ask(model, "hi")
    assert caught.value.retryable


@both_streams
def test_nothing_after_the_end_mark_is_read_as_content(ask: Ask) -> None:
    model, transport = model_of(Reply(chunks=[FULL + b'data: {"text":"late"}\n\n', b"data: junk\n\n"]))

    assert ask(model, "hi").text == "Hello 東京"
    assert transport.open_streams == 0


@both_streams
def test_a_server_that_never_closes_after_the_end_mark_holds_nobody_up(ask: Ask) -> None:
    model, transport = model_of(Reply(chunks=[FULL, b": more\n\n"], stall_at=1))

    assert ask(model, "hi").text == "Hello 東京"
    assert transport.open_streams == 0


@both_streams
def test_a_connection_that_breaks_after_the_end_mark_is_of_no_concern(ask: Ask) -> None:
    model, transport = model_of(Reply(chunks=[FULL, ConnectionFailed("reset")]))

    assert ask(model, "hi").notices == ()
    assert transport.open_streams == 0


def test_breaking_off_closes_the_stream() -> None:
    model, transport = model_of(Reply(body=FULL, chunk_size=8), Reply(body=FULL, chunk_size=8), Reply(body=FULL))
    stream = model.stream("hi")
    next(stream)
    assert transport.open_streams == 1
    stream.close()
    assert transport.open_streams == 0

    for _ in model.stream("hi"):
        break
    assert transport.open_streams == 0

    async def broken_off() -> None:
        stream = model.astream("hi")
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(broken_off())
    assert transport.open_streams == 0


def test_an_unread_stream_sends_nothing() -> None:
    model, transport = model_of()

    model.stream("hi").close()
    asyncio.run(model.astream("hi").aclose())

    assert transport.requests == []


def test_an_aborted_read_is_no_clean_end() -> None:
    """A body without a length ends where the connection ends; cut from this side, that is no end of the answer."""
    model, _ = model_of(Reply(chunks=[b'data: {"text":"a"}\n\n'], stall_at=1))
    source = model.do_stream(ChatRequest("hi"))
    assert isinstance(source, HttpSource)
    source.read()
    waiting = threading.Timer(0.01, source.abort)
    waiting.start()

    with pytest.raises(StreamInterrupted) as caught:
        source.read()
    waiting.join()
    assert isinstance(caught.value.__cause__, ConnectionFailed)
    assert source.read() == ()
    source.close()


# Limits of CallOptions


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.watchdog = Watchdog(lambda: self.now, start_thread=False)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.watchdog.run_due()


def stalled(clock: FakeClock, seconds: float, *before: bytes) -> Reply:
    """A server that sends `before` and then nothing, while time passes."""

    def chunks() -> Generator[bytes, None, None]:
        yield from before
        clock.pass_time(seconds)
        yield b": keep-alive\n\n"

    return Reply(chunks=chunks())


@both_streams
@pytest.mark.parametrize(
    ("options", "before", "words"),
    [
        ({"first_event": 1.0}, [], "no content came within 1 s"),
        ({"first_event": 1.0}, [b": ping\n\n"], "no content came within 1 s"),
        ({"between_events": 1.0}, [b'data: {"text":"a"}\n\n'], "nothing more came for 1 s"),
        ({"between_events": 1.0, "deadline": 100.0}, [b'data: {"text":"a"}\n\n'], "nothing more came for 1 s"),
        ({"deadline": 1.0}, [b'data: {"text":"a"}\n\n'], "deadline of 1 s"),
        ({"deadline": 1.0, "first_event": 50.0}, [], "deadline of 1 s"),
    ],
)
def test_limits_of_a_stream(ask: Ask, options: dict[str, float], before: list[bytes], words: str) -> None:
    clock = FakeClock()
    model, transport = model_of(stalled(clock, 10.0, *before), watchdog=clock.watchdog)

    with pytest.raises(ModelTimeout, match=words) as caught:
        ask(model, "hi", **options)
    assert caught.value.partial is not None
    assert caught.value.partial.text == ("a" if any(b"text" in chunk for chunk in before) else None)
    assert transport.open_streams == 0


@both_streams
def test_limits_that_do_not_run_out(ask: Ask) -> None:
    clock = FakeClock()
    model, _ = model_of(Reply(body=FULL, chunk_size=7), watchdog=clock.watchdog)

    assert ask(model, "hi", deadline=10.0, first_event=1.0, between_events=1.0).text == "Hello 東京"
    clock.pass_time(100.0)


def test_a_slow_consumer_is_not_the_servers_fault() -> None:
    clock = FakeClock()
    model, _ = model_of(Reply(body=FULL, chunk_size=24), watchdog=clock.watchdog)
    texts = []

    for event in model.stream("hi", first_event=1.0, between_events=1.0):
        clock.pass_time(50.0)
        texts.append(getattr(event, "text", ""))

    assert "".join(texts) == "Hello 東京"


def test_the_deadline_of_a_plain_call_covers_a_body_that_trickles() -> None:
    clock = FakeClock()
    model, transport = model_of(stalled(clock, 10.0, b'{"te'), watchdog=clock.watchdog)

    with pytest.raises(ModelTimeout, match="deadline of 1 s"):
        model.chat("hi", deadline=1.0)
    assert transport.open_streams == 0


@every_way
def test_a_deadline_caps_the_transports_timeouts(ask: Ask) -> None:
    clock = FakeClock()
    model, transport = model_of(body_for(ask), watchdog=clock.watchdog)

    ask(model, "hi", deadline=3.0)

    timeouts = transport.last.timeouts
    if ask in (ask_plain, ask_stream):  # async calls are timed by their loop
        assert max(timeouts.connect or 0, timeouts.read or 0, timeouts.write or 0, timeouts.pool or 0) == 3.0


def test_a_stalled_stream_is_cut_off_by_the_watchdogs_thread() -> None:
    model, transport = model_of(Reply(chunks=[b'data: {"text":"a"}\n\n'], stall_at=1))

    with pytest.raises(ModelTimeout, match="between_events"):
        model.stream("hi", between_events=0.02).collect()
    assert transport.open_streams == 0


def test_a_stalled_async_stream_and_call_are_cut_off() -> None:
    model, transport = model_of(Reply(body=b"", stall_at=0), Reply(body=b"", stall_at=0))

    with pytest.raises(ModelTimeout, match="first_event"):
        asyncio.run(model.astream("hi", first_event=0.02).collect())
    with pytest.raises(ModelTimeout, match="deadline"):
        asyncio.run(model.achat("hi", deadline=0.02))
    assert transport.open_streams == 0


def test_a_callers_own_timeout_comes_straight_through() -> None:
    model, transport = model_of(Reply(body=b"", stall_at=0), Reply(body=b"", stall_at=0))

    async def impatient(call: Any) -> None:
        async with asyncio.timeout(0.01):
            await call

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(impatient(model.achat("hi")))
    assert type(caught.value) is TimeoutError
    with pytest.raises(TimeoutError) as caught:
        asyncio.run(impatient(model.astream("hi", deadline=60).collect()))
    assert type(caught.value) is TimeoutError
    assert transport.open_streams == 0


# Authentication


class RefreshingAuth:
    """A token that is fetched when it is missing or refused."""

    refreshable = True

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        self.seen: list[datetime] = []

    def flow(
        self, request: HttpRequest, *, rejected: bool, now: datetime
    ) -> Generator[HttpRequest, HttpResponse, HttpRequest]:
        self.seen.append(now)
        if rejected or self.token is None:
            answer = yield HttpRequest("token", url="https://auth.example/token", body=b"grant")
            if answer.status != 200:
                raise error_from_response(answer)
            self.token = json.loads(answer.body)["token"]
        return request.with_headers({"Authorization": f"Bearer {self.token}"})


@every_way
def test_a_token_is_fetched_first_and_kept(ask: Ask) -> None:
    auth = RefreshingAuth()
    model, transport = model_of({"token": "t1"}, body_for(ask), body_for(ask), auth=auth, clock=lambda: 0.0)

    assert ask(model, "hi").text == "Hello 東京"
    assert ask(model, "hi").text == "Hello 東京"

    assert [each.url for each in transport.requests] == [
        "https://auth.example/token",
        "https://h.example/api/v1/chat",
        "https://h.example/api/v1/chat",
    ]
    assert [each.stream for each in transport.requests] == [False, ask in STREAMS, ask in STREAMS]
    assert transport.last.headers["authorization"] == "Bearer t1"
    assert auth.seen[0].timestamp() == 0.0


@every_way
def test_a_refused_token_is_refreshed_once(ask: Ask) -> None:
    refused = Reply(status=401, body={"error": {"message": "expired"}})
    model, transport = model_of(refused, {"token": "t2"}, body_for(ask), auth=RefreshingAuth("t1"))

    assert ask(model, "hi").text == "Hello 東京"
    assert len(transport.requests) == 3
    assert transport.requests[0].headers["authorization"] == "Bearer t1"
    assert transport.last.headers["authorization"] == "Bearer t2"

    model, transport = model_of(refused, {"token": "t2"}, refused, auth=RefreshingAuth("t1"))
    with pytest.raises(AuthenticationFailed, match="expired"):
        ask(model, "hi")
    assert len(transport.requests) == 3


@every_way
def test_a_key_that_cannot_be_refreshed_is_tried_once(ask: Ask) -> None:
    model, transport = model_of(Reply(status=401), auth=BearerAuth(KEY))

    with pytest.raises(AuthenticationFailed):
        ask(model, "hi")
    assert len(transport.requests) == 1


@every_way
@pytest.mark.parametrize("failure", [Reply(status=500, body="down"), ConnectionFailed("no route")])
def test_a_failed_refresh_gives_the_lock_back(ask: Ask, failure: Any) -> None:
    auth = RefreshingAuth()
    model, _ = model_of(failure, {"token": "t1"}, body_for(ask), auth=auth)

    with pytest.raises(ModelError):
        ask(model, "hi")
    assert ask(model, "hi").text == "Hello 東京"


def test_one_refresh_serves_all_who_wait() -> None:
    """Twenty calls, in threads and in loops, meet a missing token at once: it is fetched once."""
    auth = RefreshingAuth()
    entered = threading.Event()
    release = threading.Event()
    fetched = []

    def answer(request: HttpRequest) -> Any:
        if request.url.endswith("/token"):
            fetched.append(1)
            entered.set()
            release.wait(5)
            return {"token": "t1"}
        return {"text": "x"}

    transport = FakeTransport(answer, repeat=True)
    models = [
        HttpChatModel(
            ToyCodec(),
            base_url="https://h.example",
            transport=transport,
            auth=auth,
            defaults=ChatRequestParameters(model="m"),
        )
        for _ in range(2)
    ]
    answers: list[str | None] = []

    async def several() -> None:
        answers.extend(each.text for each in await asyncio.gather(*(model.achat("hi") for model in models * 3)))

    threads = [
        threading.Thread(target=lambda model=model: answers.append(model.chat("hi").text)) for model in models * 4
    ]
    threads[0].start()
    assert entered.wait(5)
    threads += [threading.Thread(target=lambda: asyncio.run(several())) for _ in range(2)]
    for thread in threads[1:]:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(10)

    assert answers == ["x"] * 20
    assert len(fetched) == 1
    assert {each.headers["authorization"] for each in transport.requests if "chat" in each.url} == {"Bearer t1"}


def test_waiting_for_a_refresh_ends_with_the_deadline() -> None:
    model, transport = model_of(auth=RefreshingAuth())
    model._connection.credential.lock.acquire()

    with pytest.raises(ModelTimeout, match="deadline"):
        model.chat("hi", deadline=0.01)
    with pytest.raises(ModelTimeout, match="deadline"):
        asyncio.run(model.achat("hi", deadline=0.01))
    assert transport.requests == []


def test_waiting_for_a_refresh_can_be_cancelled() -> None:
    auth = RefreshingAuth()
    model, transport = model_of({"token": "t1"}, {"text": "x"}, auth=auth)

    async def run() -> None:
        model._connection.credential.lock.acquire()
        waiting = asyncio.create_task(model.achat("hi"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        model._connection.credential.lock.release()
        assert (await model.achat("hi")).text == "x"

    asyncio.run(run())
    assert len(transport.requests) == 2


# Secrets


@pytest.mark.parametrize("secret", [KEY, f"  {KEY}\n", Secret(KEY)])
def test_a_key_is_stripped_and_never_shown(secret: Any) -> None:
    auth = BearerAuth(secret)
    model, transport = model_of({"text": "x"}, auth=auth, headers={"X-Gateway": KEY})
    model.chat("hi")

    assert transport.last.headers["authorization"] == f"Bearer {KEY}"
    shown = f"{vars(model)!r} {auth!r} {auth} {Secret(KEY)!r} {Secret(KEY)} {model!r} {transport.last!r} {HeaderAuth('x', KEY)!r}"
    for at in range(len(KEY) - 7):
        assert KEY[at : at + 8] not in shown


@pytest.mark.parametrize("secret", ["", "   ", "\n", Secret(""), "“quoted”", "two\nlines", "ключ"])
def test_a_key_that_is_none(secret: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        HeaderAuth("x-api-key", secret)
    assert "x-api-key" in str(caught.value)
    assert str(getattr(secret, "_value", secret)).strip() not in str(caught.value) or not str(secret).strip()


def test_no_auth_sends_no_authorization() -> None:
    model, transport = model_of({"text": "x"}, auth=NoAuth())
    model.chat("hi")

    assert "authorization" not in transport.last.headers


# Addresses


@pytest.mark.parametrize(
    ("base_url", "path", "url"),
    [
        ("https://h", "v1/messages", "https://h/v1/messages"),
        ("https://h/", "v1/messages", "https://h/v1/messages"),
        ("https://h/v1", "v1/messages", "https://h/v1/messages"),
        ("https://h/v1/", "v1/messages", "https://h/v1/messages"),
        ("https://h/v1/messages", "v1/messages", "https://h/v1/messages"),
        ("https://h/v1/messages/", "v1/messages", "https://h/v1/messages"),
        ("https://h/gw/anthropic/v1", "v1/messages", "https://h/gw/anthropic/v1/messages"),
        ("https://h/api/v1/", "chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/api/v1", "chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/api/v1/chat/completions", "chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/api/v1/chat", "chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/api/v1//", "/chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/x?api-version=1", "chat", "https://h/x/chat?api-version=1"),
        ("https://h/x?api-version=1", "chat?alt=sse", "https://h/x/chat?api-version=1&alt=sse"),
        ("https://h/v1beta", "v1beta/models/m:generateContent", "https://h/v1beta/models/m:generateContent"),
        ("https://h:8080/v1", "chat", "https://h:8080/v1/chat"),
        ("http://[::1]:8080/v1", "chat", "http://[::1]:8080/v1/chat"),
        (" https://h/v1 ", "chat", "https://h/v1/chat"),
        ("https://h/v1#frag", "chat", "https://h/v1/chat"),
        ("https://h/v1", "https://other/x?y=1", "https://other/x?y=1"),
        ("https://h/v11", "v1/chat", "https://h/v11/v1/chat"),
    ],
)
def test_joining_addresses(base_url: str, path: str, url: str) -> None:
    assert join_url(base_url, path) == url


def test_a_history_of_calls_and_results_passes() -> None:
    model, transport = model_of({"text": "x"})

    model.chat([UserMessage("q"), AiMessage([ToolCall("c", "f", "{}")]), ToolResultMessage("c", "f", "r")])

    assert transport.last.json["messages"] == ["user", "assistant", "tool"]
