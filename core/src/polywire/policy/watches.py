"""
What keeps the time limits of a stream: the first content, further content, and the whole call.

Only reads are limited: a consumer that takes its time loses nothing, and no timeout scope stays open while events are
being handed out (it would cancel the consumer's own awaits). One timer per stream is armed lazily and looks, when it
rings, whether a read has really waited too long; so a read costs two looks at a clock and no timer of its own.

A sync read cannot be timed from inside, because keep-alive bytes hold off a read timeout for ever: the watchdog's thread
calls the source's `abort()`. A sync source that keeps the limits itself, which it is given as `CallOptions`, says so with
`keeps_limits = True`, and is not watched. An async read is cancelled by its loop, as `asyncio.timeout` does it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from polywire.errors import ModelTimeout
from polywire.events import CONTENT_EVENTS, StreamEvent

if TYPE_CHECKING:
    import asyncio

    from polywire.policy.calls import Call
    from polywire.policy.runtime import Handle

__all__ = ["AsyncWatch", "Watch"]

ResultT = TypeVar("ResultT")
_NEVER = float("inf")
_CLOCK_RESOLUTION = 0.001
"""A loop may ring a timer so much early."""


class _Limits:
    """Which moment the current read must not outlast."""

    __slots__ = ("_armed", "_call", "_deadline", "_expires", "_fired", "_fresh", "_handle", "_left", "_now", "_opening", "_patience", "_reading")  # fmt: skip

    def __init__(self, call: Call) -> None:
        self._call = call
        self._now = call.runtime.now
        self._deadline = _NEVER if call.deadline is None else call.deadline
        self._patience = call.first_event
        self._opening = True
        self._fresh = True
        self._reading = False
        self._fired = False
        self._expires = _NEVER
        self._left: float | None = None
        self._armed = _NEVER
        self._handle: Handle | None = None

    def content_has_come(self) -> None:
        """From here on `between_events` counts."""
        self._opening = False
        self._fresh = True
        self._patience = self._call.between_events

    def saw(self, batch: Sequence[StreamEvent]) -> None:
        """Let the patience begin anew, where `batch` holds content."""
        # Most batches are one delta, or begin with one.
        if batch and (type(batch[0]) in CONTENT_EVENTS or not CONTENT_EVENTS.isdisjoint(map(type, batch))):
            self._fresh = True
            return
        # What the reader does before it asks for more does not count.
        self._left = self._expires - self._now()

    def begin(self) -> None:
        """
        A read begins.

        Raises:
            ModelTimeout: its time is up already.
        """
        now = self._now()
        if self._fresh:
            self._fresh = False
            self._expires = self._deadline
            if self._patience is not None and now + self._patience < self._deadline:
                self._expires = now + self._patience
        elif self._left is not None:
            self._expires, self._left = min(self._deadline, now + self._left), None
        if self._fired or self._expires <= now:
            raise self.error()
        self._reading = True
        if self._expires < self._armed:
            self._arm(now)

    def end(self) -> None:
        """The read is over."""
        self._reading = False

    def error(self) -> ModelTimeout:
        """Make the error that says which limit ran out."""
        if self._expires >= self._deadline:
            message = "the call ran into its deadline"
        elif self._opening:
            message = f"no content came within {self._patience:g} s (first_event)"
        else:
            message = f"no further content came within {self._patience:g} s (between_events)"
        return self._call.timed_out(message)

    def close(self) -> None:
        """Stop watching. Idempotent."""
        self._reading = False
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, _now: float) -> None:
        raise NotImplementedError

    def _ring(self) -> None:
        """The timer rings. First the mark, then the look: a read that begins meanwhile sees one or is seen."""
        self._armed = _NEVER
        if not self._reading or self._fired:
            return
        now = self._now()
        if now + _CLOCK_RESOLUTION >= self._expires:
            self._fired = True
            self._break_off()
        else:
            self._arm(now)

    def _break_off(self) -> None:
        raise NotImplementedError


class Watch(_Limits):
    """Watches a sync stream. Where the source has no `abort`, a late read is found out only when it returns."""

    __slots__ = ("_abort",)

    def __init__(self, call: Call, abort: Callable[[], object] | None) -> None:
        super().__init__(call)
        self._abort = abort

    def read(self, read: Callable[[], ResultT]) -> ResultT:
        """Read once, within the limits."""
        self.begin()
        try:
            result = read()
        except Exception as error:
            if self._fired:
                raise self.error() from error
            raise
        finally:
            self._reading = False
        if self._fired or (self._abort is None and self._now() >= self._expires):
            raise self.error()
        return result

    def _arm(self, _now: float) -> None:
        if self._abort is not None:
            self._armed = self._expires
            if self._handle is not None:
                self._handle.cancel()
            self._handle = self._call.runtime.schedule(self._expires, self._ring)

    def _break_off(self) -> None:
        if self._abort is not None:
            self._abort()


class AsyncWatch(_Limits):
    """Watches an async stream."""

    __slots__ = ("_cancelling", "_task")

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0

    async def read(self, awaitable: Awaitable[ResultT]) -> ResultT:
        """Await once, within the limits."""
        import asyncio

        try:
            self.begin()
        except BaseException:
            close = getattr(awaitable, "close", None)
            if close is not None:
                close()
            raise
        self._task = task = asyncio.current_task()
        self._cancelling = 0 if task is None else task.cancelling()
        try:
            result = await awaitable
        except asyncio.CancelledError:
            if self._fired and task is not None and task.uncancel() <= self._cancelling:
                raise self.error() from None
            raise
        except Exception as error:
            if self._fired:
                if task is not None:
                    task.uncancel()
                raise self.error() from error
            raise
        finally:
            self._reading = False
            self._task = None
        if self._fired:
            # What was read came in time after all, or the source swallowed the cancellation: it must not stay on the
            # task, and the next read has limits of its own.
            self._fired = False
            if task is not None:
                task.uncancel()
        return result

    def _arm(self, _now: float) -> None:
        import asyncio

        self._armed = self._expires
        if self._handle is not None:
            self._handle.cancel()
        self._handle = asyncio.get_running_loop().call_later(self._expires - _now, self._ring)

    def _break_off(self) -> None:
        if self._task is not None:
            self._task.cancel()
