"""What observers and the log are told, and what they are never told."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from polywire.errors import AuthenticationFailed, RateLimited, ServerError, StreamInterrupted
from polywire.events import TextDelta
from polywire.policy import FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy
from polywire.policy.logs import LogObserver
from polywire.policy.observers import (
    AttemptEnded,
    AttemptStarted,
    CallEnded,
    CallStarted,
    FallbackTaken,
    Waited,
    Waiting,
)
from polywire.policy.redaction import redact

KEY = "sk-test-DO-NOT-LEAK-1234567890abcdef"


class Recorder:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def observe(self, event: Any) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_a_whole_story_is_told_in_order(world: Any, way: str) -> None:
    recorder = Recorder()
    first = world.model(RateLimited("busy", retry_after=2), ServerError("down"))
    second = world.model([world.Wait(3), *world.answer("hi", tokens=7)], provider="other", model="other-1")
    model = PolicyModel(
        first,
        [FallbackPolicy({"spare": second}, name="main"), RetryPolicy(attempts=2)],
        name="main",
        observers=[recorder],
        runtime=world.runtime,
    )

    assert getattr(world, way)(model, tags={"team": "search"}).text == "hi"

    assert [type(event) for event in recorder.events] == [
        *(CallStarted, AttemptStarted, AttemptEnded, Waiting, AttemptStarted, AttemptEnded),
        *(FallbackTaken, AttemptStarted, AttemptEnded, CallEnded),
    ]
    assert len({event.call.record.id for event in recorder.events}) == 1
    assert [event.number for event in recorder.of(AttemptStarted)] == [1, 2, 3]
    wait = recorder.of(Waiting)[0]
    assert (wait.reason, wait.seconds, type(wait.error)) == ("retry", 2, RateLimited)
    fallback = recorder.of(FallbackTaken)[0]
    assert (fallback.failed, fallback.next, type(fallback.error)) == ("main", "spare", ServerError)
    ended = recorder.of(CallEnded)[0]
    assert (ended.attempts, ended.provider, ended.model, ended.complete) == (3, "other", "other-1", True)
    assert ended.duration == pytest.approx(5)
    assert ended.usage.total_tokens == 7
    assert ended.call.request.options.tags == {"team": "search"}
    if way == "stream":
        assert ended.first_event == pytest.approx(5)


def test_waits_for_limits_are_told(world: Any) -> None:
    recorder = Recorder()
    limit = LimitPolicy(requests_per_minute=60, request_burst=1, clock=world.now)
    model = PolicyModel(world.model(), [limit], observers=[recorder], runtime=world.runtime)

    world.chat(model)
    world.chat(model)

    waiting, waited = recorder.of(Waiting)[0], recorder.of(Waited)[0]
    assert (waiting.reason, waiting.limit) == ("limit", "requests per minute")
    assert waiting.seconds == pytest.approx(1, abs=0.001)
    assert waited.seconds == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize("stop_after", [1, None])
def test_the_end_of_a_stream_is_told_once_however_it_ends(world: Any, stop_after: int | None) -> None:
    recorder = Recorder()
    inner = world.model([TextDelta("a"), TextDelta("b"), StreamInterrupted("cut")])
    model = PolicyModel(inner, observers=[recorder], runtime=world.runtime)

    world.stream(model, stop_after=stop_after)

    ended = recorder.of(CallEnded)
    assert len(ended) == 1
    assert not ended[0].complete
    assert (ended[0].error is None) is (stop_after == 1)


def test_an_observer_that_fails_disturbs_nobody(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def observe(self, event: Any) -> None:
            msg = "broken"
            raise RuntimeError(msg)

    recorder = Recorder()
    model = PolicyModel(world.model(), observers=[Broken(), recorder], runtime=world.runtime)

    assert world.chat(model).text == "hi"
    assert len(recorder.of(CallEnded)) == 1
    assert "an observer failed" in caplog.text


def test_one_line_per_call_and_one_per_failed_attempt(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    inner = world.model(ServerError("down", status=503), world.answer("hi", tokens=7))
    model = PolicyModel(inner, [RetryPolicy()], name="assistant", runtime=world.runtime)

    with caplog.at_level(logging.INFO, logger="polywire"):
        world.chat(model, "a secret question")

    lines = [record.getMessage() for record in caplog.records if record.name == "polywire"]
    assert len(lines) == 3
    assert "attempt 1 at assistant:fake-1 failed after 0.000 s: ServerError: down (HTTP 503)" in lines[0]
    assert "waits 0.500 s for its next attempt" in lines[1]
    assert "to assistant:fake-1 ended after 0.500 s, 2 attempt(s), 7 tokens" in lines[2]
    assert "a secret question" not in caplog.text


def test_a_key_in_an_error_is_not_logged(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    inner = world.model(AuthenticationFailed(f"Incorrect API key provided: {KEY}. Find your key at ..."))

    with caplog.at_level(logging.DEBUG, logger="polywire"):
        world.chat(PolicyModel(inner, runtime=world.runtime))

    assert "Incorrect API key" in caplog.text
    assert not any(KEY[start : start + 8] in caplog.text for start in range(len(KEY) - 7))


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Authorization: Bearer {KEY}",
        f"https://example.invalid/v1?key={KEY}&x=1",
        f"https://user:{KEY}@example.invalid/",
        f"redis://:{KEY}@10.0.0.1:6379/0",
        f'{{"api_key": "{KEY}"}}',
        f"x-api-key: {KEY}",
        f"the token {KEY} has expired",
        "AIzaSyDUMMYDUMMYDUMMYDUMMYDUMMYDUMMY01",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk",
        "gsk_abcdefghijklmnop1234567890",
        "0123456789abcdef0123456789abcdef",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    hidden = redact(text)

    assert "[redacted]" in hidden
    secret = next(
        part for part in (KEY, "DUMMYDUMMY", "eyJzdWIi", "abcdefghijklmnop", "0123456789abcdef") if part in text
    )
    assert secret not in hidden


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
        "Rate limit reached for gpt-4o-mini in organization on tokens per min (TPM): Limit 200000",
        "upstream connect error or disconnect/reset before headers",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert redact(text) == text


def test_the_log_costs_nothing_when_nobody_reads_it(world: Any) -> None:
    assert not logging.getLogger("polywire").isEnabledFor(logging.INFO)
    assert LogObserver(logging.getLogger("other"))
