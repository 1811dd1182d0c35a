"""
What the tests of this package share.

Every request body that a test makes goes through `encode`, which holds it against the vendor's own current types, with
unknown, missing and ill-typed fields refused at every depth. Every stream goes through `read_stream`, which reads it
whole, byte by byte, in two pieces cut anywhere, and cut off after any byte.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from openai.types.chat.completion_create_params import (  # noqa: E402
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from support.strict_types import check  # noqa: E402

from polywire.codec import Encoded, Frame, Headers, HttpResponse  # noqa: E402
from polywire.errors import EmptyResponse, ModelError, StreamInterrupted  # noqa: E402
from polywire.events import ResponseCollector, StreamEvent  # noqa: E402
from polywire.framing.sse import SseFraming  # noqa: E402
from polywire.parameters import ChatRequestParameters  # noqa: E402
from polywire.profiles import ProfileTable  # noqa: E402
from polywire.requests import ChatRequest  # noqa: E402
from polywire.responses import ChatResponse, Notice  # noqa: E402
from polywire_openai import COMPATIBLE, OpenAIChatCodec  # noqa: E402

GOLDEN = Path(__file__).parent / "golden"


def check_body(body: Mapping[str, Any], *, other_fields: Sequence[str] = ()) -> None:
    """
    Hold a body against the vendor's types.

    `other_fields` are those that this very body has on purpose and that only compatible endpoints take: taken out, at
    the top and on messages, before the rest is checked.
    """
    checked = copy.deepcopy(json.loads(json.dumps(body)))
    for name in other_fields:
        checked.pop(name, None)
        for message in checked["messages"]:
            message.pop(name, None)
    kind = CompletionCreateParamsStreaming if body.get("stream") else CompletionCreateParamsNonStreaming

    assert check(checked, kind) == []


class Sent:
    """A body that was written, and the notices about it."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self.body: dict[str, Any] = json.loads(encoded.http.body)
        self.messages: list[dict[str, Any]] = self.body["messages"]
        self.notices: tuple[Notice, ...] = encoded.notices

    def told(self, kind: str, subject: str) -> bool:
        """Whether there is a notice of this kind about this subject."""
        return any(notice.kind == kind and notice.subject == subject for notice in self.notices)


@pytest.fixture
def encode() -> Callable[..., Sent]:
    """Write a request with the codec, checked. `profile`: changes to that of any compatible endpoint."""

    def write(
        messages: Any,
        *,
        model: str = "gpt-4.1",
        stream: bool = False,
        profile: Mapping[str, Any] | None = None,
        codec: OpenAIChatCodec | None = None,
        other_fields: Sequence[str] = (),
        **parameters: Any,
    ) -> Sent:
        if codec is None:
            codec = OpenAIChatCodec() if profile is None else OpenAIChatCodec(ProfileTable(COMPATIBLE.changed(profile)))
        request = ChatRequest(messages, ChatRequestParameters(model=model, **parameters))
        sent = Sent(codec.encode(request, stream=stream))
        check_body(sent.body, other_fields=other_fields)
        again = Sent(codec.encode(request, stream=stream))

        assert again.body == sent.body, "what a message remembers must be what was written"
        assert again.notices == sent.notices

        return sent

    return write


@pytest.fixture
def golden() -> Callable[[str], bytes]:
    """Read a recorded answer."""
    return lambda name: (GOLDEN / name).read_bytes()


class Read:
    """A stream that was read: its events and the response that they make."""

    def __init__(self, events: list[StreamEvent], response: ChatResponse) -> None:
        self.events = events
        self.response = response


def read_pieces(pieces: Sequence[bytes], encoded: Encoded, codec: OpenAIChatCodec) -> Read:
    """Read a stream that arrives in these pieces. An error carries what had arrived, as a driver would have it."""
    framing, decoder, collector = SseFraming(), codec.stream_decoder(encoded), ResponseCollector()
    events: list[StreamEvent] = []

    def take(frames: Sequence[Frame]) -> None:
        for frame in frames:
            if decoder.ended:
                return
            found = decoder.feed(frame)
            collector.add_all(found)
            events.extend(found)

    try:
        for piece in pieces:
            take(framing.feed(piece))
        if not decoder.ended:
            take(framing.finish())
        last = decoder.finish()
    except ModelError as error:
        error.partial = collector.partial()
        raise
    collector.add_all(last)
    events.extend(last)
    return Read(events, collector.response())


def _same(response: ChatResponse) -> tuple[Any, ...]:
    return response.message, response.usage, response.finish_reason, response.metadata


@pytest.fixture
def read_stream() -> Callable[..., Read]:
    """Read a stream in every way there is; returns what reading it whole gives."""

    def read(
        body: bytes | str,
        *,
        profile: Mapping[str, Any] | None = None,
        encoded: Encoded | None = None,
        cut: bool = True,
        codec: OpenAIChatCodec | None = None,
    ) -> Read:
        data = body.encode() if isinstance(body, str) else body
        codec = codec or OpenAIChatCodec(ProfileTable(COMPATIBLE.changed(profile or {})))
        if encoded is None:
            encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=True)
        whole = read_pieces([data], encoded, codec)
        expected = _same(whole.response)

        assert _same(read_pieces([bytes([each]) for each in data], encoded, codec).response) == expected

        for at in range(len(data) + 1):
            assert _same(read_pieces([data[:at], data[at:]], encoded, codec).response) == expected

        for at in range(len(data) if cut else 0):
            try:
                short = read_pieces([data[:at]], encoded, codec).response
            except StreamInterrupted as error:
                partial = error.partial
                assert partial is not None
                assert (whole.response.text or "").startswith(partial.text or "")
                assert all(not call.is_valid for call in partial.tool_calls)
            except EmptyResponse:
                assert b"\n" not in data[:at].strip(b"\r\n \xef\xbb\xbf") or b"{" not in data[:at]
            else:
                # Cut after the finish reason: the answer is whole, but for what may come after it.
                assert short.message.parts == whole.response.message.parts
                assert short.finish_reason == whole.response.finish_reason
        return whole

    return read


@pytest.fixture
def fail_stream() -> Callable[..., ModelError]:
    """Read a stream that must fail, whole and byte by byte; returns the error."""

    def read(body: bytes | str, *, kind: type[ModelError] = ModelError) -> ModelError:
        data = body.encode() if isinstance(body, str) else body
        codec = OpenAIChatCodec(ProfileTable(COMPATIBLE))
        encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=True)
        with pytest.raises(kind) as whole:
            read_pieces([data], encoded, codec)
        with pytest.raises(kind) as bytewise:
            read_pieces([bytes([each]) for each in data], encoded, codec)

        assert str(bytewise.value) == str(whole.value)

        return whole.value

    return read


@pytest.fixture
def answer() -> Callable[..., ChatResponse]:
    """Read a plain answer: a body, or a choice's message and what else stands in it."""

    def read(body: Any, *, encoded: Encoded | None = None, headers: Mapping[str, str] | None = None) -> ChatResponse:
        codec = OpenAIChatCodec(ProfileTable(COMPATIBLE))
        if encoded is None:
            encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=False)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return codec.decode(HttpResponse(200, Headers(headers or {}), data), encoded)

    return read


def chunk(delta: Any, finish: str | None = None, **more: Any) -> str:
    """One chunk of a stream, as an endpoint writes it."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
    body = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"


@pytest.fixture
def chunks() -> Callable[..., str]:
    """Write a stream: deltas, the finish reason, further fields of the last chunk, and the end mark."""

    def write(*deltas: Any, finish: str | None = "stop", done: bool = True, **last: Any) -> str:
        lines = [chunk(delta) for delta in deltas]
        if finish is not None:
            lines.append(chunk({}, finish, **last))
        return "".join(lines) + ("data: [DONE]\n\n" if done else "")

    return write


@pytest.fixture
def body_of() -> Callable[..., dict[str, Any]]:
    """Write the plain body with this message."""

    def write(message: Mapping[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
        head = {"id": "c1", "object": "chat.completion", "created": 7, "model": "m"}
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        return {**head, "choices": [choice], **more}

    return write


@pytest.fixture
def check_request() -> Callable[..., None]:
    """Hold a body that a conversion wrote against the vendor's types."""
    return check_body
