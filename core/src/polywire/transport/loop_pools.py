"""Connections of event loops: each has its own, which must not outlive it."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

if TYPE_CHECKING:
    import asyncio

__all__ = ["LoopPools"]


class ClosablePool(Protocol):
    """A pool of connections."""

    def aclose(self) -> Awaitable[None]:
        """Close them."""


PoolT = TypeVar("PoolT", bound=ClosablePool)


class LoopPools(Generic[PoolT]):
    """
    A pool for each event loop, made when first needed and closed at the latest when the loop shuts down.

    Args:
        make: makes the pool of the running loop.
    """

    def __init__(self, make: Callable[[], PoolT]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopPool[PoolT]] = (
            weakref.WeakKeyDictionary()
        )

    async def here(self) -> PoolT:
        """Return the pool of the running loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        held = self._loops.get(loop)
        if held is None or held.closed:
            held = _LoopPool(self._make())
            with self._lock:
                for other in [each for each in self._loops if each.is_closed()]:
                    del self._loops[other]
                self._loops[loop] = held
            await held.watch_loop()
        return held.pool

    def close(self) -> None:
        """Close the pools of loops that rest, and ask those of running ones to close. Thread-safe."""
        with self._lock:
            loops = list(self._loops.items())
        for loop, held in loops:
            with contextlib.suppress(RuntimeError):  # it was closed, or has begun to run, just now
                if loop.is_running():
                    loop.call_soon_threadsafe(held.close_soon)
                elif not loop.is_closed() and not _in_a_loop():
                    loop.run_until_complete(held.aclose())

    async def aclose(self) -> None:
        """Close the running loop's pool, and the others as `close` does."""
        import asyncio

        with self._lock:
            held = self._loops.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.aclose()
        self.close()


class _LoopPool(Generic[PoolT]):
    """The pool of one event loop."""

    __slots__ = ("__weakref__", "_closing", "_guard", "pool")

    def __init__(self, pool: PoolT) -> None:
        self.pool = pool
        self._guard = self._closed_with_the_loop(pool)
        self._closing: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._closing is not None or cast("AsyncGeneratorType[None, None]", self._guard).ag_frame is None

    async def watch_loop(self) -> None:
        """Enter the guard: an async generator that has begun is closed by `loop.shutdown_asyncgens`."""
        await anext(self._guard)

    def close_soon(self) -> None:
        import asyncio

        if not self.closed:
            self._closing = asyncio.ensure_future(self.aclose())  # kept: a loop forgets the tasks that nobody holds

    async def aclose(self) -> None:
        await self._guard.aclose()

    @staticmethod
    async def _closed_with_the_loop(pool: PoolT) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await pool.aclose()


def _in_a_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
