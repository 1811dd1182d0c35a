"""Fallback to the next model, and the circuit breaker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from polywire.errors import (
    ERROR_KINDS,
    BadRequest,
    ContentFiltered,
    ContextLengthExceeded,
    ModelTimeout,
    Overloaded,
    RateLimited,
    ServerError,
    SettingsError,
    StreamInterrupted,
    UnsupportedByModel,
)
from polywire.events import ResponseEnd, ResponseStart, TextDelta
from polywire.messages import UserMessage
from polywire.models import ChatModel
from polywire.policy import CircuitBreaker, DeadlinePolicy, FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy
from polywire.responses import ChatResponse, FinishReason


def with_fallback(world: Any, first: Any, *others: tuple[str, Any], **keywords: Any) -> PolicyModel:
    policy = FallbackPolicy(list(others), name="first", runtime=world.runtime, **keywords)
    return PolicyModel(first, [policy], name="first", runtime=world.runtime)


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_the_next_model_answers_and_the_metadata_says_who_failed_how(world: Any, way: str) -> None:
    first, second, third = world.model(ServerError("down")), world.model(RateLimited("busy")), world.model()
    model = with_fallback(world, first, ("second", second), ("third", third))

    outcome = getattr(world, way)(model)

    assert outcome.text == "hi"
    assert outcome.value.metadata["answered_by"] == "third"
    assert [(each["model"], each["error"]) for each in outcome.value.metadata["fallbacks"]] == [
        ("first", "server"),
        ("second", "rate_limit"),
    ]


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_a_model_that_answers_is_not_replaced_and_adds_nothing(world: Any, way: str) -> None:
    second = world.model()
    model = with_fallback(world, world.model(world.answer("first")), ("second", second))

    outcome = getattr(world, way)(model)

    assert outcome.text == "first"
    assert "answered_by" not in outcome.value.metadata
    assert second.requests == []


def test_the_original_messages_go_to_each_and_the_first_models_id_to_none(world: Any) -> None:
    first, second = world.model(ServerError("down")), world.model(model="other-1")
    messages = [UserMessage("question")]

    world.chat(with_fallback(world, first, ("second", second)), messages, model="special", temperature=0.5)

    assert first.requests[0].parameters.model == "special"
    assert second.requests[0].messages == first.requests[0].messages == tuple(messages)
    assert second.requests[0].parameters.model is None
    assert second.requests[0].parameters.temperature == 0.5


CALLERS_OWN = [BadRequest, ContextLengthExceeded, UnsupportedByModel, ContentFiltered]


@pytest.mark.parametrize("kind", sorted(ERROR_KINDS))
def test_by_default_all_leads_on_but_what_is_the_requests_own_fault(world: Any, kind: str) -> None:
    second = world.model()
    model = with_fallback(world, world.model(ERROR_KINDS[kind]("no")), ("second", second))

    outcome = world.chat(model)

    assert len(second.requests) == (0 if ERROR_KINDS[kind] in CALLERS_OWN else 1)
    assert (outcome.error is None) is (len(second.requests) == 1)


def test_the_kinds_are_a_setting_and_include_those_below(world: Any) -> None:
    second = world.model()
    model = with_fallback(
        world, world.model(ContextLengthExceeded("long"), ServerError("no")), ("second", second), on=["bad_request"]
    )

    assert world.chat(model).text == "hi"
    assert isinstance(world.chat(model).error, ServerError)


def test_when_all_fail_the_last_error_holds_the_others(world: Any) -> None:
    errors = [ServerError("one"), RateLimited("two"), Overloaded("three")]
    model = with_fallback(world, world.model(errors[0]), ("b", world.model(errors[1])), ("c", world.model(errors[2])))

    outcome = world.chat(model)

    assert outcome.error is errors[2]
    assert outcome.error.attempts == (errors[0], errors[1])


def test_a_fallback_has_its_own_retries_and_limits_but_no_fallbacks(world: Any) -> None:
    last = world.model()
    second = world.model(ServerError)
    own = LimitPolicy(requests_per_minute=60, request_burst=1, clock=world.now)
    behind = PolicyModel(
        second,
        [FallbackPolicy({"last": last}), RetryPolicy(attempts=3, initial_wait=0.1), own],
        runtime=world.runtime,
    )
    first = world.model(ServerError)
    model = PolicyModel(first, [FallbackPolicy({"second": behind}), RetryPolicy(attempts=2)], runtime=world.runtime)

    outcome = world.chat(model)

    assert isinstance(outcome.error, ServerError)
    assert len(outcome.error.attempts) == 4
    assert (len(first.requests), len(second.requests), len(last.requests)) == (2, 3, 0)
    assert second.sent_at[1] - second.sent_at[0] == pytest.approx(1, abs=0.001)


def test_one_deadline_is_shared_by_all(world: Any) -> None:
    slow = [world.Wait(6), ServerError("no")]
    first, second, third = (world.model(slow) for _ in range(3))
    policies = [DeadlinePolicy(total=10), FallbackPolicy({"b": second, "c": third})]

    outcome = world.stream(PolicyModel(first, policies, runtime=world.runtime))

    assert isinstance(outcome.error, ModelTimeout)
    assert outcome.at == pytest.approx(1010)
    assert third.requests == []


def test_never_after_content_was_handed_out(world: Any) -> None:
    first, second = world.model([TextDelta("a"), StreamInterrupted("cut")]), world.model()

    outcome = world.stream(with_fallback(world, first, ("second", second)))

    assert isinstance(outcome.error, StreamInterrupted)
    assert second.requests == []


def test_a_stream_falls_back_unseen_before_its_first_content(world: Any) -> None:
    first = world.model([ResponseStart({"id": "lost"}), ServerError("no")])

    outcome = world.stream(with_fallback(world, first, ("second", world.model())))

    assert outcome.value.metadata["id"] == "r1"
    assert (first.opened, first.closed) == (1, 1)


def test_the_reader_sees_one_start_and_it_is_of_the_model_that_answers(world: Any) -> None:
    first = world.model([ResponseStart({"id": "lost"}), ServerError("no")])
    second = world.model([ResponseStart({"id": "r2"}), TextDelta("hi"), ResponseEnd(FinishReason.STOP)])

    outcome = world.stream(with_fallback(world, first, ("second", second)))

    starts = [event for event in outcome.events if type(event) is ResponseStart]
    assert [type(event) for event in outcome.events] == [ResponseStart, TextDelta, ResponseEnd]
    assert starts[0].metadata["id"] == outcome.value.metadata["id"] == "r2"
    assert starts[0].metadata["answered_by"] == outcome.value.metadata["answered_by"] == "second"


def test_a_model_that_tells_no_start_is_given_one_by_the_fallback(world: Any) -> None:
    second = world.model([TextDelta("hi"), ResponseEnd(FinishReason.STOP)])

    outcome = world.stream(with_fallback(world, world.model(ServerError("no")), ("second", second)))

    assert [type(event) for event in outcome.events] == [ResponseStart, TextDelta, ResponseEnd]
    assert outcome.events[0].metadata["answered_by"] == "second"


def test_a_fallback_that_cannot_stream_tells_its_whole_answer(world: Any) -> None:
    class Plain(ChatModel):
        def do_chat(self, request: Any) -> ChatResponse:
            return ChatModel.from_function(lambda _: "whole").chat(request)

    outcome = world.stream(with_fallback(world, world.model(ServerError("no")), ("plain", Plain())))

    assert outcome.text == "whole"
    assert outcome.value.metadata["answered_by"] == "plain"


def test_a_model_that_keeps_failing_is_skipped_and_then_probed(world: Any) -> None:
    first, second = world.model(ServerError("down")), world.model()
    model = with_fallback(world, first, ("second", second), breaker_failures=3, breaker_window=60, breaker_cooldown=30)

    for _ in range(5):
        assert world.chat(model).text == "hi"
    assert len(first.requests) == 3
    skipped = world.chat(model).value.metadata["fallbacks"][0]
    assert skipped["error"] == "circuit_open"

    world.one(world.Pass(30))
    world.chat(model)  # the probe fails: it is left alone for another 30 s
    world.chat(model)
    assert len(first.requests) == 4

    world.one(world.Pass(30))
    first.script = [world.answer("well again")]
    assert world.chat(model).text == "well again"
    assert world.chat(model).text == "well again"


def test_failures_far_apart_open_nothing(world: Any) -> None:
    first = world.model(ServerError("down"))
    model = with_fallback(world, first, ("second", world.model()), breaker_failures=2, breaker_window=10)

    for _ in range(6):
        world.chat(model)
        world.one(world.Pass(11))

    assert len(first.requests) == 6


def test_one_probe_at_a_time(world: Any) -> None:
    first = world.model(ServerError("down"), [world.Wait(5), *world.answer("probe")])
    model = with_fallback(world, first, ("second", world.model()), breaker_failures=1, breaker_cooldown=30)
    world.chat(model)
    world.one(world.Pass(30))

    def job() -> Any:
        return (yield world.Chat(model))

    outcomes = world.run(job, job, job)

    assert sorted(outcome.text for outcome in outcomes) == ["hi", "hi", "probe"]


def test_bad_requests_do_not_open_the_circuit(world: Any) -> None:
    first = world.model(BadRequest("no"))
    model = with_fallback(world, first, ("second", world.model()), breaker_failures=1)

    for _ in range(3):
        assert isinstance(world.chat(model).error, BadRequest)

    assert len(first.requests) == 3


def test_a_stream_that_breaks_later_counts_as_a_failure(world: Any) -> None:
    first = world.model([TextDelta("a"), StreamInterrupted("cut")])
    model = with_fallback(world, first, ("second", world.model()), breaker_failures=2)

    for _ in range(4):
        world.stream(model)

    assert len(first.requests) == 2


def test_when_every_model_is_skipped_the_call_fails_at_once_and_says_when(world: Any) -> None:
    model = with_fallback(
        world,
        world.model(ServerError("no")),
        ("second", world.model(ServerError("no"))),
        breaker_failures=1,
        breaker_cooldown=30,
    )
    world.chat(model)
    world.one(world.Pass(10))

    outcome = world.chat(model)

    assert isinstance(outcome.error, Overloaded)
    assert outcome.error.retry_after == pytest.approx(20)
    assert "first, second" in str(outcome.error)


def test_a_cancelled_probe_leaves_the_place_to_the_next(async_world: Any) -> None:
    world = async_world
    first = world.model(ServerError("down"), [world.Wait(50), *world.answer()], world.answer("well again"))
    model = with_fallback(world, first, ("second", world.model()), breaker_failures=1, breaker_cooldown=30)
    world.chat(model)
    world.one(world.Pass(30))

    async def main() -> None:
        task = asyncio.ensure_future(model.achat("x"))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])

    world.run_coroutine(main())

    assert world.chat(model).text == "well again"


def test_breakers_can_be_shared_by_name(world: Any) -> None:
    breaker = CircuitBreaker(failures=1, clock=world.now)
    down, spare = world.model(ServerError("no")), world.model()
    one = PolicyModel(
        down, [FallbackPolicy({"spare": spare}, name="main", breakers={"main": breaker})], runtime=world.runtime
    )
    two = PolicyModel(
        down, [FallbackPolicy({"spare": spare}, name="main", breakers={"main": breaker})], runtime=world.runtime
    )

    world.chat(one)
    world.chat(two)

    assert len(down.requests) == 1
    assert breaker.state == "open"


@pytest.mark.parametrize(
    ("models", "keywords", "words"),
    [
        ([], {}, "at least one model"),
        ([("a", None), ("a", None)], {}, "'a' appears twice"),
        ([("a", None)], {"name": "a"}, "'a' appears twice"),
        ([("a", None)], {"on": ["rate_limits"]}, "did you mean 'rate_limit'"),
    ],
)
def test_wrong_settings_are_refused(models: Any, keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        FallbackPolicy(models, **keywords)
