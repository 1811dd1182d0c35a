"""
One clock-watcher for the whole process: calls back when a moment has come.

A sync read of the network cannot be timed from inside: bytes that keep the connection alive put off every read timeout.
So sync deadlines are one daemon thread's work, which cuts the connection from outside.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from itertools import count

import msgspec

__all__ = ["Alarm", "Watchdog", "shared_watchdog"]

_LOOK_EVERY = 1.0
"""Seconds after which the thread looks again, while there are alarms and once after the last."""
_FEW = 100
"""So many cancelled alarms may lie about; beyond that they are cleared away once they are more than half, as asyncio does it."""


class Alarm(msgspec.Struct, eq=False):
    """
    One scheduled callback.

    Attributes:
        at: when, by the watchdog's clock.
        callback: what is called then; `None` once it was cancelled, or has run.
        cancelled_alarms: counts those that were cancelled.
    """

    at: float
    callback: Callable[[], object] | None
    cancelled_alarms: deque[None]

    def cancel(self) -> None:
        """Forget the callback. Idempotent; a callback that runs at this moment runs to its end. Safe in a finaliser."""
        if self.callback is not None:
            self.callback = None
            self.cancelled_alarms.append(None)  # counts, without a lock

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled, or has run."""
        return self.callback is None


class Watchdog:
    """
    Runs callbacks at given times, in one daemon thread that is started when first needed.

    Callbacks must be quick and must not raise; what they raise is dropped. Safe for threads and after a fork.

    Args:
        clock: the time in seconds, monotonic.
        start_thread: with `False` nothing runs by itself, and `run_due` is called by whoever owns the clock: for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, start_thread: bool = True) -> None:
        self.clock = clock
        self._start_thread = start_thread
        self._order = count()
        self._begin()
        _watchdogs.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._cancelled: deque[None] = deque()
        self._thread: threading.Thread | None = None
        self._sleeping_until = float("inf")

    def schedule(self, at: float, callback: Callable[[], object]) -> Alarm:
        """Call `callback` once the clock shows `at`. Returns a handle to cancel it."""
        alarm = Alarm(at, callback, self._cancelled)
        with self._lock:
            if len(self._cancelled) > _FEW and len(self._cancelled) * 2 > len(self._alarms):
                self._clear_away()
            heapq.heappush(self._alarms, (at, next(self._order), alarm))
            if self._thread is None:
                if self._start_thread:
                    self._thread = threading.Thread(target=self._run, name="polywire-watchdog", daemon=True)
                    self._thread.start()
            elif at < self._sleeping_until:
                self._sleeping_until = float("-inf")  # waking: it will look by itself
                self._changed.notify()
        return alarm

    def _clear_away(self) -> None:
        """
        Drop the alarms that were cancelled.

        A limit of ten minutes is cancelled after a second, and would lie here for the rest of its time, with all that
        its callback holds on to gone and the alarm itself not.
        """
        self._cancelled.clear()
        self._alarms = [entry for entry in self._alarms if entry[2].callback is not None]
        heapq.heapify(self._alarms)

    def run_due(self) -> float | None:
        """Run what is due, and return when the next is, or `None`."""
        due: list[Callable[[], object]] = []
        with self._changed:
            next_at = self._take_due(due)
        _run_all(due)
        return next_at

    def _take_due(self, due: list[Callable[[], object]]) -> float | None:
        now = self.clock()
        while self._alarms:
            at, _, alarm = self._alarms[0]
            callback = alarm.callback
            if callback is not None and at > now:
                return at
            heapq.heappop(self._alarms)
            if callback is not None:
                alarm.callback = None
                due.append(callback)
            elif self._cancelled:
                self._cancelled.pop()
        return None

    def _run(self) -> None:
        changed = self._changed
        woken = False
        while True:
            due: list[Callable[[], object]] = []
            with changed:
                next_at = self._take_due(due)
                if not due:
                    # It sleeps lightly while there are calls: an alarm for later than its next look need not wake it, and
                    # a call that ends in time costs no switch of threads.
                    now = self.clock()
                    until = now + _LOOK_EVERY if woken or next_at is not None else float("inf")
                    self._sleeping_until = until = until if next_at is None else min(next_at, until)
                    woken = changed.wait(None if until == float("inf") else max(0.0, until - now))
                    self._sleeping_until = float("-inf")  # awake: it will look by itself
            _run_all(due)


def _run_all(callbacks: list[Callable[[], object]]) -> None:
    for callback in callbacks:
        with contextlib.suppress(Exception):
            callback()


_watchdogs: weakref.WeakSet[Watchdog] = weakref.WeakSet()


def _begin_anew() -> None:
    # A forked child has neither the threads nor a lock that can be trusted.
    for watchdog in list(_watchdogs):
        watchdog._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)

_shared = Watchdog()


def shared_watchdog() -> Watchdog:
    """Return the process's own watchdog."""
    return _shared
