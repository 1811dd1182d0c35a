"""A request, written as the body of `POST /v1/messages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.fast_dataclass import dataclass
from polywire.parameters import ChatRequestParameters, ResponseFormat
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.schemas import Lowered, lower_schema
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.prepare import prepare
from polywire_anthropic.cache_marks import limit_cache_marks
from polywire_anthropic.decode import WIRE, Reading
from polywire_anthropic.encode_messages import encode_history, encode_history_json
from polywire_anthropic.thinking import Thinking, decode_reasoning, encode_reasoning
from polywire_anthropic.tools import encode_tool_choice, encode_tools

__all__ = ["TYPED_FIELDS", "Body", "encode_body"]

TYPED_FIELDS = frozenset(
    {
        "model", "max_tokens", "messages", "system", "stop_sequences", "stream", "temperature", "thinking", "tool_choice",
        "tools", "top_p", "output_config",
    }
)  # fmt: skip
"""The body's fields that have a place in the values; every other one travels in `extras["anthropic"]`."""

_FORBIDDEN_WITH_BUDGET = ("temperature", "top_p")


@dataclass(slots=True)
class Body:
    """A body, what reading its answer needs, and what was changed."""

    json: dict[str, Any]
    reading: Reading
    notices: list[Notice]


def encode_body(request: ChatRequest, profile: Profile, *, as_json: bool = False) -> Body:
    """
    Write a request for a profile. With `as_json` the messages may be ready JSON: for sending, not for looking at.

    Where the caller gives no `max_tokens`, which the wire demands, the profile's `default_max_tokens` is sent.

    Raises:
        UnsupportedByModel: it holds something that the wire cannot carry and that must not be left out.
    """
    prepared = prepare(request, profile, wire=WIRE)
    parameters, notices = prepared.parameters, prepared.notices
    asked: Mapping[str, Any] = request.parameters.extras.get(WIRE, {})
    as_read: Mapping[str, Any] = asked if profile.quirks.get("as_read") else {}
    system, messages = (
        encode_history_json(prepared.messages, profile, notices, prepared.survey)
        if as_json
        else encode_history(prepared.messages, profile, notices)
    )
    thinking = encode_reasoning(parameters.reasoning, profile, parameters.max_tokens, notices)

    body: dict[str, Any] = {}
    if parameters.model is not None:
        body["model"] = parameters.model
    body["max_tokens"] = thinking.max_tokens
    if system is not None:
        body["system"] = system
    body["messages"] = messages
    schemas: dict[str, Lowered] = {}
    if parameters.tools:
        body["tools"], schemas = encode_tools(parameters.tools, profile, notices)
    _write_choice(body, parameters, thinking, notices)
    _write_sampling(body, parameters, thinking, notices)
    answer = _write_output(body, parameters, profile, thinking, asked.get("output_config"), notices)
    if thinking.parameter is not None:
        body["thinking"] = thinking.parameter
    body.update({key: value for key, value in asked.items() if key not in TYPED_FIELDS})
    if as_read:
        _write_as_read(body, request.parameters, as_read, notices)
    apply_custom_parameters(body, parameters, notices)
    limit_cache_marks(body, profile.cache_marks, notices)
    return Body(body, Reading(prepared.names, schemas, answer), notices)


def _write_choice(
    body: dict[str, Any], parameters: ChatRequestParameters, thinking: Thinking, notices: list[Notice]
) -> None:
    choice = encode_tool_choice(parameters.tool_choice, parameters.parallel_tool_calls, notices)
    if choice is None:
        return
    if thinking.has_budget and choice["type"] in {"any", "tool"}:
        # To be made to call a tool is what the caller needs to go on; thinking only makes it better.
        thinking.parameter = None
        notices.append(
            Notice("dropped", "reasoning", "thinking with a budget cannot be combined with a forced tool call")
        )
    body["tool_choice"] = choice


def _write_sampling(
    body: dict[str, Any], parameters: ChatRequestParameters, thinking: Thinking, notices: list[Notice]
) -> None:
    for name in _FORBIDDEN_WITH_BUDGET:
        value = getattr(parameters, name)
        if value is None:
            continue
        if thinking.has_budget:
            notices.append(Notice("dropped", name, f"thinking with a budget cannot be combined with {name}"))
        else:
            body[name] = value
    if parameters.stop_sequences:
        body["stop_sequences"] = list(parameters.stop_sequences)


def _write_output(
    body: dict[str, Any],
    parameters: ChatRequestParameters,
    profile: Profile,
    thinking: Thinking,
    read: Any,
    notices: list[Notice],
) -> Lowered | None:
    output: dict[str, Any] = {}
    if isinstance(read, Mapping):
        output = {key: value for key, value in read.items() if key not in {"effort", "format"}}
    if thinking.effort is not None:
        output["effort"] = thinking.effort
    lowered = _answer_schema(parameters.response_format, profile, notices)
    if lowered is not None:
        output["format"] = {"type": "json_schema", "schema": lowered.schema}
    if output:
        body["output_config"] = output
    return lowered


def _answer_schema(form: ResponseFormat | None, profile: Profile, notices: list[Notice]) -> Lowered | None:
    if form is None or form.type == "text":
        return None
    if form.type not in profile.response_formats or form.schema is None:
        message = f"this model has no answer of the form {form.type!r}: ask for it in words, or give a schema"
        notices.append(Notice("dropped", "response_format", message))
        return None
    lowered = lower_schema(form.schema, profile.strict_schema_dialect or "full", subject="response_format")
    notices.extend(lowered.notices)
    if form.name and profile.quirks.get("as_read"):
        notices.append(Notice("information", "response_format", f"this wire has no place for the name {form.name!r}"))
    if form.description and "description" not in lowered.schema:
        schema = {**lowered.schema, "description": form.description}
        return Lowered(schema, lowered.notices, lowered.restore)
    return lowered


def _write_as_read(
    body: dict[str, Any], parameters: ChatRequestParameters, read: Mapping[str, Any], notices: list[Notice]
) -> None:
    """Put fields back as they were read, where the values still say what was read."""
    told: set[str] = set()
    thinking, output = read.get("thinking"), read.get("output_config")
    if parameters.reasoning == decode_reasoning(thinking, output):
        told.add("reasoning")
        _put(body, "thinking", thinking)
        written = {key: value for key, value in body.get("output_config", {}).items() if key != "effort"}
        if isinstance(output, Mapping) and output.get("effort") is not None:
            written["effort"] = output["effort"]
        _put(body, "output_config", written or None)
    if "stream" in read:
        body["stream"] = read["stream"]
    for name in ("temperature", "top_p"):
        if name in read and getattr(parameters, name) == read[name]:
            told.add(name)
            body[name] = read[name]
    notices[:] = [notice for notice in notices if notice.subject.partition(".")[0] not in told]


def _put(body: dict[str, Any], key: str, value: Any) -> None:
    if value is not None:
        body[key] = value
    else:
        body.pop(key, None)
