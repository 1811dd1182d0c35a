"""
The arithmetic of rates: the generic cell rate algorithm (GCRA) of pyrate-limiter, with charges and refunds.

The promise: in any window, never more than rate x time + burst. GCRA keeps one number per rate, the time at which the
bucket will be empty again (TAT). Two things come on top here:

- a *charge* after the fact, for what cost more than was reserved: it may push the TAT beyond the burst, and the calls
  that follow pay for it;
- a *refund*, for what cost less. Giving back the difference blindly would break the promise: a part of the reservation
  may have drained away with time, so that later calls already used that room. What can be given back without harm is
  at most what of the TAT right after the reservation still lies ahead, less what others were refunded since then.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec

from polywire.errors import SettingsError

if TYPE_CHECKING:
    from pyrate_limiter import GCRA, Rate

__all__ = ["TICKS_PER_SECOND", "Mark", "Meter", "RateLimit", "load_arithmetic"]

TICKS_PER_SECOND = 10_000
"""The library counts in whole milliseconds; it is given ticks of 0.1 ms, so that fast rates are not rounded away."""

_FASTEST = 6_000_000
"""Units per minute; a faster rate counts in units of several tokens, so that rounding stays below 1 %."""

_LARGEST = 4_000_000_000_000_000
"""Thousandths of a tick; well inside the whole numbers that a Lua double holds."""


def load_arithmetic() -> tuple[type[GCRA], type[Rate]]:
    """
    Return the library's two classes.

    Raises:
        SettingsError: it is not installed.
    """
    try:
        from pyrate_limiter import GCRA, Rate
    except ImportError as error:
        msg = "limits per minute need the extra `limits`: pip install 'polywire[limits]'"
        raise SettingsError(msg) from error
    return GCRA, Rate


class RateLimit:
    """
    So many requests or tokens per minute, and how many may go at once.

    Args:
        name: what it counts, for people.
        per_minute: the sustained rate.
        burst: how many may go in one moment after a rest; one minute's worth unless given.
    """

    __slots__ = ("algorithm", "burst", "emission", "forced", "name", "per_minute", "rates", "unit")

    def __init__(self, name: str, per_minute: int, burst: int | None = None) -> None:
        algorithm, rate = load_arithmetic()
        self.name = name
        self.per_minute = per_minute
        self.burst = per_minute if burst is None else burst
        self.unit = max(1, ceil(per_minute / _FASTEST))
        limit, interval = max(1, per_minute // self.unit), 60 * TICKS_PER_SECOND
        self.algorithm = algorithm()
        self.rates = [rate(limit, interval, max(1, self.burst // self.unit))]
        # Thousandths of a tick per unit, as the algorithm itself counts.
        self.emission = max(1, ceil(interval * 1000 / limit))
        self.forced = [rate(limit, interval, _LARGEST // self.emission)]

    def weight(self, amount: int) -> int:
        """How many units an amount is, rounded up."""
        return amount if self.unit == 1 else -(-amount // self.unit)

    def fits(self, amount: int) -> bool:
        """Whether such an amount can ever be granted."""
        return self.weight(amount) <= self.rates[0].burst


class Mark(msgspec.Struct, frozen=True, gc=False):
    """Where the meter stood right after a reservation; a refund needs it."""

    weight: int
    tat: int
    refunded: int


class Meter:
    """One rate's state in this process. Not thread-safe."""

    __slots__ = ("_limit", "_refunded", "_state")

    def __init__(self, limit: RateLimit) -> None:
        self._limit = limit
        self._state: tuple[Any, ...] = limit.algorithm.initial(limit.rates)
        self._refunded = 0

    def take(self, now: int, weight: int) -> int | None:
        """Take so many units now (in ticks): `None`, or the ticks to wait before asking again."""
        limit = self._limit
        self._state, decision = limit.algorithm.step(limit.rates, self._state, now, weight)
        if decision.failing_rate is None:
            return None
        return decision.retry_after_ms or 1

    def undo(self, now: int, weight: int) -> None:
        """Take back a `take` of the same moment."""
        limit = self._limit
        self._state, _ = limit.algorithm.step(limit.forced, self._state, now, -weight)

    def mark(self, weight: int) -> Mark:
        """Return where the meter stands after a `take`."""
        return Mark(weight, self._state[0], self._refunded)

    def settle(self, now: int, mark: Mark, weight: int) -> None:
        """Let a reservation have been `weight` units: charge what is missing, or give back what may be given back."""
        limit = self._limit
        if weight > mark.weight:
            self._state, _ = limit.algorithm.step(limit.forced, self._state, now, weight - mark.weight)
        elif weight < mark.weight:
            ahead = mark.tat - now * 1000 - (self._refunded - mark.refunded)
            back = min((mark.weight - weight) * limit.emission, ahead)
            if back > 0:
                self._refunded += back
                self._state = (self._state[0] - back,)

    def wait_for(self, now: int, weight: int) -> int:
        """Ticks until so many units more would have been granted one after the other; 0 where at once."""
        limit = self._limit
        tat = max(int(self._state[0]), now * 1000) + weight * limit.emission
        return max(0, ceil((tat - limit.rates[0].burst * limit.emission) / 1000) - now)

    @property
    def backlog(self) -> int:
        """The TAT itself, in thousandths of a tick."""
        return int(self._state[0])

    def start_empty(self, now: int) -> None:
        """Begin with no burst left: for a process that cannot know what others have spent."""
        limit = self._limit
        self._state, _ = limit.algorithm.step(limit.forced, self._state, now, limit.rates[0].burst)
