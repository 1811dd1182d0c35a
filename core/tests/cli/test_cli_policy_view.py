"""A model's policies in words."""

from __future__ import annotations

from typing import Any

from polywire.cli.policy_view import policy_lines
from polywire.models import ChatModel
from polywire.policy.deadline import DeadlinePolicy
from polywire.policy.fallback import FallbackPolicy
from polywire.policy.model import PolicyModel
from polywire.policy.retry import RetryPolicy


def model() -> ChatModel:
    return ChatModel.from_function(lambda _: "ok")


def test_a_bare_model_stands_behind_nothing() -> None:
    assert list(policy_lines(model())) == []


def test_each_policy_is_told_the_outermost_first() -> None:
    wrapped = PolicyModel(
        model(),
        [
            DeadlinePolicy(total=90, first_event=5),
            FallbackPolicy(
                {"spare": model(), "last": model()},
                on=["rate_limit", "overloaded"],
                breaker_failures=3,
                breaker_window=60,
                breaker_cooldown=30,
            ),
            RetryPolicy(attempts=4, initial_wait=0.5, max_wait=30, max_time=300),
        ],
    )

    assert list(policy_lines(wrapped)) == [
        ("deadline", "total 90 s, first event 5 s"),
        ("fallback", "spare, then last; on overloaded, rate_limit; skipped for 30 s after 3 failures in 60 s"),
        ("retry", "up to 4 attempts, waiting 0.5 s to 30 s, 5 min in all"),
    ]


def test_a_policy_that_does_nothing_says_so() -> None:
    wrapped = PolicyModel(model(), [DeadlinePolicy(), RetryPolicy(attempts=1)])

    assert list(policy_lines(wrapped)) == [("deadline", "none"), ("retry", "none")]


def test_policies_of_inner_models_and_unknown_ones_are_told_too() -> None:
    class QuietHoursPolicy:
        def __init__(self) -> None:
            self.hours = ("22", "23")
            self.strict = True
            self._secret = "hidden"

        def __call__(self, call: Any, proceed: Any) -> Any:
            return proceed(call)

    wrapped = PolicyModel(PolicyModel(model(), [RetryPolicy(attempts=1)]), [QuietHoursPolicy()])

    assert list(policy_lines(wrapped)) == [("quiethours", "hours 22, 23, strict True"), ("retry", "none")]
