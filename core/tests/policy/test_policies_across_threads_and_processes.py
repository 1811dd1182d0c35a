"""What policies share, among threads, event loops and forked processes; in real time, without any sleep."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polywire.errors import RateLimited, ServerError
from polywire.models import ChatModel
from polywire.policy import DeadlinePolicy, FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy, Runtime


@pytest.fixture
def fast_switches() -> Iterator[None]:
    """Let threads interrupt each other as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(number: int, body: Callable[[int], object]) -> None:
    """Run `body` in so many threads that begin in the same moment, and raise what any of them raised."""
    barrier = threading.Barrier(number)
    errors: list[BaseException] = []

    def run(index: int) -> None:
        barrier.wait(20)
        try:
            body(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if errors:
        raise errors[0]


class Gauge:
    """Counts how many run at once, exactly: each step is one atomic operation."""

    def __init__(self) -> None:
        self.running: list[None] = []
        self.most = 0
        self.calls = 0
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.running.append(None)
            self.calls += 1
            self.most = max(self.most, len(self.running))

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.running.pop()


@pytest.mark.usefixtures("fast_switches")
@pytest.mark.parametrize("places", [1, 3])
def test_threads_that_take_and_give_back_as_fast_as_they_can_lose_no_permit(places: int) -> None:
    policy = LimitPolicy(concurrency=places, requests_per_minute=10**8, tokens_per_minute=10**9, estimate=10)
    gauge = Gauge()

    def answer(_: object) -> str:
        with gauge:
            return "ok"

    model = PolicyModel(ChatModel.from_function(answer), [policy])

    together(8, lambda _: [model.chat("q") for _ in range(60)])

    limiter: Any = policy.limiter
    assert gauge.calls == 8 * 60
    assert gauge.most <= places
    assert (limiter.in_use, limiter.waiting) == (0, 0)


@pytest.mark.usefixtures("fast_switches")
def test_a_half_open_circuit_lets_one_of_many_threads_through() -> None:
    now = [0.0]
    probing, finish = threading.Event(), threading.Event()
    sent: list[None] = []

    def first(_: object) -> str:
        sent.append(None)
        if now[0] > 0:
            probing.set()
            assert finish.wait(20)
            return "well again"
        message = "down"
        raise ServerError(message)

    runtime = Runtime(clock=lambda: now[0])
    fallback = FallbackPolicy(
        {"spare": ChatModel.from_function(lambda _: "spare")},
        breaker_failures=1,
        breaker_cooldown=30,
        runtime=runtime,
    )
    model = PolicyModel(ChatModel.from_function(first), [fallback], runtime=runtime)
    assert model.chat("q").text == "spare"
    now[0] = 31.0
    answers: list[Any] = []

    def ask(_: int) -> None:
        answers.append(model.chat("q").text)
        if len(answers) == 11:  # all but the probe
            finish.set()

    together(12, ask)

    assert sorted(answers) == ["spare"] * 11 + ["well again"]
    assert len(sent) == 2
    assert model.chat("q").text == "well again"


def test_two_event_loops_in_two_threads_share_all_policies() -> None:
    limits = LimitPolicy(concurrency=2, requests_per_minute=10**8)
    gauge = Gauge()
    failed: list[None] = []

    async def answer(_: object) -> str:
        with gauge:
            await asyncio.sleep(0)
            if len(failed) < 5:
                failed.append(None)
                message = "once more"
                raise ServerError(message)
            return "ok"

    policies = [
        DeadlinePolicy(total=60),
        FallbackPolicy({"spare": ChatModel.from_function(lambda _: "spare")}),
        RetryPolicy(attempts=8, initial_wait=0),
        limits,
    ]
    model = PolicyModel(ChatModel.from_function(answer), policies)

    async def main() -> None:
        assert {each.text for each in await asyncio.gather(*(model.achat("q") for _ in range(40)))} == {"ok"}

    together(2, lambda _: asyncio.run(main()))

    limiter: Any = limits.limiter
    assert gauge.most <= 2
    assert gauge.calls == 85
    assert (limiter.in_use, limiter.waiting) == (0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_begins_with_all_places_and_leaves_its_parents_alone() -> None:
    policy = LimitPolicy(concurrency=1)
    model: Any = PolicyModel(ChatModel.from_function(lambda _: iter(["a", "b"])), [policy])
    held = model.stream("q")
    next(held)
    limiter: Any = policy.limiter
    assert limiter.in_use == 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests leave threads behind
        child = os.fork()
    if child == 0:  # pragma: no cover - another process
        right = False
        try:
            right = limiter.in_use == 0 and model.chat("q", deadline=5).text == "ab"
            held.close()  # granted by the parent: giving it back here counts for nobody
            right = right and limiter.in_use == 0 and model.chat("q", deadline=5).text == "ab"
        finally:
            os._exit(0 if right else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert limiter.in_use == 1
    held.close()
    assert limiter.in_use == 0


def test_a_generator_around_a_stream_that_is_closed_or_dropped_gives_the_place_back() -> None:
    policy = LimitPolicy(concurrency=1)
    model: Any = PolicyModel(ChatModel.from_function(lambda _: iter("abcdef")), [policy])
    limiter: Any = policy.limiter

    def words() -> Iterator[str]:
        yield from model.stream("q").text_stream()

    for leave in (lambda generator: generator.close(), lambda _: None):
        generator = words()
        assert next(generator) == "a"
        assert limiter.in_use == 1
        leave(generator)
        del generator
        gc.collect()
        assert limiter.in_use == 0


def test_without_limits_only_the_pause_is_kept_and_all_who_share_it_wait(world: Any) -> None:
    policy = LimitPolicy(clock=world.now)
    first = world.model(RateLimited("slow down", retry_after=5), world.answer())
    second = world.model()
    retrying = PolicyModel(first, [RetryPolicy(attempts=2), policy], runtime=world.runtime)
    plain = PolicyModel(second, [policy], runtime=world.runtime)

    def one() -> Any:
        return (yield world.Chat(retrying))

    def other() -> Any:
        yield world.Pass(1)
        return (yield world.Chat(plain))

    outcomes = world.run(one, other)

    assert [outcome.text for outcome in outcomes] == ["hi", "hi"]
    assert first.sent_at == [1000, 1005]
    assert second.sent_at == [pytest.approx(1005, abs=0.01)]
    limiter: Any = policy.limiter
    assert (limiter.in_use, limiter.waiting) == (0, 0)
