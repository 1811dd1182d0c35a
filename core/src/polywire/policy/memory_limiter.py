"""
Limits within one process: one queue for all its threads and event loops.

Nobody ever blocks on the lock. Whoever wants something puts it into the inbox and tries the lock; whoever gets it does
all that is in the inbox, and looks into it once more after letting go. So a release may come from a finaliser that runs
in the middle of any of this, in the same thread, where waiting for a plain lock would hang for ever.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from polywire.policy.rates import TICKS_PER_SECOND, Meter, RateLimit
from polywire.policy.turns import Permit, Ticket

__all__ = ["MemoryBook", "MemoryLimiter"]


_BACKSTOP = 0.05


def _seconds(ticks: int) -> float:
    # A hundredth of a tick on top: turned back into ticks, it must not fall below.
    return (ticks + 0.01) / TICKS_PER_SECOND


class MemoryBook:
    """What has been handed out, in this process: the meters, the running calls, and the provider's pause. No lock."""

    __slots__ = ("_concurrency", "_limits", "_requests", "_tokens", "in_use", "paused_until")

    def __init__(self, requests: RateLimit | None, tokens: RateLimit | None, concurrency: int | None) -> None:
        self._limits = (requests, tokens)
        self._requests = None if requests is None else Meter(requests)
        self._tokens = None if tokens is None else Meter(tokens)
        self._concurrency = concurrency
        self.in_use = 0
        self.paused_until = 0.0

    def take(self, owner: Any, now: float, tokens: int) -> Permit | tuple[str, float | None]:
        """Hand out a permit; or say which limit forbids it, and when to ask again."""
        if now < self.paused_until:
            return "pause", self.paused_until
        if self._concurrency is not None and self.in_use >= self._concurrency:
            return "concurrency", None
        ticks = int(now * TICKS_PER_SECOND)
        requests, meter, weight = self._requests, self._tokens, 0
        if requests is not None and (wait := requests.take(ticks, 1)) is not None:
            return "requests per minute", _seconds(ticks + wait)
        if meter is not None and tokens:
            weight = self._limits[1].weight(tokens)  # type: ignore[union-attr]
            if (wait := meter.take(ticks, weight)) is not None:
                if requests is not None:
                    requests.undo(ticks, 1)
                return "tokens per minute", _seconds(ticks + wait)
        self.in_use += 1
        return Permit(
            owner,
            None if requests is None else requests.mark(1),
            None if meter is None else meter.mark(weight),
            self,
        )

    def give_back(self, permit: Permit, now: float, tokens: int | None, *, sent: bool) -> None:
        """Take a permit back and settle what it cost."""
        self.in_use -= 1
        ticks = int(now * TICKS_PER_SECOND)
        if not sent and self._requests is not None and permit.requests is not None:
            self._requests.settle(ticks, permit.requests, 0)
        if tokens is not None and self._tokens is not None and permit.tokens is not None:
            self._tokens.settle(ticks, permit.tokens, self._limits[1].weight(tokens))  # type: ignore[union-attr]

    def pause(self, until: float) -> None:
        """Hand out nothing before `until`."""
        self.paused_until = max(self.paused_until, until)

    def needed(self, now: float, requests: int, tokens: int) -> float | None:
        """Seconds until so many requests and tokens would have been granted; `None` where no rate is limited."""
        if self._requests is None and self._tokens is None and now >= self.paused_until:
            return None
        ticks = int(now * TICKS_PER_SECOND)
        waits = [self.paused_until - now]
        if self._requests is not None:
            waits.append(self._requests.wait_for(ticks, requests) / TICKS_PER_SECOND)
        if self._tokens is not None:
            weight = self._limits[1].weight(tokens)  # type: ignore[union-attr]
            waits.append(self._tokens.wait_for(ticks, weight) / TICKS_PER_SECOND)
        return max(0.0, *waits)

    def start_empty(self, now: float) -> None:
        """Begin with no burst left."""
        for meter in (self._requests, self._tokens):
            if meter is not None:
                meter.start_empty(int(now * TICKS_PER_SECOND))


class MemoryLimiter:
    """
    Hands out permits in the order in which they were asked for.

    The one at the head of the queue wakes itself when its time has come. `schedule` is the backstop: should that one's
    event loop hang, somebody else looks after the queue, so that it holds up no other thread.
    """

    def __init__(
        self,
        requests: RateLimit | None,
        tokens: RateLimit | None,
        concurrency: int | None,
        *,
        clock: Callable[[], float],
        schedule: Callable[[float, Callable[[], object]], object] | None = None,
    ) -> None:
        self._clock = clock
        self._schedule = schedule
        self._make_book = partial(MemoryBook, requests, tokens, concurrency)
        self._begin()
        _limiters.add(self)

    def _begin(self) -> None:
        self._book = self._make_book()
        self._lock = threading.Lock()
        self._inbox: deque[tuple[str, Any, Any, bool]] = deque()
        self._queue: deque[Ticket] = deque()
        self._dead = 0
        self._guarded = False
        self._joined = (0, 0)
        self._served = (0, 0)

    @property
    def in_use(self) -> int:
        """How many permits are out."""
        return self._book.in_use

    @property
    def resting(self) -> bool:
        """Whether nobody waits and no pause holds: without any limits, a call may go at once."""
        until = self._book.paused_until
        return not self._queue and not self._inbox and (not until or self._clock() >= until)

    @property
    def waiting(self) -> int:
        """How many tickets wait."""
        return len(self._queue) - self._dead

    def try_acquire(self, tokens: int) -> Permit | None:
        if self._queue or not self._lock.acquire(False):
            return None
        try:
            if self._inbox:
                self._read_inbox()
                self._serve()
            permit = None
            if not self._queue:
                taken = self._book.take(self, self._clock(), tokens)
                if type(taken) is Permit:
                    permit = taken
        finally:
            self._lock.release()
        if self._inbox:
            self._work()
        return permit

    def enqueue(self, tokens: int) -> Ticket:
        ticket = Ticket(tokens)
        self._inbox.append(("enqueue", ticket, None, True))
        self._work()
        if ticket.permit is None and not self._guarded and self._schedule is not None:
            self._guarded = True
            self._schedule(self._clock() + _BACKSTOP, self._guard)
        return ticket

    def _guard(self) -> None:
        self.poke()
        try:
            due = self._queue[0].due
        except IndexError:
            self._guarded = False
            return
        now = self._clock()
        if self._schedule is not None:
            self._schedule((now + 1.0 if due is None else max(due, now)) + _BACKSTOP, self._guard)

    def abandon(self, ticket: Ticket) -> None:
        self._inbox.append(("abandon", ticket, None, True))
        self._work()

    def poke(self) -> None:
        self._inbox.append(("poke", None, None, True))
        self._work()

    def release(self, permit: Permit, tokens: int | None, *, sent: bool) -> None:
        # Most often nobody is at it and nobody waits: then the way through the inbox is left out [a third of its cost].
        if self._inbox or self._queue or not self._lock.acquire(False):
            self._inbox.append(("release", permit, tokens, sent))
            self._work()
            return
        try:
            self._give_back(permit, tokens, sent=sent)
            if self._queue:
                self._serve()
        finally:
            self._lock.release()
        if self._inbox:
            self._work()

    def pause(self, seconds: float) -> None:
        self._inbox.append(("pause", None, self._clock() + seconds, True))
        self._work()

    def needed(self, ticket: Ticket) -> float | None:
        requests = ticket.before[0] - self._served[0] + 1
        tokens = ticket.before[1] - self._served[1] + ticket.tokens
        return self._book.needed(self._clock(), max(1, requests), max(0, tokens))

    def close(self) -> None:
        """Nothing to close."""

    def _work(self) -> None:
        while self._inbox and self._lock.acquire(False):
            try:
                self._read_inbox()
                self._serve()
            finally:
                self._lock.release()

    def _read_inbox(self) -> None:
        inbox = self._inbox
        while inbox:
            command, thing, value, sent = inbox.popleft()
            if command == "release":
                self._give_back(thing, value, sent=sent)
            elif command == "enqueue":
                thing.before = self._joined
                self._joined = (self._joined[0] + 1, self._joined[1] + thing.tokens)
                self._queue.append(thing)
            elif command == "abandon":
                self._forget(thing)
            elif command == "pause":
                self._book.pause(value)

    def _give_back(self, permit: Permit, tokens: int | None, *, sent: bool) -> None:
        if not permit.released:
            permit.released = True
            if permit.book is not self._book:
                return  # granted before this process was forked off
            self._book.give_back(permit, self._clock(), tokens, sent=sent)

    def _forget(self, ticket: Ticket) -> None:
        if ticket.abandoned:
            return
        ticket.abandoned = True
        if ticket.permit is not None:
            self._give_back(ticket.permit, 0, sent=False)
        else:
            self._dead += 1
            if self._dead > 64 and self._dead * 2 > len(self._queue):
                for each in self._queue:
                    if each.abandoned:
                        self._count_served(each)
                self._queue = deque(each for each in self._queue if not each.abandoned)
                self._dead = 0

    def _count_served(self, ticket: Ticket) -> None:
        self._served = (self._served[0] + 1, self._served[1] + ticket.tokens)

    def _serve(self) -> None:
        queue = self._queue
        while queue:
            ticket = queue[0]
            if ticket.abandoned:
                queue.popleft()
                self._dead -= 1
                self._count_served(ticket)
                continue
            taken = self._book.take(self, self._clock(), ticket.tokens)
            if type(taken) is Permit:
                queue.popleft()
                self._count_served(ticket)
                ticket.permit = taken
                ticket.tell()
                continue
            limit, due = taken  # type: ignore[misc]
            if ticket.due != due or ticket.limit != limit:
                ticket.limit, ticket.due = limit, due
                ticket.tell()
            return


_limiters: weakref.WeakSet[MemoryLimiter] = weakref.WeakSet()


def _begin_anew() -> None:
    # A forked child has none of the threads that hold permits, a place in the queue, or the lock.
    for limiter in list(_limiters):
        limiter._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
