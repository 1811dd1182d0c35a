"""Parameters that no body can hold: refused before the network, by name, and never sent as something else."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import model_of

from polywire.errors import InvalidToolArguments, ModelError
from polywire.messages import AiMessage, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.requests import ResponseFormat, ToolSpecification
from polywire.tools import ToolService

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


NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize("provider", ["openai-compatible", "openai-responses", "anthropic", "gemini", "ollama"])
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_custom_parameter_that_json_cannot_write_is_refused_with_its_place(provider: str, value: float) -> None:
    model, transport = model_of(provider, ANSWER)

    with pytest.raises(ValueError, match=r"custom_parameters\['shape'\]\.a\[1\]"):
        model.chat("q", max_tokens=5, custom_parameters={"shape": {"a": [1.5, value]}})
    with pytest.raises(ValueError, match=r"custom_parameters\['shape'\]"):
        model.chat("q", max_tokens=5, custom_parameters={"shape": value})
    assert transport.requests == []


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_no_value_for_a_wire_holds_a_number_that_json_cannot_write(value: float) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "maximum": value}}}

    with pytest.raises(ValueError, match=r"tool 'f'.*properties\.a\.maximum"):
        ToolSpecification("f", None, schema)
    with pytest.raises(ValueError, match=r"response_format\.schema\.properties\.a\.maximum"):
        ResponseFormat("json_schema", schema)
    with pytest.raises(ValueError, match=r"arguments\.a"):
        ToolCall("c", "f", {"a": value})
    with pytest.raises(ValueError, match=r"metadata\.a\[0\]"):
        ToolError("t", "m", None, {"a": [value]})


@pytest.mark.parametrize("arguments", ['{"a":NaN}', '{"a":[-Infinity]}', '{"a":1e999}', '{"a":-1E+400}'])
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini", "ollama"])
def test_arguments_with_a_number_that_is_none_are_never_sent_or_run_as_others(provider: str, arguments: str) -> None:
    call = ToolCall("c", "f", arguments)
    model, transport = model_of(provider, ANSWER)
    with suppress(ModelError):
        model.chat([UserMessage("q"), AiMessage(call), ToolResultMessage("c", "f", "no")], max_tokens=50)

    assert not call.is_valid
    with pytest.raises(InvalidToolArguments):
        _ = call.input
    assert "null" not in transport.last.request.body.decode().replace('"content":null', "")
    assert arguments.strip("{}").split(":")[1].strip("[]") in transport.last.request.body.decode()


def test_a_large_number_is_one() -> None:
    assert ToolCall("c", "f", '{"a":1e300,"b":null}').input == {"a": 1e300, "b": None}


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_a_tools_result_with_a_number_that_json_cannot_write_is_a_failed_one_that_says_where(value: float) -> None:
    def measure() -> dict[str, Any]:
        """Measure."""
        return {"mean": [1.0, value]}

    call = {"id": "c", "type": "function", "function": {"name": "measure", "arguments": "{}"}}
    asked = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    model, transport = model_of("openai-compatible", asked, ANSWER)
    ToolService([measure]).chat(model, "q")

    [result] = [each for each in transport.last.json["messages"] if each["role"] == "tool"]
    assert '"ok":false' in result["content"]
    assert "mean[1]" in result["content"]
