"""When a request goes out a second time: what both transports go by."""

from __future__ import annotations

import time

from polywire.transport.streams import Timeouts

__all__ = ["AT_REST_SECONDS", "resending_limits"]

AT_REST_SECONDS = 2.0
"""A server that had closed a connection at rest tells so within a round trip; one that ends later was at work on the request."""


def resending_limits(timeouts: Timeouts, began: float) -> Timeouts | None:
    """
    Return the limits for sending a request that met the end of its connection once more; `None` where it must not be.

    Both times together take no longer than one may: a call's deadline is among the limits.

    Args:
        timeouts: of the first time.
        began: when that was, by the monotonic clock.
    """
    waited = time.monotonic() - began
    if waited > AT_REST_SECONDS:
        return None
    if timeouts.read is None:
        return timeouts
    left = timeouts.read - waited
    return timeouts.capped(left) if left > 0 else None
