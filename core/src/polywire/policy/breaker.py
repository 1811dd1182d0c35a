"""The circuit breaker: leaves a model that keeps failing alone for a while."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from enum import Enum

from polywire.policy.values import positive_integer, positive_seconds

__all__ = ["Admission", "CircuitBreaker"]


class Admission(Enum):
    """What the breaker says to one call."""

    REFUSED = "refused"
    NORMAL = "normal"
    PROBE = "probe"


class CircuitBreaker:
    """
    After `failures` failed calls within `window` seconds the circuit is open: the model is skipped for `cooldown` seconds.

    After that one call at a time is let through as a probe. A probe that succeeds closes the circuit, one that fails
    opens it for another `cooldown`, and one that was cancelled leaves the place to the next.

    It has no lock: it may be told of a call's end in a finaliser. Every step is a single atomic one, and where two
    threads meet, the worst is a failure counted late.

    Args:
        clock: seconds, monotonic.
    """

    __slots__ = ("_clock", "_failed_at", "_open_until", "_probes", "cooldown", "failures", "window")

    def __init__(
        self,
        *,
        failures: int = 5,
        window: float | timedelta = 60.0,
        cooldown: float | timedelta = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures = positive_integer("failures", failures)
        self.window = positive_seconds("window", window) or 0.0
        self.cooldown = positive_seconds("cooldown", cooldown) or 0.0
        self._clock = clock
        self._failed_at: deque[float] = deque(maxlen=self.failures)
        self._open_until: float | None = None
        # The right to probe: whoever pops it has it.
        self._probes: deque[None] = deque([None], maxlen=1)

    def __repr__(self) -> str:
        return f"CircuitBreaker(failures={self.failures}, window={self.window}, cooldown={self.cooldown}, {self.state})"

    @property
    def state(self) -> str:
        """`closed`, `open`, or `half-open`."""
        if self._open_until is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half-open"

    @property
    def opens_in(self) -> float:
        """Seconds until a call may be let through; 0 where it may now."""
        return 0.0 if self._open_until is None else max(0.0, self._open_until - self._clock())

    def admit(self) -> Admission:
        """Ask whether a call may go ahead. Its outcome must be told with `succeeded`, `failed` or `withdrawn`."""
        open_until = self._open_until
        if open_until is None:
            return Admission.NORMAL
        if self._clock() < open_until:
            return Admission.REFUSED
        try:
            self._probes.pop()
        except IndexError:
            return Admission.REFUSED
        return Admission.PROBE

    def succeeded(self, admission: Admission) -> None:
        """The call was answered."""
        if admission is Admission.PROBE:
            self._failed_at.clear()
            self._open_until = None
            self._probes.append(None)

    def failed(self, admission: Admission) -> None:
        """The model failed the call."""
        now = self._clock()
        if admission is Admission.PROBE:
            self._open_until = now + self.cooldown
            self._probes.append(None)
        elif self._open_until is None:
            self._failed_at.append(now)
            if len(self._failed_at) == self.failures and now - self._failed_at[0] <= self.window:
                self._open_until = now + self.cooldown

    def withdrawn(self, admission: Admission) -> None:
        """The call came to nothing for reasons of its caller's: as if it had never been."""
        if admission is Admission.PROBE:
            self._probes.append(None)
