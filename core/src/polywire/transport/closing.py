"""
Closing that a cancellation cannot interrupt.

A connection goes back to its pool in several steps with awaits between them. The pool shields them against cancel scopes,
which a plain `Task.cancel()` passes by: cancelled in the middle, the connection stays taken for ever [measured: httpcore
1.0.9, with one connection every further call waits in vain].
"""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from typing import Any

__all__ = ["uninterrupted"]


@types.coroutine
def uninterrupted(closing: Coroutine[Any, Any, None]) -> Generator[Any, None, None]:
    """
    Run `closing` to its end, in this task; a cancellation that comes meanwhile is raised after it.

    It takes no task of its own, which would cost as much as the closing itself.
    """
    import asyncio

    cancelled: asyncio.CancelledError | None = None
    while True:
        try:
            waits_for = closing.send(None)
        except StopIteration:
            break
        if waits_for is None:  # it only lets others run
            try:
                yield
            except asyncio.CancelledError as error:
                cancelled = error
            continue
        waits_for._asyncio_future_blocking = False  # the task is to wait for the shield in its place
        while not waits_for.done():
            try:
                yield from asyncio.shield(waits_for)
            except asyncio.CancelledError as error:
                if not waits_for.cancelled():
                    cancelled = error
            except Exception:
                break
    if cancelled is not None:
        raise cancelled
