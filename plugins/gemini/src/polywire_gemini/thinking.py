"""How thinking is asked for: a level on newer models, a budget of tokens on older ones, never both."""

from __future__ import annotations

from typing import Any

from polywire.profiles import Profile
from polywire.requests import Reasoning
from polywire.responses import Notice

__all__ = ["thinking_config"]


def thinking_config(reasoning: Reasoning, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    """Write `thinkingConfig`."""
    config: dict[str, Any] = {}
    if profile.reasoning_parameter is None:
        if reasoning.effort not in {None, "none"} or reasoning.budget_tokens or reasoning.visible:
            notices.append(Notice("dropped", "reasoning", "this model does not think"))
        return config
    if reasoning.visible is not None:
        config["includeThoughts"] = reasoning.visible
    by_effort: dict[str, int] = dict(profile.quirks.get("thinking_efforts", {}))
    if profile.reasoning_parameter == "thinking_level":
        effort: str | None = reasoning.effort
        if effort is None and reasoning.budget_tokens is not None:
            effort = _nearest(
                reasoning.budget_tokens, {word: by_effort[word] for word in profile.efforts if word in by_effort}
            )
            notices.append(
                Notice(
                    "approximated",
                    "reasoning",
                    f"this model grades its thinking: the budget is sent as level {effort!r}",
                )
            )
        if effort is not None:
            config["thinkingLevel"] = effort.upper()
        return config
    budget = reasoning.budget_tokens
    if budget is None and reasoning.effort is not None:
        budget = by_effort.get(reasoning.effort, max(by_effort.values(), default=-1))
        if reasoning.effort != "none" or budget:
            notices.append(
                Notice(
                    "approximated",
                    "reasoning",
                    f"this model counts its thinking: the effort is sent as {budget} tokens",
                )
            )
    if budget is not None:
        config["thinkingBudget"] = budget
    return config


def _nearest(budget: int, known: dict[str, int]) -> str | None:
    return min(known, key=lambda word: abs(known[word] - budget)) if known else None
