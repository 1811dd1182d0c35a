"""What the kit is given: a codec, recorded bytes, and a little about the provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from polywire.auth import BearerAuth
from polywire.codec import Auth, Codec, Encoded, Wire
from polywire.events import ResponseCollector, StreamEvent
from polywire.framing.runs import connect
from polywire.framing.tail import last_events
from polywire.http_model import HttpChatModel
from polywire.immutable import EMPTY
from polywire.models import StreamingChatModel
from polywire.requests import NO_PARAMETERS, ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse
from polywire.testing.recordings import Recording
from polywire.transport.streams import HttpTransport

__all__ = ["CANARY", "CodecUnderTest"]

CANARY = "sk-canary-7f3a91d2c4b8e605"
"""The key that the kit signs with; no piece of it may show anywhere."""


def _signed_with_a_header(key: str) -> Auth:
    return BearerAuth(key)


@dataclass(frozen=True, kw_only=True)
class CodecUnderTest:
    """
    What the kit works on.

    Attributes:
        codec: the codec.
        model: a model id that the codec's profiles know as capable (tools, several calls a turn).
        recordings: bytes that the vendor really sent; at least a plain text answer, a streamed one, a tool call and an
            error, for the rules to have something to hold.
        wire: the dialect in both directions, if the provider offers it.
        auth: makes what signs the requests, of a key.
        build: makes a model over a transport, where it is more than the codec in an `HttpChatModel`.
        defaults: parameters that the vendor demands in every request.
        exceptions: rules that this provider does not keep: the rule's name, and why.
        links_by_name: results are linked to their calls by the tool's name, not by the call's id.
    """

    codec: Codec
    model: str
    recordings: tuple[Recording, ...] = ()
    wire: Wire | None = None
    auth: Callable[[str], Auth] = field(default=_signed_with_a_header)
    build: Callable[[HttpTransport], StreamingChatModel] | None = None
    defaults: ChatRequestParameters = NO_PARAMETERS
    exceptions: Mapping[str, str] = EMPTY
    links_by_name: bool = False

    def request(self, request: ChatRequest) -> ChatRequest:
        """The request as the driver would hand it to the codec: with a model and the provider's defaults."""
        defaults = ChatRequestParameters(model=self.model).merge(self.defaults)
        return ChatRequest(request.messages, defaults.merge(request.parameters), request.options)

    def encode(self, request: ChatRequest, *, stream: bool = False) -> Encoded:
        """Encode a request."""
        return self.codec.encode(self.request(request), stream=stream)

    def plain_encoded(self, *, stream: bool) -> Encoded:
        """What decoding needs of a request, for recordings that came without theirs."""
        return self.encode(ChatRequest("hello"), stream=stream)

    def model_over(self, transport: HttpTransport) -> StreamingChatModel:
        """The model over a transport, signed with the canary key."""
        if self.build is not None:
            return self.build(transport)
        return HttpChatModel(
            self.codec,
            base_url="https://provider.example/v1",
            auth=self.auth(CANARY),
            transport=transport,
            defaults=ChatRequestParameters(model=self.model).merge(self.defaults),
            provider="subject",
        )

    def of(self, *, stream: bool, failed: bool = False) -> tuple[Recording, ...]:
        """The recordings of one sort."""
        return tuple(
            each
            for each in self.recordings
            if each.stream is stream and (each.status >= 300 or each.expected.error is not None) is failed
        )

    def decode(self, recording: Recording) -> ChatResponse:
        """Read a recording of a plain answer."""
        if recording.status >= 300:
            raise self.codec.decode_error(recording.response())
        return self.codec.decode(recording.response(), self.plain_encoded(stream=False))

    def decode_stream(self, chunks: Iterable[bytes]) -> ChatResponse:
        """Read a stream that comes in these pieces."""
        collector = ResponseCollector()
        for event in self.events(chunks):
            collector.add(event)
        return collector.response()

    def events(self, chunks: Iterable[bytes]) -> list[StreamEvent]:
        """Read a stream that comes in these pieces, event by event, as the driver does."""
        encoded = self.plain_encoded(stream=True)
        decoder = self.codec.stream_decoder(encoded)
        if encoded.framing is None:
            msg = "a streamed request must be encoded with a framing: Encoded(framing=SseFraming)"
            raise TypeError(msg)
        framing = encoded.framing()
        connect(framing, decoder)
        events: list[StreamEvent] = []
        for chunk in chunks:
            for frame in framing.feed(chunk):
                if not decoder.ended:
                    events.extend(decoder.feed(frame))
        return events + last_events(framing, decoder)
