"""
The open answer of a streamed call as an event source: chunks to frames to events, sync and async.

What a chunk of the network brings is handed over in one batch. An error that comes after some events of a batch is
raised on the next read, so that no event is lost.

How a stream ends:

- The decoder saw its end mark: its last events are handed over, and what is left of the body is read, for a moment, so
  that the connection can be used again.
- The bytes end, or the connection breaks: the decoder says whether the answer was complete. It is not: the error is
  `StreamInterrupted`, with what broke the connection as its cause; or that error itself where nothing had been
  received. It is, for a finish reason was seen: the answer is complete, with a notice where the connection broke.
- A limit of `CallOptions` ran out: likewise, and where the answer was not complete the error is always `ModelTimeout`.
- The decoder failed in a way that it should not: `ProtocolError`, with that as its cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire.codec import Framing
from polywire.errors import (
    ConnectionFailed,
    EmptyResponse,
    ModelError,
    ModelTimeout,
    PolywireError,
    ProtocolError,
    StreamInterrupted,
)
from polywire.events import CONTENT_EVENTS, NoticeAdded, ResponseEnd, ResponseStart, StreamEvent
from polywire.framing.runs import connect
from polywire.framing.sse import SseFraming
from polywire.http_errors import request_id_of
from polywire.http_exchange import fill_in, metadata_of
from polywire.http_limits import CallLimits
from polywire.http_plan import Connection, Opened
from polywire.responses import Notice
from polywire.watchdog import shared_watchdog

__all__ = ["AsyncHttpSource", "HttpSource"]

_DRAIN_SECONDS = 0.1
_DRAIN_BYTES = 64 * 1024


class _Reader:
    """What sync and async sources share: everything but the waiting."""

    __slots__ = (
        "_connection",
        "_decoder",
        "_error",
        "_feed",
        "_framing",
        "_metadata",
        "_model",
        "_notices",
        "_received",
        "_request_id",
        "_started",
        "aborted",
        "ended",
        "limits",
        "stream",
    )

    def __init__(self, connection: Connection, opened: Opened, limits: CallLimits | None) -> None:
        encoded = opened.encoded
        self._connection = connection
        self.stream = opened.stream
        self.limits = limits
        self._decoder = connection.codec.stream_decoder(encoded)
        self._framing: Framing = SseFraming() if encoded.framing is None else encoded.framing()
        connect(self._framing, self._decoder)
        self._feed = self._decoder.feed
        self._notices = opened.notices
        self._metadata = metadata_of(encoded, opened.stream.headers)
        self._model = encoded.origin.model if encoded.origin else None
        self._request_id = self._metadata.get("request_id") or request_id_of(opened.stream.headers)
        self._started = ResponseStart(self._metadata, encoded.origin)
        self._received = False  # whether the decoder has given any event
        self._error: BaseException | None = None
        self.ended = False
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True
        self.stream.abort()

    def take(self, chunk: bytes) -> Sequence[StreamEvent]:
        """Return the events that a chunk brings, perhaps none."""
        events: list[StreamEvent] = []
        try:
            feed, decoder = self._feed, self._decoder
            for frame in self._framing.feed(chunk):
                events += feed(frame)
                if decoder.ended:
                    self.ended = True
                    events += decoder.finish()
                    break
        except Exception as error:
            self._fail(error if isinstance(error, PolywireError) else _unreadable(error))
        return self._handed_over(events) if events else events

    def end(self, broken: ModelError | None = None, *, by_limit: bool = False) -> Sequence[StreamEvent]:
        """The bytes are over, or the connection is `broken`, or cut `by_limit`: return the last events."""
        if broken is None and self.aborted:
            broken = ConnectionFailed("the connection was cut from this side")
        self.ended = True
        events: list[StreamEvent] = []
        rest_error: Exception | None = None
        try:
            try:
                for frame in self._framing.finish():
                    if self._decoder.ended:
                        break
                    events += self._feed(frame)
            except ModelError as error:
                # What stands last may be half a frame. It is not guessed at; if it is a whole error, that counts.
                if not isinstance(error, ProtocolError):
                    raise
                rest_error = error
            except PolywireError:
                raise
            except Exception as error:
                rest_error = error
            events += self._decoder.finish()
        except (StreamInterrupted, EmptyResponse) as error:
            if broken is not None and (by_limit or not (self._received or events)):
                self._fail(broken)
            elif (
                isinstance(error, EmptyResponse) and "text/html" in self.stream.headers.get("content-type", "").lower()
            ):
                self._fail(_caused(ProtocolError("the server sent a web page instead of a stream of events"), error))
            else:
                self._fail(_interruption(error, broken or rest_error))
        except Exception as error:
            self._fail(error if isinstance(error, PolywireError) else _unreadable(error))
        else:
            if broken is not None:
                text = f"the connection broke after the answer was complete and before its end mark: {broken.message}"
                notice = NoticeAdded(Notice("repaired", "stream", text))
                at = len(events) - 1 if events and type(events[-1]) is ResponseEnd else len(events)
                events.insert(at, notice)
        return self._handed_over(events) if events else events

    def fail(self, error: Exception) -> Sequence[StreamEvent]:
        """Reading the network failed; return what events there are all the same."""
        limits = self.limits
        if limits is not None:
            timeout = limits.expired()
            if timeout is None and isinstance(error, TimeoutError) and not isinstance(error, ModelError):
                timeout = limits.timeout()  # the loop's clock was a little early
            if timeout is not None:
                return self.end(_caused(timeout, error), by_limit=True)
        if isinstance(error, (ConnectionFailed, ModelTimeout)):
            return self.end(error)
        self._fail(error)
        return ()

    def _fail(self, error: BaseException) -> None:
        self.ended = True
        self._error = error
        if isinstance(error, ModelError):
            fill_in(error, self._connection.provider, self._model)
            error.request_id = error.request_id or self._request_id

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what the decoder has kept back so far."""
        held_back = getattr(self._decoder, "held_back", None)
        return () if held_back is None else held_back()

    def raise_error(self) -> None:
        """Raise the error that ended the stream, once."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _handed_over(self, events: list[StreamEvent]) -> list[StreamEvent]:
        if not self._received:
            self._received = True
            first = events[0]
            if type(first) is ResponseStart:
                own = self._started
                metadata = {**own.metadata, **first.metadata} if own.metadata else first.metadata
                events[0] = ResponseStart(metadata, first.origin or own.origin)
            else:
                events.insert(0, self._started)
            events[1:1] = [NoticeAdded(notice) for notice in self._notices]
        limits = self.limits
        if limits is not None and not limits.content_has_come and not CONTENT_EVENTS.isdisjoint(map(type, events)):
            limits.content_came()
        return events


def _interruption(error: StreamInterrupted | EmptyResponse, cause: Exception | None) -> ModelError:
    if cause is None:
        return error
    if isinstance(cause, (ConnectionFailed, ModelTimeout)):
        return _caused(StreamInterrupted(f"the stream broke off: {cause.message}"), cause)
    if isinstance(error, EmptyResponse):
        error = StreamInterrupted("the stream ended in the middle of its first frame")
    return _caused(error, cause)


def _unreadable(error: Exception) -> ModelError:
    return _caused(ProtocolError(f"the stream could not be read ({type(error).__name__})"), error)


def _caused(error: ModelError, cause: BaseException) -> ModelError:
    error.__cause__ = cause
    return error


class HttpSource:
    """A streamed call, read from a thread. It keeps the limits of `CallOptions` itself."""

    __slots__ = ("_chunks", "_closed", "_reader", "_watch")
    keeps_limits = True

    def __init__(self, connection: Connection, opened: Opened, limits: CallLimits | None) -> None:
        self._reader = _Reader(connection, opened, limits)
        self._chunks = opened.stream.chunks
        self._closed = False
        self._watch = limits.watch(opened.stream.abort) if limits is not None else None

    def read(self) -> Sequence[StreamEvent]:
        """Return the next events; an empty sequence is the end."""
        reader = self._reader
        limits, take, chunks = reader.limits, reader.take, self._chunks
        in_time = self._watch is None or self._watch.begin()
        while not reader.ended:
            try:
                chunk = next(chunks, None) if in_time else None
            except Exception as error:
                events = reader.fail(error)
            else:
                if chunk is not None:
                    events = take(chunk)
                elif limits is not None and (timeout := limits.expired()) is not None:
                    events = reader.end(timeout, by_limit=True)
                else:
                    events = reader.end()
            if events:
                if limits is not None:
                    limits.reading = False
                return events
            in_time = limits is None or limits.expired() is None
        try:
            reader.raise_error()
        except BaseException:
            self.close()
            raise
        self._drain()
        return ()

    def _drain(self) -> None:
        """Read what is left after the end mark, for a moment, so that the connection can be used again."""
        if self._closed:
            return
        stream = self._reader.stream
        watchdog = shared_watchdog()
        alarm = watchdog.schedule(watchdog.clock() + _DRAIN_SECONDS, stream.abort)
        left = _DRAIN_BYTES
        try:
            while left > 0 and (chunk := next(self._chunks, None)) is not None:
                left -= len(chunk)
        except PolywireError:
            pass  # the answer is complete: how the connection ends is of no concern
        finally:
            alarm.cancel()
            self.close()

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what has arrived and was not handed over yet."""
        return self._reader.held_back()

    def abort(self) -> None:
        """Cut the connection, from any thread; a waiting read ends, with an error unless the answer was complete."""
        self._reader.abort()

    def close(self) -> None:
        """Give the connection back."""
        if not self._closed:
            self._closed = True
            if self._watch is not None:
                self._watch.cancel()
            self._reader.stream.close()


class AsyncHttpSource:
    """A streamed call, read from an event loop."""

    __slots__ = ("_chunks", "_closed", "_reader")

    def __init__(self, connection: Connection, opened: Opened, limits: CallLimits | None) -> None:
        self._reader = _Reader(connection, opened, limits)
        chunks = opened.stream.achunks
        assert chunks is not None
        self._chunks = chunks
        self._closed = False

    async def aread(self) -> Sequence[StreamEvent]:
        """Return the next events; an empty sequence is the end."""
        import asyncio

        reader = self._reader
        limits, take, chunks = reader.limits, reader.take, self._chunks
        if limits is not None:
            limits.resume()
        while not reader.ended:
            try:
                if limits is None:
                    chunk = await anext(chunks)
                elif (timeout := limits.expired()) is not None:
                    raise timeout
                else:
                    # The limit covers this read alone: no time-out stays open while the consumer has the events.
                    async with asyncio.timeout(limits.remaining()):
                        chunk = await anext(chunks)
            except StopAsyncIteration:
                events = reader.end()
            except Exception as error:
                events = reader.fail(error)
            else:
                events = take(chunk)
            if events:
                return events
        try:
            reader.raise_error()
        except BaseException:
            await self.aclose()
            raise
        await self._drain()
        return ()

    async def _drain(self) -> None:
        """Read what is left after the end mark, for a moment, so that the connection can be used again."""
        import asyncio

        if self._closed:
            return
        left = _DRAIN_BYTES
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for chunk in self._chunks:
                    left -= len(chunk)
                    if left <= 0:
                        break
        except (PolywireError, TimeoutError):
            pass  # the answer is complete: how the connection ends is of no concern
        finally:
            await self.aclose()

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what has arrived and was not handed over yet."""
        return self._reader.held_back()

    def abort(self) -> None:
        """Cut the connection, from any thread; a waiting read ends, with an error unless the answer was complete."""
        self._reader.abort()

    async def aclose(self) -> None:
        """Give the connection back."""
        if not self._closed:
            self._closed = True
            await self._reader.stream.aclose()
