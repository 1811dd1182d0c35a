"""
Retry, limits, deadlines and fallback, each written once, around any model.

    model = PolicyModel(inner, [DeadlinePolicy(total=60), RetryPolicy(attempts=4)])

The names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polywire.policy.breaker import CircuitBreaker as CircuitBreaker
    from polywire.policy.deadline import DeadlinePolicy as DeadlinePolicy
    from polywire.policy.fallback import FallbackPolicy as FallbackPolicy
    from polywire.policy.limit import LimitPolicy as LimitPolicy
    from polywire.policy.model import PolicyModel as PolicyModel
    from polywire.policy.observers import CallEvent as CallEvent, Observer as Observer
    from polywire.policy.plans import Plan as Plan, Policy as Policy, Proceed as Proceed, Sleep as Sleep
    from polywire.policy.retry import RetryPolicy as RetryPolicy
    from polywire.policy.runtime import Runtime as Runtime
    from polywire.policy.tasks import (
        PolicyEmbeddingModel as PolicyEmbeddingModel,
        PolicyImageModel as PolicyImageModel,
        PolicySpeechModel as PolicySpeechModel,
    )
    from polywire.policy.turns import LimitTimeout as LimitTimeout

_HOMES = {
    "CallEvent": "observers",
    "CircuitBreaker": "breaker",
    "DeadlinePolicy": "deadline",
    "FallbackPolicy": "fallback",
    "LimitPolicy": "limit",
    "LimitTimeout": "turns",
    "Observer": "observers",
    "Plan": "plans",
    "Policy": "plans",
    "PolicyEmbeddingModel": "tasks",
    "PolicyImageModel": "tasks",
    "PolicyModel": "model",
    "PolicySpeechModel": "tasks",
    "Proceed": "plans",
    "RetryPolicy": "retry",
    "Runtime": "runtime",
    "Sleep": "plans",
}

__all__ = [
    "CallEvent",
    "CircuitBreaker",
    "DeadlinePolicy",
    "FallbackPolicy",
    "LimitPolicy",
    "LimitTimeout",
    "Observer",
    "Plan",
    "Policy",
    "PolicyEmbeddingModel",
    "PolicyImageModel",
    "PolicyModel",
    "PolicySpeechModel",
    "Proceed",
    "RetryPolicy",
    "Runtime",
    "Sleep",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
