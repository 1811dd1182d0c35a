"""
The provider author's contract.

A `Codec` is what almost every provider author writes: four pure functions between polywire's values and one vendor's
bytes. No network, no clock, no credentials, no HTTP library; stateless, shared by threads. `HttpChatModel` runs it. A new
need becomes a new value on `Encoded`, a new framing or a new profile field, never a flag or a fifth function.

A `Wire` is the same knowledge offered in both directions, for `polywire.convert`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, overload

import msgspec

from polywire.errors import ModelError
from polywire.events import StreamEvent
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY
from polywire.messages import Message, Origin
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice

__all__ = [
    "Auth",
    "Codec",
    "Encoded",
    "Frame",
    "Framing",
    "Headers",
    "HttpRequest",
    "HttpResponse",
    "StreamDecoder",
    "StreamEncoder",
    "Translated",
    "Wire",
]

ValueT = TypeVar("ValueT")


class Headers(Mapping[str, str]):
    """Response headers: read-only, looked up without regard to case. Of a repeated header the last one counts."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        self._items = {key.lower(): value for key, value in pairs}

    def __getitem__(self, name: str) -> str:
        return self._items[name.lower()]

    @overload
    def get(self, name: str, /) -> str | None: ...
    @overload
    def get(self, name: str, /, default: str | ValueT) -> str | ValueT: ...
    def get(self, name: str, /, default: Any = None) -> Any:
        """Return a header's value, or `default`. As every mapping has it, at a third of the cost where there is none."""
        return self._items.get(name.lower(), default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Headers({sorted(self._items)})"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """
    One HTTP request.

    Attributes:
        path: relative to the connection's base URL (`"chat/completions"`), with no leading slash; or an absolute URL.
            Segments that the base URL already ends with are not doubled.
        body: the exact bytes; a signature covers them.
        headers: names and values. Never shown in a repr: a key may be among them.
        method: the HTTP method.
        url: the absolute address; filled in by the driver before authentication.
    """

    path: str
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default=EMPTY, repr=False)
    method: str = "POST"
    url: str = field(default="", repr=False)

    def with_headers(self, headers: Mapping[str, str]) -> HttpRequest:
        """Return the same request with more headers; a name already there is replaced, whatever its case."""
        lowered = {name.lower() for name in headers}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in lowered}
        return replace(self, headers={**kept, **headers})


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """
    One HTTP answer, read whole.

    `received_at` is when it came, in seconds since the epoch: with it a date in a header is a delay, and no codec needs
    a clock.
    """

    status: int
    headers: Headers
    body: bytes = field(repr=False)
    received_at: float = 0.0


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One message of a byte stream: an SSE event, or a line of NDJSON."""

    data: bytes
    event: str | None = None


class Framing(Protocol):
    """Cuts a byte stream into frames; incremental, one per stream."""

    def feed(self, chunk: bytes) -> Iterable[Frame]:
        """
        Take the next bytes, cut anywhere, and return the frames that they complete.

        They are read before the next call, and may be made while they are read.
        """

    def finish(self) -> Iterable[Frame]:
        """The bytes are over: return what an unterminated last frame holds."""


@dataclass(slots=True)
class Encoded:
    """
    A request in a vendor's terms, and what is needed to read the answer.

    Attributes:
        http: what to send.
        notices: what was dropped, approximated or repaired while writing it.
        framing: makes the framing of a streamed answer.
        context: the codec's own: name and id maps, lowered schemas, the profile.
        metadata_headers: which response headers go into `ChatResponse.metadata`, and under which name. A name that
            ends in `*` gathers all that begin so into one mapping: `{"x-ratelimit-*": "rate_limits"}`.
        origin: for the message that will be decoded; the driver fills it in.
    """

    http: HttpRequest
    notices: tuple[Notice, ...] = ()
    framing: Callable[[], Framing] | None = None
    context: Any = None
    metadata_headers: Mapping[str, str] = field(default_factory=dict)
    origin: Origin | None = None


class StreamDecoder(Protocol):
    """
    Turns the frames of one stream into events.

    A decoder that keeps something back for a while, text that may turn out to be markup, or a running total that each
    piece repeats, has a further method `held_back() -> Sequence[StreamEvent]`. It is asked once, where a stream is broken
    off from either side, so that what had arrived is in its partial answer.
    """

    ended: bool
    """Whether the wire's end mark was seen; what comes after it is not read."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame. An error inside the stream is raised as a `ModelError`."""

    def finish(self) -> Sequence[StreamEvent]:
        """
        The bytes are over, with or without an end mark.

        Returns:
            the last events, `ResponseEnd` last, where a finish reason or an end mark was seen.

        Raises:
            StreamInterrupted: the answer is not complete.
            EmptyResponse: there was no event at all.
        """


class Codec(Protocol):
    """Four pure functions between polywire's values and one vendor's HTTP dialect."""

    wire: str
    """The dialect's name, as in `Origin.wire` and `extras`: `"openai"`."""

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        """
        Write a request whose parameters are merged and whose history has passed the ledger.

        Raises:
            ModelError: it holds something that the wire cannot carry and that must not be left out.
        """

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        """
        Read a whole answer of status 2xx.

        Raises:
            ModelError: the body is an error, empty, or not what the wire promises.
        """

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status; sets `retryable` and `retry_after`. Never raises."""

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        """Make the decoder for one streamed answer."""


class Auth(Protocol):
    """
    Signs requests.

    `flow` is a generator, so that one implementation serves sync and async callers: it may yield side requests (always
    answered whole, outside the retry count) and is sent their answers; it *returns* the signed request.
    """

    refreshable: bool
    """Whether a rejected request (401) is worth one more try with `rejected=True`."""

    def flow(
        self, request: HttpRequest, *, rejected: bool, now: datetime
    ) -> Generator[HttpRequest, HttpResponse, HttpRequest]:
        """Return `request`, signed. `rejected`: the last signature was refused, so get a fresh credential."""


class Translated(msgspec.Struct, Generic[ValueT], frozen=True):
    """A value that was translated, and what was dropped, approximated or repaired on the way."""

    value: ValueT
    notices: tuple[Notice, ...] = ()


class StreamEncoder(Protocol):
    """Writes the events of one stream as a vendor's bytes."""

    def feed(self, event: StreamEvent) -> bytes:
        """Return the bytes that this event lets go; may be empty."""

    def finish(self) -> bytes:
        """Return what is still held back, and the end mark."""

    def error(self, error: ModelError) -> bytes:
        """Return the bytes that tell a client of this wire that the stream failed."""

    @property
    def notices(self) -> Sequence[Notice]:
        """What could not be written, so far."""


class Wire(Protocol):
    """
    One dialect, both ways, between its JSON and polywire's values.

    Payloads are what `json.loads` gives. Reading never loses anything: what has no place in the values goes into
    `extras` under the wire's name or becomes `OpaqueContent`, and is written back to the same wire.
    """

    name: str

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        """Read a request body."""

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        """Write a request body."""

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        """Read a message list."""

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        """Write a message list."""

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        """Read a response body."""

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        """Write a response body."""

    def framing(self) -> Framing:
        """Make the framing of this wire's streams."""

    def stream_decoder(self) -> StreamDecoder:
        """Make a decoder for one stream."""

    def stream_encoder(self) -> StreamEncoder:
        """Make an encoder for one stream."""
