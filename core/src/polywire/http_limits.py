"""The limits that `CallOptions` sets for one call, against the clock."""

from __future__ import annotations

from collections.abc import Callable

from polywire.errors import ModelTimeout
from polywire.requests import CallOptions
from polywire.watchdog import Alarm, Watchdog

__all__ = ["CallLimits", "Watch"]


class CallLimits:
    """
    How long one call may still take: in all, to its first content, and from one piece of content to the next.

    Not shared: one for each call, made when it begins.

    Attributes:
        reading: whether the consumer waits for something. While it has what it asked for, nothing is cut off.
        fired: whether the watchdog has cut the call off.
        watchdog: whose clock counts.
    """

    __slots__ = (
        "_between",
        "_content",
        "_deadline",
        "_deadline_at",
        "_first_event",
        "_next_at",
        "fired",
        "reading",
        "watchdog",
    )

    def __init__(self, options: CallOptions, watchdog: Watchdog, *, stream: bool) -> None:
        now = watchdog.clock()
        self.watchdog = watchdog
        self.fired = False
        self.reading = True
        self._content = False
        self._deadline = deadline = options.deadline
        self._deadline_at = None if deadline is None else now + deadline
        self._next_at: float | None = None
        if stream:
            self._first_event = first_event = options.first_event
            self._between = options.between_events
            if first_event is not None:
                self._next_at = now + first_event
        else:
            self._first_event = self._between = None

    @classmethod
    def of(cls, options: CallOptions, watchdog: Watchdog, *, stream: bool) -> CallLimits | None:
        """Return the limits of a call, or `None` where it has none."""
        if options.deadline is None and (
            not stream or (options.first_event is None and options.between_events is None)
        ):
            return None
        return cls(options, watchdog, stream=stream)

    @property
    def content_has_come(self) -> bool:
        """Whether the first content is there."""
        return self._content

    def content_came(self) -> None:
        """The first content has arrived: further content has its own time, which `resume` begins."""
        self._content = True
        self._next_at = None if self._between is None else self.watchdog.clock() + self._between

    def resume(self) -> None:
        """The consumer asks for more. The time that it took itself counts for the deadline alone."""
        self.reading = True
        if self._content and self._between is not None:
            self._next_at = self.watchdog.clock() + self._between

    @property
    def at(self) -> float | None:
        """The moment of the limit that comes next."""
        deadline_at, next_at = self._deadline_at, self._next_at
        return deadline_at if next_at is None or (deadline_at is not None and deadline_at < next_at) else next_at

    def remaining(self) -> float | None:
        """Seconds to the limit that comes next; 0 where it has run out."""
        at = self.at
        if at is None:
            return None
        left = at - self.watchdog.clock()
        return left if left > 0 else 0.0

    def expired(self) -> ModelTimeout | None:
        """Return the error for the limit that has run out, or `None`."""
        at = self.at
        return self.timeout() if at is not None and self.watchdog.clock() >= at else None

    def timeout(self) -> ModelTimeout:
        """Return the error for the limit that comes next."""
        if self._next_at is None or (self._deadline_at is not None and self._deadline_at <= self._next_at):
            return ModelTimeout(f"the call took longer than its deadline of {self._deadline:g} s")
        if self._content:
            return ModelTimeout(f"nothing more came for {self._between:g} s (between_events)")
        return ModelTimeout(f"no content came within {self._first_event:g} s (first_event)")

    def watch(self, abort: Callable[[], object]) -> Watch:
        """Call `abort` when a limit runs out, until the watch is cancelled."""
        return Watch(self, abort)


class Watch:
    """Looks after the limits of one sync call; its alarm moves along as content comes, at no cost to the reader."""

    __slots__ = ("_abort", "_alarm", "_limits")

    def __init__(self, limits: CallLimits, abort: Callable[[], object]) -> None:
        self._limits = limits
        self._abort = abort
        self._alarm: Alarm | None = None
        self.arm()

    def begin(self) -> bool:
        """
        The consumer asks for more, as `CallLimits.resume`, and the alarm is set. Return whether there is still time.

        Once for every read of a stream, so it looks at the clock once and at the alarm only where it rings too late.
        """
        limits, alarm = self._limits, self._alarm
        limits.reading = True
        now, deadline_at = limits.watchdog.clock(), limits._deadline_at
        if limits._content and limits._between is not None:
            limits._next_at = now + limits._between
        at = limits._next_at
        if at is None or (deadline_at is not None and deadline_at < at):
            at = deadline_at
        if at is None:
            return True
        if alarm is None or alarm.callback is None or alarm.at > at:
            self.arm()
        return now < at

    def arm(self) -> None:
        """Look when the next limit runs out; an alarm that rings earlier serves as well."""
        at, alarm = self._limits.at, self._alarm
        if at is None or (alarm is not None and not alarm.cancelled and alarm.at <= at):
            return
        if alarm is not None:
            alarm.cancel()
        self._alarm = self._limits.watchdog.schedule(at, self._look)

    def _look(self) -> None:
        if not self._limits.reading:
            return  # the next read arms it again
        if self._limits.expired() is None:
            self.arm()  # content came meanwhile: there is more time
            return
        self._limits.fired = True
        self._abort()

    def cancel(self) -> None:
        """Look no more."""
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.cancel()
