"""A model behind policies: what it is, what it passes on, and how policies of one's own work."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import polywire.policy
from polywire.errors import ServerError
from polywire.events import TextDelta
from polywire.models import ChatModel, StreamingChatModel
from polywire.policy import DeadlinePolicy, FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy, Runtime, Sleep
from polywire.policy.runtime import Waiter
from polywire.responses import ChatResponse, Notice


class Plain(ChatModel):
    def __init__(self) -> None:
        self.closed = 0

    def do_chat(self, request: Any) -> ChatResponse:
        return ChatModel.from_function(lambda _: "plain").chat(request)

    def close(self) -> None:
        self.closed += 1


def test_it_streams_if_the_inner_model_does() -> None:
    assert isinstance(PolicyModel(ChatModel.from_function(lambda _: "x")), StreamingChatModel)
    assert not isinstance(PolicyModel(Plain()), StreamingChatModel)
    assert isinstance(PolicyModel(Plain()), PolicyModel)


def test_it_passes_information_and_closing_on() -> None:
    inner = Plain()
    model = PolicyModel(inner)

    assert model.information is inner.information
    model.close()
    asyncio.run(model.aclose())
    assert inner.closed == 2


def test_a_model_without_async_of_its_own_works_in_both_ways() -> None:
    model = PolicyModel(Plain(), [RetryPolicy(), LimitPolicy(concurrency=1), DeadlinePolicy(total=60)])

    assert model.chat("x").text == "plain"
    assert asyncio.run(model.achat("x")).text == "plain"


def test_a_policy_is_any_generator_function(world: Any) -> None:
    def once_more(call: Any, proceed: Any) -> Any:
        try:
            return (yield from proceed(call))
        except ServerError:
            call.record.add_notice(Notice("information", "call", "made twice"))
            yield Sleep(call, 3)
            return (yield from proceed(call))

    inner = world.model(ServerError("no"), world.answer("second"))
    model = PolicyModel(inner, [once_more], runtime=world.runtime)

    for way in ("chat", "stream"):
        inner.requests.clear()
        outcome = getattr(world, way)(model)
        assert outcome.text == "second"
        assert [notice.message for notice in outcome.value.notices] == ["made twice"]
    assert world.slept == [3, 3]


def test_policies_nest_as_models_do(world: Any) -> None:
    inner = world.model(ServerError("no"), ServerError("no"), world.answer())
    model = PolicyModel(PolicyModel(inner, [RetryPolicy(attempts=3)], runtime=world.runtime), runtime=world.runtime)

    assert world.stream(model).text == "hi"


def test_an_exception_of_the_readers_own_passes_and_closes(world: Any) -> None:
    inner = world.model([TextDelta("a"), TextDelta("b")])
    policy = LimitPolicy(concurrency=1, clock=world.now)
    model = PolicyModel(inner, [RetryPolicy(), policy], runtime=world.runtime)

    outcome = world.stream(model, stop_after=1)

    assert [event.text for event in outcome.events] == ["a"]
    assert inner.running == 0
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]


def test_every_public_name_is_there() -> None:
    for name in polywire.policy.__all__:
        assert getattr(polywire.policy, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'RetryPolicies'"):
        polywire.policy.RetryPolicies  # noqa: B018


def test_reprs_tell_the_settings() -> None:
    model = PolicyModel(Plain(), [DeadlinePolicy(total=5), FallbackPolicy({"spare": Plain()}), RetryPolicy(attempts=7)])

    for words in ("total=5", "'spare'", "attempts=7"):
        assert words in repr(model)


class Flag(Waiter):
    up = False

    @property
    def ready(self) -> bool:
        return self.up


def test_the_real_runtime_wakes_waiters_from_another_thread() -> None:
    runtime, flag = Runtime(), Flag()

    def raise_flag() -> None:
        flag.up = True
        flag.notify()
        flag.notify()

    thread = threading.Thread(target=raise_flag)
    thread.start()
    runtime.wait(flag, 10)
    thread.join()
    assert flag.ready

    async def main() -> None:
        other = Flag()

        def raise_other() -> None:
            other.up = True
            other.notify()

        thread = threading.Thread(target=raise_other)
        task = asyncio.ensure_future(runtime.await_(other, 10))
        await asyncio.sleep(0)
        thread.start()
        await task
        thread.join()

    asyncio.run(main())


def test_the_watchdog_runs_a_callback_on_the_runtimes_clock() -> None:
    rung = threading.Event()
    clock = [100.0]

    Runtime(clock=lambda: clock[0]).schedule(100.01, rung.set)

    assert rung.wait(5)
