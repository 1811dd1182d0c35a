"""Retries: how often, after what waits, and what is never repeated."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from polywire.errors import (
    BadRequest,
    ConnectionFailed,
    EmptyResponse,
    ModelError,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from polywire.events import ResponseStart, TextDelta, UsageUpdate
from polywire.models import ChatModel
from polywire.policy import (
    DeadlinePolicy,
    FallbackPolicy,
    LimitPolicy,
    LimitTimeout,
    PolicyModel,
    RetryPolicy,
    Runtime,
)
from polywire.responses import TokenUsage


def test_a_call_that_succeeds_is_made_once(world: Any) -> None:
    inner = world.model()

    assert world.chat(PolicyModel(inner, [RetryPolicy()], runtime=world.runtime)).text == "hi"
    assert len(inner.requests) == 1


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("way", ["chat", "stream"])
def test_the_count_is_exact(world: Any, attempts: int, way: str) -> None:
    inner = world.model(ServerError("no"))
    model = PolicyModel(inner, [RetryPolicy(attempts=attempts)], runtime=world.runtime)

    outcome = getattr(world, way)(model)

    assert isinstance(outcome.error, ServerError)
    assert len(inner.requests) == attempts
    assert len(world.slept) == attempts - 1


def test_waits_grow_by_the_formula_up_to_the_longest(world: Any) -> None:
    inner = world.model(ServerError("no"))
    policy = RetryPolicy(attempts=6, initial_wait=1, multiplier=3, max_wait=10, jitter=0.5)

    world.chat(PolicyModel(inner, [policy], runtime=world.runtime))

    assert world.slept == [1, 3, 9, 10, 10]


def test_jitter_takes_off_at_most_its_part(world: Any) -> None:
    inner = world.model(ServerError("no"))
    world.chance = 1.0
    policy = RetryPolicy(attempts=3, initial_wait=1, multiplier=2, jitter=0.25)

    world.chat(PolicyModel(inner, [policy], runtime=world.runtime))

    assert world.slept == [0.75, 1.5]


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("asked", [0.02, 1.5, 2.0, 7.0, 30.0])
def test_the_servers_word_beats_the_formula_and_is_never_undercut(world: Any, asked: float, chance: float) -> None:
    world.chance = chance
    inner = world.model(RateLimited("slow down", retry_after=asked), world.answer("done"))
    model = PolicyModel(inner, [RetryPolicy(initial_wait=0.001)], runtime=world.runtime)

    assert world.chat(model).text == "done"
    assert asked <= world.slept[0] <= asked * 1.1
    assert len(inner.requests) == 2


@pytest.mark.parametrize("nonsense", [-1.0, math.nan, math.inf, -math.inf])
def test_nonsense_from_the_server_counts_as_absent(world: Any, nonsense: float) -> None:
    inner = world.model(RateLimited("slow down", retry_after=nonsense), world.answer())

    world.chat(PolicyModel(inner, [RetryPolicy(initial_wait=0.25)], runtime=world.runtime))

    assert world.slept == [0.25]


def test_a_longer_wait_than_allowed_surfaces_at_once_with_the_delay(world: Any) -> None:
    inner = world.model(RateLimited("come back later", retry_after=90))

    outcome = world.chat(PolicyModel(inner, [RetryPolicy(max_wait=60)], runtime=world.runtime))

    assert isinstance(outcome.error, RateLimited)
    assert outcome.error.retry_after == 90
    assert world.slept == []
    assert len(inner.requests) == 1


def test_total_time_is_bounded(world: Any) -> None:
    inner = world.model([world.Wait(4), ServerError("no")])
    policy = RetryPolicy(attempts=100, initial_wait=1, multiplier=1, jitter=0, max_time=20)

    outcome = world.chat(PolicyModel(inner, [policy], runtime=world.runtime))

    # Attempts begin at 0, 5, 10, 15 and 20; the next would begin at 25.
    assert len(inner.requests) == 5
    assert outcome.at == 1000 + 24


def test_a_wait_beyond_the_deadline_is_not_begun(world: Any) -> None:
    inner = world.model(RateLimited("slow down", retry_after=30))
    model = PolicyModel(inner, [DeadlinePolicy(total=20), RetryPolicy()], runtime=world.runtime)

    outcome = world.chat(model)

    assert isinstance(outcome.error, RateLimited)
    assert outcome.at == 1000


@pytest.mark.parametrize(
    "error",
    [BadRequest("no"), QuotaExceeded("no", retry_after=1), ServerError("no", retryable=False), ValueError("no")],
)
def test_what_cannot_succeed_is_not_repeated(world: Any, error: Exception) -> None:
    inner = world.model(error)

    outcome = world.chat(PolicyModel(inner, [RetryPolicy()], runtime=world.runtime))

    assert outcome.error is error
    assert len(inner.requests) == 1


def test_what_the_server_calls_retryable_is_repeated(world: Any) -> None:
    inner = world.model(BadRequest("conflict", status=409, retryable=True), world.answer("done"))

    assert world.chat(PolicyModel(inner, [RetryPolicy()], runtime=world.runtime)).text == "done"


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_each_attempts_error_is_kept_on_the_last(world: Any, way: str) -> None:
    errors = [ServerError("one"), Overloaded("two"), ConnectionFailed("three")]
    inner = world.model(*errors)

    outcome = getattr(world, way)(PolicyModel(inner, [RetryPolicy(attempts=3)], runtime=world.runtime))

    assert outcome.error is errors[2]
    assert outcome.error.attempts == (errors[0], errors[1])


def test_one_error_object_raised_again_and_again_is_kept_once(world: Any) -> None:
    error = ServerError("the same object")
    inner = world.model(error)

    outcome = world.chat(PolicyModel(inner, [RetryPolicy(attempts=4)], runtime=world.runtime))

    assert len(inner.requests) == 4
    assert outcome.error is error
    assert error.attempts == ()


def test_the_next_error_decides_anew(world: Any) -> None:
    errors = [ServerError("one"), BadRequest("two")]
    inner = world.model(*errors)

    outcome = world.chat(PolicyModel(inner, [RetryPolicy(attempts=5)], runtime=world.runtime))

    assert outcome.error is errors[1]
    assert outcome.error.attempts == (errors[0],)
    assert len(inner.requests) == 2


def test_a_stream_is_retried_invisibly_until_its_first_content(world: Any) -> None:
    start = [ResponseStart({"id": "first"}), UsageUpdate(TokenUsage(input_tokens=5))]
    inner = world.model(
        [*start, ServerError("error inside a 200 stream")],
        [*start, StreamInterrupted("cut")],
        [EmptyResponse("nothing")],
        world.answer("text"),
    )

    outcome = world.stream(PolicyModel(inner, [RetryPolicy(attempts=4)], runtime=world.runtime))

    assert [event for event in outcome.events if type(event) is ResponseStart] == [ResponseStart({"id": "r1"})]
    assert outcome.text == "text"
    assert outcome.value.metadata["id"] == "r1"
    assert outcome.value.usage == TokenUsage()
    assert (inner.opened, inner.closed) == (4, 4)


@pytest.mark.parametrize("cut", [StreamInterrupted("reset"), ServerError("in the stream"), ConnectionFailed("reset")])
def test_after_content_there_is_no_second_request_and_no_doubled_text(world: Any, cut: ModelError) -> None:
    inner = world.model([TextDelta("Hello"), TextDelta(" wor"), cut], world.answer("Hello world"))

    outcome = world.stream(PolicyModel(inner, [RetryPolicy(attempts=4)], runtime=world.runtime))

    assert [event.text for event in outcome.events] == ["Hello", " wor"]
    assert outcome.error is cut
    assert outcome.error.partial.text == "Hello wor"
    assert len(inner.requests) == 1
    assert inner.running == 0


def test_the_original_request_is_given_to_every_attempt(world: Any) -> None:
    inner = world.model(ServerError("no"), ServerError("no"), world.answer())

    world.chat(PolicyModel(inner, [RetryPolicy(attempts=3)], runtime=world.runtime), "the question")

    assert inner.requests[0] is inner.requests[1] is inner.requests[2]


def test_keyboard_interrupt_passes_straight_through() -> None:
    asked = []

    def interrupted(request: object) -> str:
        asked.append(request)
        raise KeyboardInterrupt

    model = PolicyModel(ChatModel.from_function(interrupted), [RetryPolicy(attempts=5)])

    with pytest.raises(KeyboardInterrupt):
        model.chat("x")
    assert len(asked) == 1


def test_cancellation_passes_straight_through() -> None:
    asked = []

    async def slow(request: object) -> str:
        asked.append(request)
        await asyncio.sleep(3600)
        return "late"

    async def main() -> None:
        model = PolicyModel(ChatModel.from_function(slow), [RetryPolicy(attempts=5)])
        task = asyncio.ensure_future(model.achat("x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(asked) == 1


def test_sleep_is_injected_as_plain_functions_too() -> None:
    slept: list[float] = []

    async def asleep(seconds: float) -> None:
        slept.append(seconds)

    error = ServerError("no")

    def fail(_: object) -> str:
        raise error

    model = PolicyModel(
        ChatModel.from_function(fail),
        [RetryPolicy(attempts=2, initial_wait=1)],
        runtime=Runtime(sleep=slept.append, asleep=asleep, random=lambda: 0.0),
    )

    with pytest.raises(ServerError):
        model.chat("x")
    with pytest.raises(ServerError):
        asyncio.run(model.achat("x"))
    assert slept == [1, 1]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"attempts": 0}, "attempts must be 1 or more"),
        ({"attempts": True}, "attempts must be a whole number"),
        ({"attempts": 2.5}, "attempts must be a whole number"),
        ({"initial_wait": -1}, "initial_wait must be 0 or more seconds"),
        ({"max_wait": math.nan}, "max_wait must be"),
        ({"multiplier": 0.5}, "multiplier must be 1 or more"),
        ({"jitter": 2}, "jitter must lie between 0 and 1"),
        ({"max_time": 0}, "max_time must be more than 0"),
    ],
)
def test_wrong_settings_are_refused(keywords: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        RetryPolicy(**keywords)


def _hurried(world: Any, inner: Any, **limits: Any) -> PolicyModel:
    limit = LimitPolicy(clock=world.now, **limits)
    return PolicyModel(inner, [RetryPolicy(attempts=3), limit], runtime=world.runtime)


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_a_limit_of_this_side_that_ran_out_is_not_waited_for_again(world: Any, way: str) -> None:
    inner = world.model()
    model = _hurried(world, inner, requests_per_minute=6, request_burst=1, max_wait=1)
    getattr(world, way)(model)

    outcome = getattr(world, way)(model)

    assert isinstance(outcome.error, LimitTimeout)
    assert outcome.at == 1001  # after the longest wait, and not after the ten seconds of the limit
    assert outcome.error.retry_after == pytest.approx(9, abs=0.01)
    assert outcome.error.retryable
    assert len(inner.requests) == 1


def test_a_pause_longer_than_is_waited_for_is_not_waited_for_by_the_retries_either(world: Any) -> None:
    inner = world.model(RateLimited("slow down", retry_after=200), world.answer())
    model = _hurried(world, inner, max_pause=1)
    world.chat(model)
    patient = PolicyModel(model, [RetryPolicy(max_wait=300)], runtime=world.runtime)

    outcome = world.chat(patient)

    assert isinstance(outcome.error, LimitTimeout)
    assert outcome.at == 1000


def test_a_limit_that_runs_out_after_a_failure_keeps_that_failure(world: Any) -> None:
    failed = ServerError("no", status=500)
    inner = world.model(failed, world.answer())
    model = _hurried(world, inner, requests_per_minute=6, request_burst=1, max_wait=1)

    outcome = world.chat(model)

    assert isinstance(outcome.error, LimitTimeout)
    assert outcome.error.attempts == (failed,)
    assert len(inner.requests) == 1


def test_a_limit_of_this_side_that_ran_out_leads_on_to_the_next_model(world: Any) -> None:
    spare = world.model(world.answer("spare"))
    limit = LimitPolicy(clock=world.now, requests_per_minute=6, request_burst=1, max_wait=1)
    policies: list[Any] = [FallbackPolicy({"spare": spare}), RetryPolicy(attempts=3), limit]
    model = PolicyModel(world.model(), policies, runtime=world.runtime)
    world.chat(model)

    outcome = world.chat(model)

    assert outcome.text == "spare"
    assert outcome.at == 1001
