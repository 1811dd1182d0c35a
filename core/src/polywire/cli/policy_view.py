"""The policies that a model stands behind, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from polywire.models import ChatModel

__all__ = ["policy_lines", "without_fallback"]


def policy_lines(model: ChatModel) -> Iterator[tuple[str, str]]:
    """Yield each policy around a model, the outermost first: its name (`retry`), and what it does, in one line."""
    current: Any = model
    while isinstance(current, ChatModel):
        for policy in getattr(current, "policies", ()):
            name = type(policy).__name__.removesuffix("Policy").lower()
            yield name, _DESCRIPTIONS.get(name, _plainly)(policy)
        current = getattr(current, "model", None)


def without_fallback(model: ChatModel) -> ChatModel:
    """Return a model that answers, or fails, by itself."""
    from polywire.policy import FallbackPolicy, PolicyModel

    return model.without(FallbackPolicy) if isinstance(model, PolicyModel) else model


def _retry(policy: Any) -> str:
    if policy.attempts == 1:
        return "none"
    text = f"up to {policy.attempts} attempts, waiting {seconds(policy.initial_wait)} to {seconds(policy.max_wait)}"
    return text if policy.max_time is None else f"{text}, {seconds(policy.max_time)} in all"


def _deadline(policy: Any) -> str:
    parts = [
        f"{label} {seconds(value)}"
        for label, value in (
            ("total", policy.total),
            ("first event", policy.first_event),
            ("between events", policy.between_events),
        )
        if value is not None
    ]
    return ", ".join(parts) or "none"


def _fallback(policy: Any) -> str:
    names = ", then ".join(name for name, _ in policy.models)
    from polywire.policy.fallback import DEFAULT_FALLBACK_KINDS

    kinds = "the usual errors" if policy.on == DEFAULT_FALLBACK_KINDS else ", ".join(sorted(policy.on))
    text = f"{names}; on {kinds}"
    breaker = policy.breaker()
    if breaker is None:
        return text
    return f"{text}; skipped for {seconds(breaker.cooldown)} after {breaker.failures} failures in {seconds(breaker.window)}"


def _limit(policy: Any) -> str:
    parts = [
        f"{value:g} {label}"
        for label, value in (
            ("requests a minute", policy.requests_per_minute),
            ("tokens a minute", policy.tokens_per_minute),
            ("calls at once", policy.concurrency),
        )
        if value is not None
    ]
    return f"{', '.join(parts) or 'none'} ({policy.name})"


def _history(_: Any) -> str:
    return "refused where tool calls and results do not close"


def _plainly(policy: Any) -> str:
    """Tell any other policy by its public plain attributes."""
    values = vars(policy) if hasattr(policy, "__dict__") else {}
    shown = [
        f"{name.replace('_', ' ')} {_value(value)}"
        for name, value in values.items()
        if not name.startswith("_")
        and isinstance(value, (bool, int, float, str, list, tuple, set, frozenset))
        and value
    ]
    return ", ".join(shown) or "on"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        words = [str(getattr(item, "name", None) or item) for item in value]
        return ", ".join(sorted(words) if isinstance(value, (set, frozenset)) else words)
    return f"{value:g}" if isinstance(value, float) else str(value)


def seconds(value: float) -> str:
    """Tell a duration: `0.5 s`, `90 s`, `5 min`."""
    if value >= 120 and value % 60 == 0:
        return f"{value / 60:g} min"
    return f"{value:g} s"


_DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "retry": _retry,
    "deadline": _deadline,
    "fallback": _fallback,
    "limit": _limit,
    "history": _history,
}
