"""Parameters that no body can hold: refused before the network, by name, and never sent as something else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import model_of

ANSWER = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["temperature", "top_p", "presence_penalty", "frequency_penalty"])
def test_a_number_that_json_cannot_write_is_refused(name: str, value: float) -> None:
    model, transport = model_of("openai-compatible", ANSWER)

    with pytest.raises(ValueError, match=name):
        model.chat("q", **{name: value})
    assert transport.requests == []


@pytest.mark.parametrize("provider", ["openai-compatible", "openai-responses", "anthropic", "gemini", "ollama"])
@pytest.mark.parametrize("value", [object(), [object()], {"a": {"b": object()}}])
def test_a_custom_parameter_of_no_json_type_is_refused_by_its_key(provider: str, value: Any) -> None:
    model, transport = model_of(provider, ANSWER)

    with pytest.raises(TypeError, match="'shape'"):
        model.chat("q", max_tokens=5, custom_parameters={"shape": value})
    assert transport.requests == []


def test_a_custom_parameter_of_any_json_type_is_sent_as_it_is() -> None:
    model, transport = model_of("openai-compatible", ANSWER)
    given = {"a": None, "b": [1, {"c": "é"}], "d": {"e": 1.5}, "f": True}

    model.chat("q", custom_parameters=given)

    assert {key: transport.last.json[key] for key in given} == given
