"""
A request, written as the body of `POST /responses`.

The service is asked to keep nothing (`store: false`) and to hand out its reasoning sealed, so that the history alone
carries a conversation. Who wants the service's own state says so in `custom_parameters`: `store`,
`previous_response_id`, `conversation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polywire.messages import SystemMessage
from polywire.parameters import ChatRequestParameters
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.schemas import Lowered
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.prepare import prepare
from polywire_openai.bodies import Body
from polywire_openai.reading import Reading
from polywire_openai.response_formats import encode_response_format
from polywire_openai.responses.encode_items import encode_items
from polywire_openai.responses.fields import WIRE, own_extras
from polywire_openai.responses.tools import encode_tool_choice, encode_tools

__all__ = ["AS_READ", "ENCRYPTED", "STATE", "encode_body"]

ENCRYPTED = "reasoning.encrypted_content"
"""What `include` names to get sealed reasoning."""

AS_READ = "as_read"
"""The key in the extras for what a request meant without saying it; of no meaning to other wires."""

STATE = frozenset({"previous_response_id", "conversation"})
"""The fields that lean on what the service has kept."""

_MINIMUM_TOKENS = 16
_JOINED = ("text", "reasoning")


def encode_body(request: ChatRequest, profile: Profile) -> Body:
    """
    Write a request for a profile.

    Raises:
        UnsupportedByModel: it holds something that the model cannot be given and must not go without.
    """
    prepared = prepare(request, profile, wire=WIRE)
    parameters, notices = prepared.parameters, prepared.notices
    asked = dict(own_extras(request.parameters.extras))
    asked |= asked.pop(AS_READ, {})
    state = {**asked, **parameters.custom_parameters}
    stateless = not state.get("store") and not any(state.get(key) for key in STATE)

    body: dict[str, Any] = {}
    if parameters.model is not None:
        body["model"] = parameters.model
    messages = prepared.messages
    first = messages[0]
    if isinstance(first, SystemMessage) and own_extras(first.extras).get("instructions") and first.text:
        body["instructions"] = first.text
        messages = messages[1:]
    body["input"] = encode_items(messages, profile, notices, stateless=stateless)
    schemas = _write_tools(body, parameters, profile, notices)
    for name in ("temperature", "top_p"):
        if (value := getattr(parameters, name)) is not None:
            body[name] = value
    _write_limit(body, parameters, notices)
    form, fields, answer = encode_response_format(parameters.response_format, profile, notices)
    if form is not None:
        body["text"] = {"format": {"type": form, **fields}}
    _write_reasoning(body, parameters, profile, notices)
    if "store" not in state and stateless:
        body["store"] = False
    if stateless and profile.reasoning_parameter and profile.quirks.get("encrypted_reasoning", True):
        body["include"] = [ENCRYPTED]
    for key, value in asked.items():
        body[key] = _joined(key, body.get(key), value)
    custom = {key: _joined(key, body.get(key), value) for key, value in parameters.custom_parameters.items()}
    body.update({key: custom[key] for key in (*_JOINED, "include") if key in custom})
    if custom:
        apply_custom_parameters(body, replace(parameters, custom_parameters=custom), notices)
    return Body(body, Reading(prepared.names, schemas, answer, None, profile, request), notices)


def _joined(key: str, typed: Any, given: Any) -> Any:
    """Lay what was given over what the typed parameters wrote, where both may stand beside each other."""
    if key in _JOINED and isinstance(typed, Mapping) and isinstance(given, Mapping):
        return {**typed, **given}
    if key == "include" and isinstance(typed, list) and isinstance(given, (list, tuple)):
        return list(dict.fromkeys([*typed, *given]))
    return given


def _write_tools(
    body: dict[str, Any], parameters: ChatRequestParameters, profile: Profile, notices: list[Notice]
) -> dict[str, Lowered]:
    if not parameters.tools:
        return {}
    body["tools"], schemas = encode_tools(parameters.tools, profile, notices)
    if parameters.tool_choice is not None:
        body["tool_choice"] = encode_tool_choice(parameters.tool_choice)
    if parameters.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = parameters.parallel_tool_calls
    return schemas


def _write_limit(body: dict[str, Any], parameters: ChatRequestParameters, notices: list[Notice]) -> None:
    limit = parameters.max_tokens
    if limit is None:
        return
    if limit < _MINIMUM_TOKENS:
        text = f"this wire takes no limit under {_MINIMUM_TOKENS}; sent as {_MINIMUM_TOKENS}"
        notices.append(Notice("approximated", "max_tokens", text))
    body["max_output_tokens"] = max(limit, _MINIMUM_TOKENS)


def _write_reasoning(
    body: dict[str, Any], parameters: ChatRequestParameters, profile: Profile, notices: list[Notice]
) -> None:
    reasoning = parameters.reasoning
    if reasoning is None:
        return
    if profile.reasoning_parameter is None:
        if reasoning.effort != "none":
            notices.append(Notice("dropped", "reasoning", "this model's thinking cannot be steered"))
        return
    written: dict[str, Any] = {}
    if reasoning.effort is not None:
        written["effort"] = profile.effort_names.get(reasoning.effort, reasoning.effort)
    if reasoning.visible:
        written["summary"] = "auto"
    if reasoning.budget_tokens is not None:
        notices.append(Notice("dropped", "reasoning", "this wire has no budget for thinking; give an effort"))
    if written:
        body["reasoning"] = written
