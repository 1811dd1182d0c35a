"""The bookkeeping of connection pools, with connections that are only counted."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from typing import Any

import pytest

from polywire.plugins.connections import ProviderSettings
from polywire.transport.pools import AsyncConnectionPool, ConnectionPool, PoolLimits, PoolTimeout


class Counted:
    """A connection of no library."""

    def __init__(self, made: list[Counted], route: str) -> None:
        self.route = route
        self.closed = False
        self.stale = False
        made.append(self)

    def is_available(self) -> bool:
        return not self.closed

    def has_expired(self) -> bool:
        return self.stale

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed = True


def pool_of(
    connections: int | None = None, idle: int | None = None, seconds: float | None = None
) -> tuple[ConnectionPool[str, Counted], list[Counted]]:
    made: list[Counted] = []
    return ConnectionPool(PoolLimits(connections, idle, seconds), lambda route: Counted(made, route)), made


def test_the_connection_used_last_is_taken_first() -> None:
    pool, made = pool_of()
    first, second = pool.take("a", 1), pool.take("a", 1)

    pool.give_back(first)
    pool.give_back(second)

    assert pool.take("a", 1) is second
    assert pool.take("a", 1) is first
    assert len(made) == 2


def test_a_stale_connection_is_closed_and_replaced() -> None:
    pool, made = pool_of()
    first = pool.take("a", 1)
    pool.give_back(first)
    first.stale = True

    assert pool.take("a", 1) is not first
    assert first.closed
    assert len(made) == 2


def test_connections_at_rest_make_room_for_another_server() -> None:
    pool, made = pool_of(connections=2)
    used, resting = pool.take("a", 1), pool.take("b", 1)
    pool.give_back(resting)

    pool.take("c", 1)

    assert resting.closed
    assert not used.closed
    assert sum(not each.closed for each in made) == 2


def test_too_many_at_rest_and_those_too_old_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pool, _ = pool_of(idle=2, seconds=30)
    taken = [pool.take("a", 1) for _ in range(3)]
    for each in taken:
        pool.give_back(each)
    assert [each.closed for each in taken] == [True, False, False]

    now = 31.0
    pool.give_back(pool.take("b", 1))
    assert [each.closed for each in taken] == [True, True, True]


def test_a_connection_given_back_twice_counts_once() -> None:
    pool, _ = pool_of(connections=1)
    connection = pool.take("a", 1)
    pool.give_back(connection)
    pool.give_back(connection)

    assert pool.take("a", 1) is connection
    with pytest.raises(PoolTimeout):
        pool.take("a", 0.001)


def test_threads_never_share_a_connection_and_never_exceed_the_limit() -> None:
    pool, made = pool_of(connections=3)
    busy: set[Counted] = set()
    faults: list[str] = []

    def work() -> None:
        for number in range(200):
            connection = pool.take("ab"[number % 2], 10)
            if connection in busy:
                faults.append("shared")
            busy.add(connection)
            if sum(not each.closed for each in list(made)) > 3 + 3:  # those being closed just now included
                faults.append("too many")
            busy.discard(connection)
            if number % 7 == 0:
                connection.close()
            pool.give_back(connection)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    for _ in range(3):
        pool.take("a", 1)


def test_cancelled_waiters_take_nothing_along() -> None:
    async def run() -> None:
        made: list[Counted] = []
        pool = AsyncConnectionPool(PoolLimits(1, None, None), lambda route: Counted(made, route))
        for cancel_first in (True, False):
            held = await pool.take("a", 1)
            waiting = asyncio.create_task(pool.take("b", 1))
            await asyncio.sleep(0)
            if cancel_first:
                waiting.cancel()
                await pool.give_back(held)
            else:  # the connection has come, and the task has not seen it yet
                giving = asyncio.create_task(pool.give_back(held))
                await asyncio.sleep(0)
                waiting.cancel()
                await giving
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await pool.give_back(await pool.take("c", 0.1))
        await pool.aclose()
        assert all(each.closed for each in made)

    asyncio.run(run())


def test_a_transport_whose_package_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def without_aiohttp(name: str, *arguments: Any) -> Any:
        return None if name == "aiohttp" else find_spec(name, *arguments)

    monkeypatch.setattr("polywire.plugins.connections.find_spec", without_aiohttp)

    with pytest.raises(ValueError, match=r"pip install 'polywire\[aiohttp\]'"):
        ProviderSettings(transport="aiohttp")
    assert ProviderSettings().transport == "httpx"
