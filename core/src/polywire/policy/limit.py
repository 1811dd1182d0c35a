"""Limits: what may not be spent is not spent. Calls wait their turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from polywire.errors import ModelError, RateLimited, SettingsError, UnsupportedByModel
from polywire.policy.memory_limiter import MemoryLimiter
from polywire.policy.observers import StoreUnavailable, Waited, Waiting
from polywire.policy.opening import Opened, StreamEnd
from polywire.policy.plans import Effect, Plan, Proceed, WaitFor
from polywire.policy.rates import RateLimit
from polywire.policy.retry import asked_wait
from polywire.policy.turns import Limiter, LimitTimeout, Permit, Ticket
from polywire.policy.values import positive_integer, positive_seconds
from polywire.requests import ChatRequest
from polywire.responses import Notice, TokenUsage
from polywire.watchdog import shared_watchdog

if TYPE_CHECKING:
    from polywire.policy.calls import Call

__all__ = ["LimitPolicy"]


class LimitPolicy:
    """
    A connection's limits. One object for all models of the connection, all threads and all event loops.

    In any window of time, however long, no more than rate x time + burst requests are sent, and no more tokens reserved.
    Calls wait in the order in which they came; a wait ends at the call's deadline with `LimitTimeout`, whose
    `retry_after` is the time that would still have been needed.

    - **Requests** are counted when they are sent, each attempt anew, whatever becomes of them.
    - **Tokens** are reserved by an estimate and settled by the usage that the answer reports; without one the reservation
      stands. A call that fails or is cancelled gets them back; a stream that breaks or is left after content came
      has cost something, so its reservation stands, or what it reported where that is more.
    - **Concurrency** counts running calls; a stream runs until it ends or is closed. While a call waits for its retry it
      holds nothing.
    - **Pause**: where the provider asks one call to wait (`retry_after`), no other is sent before that time is over. A
      pause longer than `max_pause`, or than a call's deadline, raises `LimitTimeout` at once. This holds without any limit
      set, too.

    Args:
        requests_per_minute, tokens_per_minute, concurrency: the limits; `None` is none.
        request_burst, token_burst: how many may go in one moment after a rest; one minute's worth unless given.
        estimate: what a call is reckoned to cost: a function of the request, or a fixed number of tokens.
        max_wait: seconds that a call waits for its turn at most; `None` waits up to its deadline.
        max_pause: seconds of a provider's pause that are waited for.
        store: `redis://…`: the limits are shared by every process that uses this store and `name`.
        on_store_failure: `fail` raises `ConnectionFailed` while the store is away; `local` goes on under these limits
            within this process alone, with a notice on each response.
        local_share: the part of each limit that this process takes for its own while the store is away, 0 to 1.
        name: the connection's name, the same in all processes.
        lease: seconds after which the store takes back the permits of a process that died.
        clock: seconds, monotonic; the same as the runtime's.

    Raises:
        SettingsError: a library that the settings need is not installed, or the store's address is wrong.
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int | None = None,
        request_burst: int | None = None,
        token_burst: int | None = None,
        estimate: Callable[[ChatRequest], int] | int | None = None,
        max_wait: float | timedelta | None = None,
        max_pause: float | timedelta = 60.0,
        store: Any = None,
        on_store_failure: Literal["fail", "local"] = "fail",
        local_share: float = 1.0,
        name: str = "default",
        lease: float | timedelta = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for key, value in (
            ("requests_per_minute", requests_per_minute),
            ("tokens_per_minute", tokens_per_minute),
            ("concurrency", concurrency),
            ("request_burst", request_burst),
            ("token_burst", token_burst),
        ):
            if value is not None:
                positive_integer(key, value)
        if on_store_failure not in ("fail", "local"):
            msg = f"on_store_failure must be 'fail' or 'local', not {on_store_failure!r}"
            raise SettingsError(msg)
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.concurrency = concurrency
        self.max_wait = positive_seconds("max_wait", max_wait, zero=True)
        self.max_pause = positive_seconds("max_pause", max_pause, zero=True) or 0.0
        self.name = name
        self.estimate = estimate
        self._counts = store is not None or any((requests_per_minute, tokens_per_minute, concurrency))
        requests = None if requests_per_minute is None else RateLimit("requests", requests_per_minute, request_burst)
        self._tokens = None if tokens_per_minute is None else RateLimit("tokens", tokens_per_minute, token_burst)
        self.limiter: Limiter
        if store is None:
            watchdog = shared_watchdog()
            schedule = watchdog.schedule if clock is watchdog.clock else None
            self.limiter = MemoryLimiter(requests, self._tokens, concurrency, clock=clock, schedule=schedule)
        else:
            from polywire.policy.redis_limiter import RedisLimiter  # an extra

            self.limiter = RedisLimiter(
                store,
                requests,
                self._tokens,
                concurrency,
                name=name,
                lease=positive_seconds("lease", lease) or 0.0,
                on_failure=on_store_failure,
                local_share=local_share,
                clock=clock,
            )

    def __repr__(self) -> str:
        return (
            f"LimitPolicy(name={self.name!r}, requests_per_minute={self.requests_per_minute},"
            f" tokens_per_minute={self.tokens_per_minute}, concurrency={self.concurrency})"
        )

    def close(self) -> None:
        """Give back what the store holds for this process. Idempotent; only a policy with a store needs it."""
        self.limiter.close()

    def __call__(self, call: Call, proceed: Proceed) -> Plan:
        if self._counts or not self.limiter.resting:  # type: ignore[attr-defined]  # without a store it is a MemoryLimiter
            return self._limited(call, proceed)
        return self._unlimited(call, proceed)

    def _unlimited(self, call: Call, proceed: Proceed) -> Plan:
        """Nothing is counted, so there is nothing to give back; only what the provider asks for is noted."""
        attempts = call.record.attempts
        try:
            return (yield from proceed(call))
        except ModelError as error:
            if call.record.attempts != attempts:
                self._keep_pause(error)
            raise

    def _limited(self, call: Call, proceed: Proceed) -> Plan:
        tokens = 0 if self._tokens is None else self._reckon(call)
        permit = self.limiter.try_acquire(tokens)
        if permit is None:
            permit = yield from self._turn(call, tokens)
        attempts = call.record.attempts
        try:
            result = yield from proceed(call)
        except BaseException as error:
            self._failed(permit, error, sent=call.record.attempts != attempts)
            raise
        if isinstance(result, Opened):
            result.riders.append(partial(_stream_ended, permit, tokens))
        else:
            permit.release(result.usage.total_tokens)
        return result

    def _reckon(self, call: Call) -> int:
        """
        Return the tokens to reserve.

        Raises:
            RateLimited: more than can ever be granted; not retryable.
        """
        estimate = self.estimate
        if estimate is None:
            tokens = call.expected_tokens()
        else:
            tokens = estimate(call.request) if callable(estimate) else estimate
        limit = self._tokens
        assert limit is not None
        if not limit.fits(tokens):
            msg = (
                f"this call is reckoned to cost {tokens} tokens, and the limit {self.name!r} grants {limit.burst} at most at"
                " once; lower max_tokens, or raise tokens_per_minute or token_burst"
            )
            raise self._error(RateLimited, call, msg, retryable=False)
        return tokens

    def _error(self, kind: type[ModelError], call: Call, message: str, **fields: Any) -> ModelError:
        return kind(message, provider=call.model.information.provider, model=call.model_id, **fields)

    def _turn(self, call: Call, tokens: int) -> Generator[Effect, Any, Permit]:
        """Wait for the call's turn."""
        if call.before_waiting is not None:
            call.before_waiting()
        limiter, now = self.limiter, call.runtime.now
        started = now()
        until = call.deadline
        if self.max_wait is not None:
            until = started + self.max_wait if until is None else min(until, started + self.max_wait)
        ticket = limiter.enqueue(tokens)
        told: str | None = None
        try:
            while True:
                ticket.news = False
                if ticket.permit is not None:
                    break
                if ticket.error is not None:
                    raise ticket.error
                moment = now()
                if until is not None and moment >= until:
                    raise self._too_late(call, ticket, moment - started)
                seconds, due = None if until is None else until - moment, ticket.due
                if due is not None:
                    left = due - moment
                    if ticket.limit == "pause" and (left > self.max_pause or (seconds is not None and left >= seconds)):
                        raise self._paused(call, left)
                    if left <= 0:
                        limiter.poke()
                        if ticket.news:
                            continue
                        left = 0.001  # another thread is at it
                    seconds = left if seconds is None else min(seconds, left)
                if call.observers and told != ticket.limit:
                    told = ticket.limit
                    call.notify(Waiting(call, "limit", None if due is None else due - moment, limit=told))
                yield WaitFor(call, ticket, seconds)
        except BaseException:
            limiter.abandon(ticket)
            raise
        permit = ticket.permit
        if permit.notice is not None:
            call.record.add_notice(Notice("information", "limits", permit.notice))
            if call.observers:
                call.notify(StoreUnavailable(call, str(getattr(self.limiter, "store", ""))))
        if told is not None and call.observers:
            call.notify(Waited(call, told, now() - started))
        return permit

    def _too_late(self, call: Call, ticket: Ticket, waited: float) -> ModelError:
        needed = self.limiter.needed(ticket)
        message = f"waited {waited:.3g} s for its turn under the limit {self.name!r} ({ticket.limit})"
        if needed is not None:
            message += f"; about {needed:.3g} s more would have been needed"
        return self._error(LimitTimeout, call, message, retry_after=needed)

    def _paused(self, call: Call, left: float) -> ModelError:
        message = f"the provider of {self.name!r} asked for a pause, which lasts another {left:.3g} s"
        return self._error(LimitTimeout, call, message, retry_after=left)

    def _failed(self, permit: Permit, error: BaseException, *, sent: bool) -> None:
        cost = 0
        if isinstance(error, ModelError):
            if error.partial is not None:
                cost = error.partial.usage.total_tokens or 0
            if sent:
                self._keep_pause(error)
        permit.release(cost, sent=sent and not isinstance(error, UnsupportedByModel))

    def _keep_pause(self, error: ModelError) -> None:
        asked = asked_wait(error)
        if asked and error.retryable:
            self.limiter.pause(asked)


def _stream_ended(permit: Permit, reserved: int, end: StreamEnd) -> None:
    reported = _known_tokens(end.usage)
    if end.complete:
        permit.release(end.usage.total_tokens)
    else:
        permit.release(reported if reported is not None and reported > reserved else None)


def _known_tokens(usage: TokenUsage) -> int | None:
    if usage.total_tokens is not None:
        return usage.total_tokens
    known = [each for each in (usage.input_tokens, usage.output_tokens) if each is not None]
    return sum(known) if known else None
