"""Connections of one event loop, which must not outlive it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Hashable
from types import AsyncGeneratorType
from typing import Generic, Protocol, TypeVar, cast

__all__ = ["LoopPools"]


class ClosablePool(Protocol):
    """A pool of connections."""

    def aclose(self) -> Awaitable[None]:
        """Close them."""


KeyT = TypeVar("KeyT", bound=Hashable)
PoolT = TypeVar("PoolT", bound=ClosablePool)


class LoopPools(Generic[KeyT, PoolT]):
    """The pools of one event loop, closed at the latest when the loop shuts down."""

    __slots__ = ("__weakref__", "_closing", "_guard", "by_key")

    def __init__(self) -> None:
        self.by_key: dict[KeyT, PoolT] = {}
        self._guard = self._closed_with_the_loop(self.by_key)
        self._closing: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        return cast("AsyncGeneratorType[None, None]", self._guard).ag_frame is None

    async def watch_loop(self) -> None:
        """Enter the guard: an async generator that has begun is closed by `loop.shutdown_asyncgens`."""
        await anext(self._guard)

    def close_soon(self) -> None:
        if not self.closed:
            self._closing = asyncio.ensure_future(self.aclose())  # kept: a loop forgets the tasks that nobody holds

    async def aclose(self) -> None:
        await self._guard.aclose()

    @staticmethod
    async def _closed_with_the_loop(pools: dict[KeyT, PoolT]) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            while pools:
                _, pool = pools.popitem()
                await pool.aclose()
