"""
How hard the model shall think: `Reasoning` and the wire's `thinking` and `output_config.effort`, both ways.

A profile's `reasoning_parameter` names the form that its model takes:

    adaptive             {"type": "adaptive"} and an effort: the model decides
    budget               {"type": "enabled", "budget_tokens": n}: the older form; an effort becomes a budget
    adaptive_or_budget   both; the budget where one is given
    None                 the model does not think

"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from polywire.fast_dataclass import dataclass
from polywire.profiles import Profile
from polywire.requests import Effort, Reasoning
from polywire.responses import Notice

__all__ = ["Thinking", "decode_reasoning", "encode_reasoning"]

_EFFORTS = frozenset(get_args(Effort))
_DISPLAY = {True: "summarized", False: "omitted"}


@dataclass(slots=True)
class Thinking:
    """What goes into the body: `thinking`, `output_config.effort`, and `max_tokens`, of which thinking is a part."""

    max_tokens: int
    parameter: dict[str, Any] | None = None
    effort: str | None = None

    @property
    def has_budget(self) -> bool:
        """Whether it is the older form, which forbids sampling and forced tools."""
        return self.parameter is not None and self.parameter["type"] == "enabled"


def encode_reasoning(
    reasoning: Reasoning | None, profile: Profile, max_tokens: int | None, notices: list[Notice]
) -> Thinking:
    """
    Write how the model shall think.

    A budget is a part of `max_tokens`: where the caller gave no `max_tokens`, the default is added on top of the
    budget; where the caller did, the budget gives way.
    """
    thinking = Thinking(max_tokens if max_tokens is not None else profile.default_max_tokens or 4096)
    if reasoning is None:
        return thinking
    form = profile.reasoning_parameter
    if form is None:
        if reasoning.effort != "none":
            notices.append(Notice("dropped", "reasoning", "this model has no thinking to ask for"))
        return thinking
    if reasoning.effort == "none":
        thinking.parameter = {"type": profile.quirks.get("thinking_off", "disabled")}
        if reasoning.budget_tokens:
            notices.append(Notice("dropped", "reasoning", "thinking is switched off, so its budget is left out"))
        return thinking
    if form == "budget" or (form == "adaptive_or_budget" and reasoning.budget_tokens is not None):
        _write_budget(thinking, reasoning, profile, max_tokens, notices)
        if form == "adaptive_or_budget":
            thinking.effort = _effort(reasoning, profile, notices)
    else:
        thinking.parameter = {"type": "adaptive"}
        thinking.effort = _effort(reasoning, profile, notices)
        if reasoning.budget_tokens is not None:
            notices.append(
                Notice(
                    "dropped",
                    "reasoning.budget_tokens",
                    "this model takes an effort and no budget: it decides by itself how long to think",
                )
            )
    if thinking.parameter is not None and reasoning.visible is not None:
        thinking.parameter["display"] = _DISPLAY[reasoning.visible]
    return thinking


def _effort(reasoning: Reasoning, profile: Profile, notices: list[Notice]) -> str | None:
    effort = reasoning.effort
    if effort is None:
        return None
    sent = str(profile.effort_names.get(effort, effort))
    if sent != effort:
        notices.append(Notice("approximated", "reasoning", f"the effort {effort!r} is sent as {sent!r}"))
    return sent


def _write_budget(
    thinking: Thinking, reasoning: Reasoning, profile: Profile, max_tokens: int | None, notices: list[Notice]
) -> None:
    least = int(profile.quirks.get("minimum_thinking_budget", 1024))
    budgets: Mapping[str, int] = profile.quirks.get("thinking_budgets", {})
    wanted = reasoning.budget_tokens
    if wanted is None:
        wanted = int(budgets.get(reasoning.effort or "medium", least))
        if reasoning.effort is not None:
            message = f"this model takes a budget and no effort; {reasoning.effort!r} is sent as {wanted} tokens"
            notices.append(Notice("approximated", "reasoning", message))
    elif reasoning.effort is not None:
        notices.append(Notice("dropped", "reasoning.effort", "this model takes a budget and no effort"))
    budget = max(wanted, least)
    if max_tokens is None:
        thinking.max_tokens += budget
    elif budget >= max_tokens:
        budget = max_tokens - 1
    if budget < least:
        message = f"max_tokens={max_tokens} leaves no room for thinking, which needs at least {least} tokens"
        notices.append(Notice("dropped", "reasoning", message))
        return
    if budget != wanted:
        message = f"a thinking budget of {wanted} tokens does not fit; {budget} are sent"
        notices.append(Notice("approximated", "reasoning.budget_tokens", message))
    thinking.parameter = {"type": "enabled", "budget_tokens": budget}


def decode_reasoning(thinking: Any, output_config: Any) -> Reasoning | None:
    """Read the two fields; `None` where they say nothing that `Reasoning` can hold."""
    effort = output_config.get("effort") if isinstance(output_config, Mapping) else None
    effort = effort if effort in _EFFORTS else None
    if not isinstance(thinking, Mapping):
        return Reasoning(effort) if effort is not None else None
    visible = {"summarized": True, "omitted": False}.get(thinking.get("display"))  # type: ignore[arg-type]
    match thinking.get("type"):
        case "disabled" | "between_tools":
            return Reasoning("none")
        case "adaptive":
            return Reasoning(effort, visible=visible)
        case "enabled" if isinstance(budget := thinking.get("budget_tokens"), int) and budget >= 0:
            return Reasoning(effort, budget, visible)
        case _:
            return Reasoning(effort) if effort is not None else None
