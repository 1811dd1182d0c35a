"""
How thinking is asked for: one neutral value, and the forms that endpoints take.

    reasoning_effort        `reasoning_effort`
    include_reasoning       the same, and `include_reasoning` for whether thinking is shown
    thinking                `thinking: {type}` as the switch, and `reasoning_effort`
    thinking_type           `thinking: {type}` alone
    thinking_budget         `thinking: {type, budget_tokens}`, or else `reasoning_effort`
    reasoning_switch        `reasoning: {enabled: false}` as the switch, else `reasoning_effort`
    enable_thinking         `enable_thinking` and `thinking_budget`
    reasoning               `reasoning: {effort | max_tokens, exclude}`
    chat_template_kwargs    `chat_template_kwargs: {enable_thinking}`, and `reasoning_effort`

A profile names one of them in `reasoning_parameter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from polywire.errors import SettingsError, did_you_mean
from polywire.parameters import Effort, Reasoning
from polywire.profiles import Profile
from polywire.responses import Notice

__all__ = ["REASONING_FIELDS", "decode_reasoning", "encode_reasoning", "is_thinking", "without_thinking"]

REASONING_FIELDS = frozenset(
    {"reasoning_effort", "reasoning", "thinking", "enable_thinking", "thinking_budget", "include_reasoning"}
)
"""The fields of a request in which thinking is asked for, whoever takes them."""

_EFFORTS = frozenset(get_args(Effort))


def _effort(reasoning: Reasoning, profile: Profile) -> Any:
    if reasoning.effort is None or not profile.efforts:
        return None
    return profile.effort_names.get(reasoning.effort, reasoning.effort)


def _switch(reasoning: Reasoning) -> bool:
    return reasoning.effort != "none"


def _as_effort(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    effort = _effort(reasoning, profile)
    return {} if effort is None else {"reasoning_effort": effort}


def _as_include_reasoning(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    shown = {} if reasoning.visible is None else {"include_reasoning": reasoning.visible}
    return {**_as_effort(reasoning, profile), **shown}


def _as_thinking(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    if not _switch(reasoning):
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, **_as_effort(reasoning, profile)}


def _as_thinking_type(reasoning: Reasoning, _: Profile) -> dict[str, Any]:
    return {"thinking": {"type": "enabled" if _switch(reasoning) else "disabled"}}


def _as_thinking_budget(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    if reasoning.budget_tokens is not None and _switch(reasoning):
        return {"thinking": {"type": "enabled", "budget_tokens": reasoning.budget_tokens}}
    return _as_effort(reasoning, profile)


def _as_enable_thinking(reasoning: Reasoning, _: Profile) -> dict[str, Any]:
    written: dict[str, Any] = {"enable_thinking": _switch(reasoning)}
    if reasoning.budget_tokens is not None and _switch(reasoning):
        written["thinking_budget"] = reasoning.budget_tokens
    return written


def _as_reasoning(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    if reasoning.budget_tokens is not None and _switch(reasoning):
        inner["max_tokens"] = reasoning.budget_tokens
    elif (effort := _effort(reasoning, profile)) is not None:
        inner["effort"] = effort
    if reasoning.visible is not None:
        inner["exclude"] = not reasoning.visible
    return {"reasoning": inner or {"enabled": True}}


def _as_reasoning_switch(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    return _as_effort(reasoning, profile) if _switch(reasoning) else {"reasoning": {"enabled": False}}


def _as_template_arguments(reasoning: Reasoning, profile: Profile) -> dict[str, Any]:
    written = {} if not _switch(reasoning) else _as_effort(reasoning, profile)
    return {"chat_template_kwargs": {"enable_thinking": _switch(reasoning)}, **written}


_FORMS: Mapping[str, tuple[Callable[[Reasoning, Profile], dict[str, Any]], bool, bool]] = {
    # the form, whether it has a budget, whether it can hide thinking
    "reasoning_effort": (_as_effort, False, False),
    "include_reasoning": (_as_include_reasoning, False, True),
    "thinking": (_as_thinking, False, False),
    "thinking_type": (_as_thinking_type, False, False),
    "thinking_budget": (_as_thinking_budget, True, False),
    "enable_thinking": (_as_enable_thinking, True, False),
    "reasoning": (_as_reasoning, True, True),
    "reasoning_switch": (_as_reasoning_switch, False, False),
    "chat_template_kwargs": (_as_template_arguments, False, False),
}


def encode_reasoning(reasoning: Reasoning | None, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    """Write what is asked of the model's thinking, in the profile's form; what that form cannot say is told."""
    if reasoning is None or reasoning == Reasoning():
        return {}
    name = profile.reasoning_parameter
    if name is None:
        if reasoning.effort != "none":
            notices.append(Notice("dropped", "reasoning", "this model's thinking cannot be steered"))
        return {}
    if name not in _FORMS:
        msg = f"unknown reasoning_parameter {name!r}{did_you_mean(name, _FORMS)}"
        raise SettingsError(msg)
    write, has_budget, has_visibility = _FORMS[name]
    smallest = profile.quirks.get("smallest_budget", 0)
    if has_budget and reasoning.budget_tokens is not None and reasoning.budget_tokens < smallest:
        message = f"this endpoint's thinking has at least {smallest} tokens"
        notices.append(Notice("approximated", "reasoning", message))
        reasoning = Reasoning(reasoning.effort, smallest, reasoning.visible)
    written = write(reasoning, profile)
    if reasoning.budget_tokens is not None and not has_budget:
        notices.append(Notice("dropped", "reasoning", "this endpoint has no budget for thinking; give an effort"))
    if reasoning.visible is not None and not has_visibility:
        notices.append(Notice("dropped", "reasoning", "this endpoint has no switch for showing its thinking"))
    if reasoning.effort not in {None, "none"} and not profile.efforts and name != "thinking_type":
        notices.append(
            Notice("approximated", "reasoning", "this endpoint has no efforts; thinking is only switched on")
        )
    return written


def is_thinking(reasoning: Reasoning | None) -> bool:
    """Whether a request asks for thinking."""
    return reasoning is not None and reasoning != Reasoning() and reasoning.effort != "none"


def without_thinking(body: dict[str, Any], notices: list[Notice]) -> None:
    """Switch thinking off in the body of a plain call, where the endpoint thinks in streams alone."""
    if body.get("enable_thinking") is False:
        return
    body["enable_thinking"] = False
    body.pop("thinking_budget", None)
    message = "this model thinks in streams alone; for a plain call its thinking is switched off"
    notices.append(Notice("approximated", "reasoning", message))


def decode_reasoning(payload: Mapping[str, Any]) -> Reasoning | None:
    """Read what a request asks of the model's thinking, in any of the forms; `None` where it asks nothing."""
    effort, budget, visible = payload.get("reasoning_effort"), None, None
    match payload.get("reasoning"):
        case {**inner}:
            effort = effort or inner.get("effort")
            budget = inner.get("max_tokens")
            visible = not inner["exclude"] if isinstance(inner.get("exclude"), bool) else None
            if inner.get("enabled") is False:
                effort = "none"
    match payload.get("thinking"):
        case {"type": "disabled"}:
            effort = "none"
        case {"type": "enabled", **inner}:
            budget = budget or inner.get("budget_tokens")
    if payload.get("enable_thinking") is False:
        effort = "none"
    if visible is None and isinstance(payload.get("include_reasoning"), bool):
        visible = payload["include_reasoning"]
    budget = budget or payload.get("thinking_budget")
    reasoning = Reasoning(
        effort if isinstance(effort, str) and effort in _EFFORTS else None,  # type: ignore[arg-type]
        budget if isinstance(budget, int) and not isinstance(budget, bool) and budget >= 0 else None,
        visible,
    )
    return None if reasoning == Reasoning() else reasoning
