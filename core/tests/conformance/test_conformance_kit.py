"""The kit tests itself: the toy codec keeps every rule, and a mistake planted against each rule is caught by it."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polywire import wire_json
from polywire.auth import BearerAuth
from polywire.codec import Encoded, Frame, HttpRequest, HttpResponse
from polywire.contents import MediaContent, TextContent
from polywire.errors import ModelError, ServerError
from polywire.events import ResponseEnd, StreamEvent, TextDelta
from polywire.http_model import HttpChatModel
from polywire.messages import AiMessage, ToolCall, ToolResultMessage
from polywire.parameters import ChatRequestParameters
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason
from polywire.testing import CodecConformance, CodecUnderTest, Recording, Violation, check_rule, load_recordings
from polywire.testing.conformance.rules import RULES
from polywire.testing.conformance.subject import CANARY

sys.path.insert(0, str(Path(__file__).parent))
from toy_codec import PROFILE, RECORDINGS, ToyCodec, ToyDecoder, ToyWire


def subject(codec: Any = None, **fields: Any) -> CodecUnderTest:
    codec = codec or ToyCodec()
    given = {"codec": codec, "model": "toy-1", "recordings": RECORDINGS, "wire": ToyWire(codec)}
    return CodecUnderTest(**{**given, **fields})


class TestTheToyKeepsEveryRule(CodecConformance):
    subject = subject()


def decoder_of(cls: type[ToyDecoder]) -> ToyCodec:
    class Codec(ToyCodec):
        def stream_decoder(self, encoded: Encoded) -> ToyDecoder:
            return cls(self)

    return Codec()


PLANTED: dict[str, Callable[[], CodecUnderTest]] = {}


def plant(name: str) -> Callable[[Callable[[], CodecUnderTest]], Callable[[], CodecUnderTest]]:
    def register(make: Callable[[], CodecUnderTest]) -> Callable[[], CodecUnderTest]:
        PLANTED[name] = make
        return make

    return register


@plant("plain-recordings")
def reads_the_usage_wrongly() -> CodecUnderTest:
    class Codec(ToyCodec):
        def usage(self, usage: Any) -> Any:
            return super().usage({"in": usage["out"], "out": usage["in"]} if usage else None)

    return subject(Codec())


@plant("error-recordings")
def every_error_is_the_servers() -> CodecUnderTest:
    class Codec(ToyCodec):
        def decode_error(self, response: HttpResponse) -> ModelError:
            return ServerError("failed", status=response.status)

    return subject(Codec())


@plant("error-status")
def no_error_is_retryable() -> CodecUnderTest:
    class Codec(ToyCodec):
        def decode_error(self, response: HttpResponse) -> ModelError:
            error = super().decode_error(response)
            error.retryable = False
            return error

    return subject(Codec())


@plant("odd-error-bodies")
def trusts_the_error_body() -> CodecUnderTest:
    class Codec(ToyCodec):
        def decode_error(self, response: HttpResponse) -> ModelError:
            return ServerError(wire_json.decode(response.body)["error"]["message"])

    return subject(Codec())


@plant("odd-success-bodies")
def trusts_the_body() -> CodecUnderTest:
    class Codec(ToyCodec):
        def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
            body = wire_json.decode_object(response.body) or {"blocks": []}
            return ChatResponse(AiMessage([self.part(block, 0) for block in body.get("blocks", [])]))

    return subject(Codec())


@plant("stream-equals-plain")
def streams_forget_the_seal() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def read(self, body: Any, events: list[StreamEvent]) -> None:
            if body.get("type") != "block":
                super().read(body, events)

    return subject(decoder_of(Decoder))


@plant("stream-recordings")
def streams_lose_their_calls() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def read(self, body: Any, events: list[StreamEvent]) -> None:
            if body.get("type") != "call" and "arguments" not in body:
                super().read(body, events)

    return subject(decoder_of(Decoder))


class LineAtATime:
    """Cuts at what one read brings: the commonest mistake in framing."""

    def feed(self, chunk: bytes) -> list[Frame]:
        lines = chunk.decode("utf-8", "replace").splitlines()
        return [Frame(line[6:].encode()) for line in lines if line.startswith("data: ") and line.endswith("}")]

    def finish(self) -> list[Frame]:
        return []


@plant("any-split")
def frames_by_the_read() -> CodecUnderTest:
    class Codec(ToyCodec):
        def framing(self, stream: bool) -> Any:
            return LineAtATime if stream else None

    return subject(Codec())


@plant("any-cut")
def takes_any_end_for_the_end() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def finish(self) -> Any:
            if self.started and self.finished is None:
                return [ResponseEnd(FinishReason.STOP)]
            return super().finish()

    return subject(decoder_of(Decoder))


@plant("one-end")
def tells_empty_deltas() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def read(self, body: Any, events: list[StreamEvent]) -> None:
            if body.get("type") == "start":
                events.append(TextDelta("", 1))
            super().read(body, events)

    return subject(decoder_of(Decoder))


@plant("end-mark")
def never_says_that_it_ended() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def read(self, body: Any, events: list[StreamEvent]) -> None:
            super().read(body, events)
            self.ended = False

    return subject(decoder_of(Decoder))


@plant("empty-stream")
def nothing_is_a_success() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def finish(self) -> Any:
            return super().finish() if self.started else [ResponseEnd(FinishReason.STOP)]

    return subject(decoder_of(Decoder))


@plant("nothing-shared")
def one_decoder_for_all() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        shared: dict[int, dict[str, Any]] = {}  # noqa: RUF012 - the mistake

        def __init__(self, codec: ToyCodec) -> None:
            super().__init__(codec)
            self.shared.clear()
            self.open_calls = self.shared

    return subject(decoder_of(Decoder))


@plant("unknown-fields")
def knows_every_field() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def read(self, body: Any, events: list[StreamEvent]) -> None:
            if body.get("type") == "delta" and len(body) != 3:
                return
            super().read(body, events)

    return subject(decoder_of(Decoder))


@plant("cut-call-not-run")
def cut_calls_are_whole() -> CodecUnderTest:
    class Decoder(ToyDecoder):
        def finish(self) -> Any:
            from polywire.events import ToolCallEnd

            return [
                ToolCallEnd(ToolCall(event.call.id, event.call.name, event.call.arguments), event.part)
                if isinstance(event, ToolCallEnd)
                else event
                for event in super().finish()
            ]

    return subject(decoder_of(Decoder))


@plant("every-value")
def forgets_words() -> CodecUnderTest:
    class Codec(ToyCodec):
        def message(self, message: Any, index: int, notices: Any) -> dict[str, Any]:
            written = super().message(message, index, notices)
            return {**written, "blocks": written["blocks"][:1]} if "blocks" in written else written

    return subject(Codec())


@plant("media-not-lost")
def forgets_pictures() -> CodecUnderTest:
    class Codec(ToyCodec):
        def message(self, message: Any, index: int, notices: Any) -> dict[str, Any]:
            if hasattr(message, "contents") and not isinstance(message, ToolResultMessage):
                kept = [item for item in message.contents if not isinstance(item, MediaContent)]
                message = type(message)(kept or ["?"])
            return super().message(message, index, notices)

    return subject(Codec())


@plant("every-parameter")
def forgets_the_seed() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            body.pop("seed", None)
            return body, notices

    return subject(Codec())


@plant("custom-parameters")
def forgets_custom_parameters() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            return {key: value for key, value in body.items() if not key.startswith("x_")}, notices

    return subject(Codec())


@plant("options-stay-here")
def sends_the_tags() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            return body | ({"tags": request.options.tags} if request.options.tags else {}), notices

    return subject(Codec())


@plant("repeatable")
def numbers_its_requests() -> CodecUnderTest:
    class Codec(ToyCodec):
        numbers = itertools.count()

        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            return {**body, "number": next(self.numbers)}, notices

    return subject(Codec())


@plant("growing-history")
def ids_depend_on_the_length() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            text = wire_json.compact(body).replace("functions_read_0", f"f{len(request.messages)}")
            return wire_json.decode(text), notices

    return subject(Codec())


@plant("callers-objects")
def changes_the_request() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            made = super().body(request)
            object.__setattr__(request, "messages", request.messages[:1])
            return made

    return subject(Codec())


@plant("tool-names")
def cuts_names_short() -> CodecUnderTest:
    class Codec(ToyCodec):
        def tool(self, tool: Any) -> dict[str, Any]:
            written = super().tool(tool)
            return {**written, "name": written["name"][:5]} if "name" in written else written

    return subject(Codec())


@plant("call-ids")
def gives_results_ids_of_their_own() -> CodecUnderTest:
    class Codec(ToyCodec):
        def message(self, message: Any, index: int, notices: Any) -> dict[str, Any]:
            written = super().message(message, index, notices)
            return {**written, "call_id": written["call_id"] + "_r"} if "call_id" in written else written

    return subject(Codec())


@plant("failed-results")
def failures_look_like_successes() -> CodecUnderTest:
    class Codec(ToyCodec):
        def message(self, message: Any, index: int, notices: Any) -> dict[str, Any]:
            if isinstance(message, ToolResultMessage):
                message = ToolResultMessage(message.call_id, message.tool_name, message.text)
            return super().message(message, index, notices)

    return subject(Codec())


@plant("no-tools")
def sends_an_empty_list() -> CodecUnderTest:
    class Codec(ToyCodec):
        def body(self, request: ChatRequest) -> Any:
            body, notices = super().body(request)
            return body | ({"tools": []} if request.parameters.tools == () else {}), notices

    return subject(Codec())


@plant("stream-switch")
def streams_without_asking() -> CodecUnderTest:
    class Codec(ToyCodec):
        def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
            return super().encode(request, stream=False)

    return subject(Codec())


@plant("relative-and-unsigned")
def writes_an_absolute_path() -> CodecUnderTest:
    class Codec(ToyCodec):
        def path(self) -> str:
            return "/v1/talk"

    return subject(Codec())


@plant("refusals-before-network")
def refuses_with_a_key_error() -> CodecUnderTest:
    class Codec(ToyCodec):
        def block(self, part: Any, index: int, notices: Any) -> dict[str, Any]:
            if isinstance(part, MediaContent):
                raise KeyError(part.kind)  # type: ignore[attr-defined]
            return super().block(part, index, notices)

    return subject(Codec())


class DriftingModel(HttpChatModel):
    """Its async half was written twice, and only one half was mended."""

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        response = await super().do_achat(request)
        return ChatResponse(response.message, finish_reason=response.finish_reason)


def build(cls: type[HttpChatModel], **more: Any) -> Callable[[Any], HttpChatModel]:
    return lambda transport: cls(
        ToyCodec(),
        base_url="https://toy.example",
        transport=transport,
        defaults=ChatRequestParameters(model="toy-1"),
        **more,
    )


@plant("sync-equals-async")
def the_async_half_drifted() -> CodecUnderTest:
    return subject(build=build(DriftingModel))


class LeakingModel(HttpChatModel):
    def do_stream(self, request: ChatRequest) -> Any:
        source = super().do_stream(request)

        def events() -> Iterator[StreamEvent]:
            while batch := source.read():
                yield from batch

        return events()


@plant("early-end")
def forgets_to_close() -> CodecUnderTest:
    return subject(build=build(LeakingModel))


class SwallowingModel(HttpChatModel):
    def do_astream(self, request: ChatRequest) -> Any:
        inner = super().do_astream(request)

        async def events() -> Any:
            import asyncio

            source = await inner
            try:
                while batch := await source.aread():
                    for event in batch:
                        yield event
            except asyncio.CancelledError:
                raise ServerError("the call failed") from None
            finally:
                await source.aclose()

        return events()


@plant("cancellation")
def swallows_the_cancellation() -> CodecUnderTest:
    return subject(build=build(SwallowingModel))


class TalkativeModel(HttpChatModel):
    def do_chat(self, request: ChatRequest) -> ChatResponse:
        logging.getLogger("toy").debug("calling with %s", CANARY)
        return super().do_chat(request)


@plant("no-key-shows")
def logs_the_key() -> CodecUnderTest:
    return subject(build=build(TalkativeModel, auth=BearerAuth(CANARY)))


@plant("errors-say-whose")
def names_another_model() -> CodecUnderTest:
    class Codec(ToyCodec):
        def decode_error(self, response: HttpResponse) -> ModelError:
            error = super().decode_error(response)
            error.model = "toy"
            return error

    return subject(Codec())


@plant("wire-request-normal-form")
def grows_at_every_reading() -> CodecUnderTest:
    class Wire(ToyWire):
        def read(self, item: Any) -> Any:
            message = super().read(item)
            return type(message)([*message.contents, TextContent("more")]) if item["role"] == "user" else message

    return subject(wire=Wire())


@plant("wire-history-closes")
def loses_failures() -> CodecUnderTest:
    class Wire(ToyWire):
        def read(self, item: Any) -> Any:
            message = super().read(item)
            if isinstance(message, ToolResultMessage):
                return ToolResultMessage(message.call_id, message.tool_name, message.text)
            return message

    return subject(wire=Wire())


@plant("wire-response-round-trip")
def writes_no_usage() -> CodecUnderTest:
    class Wire(ToyWire):
        def encode_response(self, response: ChatResponse) -> Any:
            written = super().encode_response(response)
            written.value.pop("usage")
            return written

    return subject(wire=Wire())


@plant("unknown-blocks-kept")
def drops_what_it_does_not_know() -> CodecUnderTest:
    class Wire(ToyWire):
        def read(self, item: Any) -> Any:
            known = {"text", "call", "thinking", "media"}
            if "blocks" in item:
                item = {**item, "blocks": [block for block in item["blocks"] if block.get("type") in known]}
            return super().read(item)

    return subject(wire=Wire())


@pytest.mark.parametrize("name", list(RULES))
def test_a_planted_mistake_is_caught_by_its_rule(name: str) -> None:
    assert name in PLANTED, f"no mistake is planted against the rule {name!r}"

    with pytest.raises(Violation) as caught:
        check_rule(name, PLANTED[name]())

    message = str(caught.value)
    assert RULES[name].statement in message
    assert RULES[name].reason in message
    assert "where:\n  - " in message


def test_every_planted_mistake_has_a_rule() -> None:
    assert set(PLANTED) == set(RULES)


def test_a_recording_says_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "recordings.toml").write_text('[[recording]]\nfile = "a.json"\n')
    with pytest.raises(ValueError, match="does not say where it comes from"):
        load_recordings(tmp_path)


@pytest.mark.parametrize(
    ("index", "complaint"),
    [
        ('[[recording]]\nfile = "b.json"\nsource = "x"\n', "'b.json', which is not there"),
        ('[[recording]]\nfile = "a.json"\nsource = "x"\nstatsu = 1\n', "'statsu'; did you mean 'status'"),
        (
            '[[recording]]\nfile = "a.json"\nsource = "x"\n[recording.expected]\ntxt = "a"\n',
            "'txt'; did you mean 'text'",
        ),
        ("", "a.json lies in the folder and in no index"),
    ],
)
def test_a_wrong_index_is_told(tmp_path: Path, index: str, complaint: str) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "recordings.toml").write_text(index)
    with pytest.raises(ValueError, match=complaint):
        load_recordings(tmp_path)


def test_recordings_load_as_they_were_written(tmp_path: Path) -> None:
    (tmp_path / "a.sse").write_bytes(b"data: {}\r\n\r\n")
    (tmp_path / "recordings.toml").write_text(
        '[[recording]]\nfile = "a.sse"\nsource = "the reference"\nstream = true\n[recording.expected]\ntext = "x"\n'
    )

    [recording] = load_recordings(tmp_path)

    assert isinstance(recording, Recording)
    assert (recording.body, recording.stream, recording.expected.text) == (b"data: {}\r\n\r\n", True, "x")


def test_the_toy_profile_demands_something() -> None:
    assert Profile() != PROFILE
    assert HttpRequest("x").path == "x"
