"""
The innermost effect: ask the model once.

A plain call is over with its response. A stream is *opened*: read until its first content, which is held back with all
that came before it, so that a retry up to here is invisible. What policies must give back at the end of the stream
rides on it from here on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from polywire.events import CONTENT_EVENTS, StreamEvent, events_of
from polywire.immutable import EMPTY
from polywire.models import ChatModel, StreamingChatModel
from polywire.policy.plans import Plan, Result
from polywire.policy.watches import AsyncWatch, Watch
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.streams import AsyncEventSource, EventSource, as_async_source, as_source

if TYPE_CHECKING:
    from polywire.policy.calls import Call

__all__ = ["Open", "Opened", "Rider", "StreamEnd", "aclose_surely", "open_model"]


class StreamEnd(NamedTuple):
    """
    How a stream ended.

    Attributes:
        finish_reason: why the answer ended; `None` where its last event was not read.
        usage: what it reported of its cost; empty where it did not.
        error: what broke it; `None` too where the consumer left early.
        metadata: what it said of itself, as in `ChatResponse.metadata`.
    """

    finish_reason: FinishReason | None
    usage: TokenUsage
    error: BaseException | None = None
    metadata: Mapping[str, Any] = EMPTY

    @property
    def complete(self) -> bool:
        """Whether the whole answer was read."""
        return self.finish_reason is not None


Rider = Callable[[StreamEnd], None]
"""Called once, when the stream ends in whichever way. Must not block: it may run in a finaliser."""


class Opened:
    """
    A stream that has begun and has handed out nothing yet.

    Attributes:
        source: where the rest comes from.
        held: the events read so far, the first content last.
        watch: breaks reads off that take too long; `None` where nothing limits them.
        call: the call that opened it: after a fallback, that of the model that answers.
    """

    __slots__ = ("call", "held", "riders", "source", "watch")

    def __init__(self, call: Call, source: Any, held: Sequence[StreamEvent], watch: Any) -> None:
        self.call = call
        self.source = source
        self.held = held
        self.watch = watch
        self.riders: list[Rider] = []


class Open:
    """Ask the model of `call` once."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    def run(self) -> ChatResponse | Opened:
        call = self.call
        request = call.timed_request()
        call.record.attempts += 1
        if call.streaming:
            return _open_stream(call, request)
        return call.ask(request)

    async def arun(self) -> ChatResponse | Opened:
        import asyncio

        call = self.call
        left = call.remaining()
        call.record.attempts += 1
        if call.streaming:
            return await _aopen_stream(call)
        if left is None:
            return await call.aask()
        scope = asyncio.timeout(left)
        try:
            async with scope:
                return await call.aask()
        except TimeoutError:
            if scope.expired():
                msg = "the call ran into its deadline"
                raise call.timed_out(msg) from None
            raise


def open_model(call: Call) -> Plan:
    """Ask the model once; the innermost plan."""
    if call.observers:
        from polywire.policy.observers import observed_open

        return (yield from observed_open(call))
    result: Result = yield Open(call)
    return result


class _WholeAnswer:
    """The answer of a model that cannot stream, told as a stream."""

    def __init__(self, model: ChatModel, request: ChatRequest) -> None:
        self._model = model
        self._request: ChatRequest | None = request

    def read(self) -> Sequence[StreamEvent]:
        request, self._request = self._request, None
        return () if request is None else events_of(self._model.do_chat(request))

    async def aread(self) -> Sequence[StreamEvent]:
        request, self._request = self._request, None
        return () if request is None else events_of(await self._model.do_achat(request))

    def close(self) -> None:
        self._request = None

    async def aclose(self) -> None:
        self._request = None


async def aclose_surely(source: AsyncEventSource) -> None:
    """Close, also when the task is cancelled in the middle of it."""
    import asyncio

    try:
        await source.aclose()
    except asyncio.CancelledError:
        await source.aclose()  # idempotent: it goes on where it was interrupted
        raise


def _has_content(batch: Sequence[StreamEvent]) -> bool:
    return not CONTENT_EVENTS.isdisjoint(map(type, batch))


def _open_stream(call: Call, request: ChatRequest) -> Opened:
    model = call.model
    watch: Watch | None = None
    source: EventSource = (
        as_source(model.do_stream(request)) if isinstance(model, StreamingChatModel) else _WholeAnswer(model, request)
    )
    try:
        if request is not call.request and not getattr(source, "keeps_limits", False):
            watch = Watch(call, getattr(source, "abort", None))
        held = source.read() if watch is None else watch.read(source.read)
        if held and not _has_content(held):
            held = list(held)
            while batch := source.read() if watch is None else watch.read(source.read):
                held.extend(batch)
                if _has_content(batch):
                    break
        if watch is not None:
            watch.content_has_come()
    except BaseException:
        if watch is not None:
            watch.close()
        source.close()
        raise
    return Opened(call, source, held, watch)


async def _aopen_stream(call: Call) -> Opened:
    model, request = call.model, call.request
    watch: AsyncWatch | None = None
    if call.deadline is not None or call.first_event is not None or call.between_events is not None:
        # One timer for the whole stream; the model below need not set its own at every read.
        watch = AsyncWatch(call)
        request = call.unlimited_request()
    source: AsyncEventSource | None = None
    try:
        if isinstance(model, StreamingChatModel):
            events = model.do_astream(request)
            if isinstance(events, Awaitable):
                events = await (events if watch is None else watch.read(events))
            source = as_async_source(events)
        else:
            source = _WholeAnswer(model, request)
        held = await (source.aread() if watch is None else watch.read(source.aread()))
        if held and not _has_content(held):
            held = list(held)
            while batch := await (source.aread() if watch is None else watch.read(source.aread())):
                held.extend(batch)
                if _has_content(batch):
                    break
        if watch is not None:
            watch.content_has_come()
    except BaseException as error:
        if watch is not None:
            watch.close()
        if source is not None and not isinstance(error, GeneratorExit):
            await aclose_surely(source)
        raise
    return Opened(call, source, held, watch)
