"""
Connections that are used again, and never more of them than allowed.

A pool decides who gets which connection and does the waiting; the connections themselves are of a library. The one that
was given back last is taken first, so those that are not needed grow old at the other end and are closed there. What
a call costs here does not depend on how many connections there are [measured: with 50 calls at once, looking through
all connections for each call, as the HTTP library's own pool does, is three quarters of a call's cost].
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from polywire.transport.closing import uninterrupted

__all__ = ["AsyncConnectionPool", "ConnectionPool", "PoolLimits"]


class PooledConnection(Protocol):
    """What a pool needs to know of a connection."""

    def is_available(self) -> bool:
        """Whether it is open and rests: its last answer was read to the end."""

    def has_expired(self) -> bool:
        """Whether, resting, it is too old, or the server has closed it."""


class SyncConnection(PooledConnection, Protocol):
    def close(self) -> None:
        """Close it. Idempotent."""


class AsyncConnection(PooledConnection, Protocol):
    def aclose(self) -> Awaitable[None]:
        """Close it. Idempotent."""


RouteT = TypeVar("RouteT", bound=Hashable)
ConnectionT = TypeVar("ConnectionT", bound=PooledConnection)
SyncT = TypeVar("SyncT", bound=SyncConnection)
AsyncT = TypeVar("AsyncT", bound=AsyncConnection)


class PoolLimits:
    """
    How many connections a pool may have.

    Attributes:
        connections: at most so many open at a time; `None` is no limit.
        idle: so many of them at rest.
        idle_seconds: after which one at rest is closed, when the pool is used next; `None` is never.
    """

    __slots__ = ("connections", "idle", "idle_seconds")

    def __init__(self, connections: int | None, idle: int | None, idle_seconds: float | None) -> None:
        self.connections = float("inf") if connections is None else connections
        self.idle = float("inf") if idle is None else idle
        self.idle_seconds = float("inf") if idle_seconds is None else idle_seconds


class _Waiting(Generic[RouteT]):
    """A caller for whom there was no connection: its future gets one."""

    __slots__ = ("future", "route")

    def __init__(self, route: RouteT, future: Any) -> None:
        self.route = route
        self.future = future  # of asyncio or of threads: both have `done`, `cancel` and `set_result`


class _Shelf(Generic[RouteT, ConnectionT]):
    """
    Which connections of a pool are in use, which rest, and who waits. It decides and never waits.

    Where a function gives back a list of connections, the caller closes these.
    """

    def __init__(self, limits: PoolLimits, connect: Callable[[RouteT], ConnectionT]) -> None:
        self._limits = limits
        self._connect = connect
        self._resting: dict[RouteT, deque[tuple[float, ConnectionT]]] = {}  # the one used last stands last
        self._resting_count = 0
        self._used: dict[ConnectionT, RouteT] = {}
        self._waiting: deque[_Waiting[RouteT]] = deque()
        self.closings = 0

    def take(self, route: RouteT, closing: list[ConnectionT]) -> ConnectionT | None:
        """Return a connection, at rest or new; `None` where the caller must wait, for all are in use."""
        resting = self._resting.get(route)
        while resting:
            _, connection = resting.pop()
            self._resting_count -= 1
            if connection.is_available() and not connection.has_expired():
                self._used[connection] = route
                return connection
            closing.append(connection)
        if len(self._used) >= self._limits.connections:
            return None
        while len(self._used) + self._resting_count >= self._limits.connections:
            closing.append(self._oldest())
        return self._new(route)

    def renew(self, connection: ConnectionT, closing: list[ConnectionT]) -> ConnectionT:
        """Return a new connection in the place of one that is in use."""
        fresh = self._new(self._used[connection])
        del self._used[connection]
        closing.append(connection)
        return fresh

    def wait(self, route: RouteT, future: Any) -> _Waiting[RouteT]:
        """Queue up. The future gets a connection; its owner gives that back, whatever happens."""
        waiting = _Waiting(route, future)
        self._waiting.append(waiting)
        return waiting

    def leave(self, waiting: _Waiting[RouteT]) -> ConnectionT | None:
        """Stop waiting; return the connection that came all the same."""
        future = waiting.future
        if future.done() and not future.cancelled():
            return future.result()  # type: ignore[no-any-return]
        future.cancel()
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        return None

    def give_back(self, connection: ConnectionT, closing: list[ConnectionT]) -> None:
        """Take a connection back: for whoever waits first, or to rest, or to be closed."""
        route = self._used.pop(connection, None)
        if route is None:  # it was given back before
            return
        usable = connection.is_available()
        while self._waiting:
            waiting = self._waiting.popleft()
            if waiting.future.done():
                continue
            if usable and waiting.route == route and not connection.has_expired():
                self._used[connection] = route
                waiting.future.set_result(connection)
            else:
                closing.append(connection)
                waiting.future.set_result(self._new(waiting.route))
            return
        if usable:
            self._resting.setdefault(route, deque()).append((time.monotonic(), connection))
            self._resting_count += 1
            self._reap(closing)
        else:
            closing.append(connection)

    def take_all(self) -> list[ConnectionT]:
        """Return all connections, those in use too: they come back as ones that are closed."""
        self.closings += 1
        connections = [connection for resting in self._resting.values() for _, connection in resting]
        self._resting.clear()
        self._resting_count = 0
        return [*connections, *self._used]

    def _new(self, route: RouteT) -> ConnectionT:
        connection = self._connect(route)
        self._used[connection] = route
        return connection

    def _oldest(self) -> ConnectionT:
        """Take out the connection that has rested longest."""
        route = min((route for route, resting in self._resting.items() if resting), key=self._rests_since)
        _, connection = self._resting[route].popleft()
        self._resting_count -= 1
        return connection

    def _rests_since(self, route: RouteT) -> float:
        return self._resting[route][0][0]

    def _reap(self, closing: list[ConnectionT]) -> None:
        while self._resting_count > self._limits.idle:
            closing.append(self._oldest())
        until = time.monotonic() - self._limits.idle_seconds
        for route, resting in list(self._resting.items()):
            while resting and resting[0][0] < until:
                closing.append(resting.popleft()[1])
                self._resting_count -= 1
            if not resting:
                del self._resting[route]


class PoolTimeout(TimeoutError):
    """No connection came free in time."""


class ConnectionPool(Generic[RouteT, SyncT]):
    """
    Connections that threads share. Who waits longest is served first.

    Args:
        limits: how many there may be.
        connect: makes a connection, which does not open before it is used.
    """

    def __init__(self, limits: PoolLimits, connect: Callable[[RouteT], SyncT]) -> None:
        self._shelf = _Shelf(limits, connect)
        self._lock = threading.Lock()

    @property
    def closings(self) -> int:
        """How often it was closed: a connection that broke meanwhile was closed from this side."""
        return self._shelf.closings

    def take(self, route: RouteT, seconds: float | None) -> SyncT:
        """
        Return a connection that is the caller's until `give_back`.

        Args:
            route: where it leads.
            seconds: how long to wait for one.

        Raises:
            PoolTimeout: so many `seconds` have passed and all are still in use.
        """
        closing: list[SyncT] = []
        waiting = None
        with self._lock:
            connection = self._shelf.take(route, closing)
            if connection is None:
                from concurrent.futures import Future

                waiting = self._shelf.wait(route, Future[SyncT]())
        if waiting is None:
            assert connection is not None
            try:
                _close(closing)
            except BaseException:
                self.give_back(connection)
                raise
            return connection
        try:
            return waiting.future.result(seconds)  # type: ignore[no-any-return]
        except BaseException as error:
            with self._lock:
                connection = self._shelf.leave(waiting)
            if connection is not None:
                self.give_back(connection)
            if isinstance(error, TimeoutError):
                raise PoolTimeout from None
            raise

    def renew(self, connection: SyncT) -> SyncT:
        """Return a new connection in the place of one that was taken: nobody who waits comes between. That one is closed."""
        closing: list[SyncT] = []
        with self._lock:
            fresh = self._shelf.renew(connection, closing)
        try:
            _close(closing)
        except BaseException:
            self.give_back(fresh)
            raise
        return fresh

    def give_back(self, connection: SyncT) -> None:
        """Take back a connection. One whose answer was not read to its end is closed."""
        closing: list[SyncT] = []
        with self._lock:
            self._shelf.give_back(connection, closing)
        _close(closing)

    def close(self) -> None:
        """Close all connections, those in use too. The pool can be used again."""
        with self._lock:
            closing = self._shelf.take_all()
        _close(closing)


class AsyncConnectionPool(Generic[RouteT, AsyncT]):
    """As `ConnectionPool`, for the tasks of one event loop."""

    def __init__(self, limits: PoolLimits, connect: Callable[[RouteT], AsyncT]) -> None:
        self._shelf = _Shelf(limits, connect)

    @property
    def closings(self) -> int:
        """As in `ConnectionPool`."""
        return self._shelf.closings

    async def take(self, route: RouteT, seconds: float | None) -> AsyncT:
        """As in `ConnectionPool`."""
        import asyncio

        closing: list[AsyncT] = []
        connection = self._shelf.take(route, closing)
        if connection is None:
            waiting = self._shelf.wait(route, asyncio.get_running_loop().create_future())
            try:
                async with asyncio.timeout(seconds):
                    return await waiting.future  # type: ignore[no-any-return]
            except BaseException as error:
                connection = self._shelf.leave(waiting)
                if connection is not None:
                    await self.give_back(connection)
                if isinstance(error, TimeoutError):
                    raise PoolTimeout from None
                raise
        if closing:
            try:
                await _aclose(closing)
            except BaseException:
                await self.give_back(connection)
                raise
        return connection

    async def renew(self, connection: AsyncT) -> AsyncT:
        """As in `ConnectionPool`."""
        closing: list[AsyncT] = []
        fresh = self._shelf.renew(connection, closing)
        try:
            await uninterrupted(_aclose(closing))
        except BaseException:
            await self.give_back(fresh)
            raise
        return fresh

    async def give_back(self, connection: AsyncT) -> None:
        """As in `ConnectionPool`. No cancellation interrupts it; one that comes meanwhile is raised at the end."""
        closing: list[AsyncT] = []
        self._shelf.give_back(connection, closing)
        if closing:
            await uninterrupted(_aclose(closing))

    async def aclose(self) -> None:
        """Close all connections, those in use too. The pool can be used again."""
        await _aclose(self._shelf.take_all())


def _close(connections: list[Any]) -> None:
    """Close all of them, though one should fail to."""
    while connections:
        try:
            connections.pop().close()
        except BaseException:
            _close(connections)
            raise


async def _aclose(connections: list[Any]) -> None:
    while connections:
        try:
            await connections.pop().aclose()
        except BaseException:
            await _aclose(connections)
            raise
