"""What policies take from the world: the time, sleeping, waiting and chance. Everything is injected, so no test sleeps."""

from __future__ import annotations

import contextlib
import random as _random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from polywire.watchdog import shared_watchdog

if TYPE_CHECKING:
    import asyncio

__all__ = ["DEFAULT_RUNTIME", "Handle", "Runtime", "Waiter"]


class Handle(Protocol):
    """A callback that has been scheduled."""

    def cancel(self) -> None:
        """Call it off. Idempotent."""


class Waiter:
    """
    Something that one thread or task waits for, and any thread may bring about.

    Subclasses say in `ready` whether it has come. Whoever brings it about makes that true first and calls `notify`
    then; whoever waits sets `waker` first and looks at `ready` then, so that no notification is lost.
    """

    __slots__ = ("waker",)

    def __init__(self) -> None:
        self.waker: Callable[[], None] | None = None

    @property
    def ready(self) -> bool:
        """Whether the wait is over, or there is something to look at."""
        raise NotImplementedError

    def notify(self) -> None:
        """Wake the one who waits. Thread-safe."""
        waker = self.waker
        if waker is not None:
            waker()


class Runtime:
    """
    The clock, the sleeps and the chance that policies use.

    Args:
        clock: seconds, monotonic.
        sleep: blocks for so many seconds.
        asleep: the same for a task.
        random: a number from 0 up to 1.

    Where `sleep` or `asleep` is given, a wait that ends at a known time goes through it as well.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        asleep: Callable[[float], Awaitable[object]] | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.now = clock
        self.random = random
        self._sleep = sleep
        self._asleep = asleep

    def sleep(self, seconds: float) -> None:
        """Block for so many seconds."""
        (self._sleep or time.sleep)(seconds)

    async def asleep(self, seconds: float) -> None:
        """Let other tasks run for so many seconds."""
        if self._asleep is not None:
            await self._asleep(seconds)
            return
        import asyncio

        await asyncio.sleep(seconds)

    def wait(self, waiter: Waiter, seconds: float | None) -> None:
        """Block until `waiter` is notified or ready, or `seconds` have passed; `None` waits without end."""
        if seconds is not None and self._sleep is not None:
            if not waiter.ready:
                self._sleep(max(0.0, seconds))
            return
        # A bare lock, not an event: an event holds a lock of its own while it works, and a finaliser that runs in the
        # middle of that and wakes this very waiter would hang.
        gate = threading.Lock()
        gate.acquire()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # woken already
                gate.release()

        waiter.waker = wake
        try:
            if not waiter.ready:
                gate.acquire(timeout=-1 if seconds is None else min(max(0.0, seconds), threading.TIMEOUT_MAX))
        finally:
            waiter.waker = None

    async def await_(self, waiter: Waiter, seconds: float | None) -> None:
        """As `wait`, for a task."""
        if seconds is not None and self._asleep is not None:
            if not waiter.ready:
                await self._asleep(max(0.0, seconds))
            return
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        home = threading.get_ident()

        def finish() -> None:
            if not future.done():
                future.set_result(None)

        def wake() -> None:
            if threading.get_ident() == home:
                finish()
            else:
                # A loop that has been closed has no one left to wake; its tasks gave their places back.
                try:
                    loop.call_soon_threadsafe(finish)
                except RuntimeError:
                    return

        waiter.waker = wake
        timer = None if seconds is None else loop.call_later(max(0.0, seconds), finish)
        try:
            if not waiter.ready:
                await future
        finally:
            waiter.waker = None
            if timer is not None:
                timer.cancel()

    def schedule(self, at: float, callback: Callable[[], None]) -> Handle:
        """Run `callback` in the watchdog's thread at the time `at` of this clock. It must be short and must not block."""
        watchdog = shared_watchdog()
        return watchdog.schedule(watchdog.clock() + (at - self.now()), callback)


DEFAULT_RUNTIME = Runtime()
"""The real clock, real sleeps, and `random.random`."""
