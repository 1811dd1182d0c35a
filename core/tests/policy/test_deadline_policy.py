"""Time limits: the whole call, the first content, and further content."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from polywire.errors import ModelTimeout, RateLimited, ServerError
from polywire.events import ResponseEnd, ResponseStart, TextDelta
from polywire.policy import DeadlinePolicy, LimitPolicy, PolicyModel, RetryPolicy
from polywire.responses import FinishReason

START = ResponseStart({"id": "r"})
END = ResponseEnd(FinishReason.STOP)


def test_no_first_content_is_a_timeout_at_its_time_and_closes_the_connection(world: Any) -> None:
    inner = world.model([START, world.Wait(10), TextDelta("late"), END])
    model = PolicyModel(inner, [DeadlinePolicy(first_event=1, total=100)], runtime=world.runtime)

    outcome = world.stream(model)

    assert isinstance(outcome.error, ModelTimeout)
    assert "first_event" in str(outcome.error)
    assert (outcome.error.provider, outcome.error.model) == ("fake", "fake-1")
    assert outcome.at == pytest.approx(1001)
    assert (inner.opened, inner.closed) == (1, 1)


def test_start_events_do_not_count_as_the_first_content(world: Any) -> None:
    beats = [each for _ in range(20) for each in (world.Wait(0.3), START)]
    inner = world.model([*beats, TextDelta("late"), END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(first_event=1)], runtime=world.runtime))

    assert isinstance(outcome.error, ModelTimeout)
    assert outcome.at == pytest.approx(1001)


def test_content_in_time_is_let_through(world: Any) -> None:
    inner = world.model([START, world.Wait(0.9), TextDelta("a"), world.Wait(50), TextDelta("b"), END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(first_event=1)], runtime=world.runtime))

    assert outcome.text == "ab"


def test_each_attempt_has_its_own_time_to_the_first_content(world: Any) -> None:
    inner = world.model([world.Wait(10), TextDelta("late"), END], [world.Wait(0.5), TextDelta("good"), END])
    policies = [DeadlinePolicy(first_event=1), RetryPolicy(initial_wait=5, jitter=0)]

    outcome = world.stream(PolicyModel(inner, policies, runtime=world.runtime))

    assert outcome.text == "good"
    assert outcome.at == pytest.approx(1000 + 1 + 5 + 0.5)


def test_a_gap_between_two_contents_is_a_timeout_with_what_had_come(world: Any) -> None:
    inner = world.model([TextDelta("a"), world.Wait(2), TextDelta("b"), world.Wait(4), TextDelta("c"), END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(between_events=3)], runtime=world.runtime))

    assert isinstance(outcome.error, ModelTimeout)
    assert "between_events" in str(outcome.error)
    assert outcome.error.partial.text == "ab"
    assert outcome.at == pytest.approx(1005)
    assert inner.running == 0


def test_the_readers_own_pauses_do_not_count_between_events(world: Any) -> None:
    inner = world.model([TextDelta("a"), world.Wait(1), TextDelta("b"), world.Wait(1), TextDelta("c"), END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(between_events=3)], runtime=world.runtime), pause=60)

    assert outcome.text == "abc"


def test_the_deadline_holds_for_a_stream_in_all(world: Any) -> None:
    steps = [each for _ in range(100) for each in (world.Wait(1), TextDelta("x"))]
    inner = world.model([*steps, END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(total=10.5)], runtime=world.runtime))

    assert isinstance(outcome.error, ModelTimeout)
    assert "deadline" in str(outcome.error)
    assert outcome.error.partial.text == "x" * 10
    assert outcome.at == pytest.approx(1010.5)


def test_the_readers_pauses_count_for_the_deadline(world: Any) -> None:
    inner = world.model([TextDelta("a"), TextDelta("b"), END])

    outcome = world.stream(PolicyModel(inner, [DeadlinePolicy(total=10)], runtime=world.runtime), pause=11)

    assert isinstance(outcome.error, ModelTimeout)
    assert [event.text for event in outcome.events] == ["a"]


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_what_a_call_asks_for_wins_over_the_models_own(world: Any, way: str) -> None:
    inner = world.model([world.Wait(5), *world.answer("done")])
    model = PolicyModel(inner, [DeadlinePolicy(total=2, first_event=2)], runtime=world.runtime)

    assert getattr(world, way)(model, deadline=10, first_event=10).text == "done"


def test_a_calls_own_limits_hold_without_a_policy(world: Any) -> None:
    inner = world.model([world.Wait(5), *world.answer("late")])
    model = PolicyModel(inner, runtime=world.runtime)

    assert isinstance(world.stream(model, deadline=2).error, ModelTimeout)
    assert isinstance(world.stream(model, first_event=2).error, ModelTimeout)


def test_retries_and_waits_count_in_the_deadline(world: Any) -> None:
    inner = world.model([world.Wait(3), ServerError("no")])
    policies = [DeadlinePolicy(total=10), RetryPolicy(attempts=50, initial_wait=1, multiplier=1, jitter=0)]

    outcome = world.chat(PolicyModel(inner, policies, runtime=world.runtime))

    # Attempts at 0, 4 and 8; the third is cut at 10, or, where it cannot be cut, ends at 11.
    assert len(inner.requests) == 3
    assert outcome.error is not None
    assert outcome.at <= 1011


def test_waiting_for_a_limit_counts_in_the_deadline(world: Any) -> None:
    inner = world.model([world.Wait(4), *world.answer()])
    policies = [DeadlinePolicy(total=6), LimitPolicy(concurrency=1, clock=world.now)]
    model = PolicyModel(inner, policies, runtime=world.runtime)

    def job() -> Any:
        return (yield world.Stream(model))

    first, second = world.run(job, job)

    assert first.text == "hi"
    assert isinstance(second.error, ModelTimeout)
    assert second.at == pytest.approx(1006)


def test_a_sync_plain_call_is_told_what_is_left(world: Any) -> None:
    inner = world.model(RateLimited("no", retry_after=3), world.answer())
    model = PolicyModel(inner, [DeadlinePolicy(total=10), RetryPolicy()], runtime=world.runtime)

    assert world.chat(model, tags={"team": "search"}).text == "hi"
    if world.kind == "sync":
        assert [request.options.deadline for request in inner.requests] == [10, 7]
        assert inner.requests[1].options.tags == {"team": "search"}


def test_an_async_plain_call_is_cut_at_its_deadline(async_world: Any) -> None:
    inner = async_world.model([async_world.Wait(30), *async_world.answer()])

    outcome = async_world.chat(PolicyModel(inner, [DeadlinePolicy(total=2)], runtime=async_world.runtime))

    assert isinstance(outcome.error, ModelTimeout)
    assert outcome.at == 1002
    assert inner.running == 0


def test_a_timeout_of_the_callers_own_is_left_alone(async_world: Any) -> None:
    inner = async_world.model([TextDelta("a"), async_world.Wait(30), TextDelta("b"), END])
    model = PolicyModel(inner, [DeadlinePolicy(total=20, between_events=10)], runtime=async_world.runtime)

    async def main() -> None:
        with pytest.raises(TimeoutError) as caught:
            await asyncio.wait_for(model.astream("x").collect(), 3)
        assert not isinstance(caught.value, ModelTimeout)
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]

    async_world.run_coroutine(main())
    assert async_world.now() == 1003


def test_no_timeout_scope_stays_open_while_the_reader_works(async_world: Any) -> None:
    inner = async_world.model([TextDelta("a"), TextDelta("b"), END])
    model = PolicyModel(inner, [DeadlinePolicy(between_events=1, first_event=1)], runtime=async_world.runtime)

    async def main() -> list[Any]:
        seen = []
        async for event in model.astream("x"):
            seen.append(event)
            await asyncio.sleep(100)  # the reader's own await is not the call's affair
        return seen

    assert len(async_world.run_coroutine(main())) == 3


def test_a_cut_read_leaves_no_cancellation_on_the_task(async_world: Any) -> None:
    inner = async_world.model([TextDelta("a"), async_world.Wait(30), END])
    model = PolicyModel(inner, [DeadlinePolicy(between_events=1)], runtime=async_world.runtime)

    async def main() -> None:
        with pytest.raises(ModelTimeout):
            async for _ in model.astream("x"):
                pass
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(1)

    async_world.run_coroutine(main())


def test_content_that_comes_in_spite_of_the_cancellation_is_handed_out_and_the_stream_goes_on(async_world: Any) -> None:
    class Stubborn:
        """A source that has its answer ready when it is told to stop, and keeps it."""

        def __init__(self) -> None:
            self.batches = [[TextDelta("late")], [END], []]

        async def aread(self) -> Any:
            if len(self.batches) == 3:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(100)
            return self.batches.pop(0)

        async def aclose(self) -> None: ...

    inner = async_world.model()
    inner.do_astream = lambda _: Stubborn()
    model = PolicyModel(inner, [DeadlinePolicy(first_event=1)], runtime=async_world.runtime)

    async def main() -> list[Any]:
        seen = [event async for event in model.astream("x")]
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return seen

    assert async_world.run_coroutine(main()) == [TextDelta("late"), END]


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5"])
def test_wrong_settings_are_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="first_event must be"):
        DeadlinePolicy(first_event=value)
