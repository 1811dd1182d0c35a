"""Time limits: for the whole call, for the first content of a stream, and between two pieces of content."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from polywire.policy.plans import Plan, Proceed
from polywire.policy.values import positive_seconds

if TYPE_CHECKING:
    from polywire.policy.calls import Call

__all__ = ["DeadlinePolicy"]


class DeadlinePolicy:
    """
    A model's own time limits. What a call asks for itself (`CallOptions`) wins.

    Args:
        total: seconds for the whole call; retries, fallbacks and all waits count. One absolute time is shared by all.
        first_event: seconds from sending a request to the first content of its stream. Keep-alive bytes and start
            events do not count. Each attempt has its own.
        between_events: seconds that the reader waits for further content.

    A limit that runs out raises `ModelTimeout`; for `first_event` another attempt may follow. A sync call is broken off
    by the watchdog through the source's `abort()`; a plain sync call learns from its `deadline` option when to stop, and
    a model that does not look at it (a plain function) is not broken off.
    """

    def __init__(
        self,
        *,
        total: float | timedelta | None = None,
        first_event: float | timedelta | None = None,
        between_events: float | timedelta | None = None,
    ) -> None:
        self.total = positive_seconds("total", total)
        self.first_event = positive_seconds("first_event", first_event)
        self.between_events = positive_seconds("between_events", between_events)

    def __repr__(self) -> str:
        return (
            f"DeadlinePolicy(total={self.total}, first_event={self.first_event}, between_events={self.between_events})"
        )

    def __call__(self, call: Call, proceed: Proceed) -> Plan:
        if self.total is not None and call.request.options.deadline is None:
            call.limit_total(self.total)
        if call.first_event is None:
            call.first_event = self.first_event
        if call.between_events is None:
            call.between_events = self.between_events
        return proceed(call)
