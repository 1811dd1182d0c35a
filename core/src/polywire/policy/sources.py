"""
Streams behind policies: opened through a plan on the first read, handed through after that.

After the first content nothing is retried. What is left rides along: permits and the like are given back at the end,
whichever it is, and the time limits are kept. That work is done per batch, not per layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polywire.events import (
    NoticeAdded,
    ResponseCollector,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    UsageUpdate,
    latest_usage,
)
from polywire.immutable import EMPTY
from polywire.policy.opening import Opened, StreamEnd, aclose_surely
from polywire.policy.plans import Plan, arun, run
from polywire.policy.watches import AsyncWatch, Watch
from polywire.responses import FinishReason, TokenUsage

if TYPE_CHECKING:
    from polywire.policy.calls import Call, CallRecord

__all__ = ["AsyncPolicySource", "PolicySource"]

_NO_USAGE = TokenUsage()
_TOLD = frozenset({UsageUpdate, ResponseStart, ResponseEnd})


class _PolicySource:
    """What both kinds share. `plan` is started by the first read: unread, a stream holds nothing."""

    __slots__ = (
        "_call",
        "_closed",
        "_error",
        "_finish_reason",
        "_make_plan",
        "_metadata",
        "_opened",
        "_usage",
        "_watch",
        "collector",
    )

    def __init__(self, make_plan: Callable[[], tuple[Call, Plan]]) -> None:
        self._make_plan: Callable[[], tuple[Call, Plan]] | None = make_plan
        self._opened: Opened | None = None
        self._watch: Any = None
        # Of the stream that reads this source, if one does. It has seen all that was handed over, so that nothing need be
        # noted here [a look at the type of every event: 5 % of an event in bulk].
        self.collector: ResponseCollector | None = None
        self._usage = _NO_USAGE
        self._finish_reason: FinishReason | None = None
        self._metadata: Mapping[str, Any] = EMPTY
        self._error: BaseException | None = None
        self._closed = False

    def _begin(self, opened: Opened, call: Call) -> Sequence[StreamEvent]:
        """Take the opened stream over and return its first batch."""
        self._opened = opened
        self._watch = opened.watch
        batch = opened.held
        opened.held = ()
        record = call.record
        if batch and (record.notices or record.metadata):
            batch = _annotated(batch, record)
        if opened.riders and self.collector is None:
            self._note(batch)
        return batch

    def _note(self, batch: Sequence[StreamEvent]) -> None:
        # Nearly all are deltas, of which nothing is noted.
        if _TOLD.isdisjoint(map(type, batch)):
            return
        for event in [event for event in batch if type(event) in _TOLD]:
            match event:
                case UsageUpdate():
                    self._usage = latest_usage(self._usage, event.usage)
                case ResponseStart():
                    self._metadata = {**self._metadata, **event.metadata}
                case ResponseEnd():
                    self._finish_reason = event.finish_reason
                    self._metadata = {**self._metadata, **event.metadata}
                case _:
                    pass

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what has arrived and was not handed over yet; it counts as seen."""
        held_back = None if self._opened is None else getattr(self._opened.source, "held_back", None)
        events: Sequence[StreamEvent] = () if held_back is None else held_back()
        if self.collector is None:
            self._note(events)
        return events

    def _finish(self) -> None:
        """Give back what rides on the stream, once; after the connection, so that it is free when a waiter gets a turn."""
        if self._watch is not None:
            self._watch.close()
        opened = self._opened
        if opened is not None and opened.riders:
            riders, opened.riders = opened.riders, []
            seen = self.collector
            if seen is None:
                end = StreamEnd(self._finish_reason, self._usage, self._error, self._metadata)
            else:
                end = StreamEnd(seen.finish_reason, seen.usage, self._error, {**seen.metadata})
            for rider in riders:
                rider(end)

    def __del__(self) -> None:
        # A stream that is dropped unclosed; every rider is safe in a finaliser.
        if not self._closed:
            self._finish()


def _annotated(batch: Sequence[StreamEvent], record: CallRecord) -> list[StreamEvent]:
    """Put what policies have to say into the first batch: metadata into the start event of the model that answered."""
    events = list(batch)
    start = next((event for event in events if type(event) is ResponseStart), None)
    at = 0 if start is None else events.index(start)
    if record.metadata:
        own = ResponseStart() if start is None else start
        events[at : at + (start is not None)] = [ResponseStart({**own.metadata, **record.metadata}, own.origin)]
    at += start is not None or bool(record.metadata)
    events[at:at] = [NoticeAdded(notice) for notice in record.notices]
    return events


class PolicySource(_PolicySource):
    """A sync stream behind policies."""

    __slots__ = ()

    def read(self) -> Sequence[StreamEvent]:
        opened = self._opened
        if opened is None:
            if self._make_plan is None:
                return ()
            call, plan = self._make_plan()
            self._make_plan = None
            result = run(plan)
            assert isinstance(result, Opened)
            return self._begin(result, call)
        watch: Watch | None = self._watch
        try:
            if watch is None:
                batch = opened.source.read()
            else:
                batch = watch.read(opened.source.read)
                watch.saw(batch)
        except BaseException as error:
            self._error = error
            raise
        if self.collector is None and opened.riders and batch and (len(batch) > 1 or type(batch[0]) in _TOLD):
            self._note(batch)
        return batch  # type: ignore[no-any-return]

    def abort(self) -> None:
        """Cut the connection; a read that waits in another thread fails at once. Thread-safe."""
        opened = self._opened
        abort = None if opened is None else getattr(opened.source, "abort", None)
        if abort is not None:
            abort()

    def close(self) -> None:
        self._make_plan = None
        if not self._closed:
            self._closed = True
            try:
                if self._opened is not None:
                    self._opened.source.close()
            finally:
                self._finish()


class AsyncPolicySource(_PolicySource):
    """An async stream behind policies."""

    __slots__ = ()

    async def aread(self) -> Sequence[StreamEvent]:
        opened = self._opened
        if opened is None:
            if self._make_plan is None:
                return ()
            call, plan = self._make_plan()
            self._make_plan = None
            result = await arun(plan)
            assert isinstance(result, Opened)
            return self._begin(result, call)
        watch: AsyncWatch | None = self._watch
        try:
            if watch is None:
                batch = await opened.source.aread()
            else:
                batch = await watch.read(opened.source.aread())
                watch.saw(batch)
        except BaseException as error:
            self._error = error
            raise
        if self.collector is None and opened.riders and batch and (len(batch) > 1 or type(batch[0]) in _TOLD):
            self._note(batch)
        return batch  # type: ignore[no-any-return]

    async def aclose(self) -> None:
        self._make_plan = None
        if not self._closed:
            self._closed = True
            try:
                if self._opened is not None:
                    await aclose_surely(self._opened.source)
            finally:
                self._finish()
