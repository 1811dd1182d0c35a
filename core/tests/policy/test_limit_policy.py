"""Limits within one process: turns, permits that always come back, tokens, and the provider's pause."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from polywire.errors import (
    BadRequest,
    ConnectionFailed,
    ModelTimeout,
    RateLimited,
    ServerError,
    StreamInterrupted,
    UnsupportedByModel,
)
from polywire.events import ResponseEnd, TextDelta, UsageUpdate
from polywire.models import ChatModel
from polywire.policy import DeadlinePolicy, LimitPolicy, LimitTimeout, PolicyModel, RetryPolicy
from polywire.policy.estimate import EXPECTED_OUTPUT, estimate_tokens
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import FinishReason, TokenUsage

END = ResponseEnd(FinishReason.STOP)


def limited(world: Any, inner: Any, *before: Any, **limits: Any) -> tuple[PolicyModel, LimitPolicy]:
    policy = LimitPolicy(clock=world.now, **limits)
    return PolicyModel(inner, [*before, policy], runtime=world.runtime), policy


@pytest.mark.parametrize("way", ["Chat", "Stream"])
def test_requests_keep_the_rate_and_the_burst(world: Any, way: str) -> None:
    inner = world.model()
    model, _ = limited(world, inner, requests_per_minute=60, request_burst=3)

    def job() -> Any:
        for _ in range(4):
            yield getattr(world, way)(model)

    world.run(job, job, job)

    starts = [at - 1000 for at in inner.sent_at]
    assert starts == pytest.approx([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9], abs=0.001)


@pytest.mark.parametrize("way", ["Chat", "Stream"])
def test_concurrency_is_never_exceeded(world: Any, way: str) -> None:
    inner = world.model([world.Wait(2), *world.answer()])
    model, policy = limited(world, inner, concurrency=3)

    def job() -> Any:
        yield getattr(world, way)(model)

    world.run(*[job] * 10)

    assert inner.most_running == 3
    assert world.now() == 1000 + 8
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_turns_come_in_the_order_of_asking(world: Any) -> None:
    inner = world.model([world.Wait(1), *world.answer()])
    model, _ = limited(world, inner, concurrency=1)

    def job(number: int) -> Any:
        yield world.Pass(number / 1000)
        yield world.Chat(model, f"{number}")

    world.run(*(job(number) for number in (3, 1, 4, 0, 5, 2)))

    assert [request.messages[0].text for request in inner.requests] == ["0", "1", "2", "3", "4", "5"]


def test_a_heavy_call_is_not_starved_by_light_ones(world: Any) -> None:
    inner = world.model()
    model, _ = limited(
        world, inner, tokens_per_minute=600, token_burst=100, estimate=lambda request: int(request.messages[0].text)
    )

    def job(at: float, weight: int) -> Any:
        yield world.Pass(at)
        yield world.Chat(model, str(weight))

    # The first empties the bucket; 100 units need 10 seconds, while 1 unit would fit every 0.1 seconds.
    world.run(job(0, 100), job(0.001, 100), *(job(0.01 + number / 100, 1) for number in range(50)))

    assert [request.messages[0].text for request in inner.requests[:2]] == ["100", "100"]


def test_a_call_that_would_wait_past_its_deadline_says_what_would_have_been_needed(world: Any) -> None:
    inner = world.model()
    model, policy = limited(world, inner, DeadlinePolicy(total=2), requests_per_minute=6, request_burst=1)
    world.chat(model)

    outcome = world.chat(model)

    assert isinstance(outcome.error, LimitTimeout)
    assert isinstance(outcome.error, RateLimited)
    assert isinstance(outcome.error, ModelTimeout)
    assert outcome.at == pytest.approx(1002)
    assert outcome.error.retry_after == pytest.approx(8, abs=0.01)
    assert "requests per minute" in str(outcome.error)
    assert "about 8 s more would have been needed" in str(outcome.error)
    assert len(inner.requests) == 1
    assert policy.limiter.waiting == 0  # type: ignore[attr-defined]


def test_a_place_far_back_in_the_queue_knows_its_time_too(world: Any) -> None:
    inner = world.model()
    model, _ = limited(world, inner, requests_per_minute=60, request_burst=1)

    def patient() -> Any:
        yield world.Chat(model)

    def hasty() -> Any:
        yield world.Pass(0.5)
        return (yield world.Chat(model, "x", {"deadline": 1}))

    *_, outcome = world.run(*[patient] * 10, hasty)

    # At 1.5 the next goes at 2; eight more stand before this one.
    assert outcome.error.retry_after == pytest.approx(8.5, abs=0.01)


def test_a_longest_wait_holds_without_a_deadline(world: Any) -> None:
    model, _ = limited(world, world.model(), requests_per_minute=1, request_burst=1, max_wait=5)
    world.chat(model)

    outcome = world.chat(model)

    assert isinstance(outcome.error, LimitTimeout)
    assert outcome.at == 1005


def test_tokens_are_settled_by_the_usage_that_is_reported(world: Any) -> None:
    inner = world.model(world.answer("hi", tokens=10))
    model, _ = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    for _ in range(5):
        assert world.chat(model).text == "hi"

    # Each took 100 by estimate and gave 90 back: the next has to wait for 10, a tenth of a second.
    assert [at - 1000 for at in inner.sent_at] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=0.001)


def test_a_stream_is_settled_at_its_end(world: Any) -> None:
    inner = world.model(world.answer("hi", tokens=10))
    model, _ = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    for _ in range(3):
        assert world.stream(model).text == "hi"

    assert [at - 1000 for at in inner.sent_at] == pytest.approx([0, 0.1, 0.2], abs=0.001)


def test_more_usage_than_reserved_is_charged_afterwards(world: Any) -> None:
    inner = world.model(world.answer("hi", tokens=300))
    model, _ = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    world.chat(model)
    world.chat(model)

    assert inner.sent_at[1] - 1000 == pytest.approx(3, abs=0.001)


def test_without_reported_usage_the_reservation_stands(world: Any) -> None:
    inner = world.model(world.answer("hi"))
    model, _ = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    world.chat(model)
    world.chat(model)

    assert inner.sent_at[1] - 1000 == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize("way", ["chat", "stream"])
@pytest.mark.parametrize("error", [ServerError("no", status=500), ConnectionFailed("refused"), BadRequest("no")])
def test_a_failure_gives_tokens_back_and_keeps_the_request_counted(world: Any, way: str, error: Exception) -> None:
    inner = world.model(error, world.answer(), world.answer())
    model, policy = limited(
        world, inner, tokens_per_minute=60, token_burst=100, estimate=100, requests_per_minute=60, request_burst=1
    )

    assert getattr(world, way)(model).error is error
    getattr(world, way)(model)

    assert inner.sent_at == pytest.approx([1000, 1001], abs=0.001)
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_what_never_left_this_side_is_not_counted_at_all(world: Any) -> None:
    inner = world.model(UnsupportedByModel("no images"), world.answer())
    model, _ = limited(world, inner, requests_per_minute=1, request_burst=1)

    world.chat(model)
    world.chat(model)

    assert inner.sent_at == [1000, 1000]


def test_a_stream_that_breaks_after_content_keeps_its_reservation(world: Any) -> None:
    broken = [TextDelta("a"), StreamInterrupted("cut")]
    inner = world.model(broken, world.answer())
    model, policy = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    world.stream(model)
    world.stream(model)

    assert inner.sent_at[1] - 1000 == pytest.approx(1, abs=0.001)
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_a_stream_left_early_is_charged_what_it_reported_if_that_is_more(world: Any) -> None:
    usage = UsageUpdate(TokenUsage(input_tokens=150, output_tokens=50))
    inner = world.model([usage, TextDelta("a"), TextDelta("b"), END])
    model, _ = limited(world, inner, tokens_per_minute=6000, token_burst=100, estimate=100)

    world.stream(model, stop_after=2)
    world.stream(model)

    assert inner.sent_at[1] - 1000 == pytest.approx(2, abs=0.001)


@pytest.mark.parametrize("stop_after", [0, 1, 2])
def test_the_slot_of_a_stream_is_free_once_it_is_closed(world: Any, stop_after: int) -> None:
    inner = world.model(world.answer("text"))
    model, policy = limited(world, inner, concurrency=1)

    world.stream(model, stop_after=stop_after)

    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]
    assert world.stream(model).text == "text"


def test_a_stream_that_nobody_reads_holds_nothing() -> None:
    policy = LimitPolicy(concurrency=1, requests_per_minute=60, request_burst=1)
    model = PolicyModel(ChatModel.from_function(lambda _: "hi"), [policy])

    unread = [model.stream("x") for _ in range(10)]  # type: ignore[attr-defined]

    assert model.chat("x").text == "hi"
    del unread


def test_a_stream_that_is_dropped_gives_its_slot_back() -> None:
    policy = LimitPolicy(concurrency=1)
    model = PolicyModel(ChatModel.from_function(lambda _: iter(["a", "b", "c"])), [policy])

    stream = model.stream("x")  # type: ignore[attr-defined]
    next(stream)
    assert policy.limiter.in_use == 1  # type: ignore[attr-defined]
    del stream
    gc.collect()

    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_an_async_stream_of_a_loop_that_is_gone_gives_its_slot_back() -> None:
    policy = LimitPolicy(concurrency=1)

    async def pieces(_: object) -> Any:
        for piece in ("a", "b", "c"):
            yield piece

    model = PolicyModel(ChatModel.from_function(pieces), [policy])
    kept: list[Any] = []

    async def main() -> None:
        kept.append(model.astream("x"))  # type: ignore[attr-defined]
        await anext(kept[0])

    asyncio.run(main())
    kept.clear()
    gc.collect()

    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_a_permit_comes_back_through_a_finaliser_in_the_middle_of_the_limiter() -> None:
    """A finaliser may run anywhere, also while the same thread is inside the limiter: a plain lock would hang there."""
    policy = LimitPolicy(concurrency=2)
    limiter: Any = policy.limiter
    forgotten = limiter.try_acquire(0)

    class Cycle:
        permit: Any
        me: Any

    cycle = Cycle()
    cycle.permit, cycle.me = forgotten, cycle
    take = limiter._book.take

    class Book:
        def __getattr__(self, name: str) -> Any:
            return getattr(limiter_book, name)

        def take(self, *arguments: Any) -> Any:
            nonlocal cycle
            cycle = None
            gc.collect()  # runs the permit's finaliser here, under the limiter's own lock
            return take(*arguments)

    limiter_book = limiter._book
    limiter._book = Book()
    del forgotten
    done = threading.Event()

    def work() -> None:
        limiter.try_acquire(0)
        done.set()

    threading.Thread(target=work, daemon=True).start()
    assert done.wait(5), "the limiter hangs"


def test_releasing_twice_counts_once(world: Any) -> None:
    _, policy = limited(world, world.model(), concurrency=2)
    limiter: Any = policy.limiter
    first, second = limiter.try_acquire(0), limiter.try_acquire(0)

    first.release()
    first.release()

    assert limiter.in_use == 1
    second.release()
    assert limiter.in_use == 0


def test_a_call_reckoned_beyond_the_burst_is_refused_at_once(world: Any) -> None:
    inner = world.model()
    model, _ = limited(world, inner, RetryPolicy(), tokens_per_minute=1000, estimate=5000)

    outcome = world.chat(model)

    assert isinstance(outcome.error, RateLimited)
    assert not outcome.error.retryable
    assert "5000 tokens" in str(outcome.error)
    assert inner.requests == []


def test_during_a_providers_pause_no_other_call_is_sent_and_no_slot_is_held(world: Any) -> None:
    inner = world.model(RateLimited("slow down", retry_after=5), world.answer())
    model, policy = limited(world, inner, RetryPolicy(), concurrency=1)
    held: list[int] = []

    def first() -> Any:
        return (yield world.Chat(model, "first"))

    def second() -> Any:
        yield world.Pass(1)
        return (yield world.Chat(model, "second"))

    def look() -> Any:
        yield world.Pass(2)
        held.append(policy.limiter.in_use)  # type: ignore[attr-defined]

    outcomes = world.run(first, second, look)

    assert [outcome.text for outcome in outcomes[:2]] == ["hi", "hi"]
    assert held == [0]
    assert inner.sent_at == pytest.approx([1000, 1005, 1005], abs=0.01)


def test_the_pause_is_one_connections_own(world: Any) -> None:
    slow, quick = world.model(RateLimited("slow down", retry_after=50), world.answer()), world.model()
    first, _ = limited(world, slow, RetryPolicy())
    second, _ = limited(world, quick)

    def job() -> Any:
        yield world.Chat(first)

    def other() -> Any:
        yield world.Pass(1)
        yield world.Chat(second)

    world.run(job, other)

    assert quick.sent_at == [1001]


@pytest.mark.parametrize(("pause", "deadline"), [(100, None), (50, 10)])
def test_a_pause_too_long_to_wait_for_is_an_error_at_once(world: Any, pause: float, deadline: float | None) -> None:
    inner = world.model(RateLimited("slow down", retry_after=pause), world.answer())
    model, _ = limited(world, inner, max_pause=60)
    world.chat(model)

    outcome = world.chat(model, deadline=deadline)

    assert isinstance(outcome.error, RateLimited)
    assert outcome.error.retry_after == pytest.approx(pause)
    assert outcome.at == 1000
    assert len(inner.requests) == 1


def test_the_limits_of_a_connection_and_of_a_model_both_hold(world: Any) -> None:
    one, two = world.model([world.Wait(1), *world.answer()]), world.model([world.Wait(1), *world.answer()])
    shared = LimitPolicy(concurrency=3, clock=world.now)
    own = LimitPolicy(concurrency=1, clock=world.now)
    first = PolicyModel(one, [own, shared], runtime=world.runtime)
    second = PolicyModel(two, [shared], runtime=world.runtime)

    def job(model: Any) -> Any:
        yield world.Chat(model)

    world.run(*(job(first) for _ in range(4)), *(job(second) for _ in range(4)))

    assert one.most_running == 1
    assert two.most_running == 2 or two.most_running == 3
    assert shared.limiter.in_use == own.limiter.in_use == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", ["achat", "astream"])
def test_cancelling_anywhere_leaves_the_limiter_as_it_was(async_world: Any, way: str) -> None:
    """The call is cancelled after 1, 2, 3 ... turns of the loop, until it ends by itself."""
    world = async_world
    tried = 0
    for turns in range(1, 200):
        inner = world.model(RateLimited("slow", retry_after=1), [world.Wait(1), *world.answer("hi", tokens=5)])
        policies = [
            DeadlinePolicy(total=50, first_event=20, between_events=20),
            RetryPolicy(),
            LimitPolicy(concurrency=1, clock=world.now),
            LimitPolicy(
                concurrency=1,
                requests_per_minute=6000,
                request_burst=100,
                tokens_per_minute=60,
                token_burst=100,
                estimate=100,
                clock=world.now,
            ),
        ]
        model: Any = PolicyModel(inner, policies, runtime=world.runtime)
        limiters: list[Any] = [policy.limiter for policy in policies[2:]]  # type: ignore[attr-defined]

        async def call(model: Any = model) -> Any:
            return await (model.achat("x") if way == "achat" else model.astream("x").collect())

        async def main(turns: int = turns, call: Any = call) -> bool:
            task = asyncio.ensure_future(call())
            for _ in range(turns):
                await asyncio.sleep(0 if turns % 2 else 0.3)
                if task.done():
                    return False
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

        cancelled = world.run_coroutine(main())
        assert [limiter.in_use for limiter in limiters] == [0, 0]
        assert [limiter.waiting for limiter in limiters] == [0, 0]
        assert inner.running == 0
        if not cancelled and turns % 2 == 0:
            break
        tried += cancelled
        # Nothing is left that the next call would have to wait for, but a pause that the provider asked for.
        paused = max(0.0, limiters[1]._book.paused_until - world.now(), limiters[0]._book.paused_until - world.now())
        inner.script = [world.answer("hi", tokens=0)]
        before = world.now()
        assert world.chat(model).text == "hi"
        if not paused:
            assert world.now() - before == pytest.approx(0, abs=0.01)
    assert tried >= 5


def test_cancelling_waiters_gives_each_place_back_once(async_world: Any) -> None:
    world = async_world
    inner = world.model([world.Wait(10), *world.answer()])
    model, policy = limited(world, inner, concurrency=2, requests_per_minute=60, request_burst=2)

    async def main() -> None:
        tasks = [asyncio.ensure_future(model.achat(f"{number}")) for number in range(8)]
        await asyncio.sleep(1)
        for task in tasks[2:7]:
            task.cancel()
        await asyncio.sleep(0)
        assert policy.limiter.waiting == 1  # type: ignore[attr-defined]
        await asyncio.wait(tasks)

    world.run_coroutine(main())

    assert [request.messages[0].text for request in inner.requests] == ["0", "1", "7"]
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_threads_and_event_loops_share_one_queue() -> None:
    policy = LimitPolicy(concurrency=2)
    running = most = 0
    counting = threading.Lock()

    def enter() -> None:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)

    def leave() -> None:
        nonlocal running
        with counting:
            running -= 1

    def blocking(_: object) -> str:
        enter()
        threading.Event().wait(0.002)
        leave()
        return "sync"

    async def awaiting(_: object) -> str:
        enter()
        await asyncio.sleep(0.002)
        leave()
        return "async"

    sync_model = PolicyModel(ChatModel.from_function(blocking), [policy])
    async_model = PolicyModel(ChatModel.from_function(awaiting), [policy])
    answers: list[str | None] = []

    def thread() -> None:
        answers.extend(sync_model.chat("x").text for _ in range(10))

    async def tasks() -> None:
        answers.extend(response.text for response in await asyncio.gather(*(async_model.achat("x") for _ in range(10))))

    threads = [threading.Thread(target=thread) for _ in range(3)]
    threads += [threading.Thread(target=lambda: asyncio.run(tasks())) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)

    assert sorted(answers) == ["async"] * 30 + ["sync"] * 30
    assert most == 2
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_a_model_object_outlives_its_event_loops() -> None:
    async def answer(_: object) -> str:
        return "hi"

    policy = LimitPolicy(concurrency=1, requests_per_minute=600_000)
    model = PolicyModel(ChatModel.from_function(answer), [RetryPolicy(), policy])

    for _ in range(3):
        assert asyncio.run(model.achat("x")).text == "hi"


def test_a_head_of_the_queue_whose_loop_hangs_holds_up_no_other_thread() -> None:
    policy = LimitPolicy(requests_per_minute=600, request_burst=1)  # one every 0.1 s
    model = PolicyModel(ChatModel.from_function(lambda _: "hi"), [policy])
    model.chat("x")
    queued, answered = threading.Event(), threading.Event()

    async def answer(_: object) -> str:
        return "hi"

    async def hangs() -> None:
        task = asyncio.ensure_future(PolicyModel(ChatModel.from_function(answer), [policy]).achat("x"))
        await asyncio.sleep(0)
        queued.set()
        await asyncio.to_thread(lambda: None)
        answered.wait(5)  # the loop hangs here, with its task at the head of the queue
        await task

    thread = threading.Thread(target=lambda: asyncio.run(hangs()))
    thread.start()
    queued.wait(5)
    assert model.chat("x", deadline=3).text == "hi"
    answered.set()
    thread.join(5)


def test_the_estimate_counts_text_output_media_and_tools() -> None:
    plain = ChatRequest("x" * 300)
    assert estimate_tokens(plain) == 100 + 8 + EXPECTED_OUTPUT
    assert estimate_tokens(ChatRequest("x" * 300, ChatRequestParameters(max_tokens=50))) == 158
    assert estimate_tokens(plain, ChatRequestParameters(max_tokens=20)) == 128
    assert estimate_tokens(ChatRequest("ä" * 300)) == 200 + 8 + EXPECTED_OUTPUT


@pytest.mark.parametrize(
    "name", ["requests_per_minute", "tokens_per_minute", "concurrency", "request_burst", "token_burst"]
)
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=name):
        LimitPolicy(**{name: value})
