"""Retries: the same call once more, after a wait, where the error says that this may help."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from polywire.errors import ModelError
from polywire.policy.observers import Waiting
from polywire.policy.plans import Plan, Proceed, Sleep
from polywire.policy.turns import LimitTimeout
from polywire.policy.values import positive_integer, positive_seconds, share

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from polywire.policy.calls import Call

__all__ = ["RetryPolicy", "asked_wait", "keep_attempts"]


class RetryPolicy:
    """
    Repeats a call whose error is retryable: by its class, or because the server said so.

    A stream is retried only until its first content has been handed out. Cancellation, `KeyboardInterrupt` and errors
    that are no `ModelError` pass straight through, and so does `LimitTimeout`: that call has waited as long as it may.
    The last error is raised, with those before it in `.attempts`.

    Args:
        attempts: how often the call is made at most; 1 means no retry.
        initial_wait: seconds before the second attempt; each further wait is `multiplier` times as long.
        max_wait: seconds that a single wait may take. Where the server asks for more, its error surfaces at once, with
            `retry_after` on it.
        multiplier: the growth of the waits.
        jitter: the part of a wait that is left to chance, 0 to 1: a wait is at least `(1 - jitter)` of the formula.
        max_time: seconds from the start of the first attempt after which no further one begins; `None` is no limit.

    The server's own word (`error.retry_after`) beats the formula, with up to a tenth on top so that many callers do not
    come back in the same moment. A wait that would outlast the call's deadline is not begun: the error surfaces at once.
    """

    def __init__(
        self,
        *,
        attempts: int = 3,
        initial_wait: float | timedelta = 0.5,
        max_wait: float | timedelta = 60.0,
        multiplier: float = 2.0,
        jitter: float = 0.5,
        max_time: float | timedelta | None = 300.0,
    ) -> None:
        self.attempts = positive_integer("attempts", attempts)
        self.initial_wait = positive_seconds("initial_wait", initial_wait, zero=True) or 0.0
        self.max_wait = positive_seconds("max_wait", max_wait, zero=True) or 0.0
        if not math.isfinite(multiplier) or multiplier < 1:
            msg = f"multiplier must be 1 or more, not {multiplier}"
            raise ValueError(msg)
        self.multiplier = float(multiplier)
        self.jitter = share("jitter", jitter)
        self.max_time = positive_seconds("max_time", max_time)

    def __repr__(self) -> str:
        return (
            f"RetryPolicy(attempts={self.attempts}, initial_wait={self.initial_wait}, max_wait={self.max_wait},"
            f" multiplier={self.multiplier}, jitter={self.jitter}, max_time={self.max_time})"
        )

    def __call__(self, call: Call, proceed: Proceed) -> Plan:
        return proceed(call) if self.attempts == 1 else self._plan(call, proceed)

    def _plan(self, call: Call, proceed: Proceed) -> Plan:
        started = call.runtime.now()
        try:
            return (yield from proceed(call))
        except ModelError as error:
            if not _is_retryable(error):
                raise
            failure = error
        return (yield from self._again(call, proceed, failure, started))

    def _again(self, call: Call, proceed: Proceed, first: ModelError, started: float) -> Plan:
        """
        Let tenacity decide about the failure of the first attempt, and about each further one.

        It is made only after a failure, so that calls which succeed do not pay for it.
        """
        from tenacity import Retrying, retry_if_exception
        from tenacity.wait import wait_exponential

        formula = wait_exponential(self.initial_wait, self.max_wait, self.multiplier)
        failures: list[ModelError] = []
        waits: dict[int, float] = {}
        due: list[float] = []

        def wait(state: RetryCallState) -> float:
            number = state.attempt_number
            if number not in waits:
                waits[number] = self._wait(failures[-1], formula(state), call.runtime.random)
            return waits[number]

        def stop(state: RetryCallState) -> bool:
            if state.attempt_number >= self.attempts:
                return True
            asked = asked_wait(failures[-1])
            resume = call.runtime.now() + wait(state)
            return (
                (asked is not None and asked > self.max_wait)
                or (self.max_time is not None and resume - started > self.max_time)
                or (call.deadline is not None and resume >= call.deadline)
            )

        failure: ModelError | None = first
        for attempt in Retrying(
            sleep=due.append, wait=wait, stop=stop, retry=retry_if_exception(_is_retryable), reraise=True
        ):
            if failure is None:
                seconds = due.pop()
                if call.observers:
                    call.notify(Waiting(call, "retry", seconds, failures[-1]))
                yield Sleep(call, seconds)
                try:
                    return (yield from proceed(call))
                except ModelError as error:
                    failure = error
            keep_attempts(failure, failures)
            failures.append(failure)
            with attempt:
                raise failure
            failure = None
        msg = "unreachable: the last failure is raised"
        raise AssertionError(msg)

    def _wait(self, error: ModelError, formula: float, random: Callable[[], float]) -> float:
        asked = asked_wait(error)
        if asked is not None:
            return asked + random() * min(1.0, asked / 10)
        return formula * (1 - self.jitter * random())


def keep_attempts(last: ModelError, earlier: Iterable[ModelError]) -> None:
    """
    Put the errors of earlier attempts on the last one, before those that it brings along.

    An error object that is raised more than once is kept once, and never on itself.
    """
    kept: list[ModelError] = []
    for error in (*(each for failed in earlier for each in (*failed.attempts, failed)), *last.attempts):
        if error is not last and not any(error is each for each in kept):
            kept.append(error)
    last.attempts = tuple(kept)


def _is_retryable(error: BaseException) -> bool:
    # Who has waited for a limit of this side as long as it may is told so; a further wait would undo that setting.
    return isinstance(error, ModelError) and error.retryable and not isinstance(error, LimitTimeout)


def asked_wait(error: ModelError) -> float | None:
    """What the server asks to wait; nonsense counts as absent."""
    seconds: Any = error.retry_after
    if seconds is None or not isinstance(seconds, (int, float)) or not math.isfinite(seconds) or seconds < 0:
        return None
    return float(seconds)
