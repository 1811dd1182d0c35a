"""
Limits shared by many processes, in Redis.

One daemon thread per limiter does all the talking, so that no caller ever blocks on the network, neither a thread nor an
event loop, and a release is only a word to that thread. It keeps this process's own queue, asks for the call at its head,
and renews the leases of the calls that run. Between processes the turns go round, one grant each.

A process that dies gives its permits back when their leases run out. Its reservations of tokens stand.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from polywire.errors import ConnectionFailed
from polywire.policy.memory_limiter import MemoryBook
from polywire.policy.rates import TICKS_PER_SECOND, Mark, RateLimit
from polywire.policy.redis_store import RedisStore, StoreAway
from polywire.policy.turns import Permit, Ticket

__all__ = ["RedisLimiter"]

_PATIENCE = 2.0
"""Seconds that a waiting process may be late with asking before the others pass it by."""
_LONGEST_POLL = 1.0
_RETRY_STORE = 1.0
_LONGEST_RETRY = 15.0
_NOT_SETTLED = "-1"


class RedisLimiter:
    """Hands out permits that several processes share. See `LimitPolicy` for the arguments."""

    def __init__(
        self,
        store: Any,
        requests: RateLimit | None,
        tokens: RateLimit | None,
        concurrency: int | None,
        *,
        name: str,
        lease: float,
        on_failure: str,
        local_share: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_store = partial(RedisStore, store)
        self.store = self._make_store().shown
        self._limits = (requests, tokens)
        self._concurrency = concurrency or 0
        self._lease = lease
        self._on_failure = on_failure
        self._clock = clock
        self._keys = [
            f"polywire:{{{name}}}:{key}" for key in ("requests", "tokens", "leases", "queue", "seen", "pause")
        ]
        local_limits = [None if limit is None else _shared_out(limit, local_share) for limit in (requests, tokens)]
        local_concurrency = None if concurrency is None else max(1, int(concurrency * local_share))
        self._make_local = partial(MemoryBook, local_limits[0], local_limits[1], local_concurrency)
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._process = uuid.uuid4().hex
        # Its `put` may be called in a finaliser, in the middle of any other of its methods.
        self._inbox: queue.SimpleQueue[tuple[str, Any, Any, bool] | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._queue: deque[Ticket] = deque()
        self._leases: set[str] = set()
        self._numbers = 0
        self._poll_at = 0.0
        self._renew_at = 0.0
        self._away_until = 0.0
        self._store = self._make_store()  # a forked child must not use its parent's connection
        self._local: MemoryBook | None = None
        self._flush_at = 0.0
        self._retry_after = _RETRY_STORE
        self._last_seen: list[tuple[int, float]] = [(0, 0.0), (0, 0.0)]
        self._unsent: deque[tuple[list[str], list[Any]]] = deque(maxlen=10_000)

    # What callers use: all of it only leaves word for the thread.

    @property
    def waiting(self) -> int:
        """How many tickets of this process wait."""
        return sum(not ticket.abandoned for ticket in list(self._queue))

    @property
    def in_use(self) -> int:
        """How many permits of this process are out."""
        return len(self._leases) + (0 if self._local is None else self._local.in_use)

    def try_acquire(self, tokens: int) -> Permit | None:  # noqa: ARG002 - the store must be asked, which takes time
        return None

    def enqueue(self, tokens: int) -> Ticket:
        ticket = Ticket(tokens)
        self._put(("enqueue", ticket, None, True))
        return ticket

    def abandon(self, ticket: Ticket) -> None:
        ticket.abandoned = True
        self._put(("abandon", ticket, None, True))

    def poke(self) -> None:
        self._put(("poke", None, None, True))

    def release(self, permit: Permit, tokens: int | None, *, sent: bool) -> None:
        self._put(("release", permit, tokens, sent))

    def pause(self, seconds: float) -> None:
        self._put(("pause", None, self._clock() + seconds, True))

    def needed(self, ticket: Ticket) -> float | None:
        due = ticket.expected
        return None if due is None else max(0.0, due - self._clock())

    def close(self) -> None:
        """End the thread, after all that was released has been told to the store."""
        thread = self._thread
        if thread is not None and self._pid == os.getpid():
            self._inbox.put(None)
            thread.join(5.0)

    def _put(self, command: tuple[str, Any, Any, bool]) -> None:
        if self._pid != os.getpid():
            if command[0] in ("release", "abandon"):
                return  # the parent's, not this forked child's
            self._begin()
        self._inbox.put(command)
        if self._thread is None and command[0] != "release":
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="polywire-limits", daemon=True)
                    self._thread.start()

    # What the thread does.

    def _run(self) -> None:
        while True:
            try:
                command = self._inbox.get(timeout=self._patience())
            except queue.Empty:
                pass
            else:
                if not self._read(command):
                    break
                while True:
                    try:
                        command = self._inbox.get_nowait()
                    except queue.Empty:
                        break
                    if not self._read(command):
                        return self._end()
            try:
                self._renew()
                self._serve()
            except StoreAway as error:
                self._store_is_away(error)
        return self._end()

    def _end(self) -> None:
        self._thread = None
        for ticket in self._queue:
            ticket.error = ConnectionFailed(f"the limits in {self.store} were closed")
            ticket.tell()
        self._queue.clear()
        self._store.close()

    def _patience(self) -> float | None:
        now = self._clock()
        times = []
        if self._queue:
            times.append(self._poll_at)
        if self._leases:
            times.append(self._renew_at)
        if self._unsent:
            times.append(max(now, self._flush_at, self._away_until))
        return max(0.0, min(times) - now) if times else None

    def _read(self, command: tuple[str, Any, Any, bool] | None) -> bool:
        if command is None:
            with contextlib.suppress(StoreAway):
                self._flush()
            return False
        word, thing, value, sent = command
        if word == "enqueue":
            if not self._queue:
                self._poll_at = 0.0
            self._queue.append(thing)
        elif word == "release":
            self._give_back(thing, value, sent=sent)
        elif word == "abandon" and thing.permit is not None:
            self._give_back(thing.permit, 0, sent=False)
        elif word == "pause":
            self._pause(value)
        elif word == "poke":
            self._poll_at = 0.0
        return True

    def _serve(self) -> None:
        self._flush()
        while self._queue:
            ticket = self._queue[0]
            if ticket.abandoned:
                self._queue.popleft()
                continue
            now = self._clock()
            if now < self._poll_at:
                return
            if not (self._ask_local(ticket, now) if now < self._away_until else self._ask_store(ticket, now)):
                return

    def _ask_store(self, ticket: Ticket, now: float) -> bool:
        self._numbers += 1
        lease = f"{self._process}:{self._numbers}"
        requests, tokens = self._limits
        weight = 0 if tokens is None else tokens.weight(ticket.tokens)
        arguments: list[Any] = [
            self._process,
            lease,
            int(self._lease * TICKS_PER_SECOND),
            int(_PATIENCE * TICKS_PER_SECOND),
            self._concurrency,
            weight,
        ]
        for limit, (ahead, at) in zip(self._limits, self._last_seen, strict=True):
            # What a store that has come back empty would have forgotten.
            floor = max(0, ahead - int((now - at) * TICKS_PER_SECOND * 1000))
            arguments += [0, 0, 0] if limit is None else [limit.emission, limit.rates[0].burst, floor]
        reply = self._store.call("acquire", self._keys, arguments)
        self._retry_after = _RETRY_STORE
        if reply[0] == 1:
            limit_name, wait = _text(reply[1]), int(reply[2]) / TICKS_PER_SECOND
            ticket.limit, ticket.expected = limit_name, now + wait
            self._poll_at = self._clock() + min(wait, _LONGEST_POLL)
            if limit_name == "pause":
                ticket.due = now + wait
                ticket.tell()
            else:
                ticket.due = None
            return False
        numbers = [int(_text(each)) for each in reply[1:]]
        after = self._clock()
        self._last_seen = [(numbers[index] - numbers[0] * 1000, after) for index in (1, 3)]
        permit = Permit(
            self,
            None if requests is None else Mark(1, numbers[1], numbers[2]),
            None if tokens is None else Mark(weight, numbers[3], numbers[4]),
            lease=lease,
        )
        if not self._leases:
            self._renew_at = after + self._lease / 3
        self._leases.add(lease)
        self._local = None if self._local is not None and self._local.in_use == 0 else self._local
        self._grant(ticket, permit)
        return True

    def _ask_local(self, ticket: Ticket, now: float) -> bool:
        if self._local is None:
            self._local = self._make_local()
            self._local.start_empty(now)
        taken = self._local.take(self, now, ticket.tokens)
        if isinstance(taken, Permit):
            taken.notice = f"the limit store {self.store} is away: this process went on under its own limits"
            self._grant(ticket, taken)
            return True
        ticket.limit, due = taken
        ticket.expected = due
        self._poll_at = min(self._away_until, now + 0.02 if due is None else due)
        return False

    def _grant(self, ticket: Ticket, permit: Permit) -> None:
        self._queue.popleft()
        if ticket.abandoned:  # while it was being asked for; the abandoner's word may have come before the permit
            self._give_back(permit, 0, sent=False)
            return
        ticket.permit = permit
        ticket.tell()

    def _give_back(self, permit: Permit, tokens: int | None, *, sent: bool) -> None:
        if permit.released:
            return
        permit.released = True
        if permit.book is not None:
            if permit.book is self._local and self._local is not None:
                self._local.give_back(permit, self._clock(), tokens, sent=sent)
                self._poll_at = 0.0
            return
        lease = permit.lease or ""
        self._leases.discard(lease)
        arguments: list[Any] = [lease]
        requests, limit = self._limits
        if sent or requests is None or permit.requests is None:
            arguments += [_NOT_SETTLED, 0, 0, 0, 0]
        else:
            arguments += [0, permit.requests.tat, permit.requests.refunded, requests.emission, requests.forced[0].burst]
        if tokens is None or limit is None or permit.tokens is None or limit.weight(tokens) == permit.tokens.weight:
            arguments += [_NOT_SETTLED, 0, 0, 0, 0, 0]
        else:
            mark = permit.tokens
            arguments += [
                *(limit.weight(tokens), mark.weight, mark.tat, mark.refunded),
                *(limit.emission, limit.forced[0].burst),
            ]
        self._unsent.append(([self._keys[2], self._keys[0], self._keys[1]], arguments))
        # Nobody but a release makes room, and this process's own may be what its head waits for.
        self._poll_at = min(self._poll_at, self._clock())

    def _pause(self, until: float) -> None:
        ticks = int(max(0.0, until - self._clock()) * TICKS_PER_SECOND)
        if self._local is not None:
            self._local.pause(until)
        try:
            self._store.call("pause", [self._keys[5]], [ticks])
        except StoreAway as error:
            self._store_is_away(error)

    def _flush(self) -> None:
        while self._unsent and self._clock() >= max(self._flush_at, self._away_until):
            keys, arguments = self._unsent[0]
            self._store.call("release", keys, arguments)
            self._unsent.popleft()

    def _renew(self) -> None:
        now = self._clock()
        if self._leases and now >= self._renew_at:
            self._renew_at = now + self._lease / 3
            if now >= self._away_until:
                self._store.call("renew", [self._keys[2]], [int(self._lease * TICKS_PER_SECOND), *self._leases])

    def _store_is_away(self, error: StoreAway) -> None:
        now = self._clock()
        self._flush_at = now + _RETRY_STORE
        if self._on_failure == "local":
            self._away_until = now + self._retry_after
            self._retry_after = min(_LONGEST_RETRY, self._retry_after * 2)
            self._poll_at = now
            return
        for ticket in self._queue:
            ticket.error = ConnectionFailed(f"the limit store {self.store} does not answer ({error})")
            ticket.tell()
        self._queue.clear()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _shared_out(limit: RateLimit, share: float) -> RateLimit:
    return RateLimit(limit.name, max(1, int(limit.per_minute * share)), max(1, int(limit.burst * share)))
