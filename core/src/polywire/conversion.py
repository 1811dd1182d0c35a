"""
From one wire to another, through the values: requests, responses, message lists and streams.

Wires are found by provider name, among the installed plugins or those that are handed in. The history of a request or a
list passes the ledger on its way, exactly as before a call.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from polywire import wire_json
from polywire.codec import StreamDecoder, StreamEncoder, Translated, Wire
from polywire.errors import ModelError, PolywireError, ProtocolError, did_you_mean
from polywire.events import NoticeAdded, StreamEvent
from polywire.fast_dataclass import dataclass
from polywire.framing.runs import connect
from polywire.framing.tail import last_events
from polywire.history import check_history
from polywire.responses import Notice

__all__ = ["Conversion", "aconvert_stream", "convert", "convert_stream"]

Kind: TypeAlias = Literal["request", "response", "messages"]
Value = TypeVar("Value")
Payload: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | bytes


@dataclass(frozen=True, slots=True)
class Conversion:
    """
    What came of a conversion.

    Attributes:
        payload: the body or list in the target's terms, as plain JSON values.
        notices: what was dropped, approximated or repaired on the way.
    """

    payload: Any
    notices: tuple[Notice, ...] = ()


def convert(
    payload: Payload,
    *,
    source: str | Wire,
    target: str | Wire,
    kind: Kind | None = None,
    history: Literal["strict", "repair"] = "strict",
) -> Conversion:
    """
    Convert a request body, a response body or a message list.

    Args:
        payload: JSON values, or their text.
        source: the wire it is in: a provider's name (`"openai"`), or a `Wire`.
        target: the wire it is wanted in.
        kind: what it is; told by its shape where left out (a list is messages; a body that holds the conversation is a
            request).
        history: what to do where tool calls and results do not close: raise, or repair with notices.

    Raises:
        HistoryError: the history does not close, in strict mode.
        ModelError: the payload is not of the source's wire, or holds what the target must not go without.
        UnknownProvider: no such wire.
        ValueError: `kind` or `history` is none of its words.
    """
    for name, word, known in (("kind", kind, get_args(Kind)), ("history", history, ("strict", "repair"))):
        if word not in known and (name, word) != ("kind", None):
            msg = f"unknown {name} {word!r}{did_you_mean(str(word), known)}"
            raise ValueError(msg)
    reader, writer = _wire(source), _wire(target)
    value: Any = _parsed(payload) if isinstance(payload, (str, bytes)) else payload
    chosen = kind or _kind_of(value)
    try:
        return _converted(value, reader, writer, chosen, history)
    except ModelError as error:
        if (key := _misspelt_key(value)) is not None:
            msg = f"the payload has no {key[1]!r}; did you mean that by {key[0]!r}?"
            raise ProtocolError(msg) from error
        if "did you mean" not in error.message:
            error.message += _unknown_role(value, error.message)
            error.args = (error.message, *error.args[1:])
        raise


def _converted(
    value: Any, reader: Wire, writer: Wire, chosen: Kind, history: Literal["strict", "repair"]
) -> Conversion:
    match chosen:
        case "messages":
            read = _read(reader.decode_messages, value, reader, chosen)
            checked = check_history(read.value, history)
            written = writer.encode_messages(checked.messages)
            return Conversion(
                _plain(written.value) if type(reader) is type(writer) else written.value,
                (*read.notices, *checked.notices, *written.notices),
            )
        case "request":
            request = _read(reader.decode_request, value, reader, chosen)
            checked = check_history(request.value.messages, history)
            ready = (
                request.value
                if checked.messages is request.value.messages
                else request.value.with_messages(checked.messages)
            )
            body = writer.encode_request(ready)
            return Conversion(
                _plain_body(body.value, same_wire=type(reader) is type(writer)),
                (*request.notices, *checked.notices, *body.notices),
            )
        case "response":
            response = _read(reader.decode_response, value, reader, chosen)
            answer = writer.encode_response(response.value)
            return Conversion(_plain(answer.value), (*response.notices, *response.value.notices, *answer.notices))


def _plain_body(body: Mapping[str, Any], *, same_wire: bool) -> dict[str, Any]:
    """
    Return a request's body as plain dicts and lists.

    A conversation for another wire is made of such: what stands in a message as it came goes back to its own wire alone
    [measured: to copy it all the same is a seventh of a conversion's work].
    """
    return {key: value if key in _CONVERSATION_KEYS and not same_wire else _plain(value) for key, value in body.items()}


def _plain(payload: Any) -> Any:
    """Return a payload as plain dicts and lists, the caller's own: values hold read-only ones."""
    try:
        return msgspec.to_builtins(payload)
    except (TypeError, ValueError, OverflowError, RecursionError):  # what JSON knows no name for stays for its writer
        return _unfrozen(payload)


def _unfrozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unfrozen(item) for key, item in value.items()}
    return [_unfrozen(item) for item in value] if isinstance(value, (list, tuple)) else value


_CONVERSATION_KEYS = ("messages", "contents", "input")
"""Under which the wires have the conversation of a request."""
_ROLES = ("system", "developer", "user", "assistant", "model", "tool", "function")


def _misspelt_key(value: Any) -> tuple[str, str] | None:
    """What stands for the conversation in a payload that has none, and what it should be; for failures alone."""
    if not isinstance(value, Mapping) or any(key in value for key in _CONVERSATION_KEYS):
        return None
    from difflib import get_close_matches

    for key, held in value.items():
        # Answers have `content`, and a `message` that is an object.
        if isinstance(key, str) and key not in ("content", "output") and isinstance(held, (list, tuple)):
            for near in get_close_matches(key.lower(), _CONVERSATION_KEYS, n=1, cutoff=0.75):
                return key, near
    return None


def _unknown_role(value: Any, said: str) -> str:
    """Say which message has a role that no wire knows, as far as that is not `said`; empty where all are known."""
    where, items = "messages", value
    if isinstance(value, Mapping):
        where = next((key for key in _CONVERSATION_KEYS if key in value), "")
        items = value.get(where)
    if isinstance(items, (list, tuple)):
        for index, item in enumerate(items):
            role = item.get("role") if isinstance(item, Mapping) else None
            if isinstance(role, str) and role not in _ROLES:
                there = "" if repr(role) in said else f"; {where}[{index}] has the unknown role {role!r}"
                return there + did_you_mean(role, _ROLES)
    return ""


def _parsed(text: str | bytes) -> Any:
    try:
        value = wire_json.decode(text)
    except ValueError as error:
        msg = f"the payload is not JSON: {error}"
        raise ProtocolError(msg) from None
    if not isinstance(value, (dict, list)):
        msg = f"the payload must be a JSON object or a list of messages, not {type(value).__name__}"
        raise ProtocolError(msg)
    return value


_MISREAD = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading a payload of another shape than its wire's may run into, where nothing checked for just that shape."""


def _read(read: Callable[[Any], Translated[Value]], payload: Any, wire: Wire, kind: str) -> Translated[Value]:
    try:
        return read(payload)
    except PolywireError:
        raise
    except _MISREAD as error:
        msg = f"the payload does not read as {kind} of the wire {wire.name!r}: {type(error).__name__}: {error}"
        raise ProtocolError(msg) from error


def _kind_of(value: Any) -> Kind:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return "messages"
    if isinstance(value, Mapping):
        # What asks holds the conversation so far; what answers does not.
        if any(key in value for key in _CONVERSATION_KEYS):
            return "request"
        return "response"
    msg = f"a payload must be a JSON object or a list of messages, not {type(value).__name__}"
    raise TypeError(msg)


def _wire(name: str | Wire) -> Wire:
    if not isinstance(name, str):
        return name
    from polywire.plugins import wire_named

    return wire_named(name)


class StreamConverter:
    """
    Turns the bytes of one wire's stream into another's, piece by piece; pure, so one serves sync and async callers.

    Attributes:
        notices: what could not be carried over, so far.
        error: what ended the stream before its answer was complete, once that has been told in the target's way.
    """

    def __init__(self, source: str | Wire, target: str | Wire) -> None:
        self.error: ModelError | None = None
        reader, writer = _wire(source), _wire(target)
        self._framing = reader.framing()
        self._decoder: StreamDecoder = reader.stream_decoder()
        connect(self._framing, self._decoder)
        self._encoder: StreamEncoder = writer.stream_encoder()
        self._told: list[Notice] = []
        self._over = False

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was dropped, approximated or repaired so far."""
        return (*self._told, *self._encoder.notices)

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, cut anywhere, and return what they let go."""
        if self._over:
            return b""
        out: list[bytes] = []
        try:
            for frame in self._framing.feed(chunk):
                if self._decoder.ended:
                    break
                self._write(self._decoder.feed(frame), out)
        except ModelError as error:
            self._fail(error, out)
        except _MISREAD as error:
            self._fail(ProtocolError(f"the stream could not be read ({type(error).__name__}: {error})"), out)
        return b"".join(out)

    def finish(self) -> bytes:
        """The bytes are over: return the rest, with the target's end mark, or its way of saying that the stream failed."""
        if self._over:
            return b""
        out: list[bytes] = []
        try:
            self._write(last_events(self._framing, self._decoder), out)
            out.append(self._encoder.finish())
            self._over = True
        except ModelError as error:
            self._fail(error, out)
        except _MISREAD as error:
            self._fail(ProtocolError(f"the stream could not be read ({type(error).__name__}: {error})"), out)
        return b"".join(out)

    def _write(self, events: Iterable[StreamEvent], out: list[bytes]) -> None:
        for event in events:
            if type(event) is NoticeAdded:
                self._told.append(event.notice)
            out.append(self._encoder.feed(event))

    def _fail(self, error: ModelError, out: list[bytes]) -> None:
        # The client on the other side must learn of it in its own wire's way: a stream has no other channel.
        self._over = True
        self.error = error
        out.append(self._encoder.error(error))

    def abandon(self, error: Exception) -> bytes:
        """The source broke off with `error`: return the target's way of saying so."""
        if self._over:
            return b""
        out: list[bytes] = []
        self._fail(error if isinstance(error, ModelError) else ProtocolError(f"the source broke off: {error}"), out)
        return b"".join(out)


def convert_stream(chunks: Iterable[bytes], *, source: str | Wire, target: str | Wire) -> Iterator[bytes]:
    """
    Turn the bytes of a stream in one wire into another's, event by event, at any split of the bytes.

    An error in the stream is told in the target's own way and ends it; an exception of `chunks` itself passes through
    after the target has been told.
    """
    converter = StreamConverter(source, target)
    try:
        for chunk in chunks:
            if out := converter.feed(chunk):
                yield out
    except Exception as error:
        if out := converter.abandon(error):
            yield out
        raise
    if out := converter.finish():
        yield out


async def aconvert_stream(
    chunks: AsyncIterable[bytes], *, source: str | Wire, target: str | Wire
) -> AsyncIterator[bytes]:
    """Turn the bytes of an async stream in one wire into another's. As `convert_stream`."""
    converter = StreamConverter(source, target)
    try:
        async for chunk in chunks:
            if out := converter.feed(chunk):
                yield out
    except Exception as error:
        if out := converter.abandon(error):
            yield out
        raise
    if out := converter.finish():
        yield out
