"""A request, written as the body of `POST /chat/completions`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from polywire.immutable import EMPTY
from polywire.parameters import ChatRequestParameters
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ToolSpecification
from polywire.responses import Notice
from polywire.schemas import Lowered
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.prepare import prepare
from polywire_openai.bodies import Body
from polywire_openai.contents import AUDIO_FORMATS
from polywire_openai.encode_history import encode_history, encode_history_json
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.reading import Reading
from polywire_openai.reasoning_parameters import REASONING_FIELDS, encode_reasoning, is_thinking
from polywire_openai.response_formats import encode_response_format
from polywire_openai.tools import encode_tool_choice, encode_tools

__all__ = ["AS_READ", "TYPED_FIELDS", "encode_body", "encode_parameters"]

TYPED_FIELDS = REASONING_FIELDS | {
    "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "seed",
    "presence_penalty", "frequency_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format",
}  # fmt: skip
"""The body's fields that have a place in the values; every other one travels in `extras["openai"]`."""

AS_READ = "as_read"
"""The key in `extras["openai"]` for typed fields whose exact form the values do not hold."""

_SAMPLING = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")


def encode_body(request: ChatRequest, profile: Profile, *, as_json: bool = False) -> Body:
    """
    Write a request for a profile. With `as_json` the messages may be ready JSON: for sending, not for looking at.

    Raises:
        UnsupportedByModel: it holds something that the endpoint cannot be given and must not go without.
    """
    if "while_thinking" in profile.quirks and is_thinking(request.parameters.reasoning):
        profile = _while_thinking(profile)
    prepared = prepare(request, profile, wire=WIRE)
    parameters, notices = prepared.parameters, prepared.notices
    asked = own_extras(request.parameters.extras)

    body: dict[str, Any] = {}
    if parameters.model is not None:
        body["model"] = parameters.model
    body["messages"] = (
        encode_history_json(prepared.messages, profile, notices, prepared.survey)
        if as_json
        else encode_history(prepared.messages, profile, notices)
    )
    schemas, answer = encode_parameters(body, parameters, profile, notices)
    if asked:
        body.update({key: value for key, value in asked.items() if key not in TYPED_FIELDS and key != AS_READ})
    apply_custom_parameters(body, parameters, notices)
    reading = Reading(prepared.names, schemas, answer, _audio_type(body), profile, request)
    return Body(body, reading, notices)


@lru_cache(maxsize=256)
def _while_thinking(profile: Profile) -> Profile:
    """Return what the model takes while it thinks; the same object each time, for it is what messages are remembered by."""
    return profile.changed(profile.quirks["while_thinking"], where="quirk 'while_thinking'")


def encode_parameters(
    body: dict[str, Any], parameters: ChatRequestParameters, profile: Profile, notices: list[Notice]
) -> tuple[dict[str, Lowered], Lowered | None]:
    """Write parameters that have been made fit for the profile; returns the schemas of tools and answer that had to change."""
    schemas = _write_tools(body, parameters, profile, notices)
    names = profile.quirks.get("field_names", EMPTY)
    ranges = profile.quirks.get("ranges", EMPTY)
    for name in _SAMPLING:
        value = getattr(parameters, name)
        if value is not None:
            if name in ranges:
                value = _within(value, ranges[name], name, notices)
            body[names.get(name, name)] = value
    if parameters.max_tokens is not None:
        body[profile.max_tokens_field] = parameters.max_tokens
    elif profile.default_max_tokens is not None:
        body[profile.max_tokens_field] = profile.default_max_tokens
    if parameters.stop_sequences:
        body["stop"] = list(parameters.stop_sequences)
    form, fields, answer = encode_response_format(parameters.response_format, profile, notices)
    if form is not None:
        body["response_format"] = {"type": form, "json_schema": fields} if fields else {"type": form}
    body.update(encode_reasoning(parameters.reasoning, profile, notices))
    return schemas, answer


def _within(value: float, bounds: tuple[float, float], name: str, notices: list[Notice]) -> float:
    smallest, largest = bounds
    nearest = min(max(value, smallest), largest)
    if nearest != value:
        message = f"this endpoint takes {name} from {smallest} to {largest}; {value} is sent as {nearest}"
        notices.append(Notice("approximated", name, message))
    return nearest


def _write_tools(
    body: dict[str, Any], parameters: ChatRequestParameters, profile: Profile, notices: list[Notice]
) -> dict[str, Lowered]:
    tools = parameters.tools
    if not tools:
        return {}
    choice = None
    if parameters.tool_choice is not None:
        choice, only = encode_tool_choice(parameters.tool_choice, profile)
        if only is not None:
            tools = tuple(tool for tool in tools if isinstance(tool, ToolSpecification) and tool.name in only)
    body["tools"], schemas = encode_tools(tools, profile, notices)
    if choice is not None:
        body["tool_choice"] = choice
    if parameters.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = parameters.parallel_tool_calls
    return schemas


def _audio_type(body: Mapping[str, Any]) -> str | None:
    match body.get("audio"):
        case {"format": str(form)}:
            return AUDIO_FORMATS.get(form)
    return None
