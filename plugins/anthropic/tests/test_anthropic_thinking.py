"""How hard the model shall think, by model family and API version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polywire.parameters import Reasoning
from polywire.requests import ToolChoice, ToolSpecification
from polywire_anthropic import CURRENT_VERSION, AnthropicCodec, anthropic_profiles
from polywire_anthropic.thinking import decode_reasoning

Encode = Callable[..., Any]

BUDGET, BOTH, ADAPTIVE, ALWAYS = "claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-8", "claude-fable-5"


@pytest.mark.parametrize(
    ("model", "reasoning", "thinking", "effort"),
    [
        (BUDGET, Reasoning("high"), {"type": "enabled", "budget_tokens": 16384}, None),
        (BUDGET, Reasoning("minimal"), {"type": "enabled", "budget_tokens": 1024}, None),
        (BUDGET, Reasoning("none"), {"type": "disabled"}, None),
        (BUDGET, Reasoning(budget_tokens=5000), {"type": "enabled", "budget_tokens": 5000}, None),
        (BUDGET, Reasoning(budget_tokens=5), {"type": "enabled", "budget_tokens": 1024}, None),
        (BUDGET, Reasoning(), {"type": "enabled", "budget_tokens": 8192}, None),
        (BUDGET, Reasoning(visible=True), {"type": "enabled", "budget_tokens": 8192, "display": "summarized"}, None),
        (BOTH, Reasoning("high"), {"type": "adaptive"}, "high"),
        (BOTH, Reasoning("xhigh"), {"type": "adaptive"}, "high"),
        (BOTH, Reasoning(budget_tokens=5000), {"type": "enabled", "budget_tokens": 5000}, None),
        (BOTH, Reasoning("low", 5000), {"type": "enabled", "budget_tokens": 5000}, "low"),
        (ADAPTIVE, Reasoning("max"), {"type": "adaptive"}, "max"),
        (ADAPTIVE, Reasoning("minimal"), {"type": "adaptive"}, "low"),
        (ADAPTIVE, Reasoning("none"), {"type": "disabled"}, None),
        (ADAPTIVE, Reasoning(visible=False), {"type": "adaptive", "display": "omitted"}, None),
        (ADAPTIVE, Reasoning(budget_tokens=5000), {"type": "adaptive"}, None),
        (ALWAYS, Reasoning("none"), {"type": "adaptive"}, "low"),
        ("claude-opus-5-5", Reasoning("xhigh"), {"type": "adaptive"}, "xhigh"),
        ("claude-opus-5-5", Reasoning("none"), {"type": "adaptive"}, "low"),
        ("claude-fable-5-1", Reasoning("none"), {"type": "adaptive"}, "low"),
        ("claude-opus-5", Reasoning("none"), {"type": "disabled"}, None),
        ("claude-haiku-5-5", Reasoning("none"), {"type": "disabled"}, None),
        ("claude-sonnet-5", Reasoning("none"), {"type": "disabled"}, None),
        ("claude-sonnet-5-5", Reasoning("none"), {"type": "between_tools"}, None),
        ("claude-3-5-sonnet-latest", Reasoning("high"), None, None),
        ("eu.anthropic.claude-opus-4-8-v1:0", Reasoning("max"), {"type": "adaptive"}, "max"),
    ],
)
def test_the_form_goes_by_the_model(
    encode: Encode, model: str, reasoning: Reasoning, thinking: Any, effort: str | None
) -> None:
    sent = encode("q", model=model, reasoning=reasoning)

    assert sent.body.get("thinking") == thinking
    assert sent.body.get("output_config", {}).get("effort") == effort


@pytest.mark.parametrize(
    ("model", "reasoning"),
    [
        (BUDGET, Reasoning("high")),
        (BUDGET, Reasoning("high", 5000)),
        (BUDGET, Reasoning(budget_tokens=5)),
        (BOTH, Reasoning("xhigh")),
        (ADAPTIVE, Reasoning("minimal")),
        (ADAPTIVE, Reasoning(budget_tokens=5000)),
        (ALWAYS, Reasoning("none")),
        ("claude-3-5-sonnet-latest", Reasoning("high")),
    ],
)
def test_what_does_not_go_over_as_asked_is_told(encode: Encode, model: str, reasoning: Reasoning) -> None:
    sent = encode("q", model=model, reasoning=reasoning)

    assert any(notice.subject.startswith("reasoning") for notice in sent.notices)


@pytest.mark.parametrize(
    ("max_tokens", "budget", "sent_max", "sent_budget"),
    [
        (None, 5000, 21000, 5000),
        (10000, 5000, 10000, 5000),
        (4000, 5000, 4000, 3999),
        (1025, 5000, 1025, 1024),
        (1024, 5000, 1024, None),
        (50, 2000, 50, None),
    ],
)
def test_a_budget_is_less_than_max_tokens(
    encode: Encode, max_tokens: int | None, budget: int, sent_max: int, sent_budget: int | None
) -> None:
    sent = encode("q", model=BUDGET, reasoning=Reasoning(budget_tokens=budget), max_tokens=max_tokens)

    assert sent.body["max_tokens"] == sent_max
    assert sent.body.get("thinking", {}).get("budget_tokens") == sent_budget
    assert bool(sent.notices) is (sent_budget != budget)


@pytest.mark.parametrize("choice", ["required", "f"])
def test_a_forced_call_goes_before_thinking_with_a_budget(encode: Encode, choice: str) -> None:
    forced = ToolChoice.tool("f") if choice == "f" else choice
    tools = [ToolSpecification("f")]

    older = encode("q", model=BUDGET, reasoning="low", tools=tools, tool_choice=forced)
    newer = encode("q", model=ADAPTIVE, reasoning="low", tools=tools, tool_choice=forced)

    assert "thinking" not in older.body
    assert older.told("dropped", "reasoning")
    assert newer.body["thinking"] == {"type": "adaptive"}


@pytest.mark.parametrize("forced", ["required", ToolChoice.tool("f")])
@pytest.mark.parametrize(
    ("model", "taken"),
    [
        ("claude-opus-4-8", True),
        ("claude-opus-5", True),
        ("claude-haiku-5-5", True),
        ("claude-opus-5-5", False),
        ("claude-sonnet-5-5-20260928", False),
        ("anthropic/claude-sonnet-5.5", False),
        ("claude-fable-5-1", False),
        ("claude-mythos-5-1", False),
    ],
)
def test_no_call_is_forced_where_that_is_an_error(encode: Encode, model: str, forced: Any, taken: bool) -> None:
    sent = encode("q", model=model, tools=[ToolSpecification("f")], tool_choice=forced)

    assert (sent.body.get("tool_choice", {"type": "auto"})["type"] != "auto") is taken
    assert sent.told("approximated", "tool_choice") is not taken


@pytest.mark.parametrize(
    ("model", "version", "taken"),
    [
        ("claude-sonnet-4-5", "2023-06-01", True),
        ("claude-opus-4-6", "2023-06-01", True),
        ("claude-opus-4-7", "2023-06-01", False),
        ("claude-sonnet-5-5", "2023-06-01", False),
        ("some-local-model", "2023-06-01", True),
        ("claude-sonnet-4-5", "2026-10-21", False),
        ("some-local-model", "2026-10-21", False),
    ],
)
def test_sampling_goes_only_to_models_that_take_it(encode: Encode, model: str, version: str, taken: bool) -> None:
    sent = encode("q", model=model, version=version, temperature=0.5, top_p=0.9)

    assert ("temperature" in sent.body, "top_p" in sent.body) == (taken, taken)
    assert sent.told("dropped", "temperature") is not taken
    assert sent.told("dropped", "top_p") is not taken


def test_sampling_and_a_budget_exclude_each_other(encode: Encode) -> None:
    sent = encode("q", model=BUDGET, version="2023-06-01", temperature=0.5, reasoning="low")

    assert "temperature" not in sent.body
    assert sent.body["thinking"]["type"] == "enabled"
    assert sent.told("dropped", "temperature")


def test_a_profile_can_be_overridden_by_the_settings(encode: Encode) -> None:
    profiles = anthropic_profiles(CURRENT_VERSION).overridden({"sampling": ["temperature"], "default_max_tokens": 77})

    sent = encode("q", codec=AnthropicCodec(profiles=profiles), version="2023-06-01", temperature=0.5)

    assert (sent.body["temperature"], sent.body["max_tokens"]) == (0.5, 77)


@pytest.mark.parametrize(
    ("thinking", "output_config", "expected"),
    [
        (None, None, None),
        (None, {"effort": "low"}, Reasoning("low")),
        (None, {"effort": "unheard-of"}, None),
        ({"type": "adaptive"}, {"effort": "max"}, Reasoning("max")),
        ({"type": "adaptive", "display": "summarized"}, None, Reasoning(visible=True)),
        ({"type": "enabled", "budget_tokens": 2000, "display": "omitted"}, None, Reasoning(None, 2000, False)),
        ({"type": "disabled"}, None, Reasoning("none")),
        ({"type": "between_tools"}, None, Reasoning("none")),
        ({"type": "adaptive", "display": None}, None, Reasoning()),
    ],
)
def test_reading_it_back(thinking: Any, output_config: Any, expected: Reasoning | None) -> None:
    assert decode_reasoning(thinking, output_config) == expected


def test_every_rule_says_where_it_comes_from() -> None:
    table = anthropic_profiles()

    assert table.source
    assert table.date
    for rule in table.rules:
        assert rule.source
        assert rule.date in {"2026-11-30", "2026-12-02"}
        assert table.base.changed(rule.changes)
