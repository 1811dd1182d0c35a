"""
Streams as objects: read them, break out of them, hand them to a handler.

A stream opens on its first read; unread, it holds nothing. It ends in exactly one of two ways: a complete `response`,
or one error. Leaving a loop early, an exception in the consumer, cancellation and garbage collection all give the
connection back; `with` does so at a place you can see.

Sources hand events over in batches (all that one read of the network brought), so that a consumer pays for the event
and not for the layers below it. A source with an attribute `collector` is lent the stream's `ResponseCollector`, which has
seen every event that was handed over: it need not look at each of them once more. A source with a method `held_back` is
asked by it, where a stream is broken off, for what has arrived and was not handed over yet; it belongs to the partial answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast, runtime_checkable

from polywire.errors import ModelError, PolywireError, StreamConsumed
from polywire.events import ResponseCollector, StreamEvent, TextDelta, ToolCallStart
from polywire.handlers import StreamingChatResponseHandler, settle, tell
from polywire.responses import ChatResponse, Notice

__all__ = [
    "AsyncChatStream",
    "AsyncEventSource",
    "ChatStream",
    "EventSource",
    "StreamingChatResponseHandler",
    "as_async_source",
    "as_source",
]


@runtime_checkable
class EventSource(Protocol):
    """What stands behind a sync stream."""

    def read(self) -> Sequence[StreamEvent]:
        """Return the next events, at least one; an empty sequence is the end. An error is raised, once."""

    def close(self) -> None:
        """Give everything back. Idempotent, and safe before the first read."""


@runtime_checkable
class AsyncEventSource(Protocol):
    """What stands behind an async stream."""

    async def aread(self) -> Sequence[StreamEvent]:
        """Return the next events, at least one; an empty sequence is the end. An error is raised, once."""

    async def aclose(self) -> None:
        """Give everything back. Idempotent, and safe before the first read."""


class _IteratorSource:
    """An author's plain iterator or generator as a source."""

    def __init__(self, events: Iterable[StreamEvent]) -> None:
        self._events = iter(events)

    def read(self) -> Sequence[StreamEvent]:
        for event in self._events:
            return (event,)
        return ()

    def close(self) -> None:
        close = getattr(self._events, "close", None)
        if close is not None:
            close()


class _AsyncIteratorSource:
    def __init__(self, events: AsyncIterator[StreamEvent]) -> None:
        self._events = events

    async def aread(self) -> Sequence[StreamEvent]:
        async for event in self._events:
            return (event,)
        return ()

    async def aclose(self) -> None:
        aclose = getattr(self._events, "aclose", None)
        if aclose is not None:
            await aclose()


def as_source(events: EventSource | Iterable[StreamEvent]) -> EventSource:
    """Make a source of what `do_stream` returned: a source already, or any iterable of events."""
    return events if isinstance(events, EventSource) else _IteratorSource(events)


def as_async_source(events: AsyncEventSource | AsyncIterator[StreamEvent]) -> AsyncEventSource:
    """Make a source of what `do_astream` returned: a source already, or any async iterator of events."""
    return events if isinstance(events, AsyncEventSource) else _AsyncIteratorSource(events)


SourceT = TypeVar("SourceT")
_CLOSED = "this stream was closed before its end and has no response; what came before is in .partial"


class _State(Generic[SourceT]):
    """
    What a stream and the generator that runs it share.

    The generator holds this and never the stream itself: no cycle, so dropping the stream closes it at once.
    """

    __slots__ = ("closed", "collector", "ended", "error", "open", "response")

    def __init__(self, open: Callable[[], SourceT], notices: Iterable[Notice]) -> None:
        self.open = open
        self.collector = ResponseCollector(notices)
        self.response: ChatResponse | None = None
        self.error: BaseException | None = None
        self.ended = False
        self.closed = False

    def keep(self, source: object) -> None:
        """The stream is broken off: take in what `source` has not handed over yet."""
        held_back = getattr(source, "held_back", None)
        if held_back is not None:
            self.collector.add_all(held_back())

    def complete(self) -> None:
        self.ended = True
        self.response = self.collector.response()

    def fail(self, error: BaseException) -> None:
        self.ended = True
        self.error = error
        if isinstance(error, ModelError) and error.partial is None:
            error.partial = self.collector.partial()

    def check_readable(self) -> None:
        if self.ended or self.closed:
            if self.error is not None:
                msg = "this stream has ended in an error, which .response raises again; what came before is in .partial"
            elif self.ended:
                msg = "this stream has been read to its end; its result is in .response"
            else:
                msg = _CLOSED
            msg += ", and a new call makes a new stream"
            raise StreamConsumed(msg)

    def result(self) -> ChatResponse:
        if self.response is not None:
            return self.response
        if isinstance(self.error, Exception):
            raise self.error
        if self.closed:
            raise StreamConsumed(_CLOSED)
        msg = "the stream has no response yet: read it to its end first (or call .collect())"
        raise PolywireError(msg)


def _run(state: _State[EventSource]) -> Iterator[StreamEvent]:
    source: EventSource | None = None
    try:
        source = state.open()
        if hasattr(source, "collector"):
            source.collector = state.collector
        read, add_all = source.read, state.collector.add_all
        while batch := read():
            add_all(batch)
            yield from batch
        state.complete()
    except GeneratorExit:
        state.closed = True
        state.keep(source)
        raise
    except BaseException as error:
        state.keep(source)
        state.fail(error)
        raise
    finally:
        if source is not None:
            source.close()


async def _arun(state: _State[Awaitable[AsyncEventSource]]) -> AsyncIterator[StreamEvent]:
    source: AsyncEventSource | None = None
    try:
        source = await state.open()
        if hasattr(source, "collector"):
            source.collector = state.collector
        read, add_all = source.aread, state.collector.add_all
        while batch := await read():
            add_all(batch)
            for event in batch:
                yield event
        state.complete()
    except GeneratorExit:
        state.closed = True
        state.keep(source)
        raise
    except BaseException as error:
        state.keep(source)
        state.fail(error)
        raise
    finally:
        if source is not None:
            await source.aclose()


class ChatStream:
    """
    One answer as it arrives: an iterator of events and a context manager.

    Made by `StreamingChatModel.stream`. `notices` are those known before the stream opens.
    """

    __slots__ = ("__weakref__", "_events", "_state")

    def __init__(self, open: Callable[[], EventSource], *, notices: Iterable[Notice] = ()) -> None:
        self._state: _State[EventSource] = _State(open, notices)
        self._events = _run(self._state)

    def __iter__(self) -> Iterator[StreamEvent]:
        self._state.check_readable()
        return self._events

    def __next__(self) -> StreamEvent:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def text_stream(self) -> Iterator[str]:
        """Iterate over the visible text alone."""
        for event in self:
            if type(event) is TextDelta:
                yield event.text

    def collect(self) -> ChatResponse:
        """Read what is left and return the complete response."""
        if not self._state.ended and not self._state.closed:
            for _ in self._events:
                pass
        return self._state.result()

    @property
    def response(self) -> ChatResponse:
        """
        The complete response, once the stream has ended.

        Raises:
            PolywireError: it has not been read to its end; or the error that ended it.
        """
        return self._state.result()

    @property
    def partial(self) -> ChatResponse:
        """What has arrived so far; the complete response once the stream has ended."""
        return self._state.response or self._state.collector.partial()

    def send_to(self, handler: StreamingChatResponseHandler) -> None:
        """
        Read the stream to its end, telling `handler`. An error of the stream goes to `on_error` and is not raised.

        Raises:
            Exception: whatever the handler itself raises.
        """
        events = iter(self)
        calls: dict[int, ToolCallStart] = {}
        with self:
            while True:
                try:
                    event = next(events)
                except StopIteration:
                    handler.on_complete_response(self._state.result())
                    return
                except Exception as error:
                    handler.on_error(error)
                    return
                tell(handler, event, calls)

    def close(self) -> None:
        """Break the stream off, if it is still open, and give its connection back. Idempotent."""
        if not self._state.ended:
            self._state.closed = True
        cast("Any", self._events).close()


class AsyncChatStream:
    """
    One answer as it arrives: an async iterator of events and an async context manager.

    Made by `StreamingChatModel.astream`, which needs no `await`: the stream opens on its first read.
    """

    __slots__ = ("__weakref__", "_events", "_state")

    def __init__(
        self,
        open: Callable[[], Awaitable[AsyncEventSource]],
        *,
        notices: Iterable[Notice] = (),
    ) -> None:
        self._state: _State[Awaitable[AsyncEventSource]] = _State(open, notices)
        self._events = _arun(self._state)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        self._state.check_readable()
        return self._events

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def text_stream(self) -> AsyncIterator[str]:
        """Iterate over the visible text alone."""
        async for event in self:
            if type(event) is TextDelta:
                yield event.text

    async def collect(self) -> ChatResponse:
        """Read what is left and return the complete response."""
        if not self._state.ended and not self._state.closed:
            async for _ in self._events:
                pass
        return self._state.result()

    @property
    def response(self) -> ChatResponse:
        """
        The complete response, once the stream has ended.

        Raises:
            PolywireError: it has not been read to its end; or the error that ended it.
        """
        return self._state.result()

    @property
    def partial(self) -> ChatResponse:
        """What has arrived so far; the complete response once the stream has ended."""
        return self._state.response or self._state.collector.partial()

    async def send_to(self, handler: StreamingChatResponseHandler) -> None:
        """
        Read the stream to its end, telling `handler`. An error of the stream goes to `on_error` and is not raised.

        Raises:
            Exception: whatever the handler itself raises.
        """
        events = aiter(self)
        calls: dict[int, ToolCallStart] = {}
        async with self:
            while True:
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    await settle(handler.on_complete_response(self._state.result()))
                    return
                except Exception as error:
                    await settle(handler.on_error(error))
                    return
                await settle(tell(handler, event, calls))

    async def aclose(self) -> None:
        """Break the stream off, if it is still open, and give its connection back. Idempotent."""
        if not self._state.ended:
            self._state.closed = True
        await cast("Any", self._events).aclose()
