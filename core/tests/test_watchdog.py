"""The watchdog: callbacks at their time, in order, and no harm from one to another."""

from __future__ import annotations

import os
import threading
import warnings

import pytest

from polywire.watchdog import Watchdog, shared_watchdog


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_callbacks_run_when_their_time_has_come_and_in_order() -> None:
    clock = Clock()
    watchdog = Watchdog(clock, start_thread=False)
    ran: list[str] = []
    watchdog.schedule(103.0, lambda: ran.append("c"))
    watchdog.schedule(101.0, lambda: ran.append("a"))
    watchdog.schedule(102.0, lambda: ran.append("b"))

    assert watchdog.run_due() == 101.0
    assert ran == []
    clock.now = 102.0
    assert watchdog.run_due() == 103.0
    assert ran == ["a", "b"]
    clock.now = 200.0
    assert watchdog.run_due() is None
    assert watchdog.run_due() is None
    assert ran == ["a", "b", "c"]


def test_a_cancelled_callback_does_not_run() -> None:
    clock = Clock()
    watchdog = Watchdog(clock, start_thread=False)
    ran: list[str] = []
    first = watchdog.schedule(101.0, lambda: ran.append("a"))
    second = watchdog.schedule(101.0, lambda: ran.append("b"))

    first.cancel()
    first.cancel()
    clock.now = 101.0
    watchdog.run_due()

    assert ran == ["b"]
    assert first.cancelled
    assert second.cancelled


def test_a_callback_that_raises_harms_no_other() -> None:
    clock = Clock()
    watchdog = Watchdog(clock, start_thread=False)
    ran: list[str] = []
    watchdog.schedule(101.0, lambda: dict[str, str]()["missing"])
    watchdog.schedule(101.0, lambda: ran.append("b"))

    clock.now = 101.0
    watchdog.run_due()

    assert ran == ["b"]


def test_a_callback_may_schedule_again() -> None:
    clock = Clock()
    watchdog = Watchdog(clock, start_thread=False)
    ran: list[float] = []

    def again() -> None:
        ran.append(clock.now)
        if len(ran) < 3:
            watchdog.schedule(clock.now + 1, again)

    watchdog.schedule(101.0, again)
    for clock.now in (101.0, 101.5, 102.0, 103.0, 104.0):
        watchdog.run_due()

    assert ran == [101.0, 102.0, 103.0]


def test_the_thread_runs_callbacks_and_an_earlier_one_wakes_it() -> None:
    watchdog = Watchdog()
    later, sooner = threading.Event(), threading.Event()
    handle = watchdog.schedule(watchdog.clock() + 60, later.set)
    watchdog.schedule(watchdog.clock() + 0.01, sooner.set)

    assert sooner.wait(5)
    assert not later.is_set()
    handle.cancel()
    past = threading.Event()
    watchdog.schedule(watchdog.clock() - 1, past.set)
    assert past.wait(5)


def test_one_daemon_thread_started_when_first_needed() -> None:
    before = threading.active_count()
    watchdog = Watchdog()
    assert threading.active_count() == before

    done = [threading.Event() for _ in range(50)]
    for event in done:
        watchdog.schedule(watchdog.clock(), event.set)
    assert all(event.wait(5) for event in done)

    assert threading.active_count() == before + 1
    assert shared_watchdog() is shared_watchdog()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_watchdog_that_works() -> None:
    watchdog = Watchdog()
    started = threading.Event()
    watchdog.schedule(watchdog.clock(), started.set)
    assert started.wait(5)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        event = threading.Event()
        watchdog.schedule(watchdog.clock(), event.set)
        os._exit(0 if event.wait(5) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_cancelled_alarms_are_cleared_away_and_the_others_run() -> None:
    clock = Clock()
    watchdog = Watchdog(clock, start_thread=False)
    ran: list[int] = []
    for number in range(20):
        watchdog.schedule(700.0 - number, lambda number=number: ran.append(number))  # type: ignore[misc]
    for _ in range(5000):
        watchdog.schedule(700.0, lambda: ran.append(-1)).cancel()

    assert len(watchdog._alarms) < 300
    clock.now = 700.0
    watchdog.run_due()
    assert ran == list(range(19, -1, -1))
    assert watchdog.run_due() is None


def test_cancelling_twice_counts_once() -> None:
    watchdog = Watchdog(Clock(), start_thread=False)
    for _ in range(300):
        alarm = watchdog.schedule(700.0, lambda: None)
    for _ in range(1000):
        alarm.cancel()

    assert len(watchdog._cancelled) == 1


def test_alarms_far_away_that_are_cancelled_in_time_do_not_wake_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog = Watchdog()
    woken: list[None] = []
    notify = watchdog._changed.notify
    monkeypatch.setattr(watchdog._changed, "notify", lambda: (woken.append(None), notify()))

    for _ in range(1000):
        watchdog.schedule(watchdog.clock() + 600, lambda: None).cancel()
    assert len(woken) < 50

    rang = threading.Event()
    watchdog.schedule(watchdog.clock() + 0.01, rang.set)
    assert rang.wait(10)
