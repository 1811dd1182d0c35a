"""
A request body, read into polywire's values.

Nothing is lost: a field without a place in the values goes into the parameters' `extras["openai"]`, and so do, under
`as_read`, those typed fields that would not be written again exactly so (which name the token limit had, `stop` as a
string), so that a conversion can put them back as they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polywire.errors import BadRequest, ProtocolError, UnsupportedByModel
from polywire.immutable import EMPTY
from polywire.parameters import ChatRequestParameters
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.translation.names import NameMap
from polywire.translation.parameters import fit_parameters
from polywire_openai.decode_messages import MessageReader
from polywire_openai.encode_request import AS_READ, TYPED_FIELDS, encode_parameters
from polywire_openai.fields import WIRE
from polywire_openai.reasoning_parameters import REASONING_FIELDS, decode_reasoning
from polywire_openai.response_formats import decode_response_format
from polywire_openai.tools import decode_tool_choice, decode_tools

__all__ = ["FIELDS_OF", "decode_parameters", "decode_request"]

FIELDS_OF: Mapping[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "presence_penalty": ("presence_penalty",),
    "frequency_penalty": ("frequency_penalty",),
    "max_tokens": ("max_completion_tokens", "max_tokens"),
    "stop_sequences": ("stop",),
    "tool_choice": ("tool_choice",),
    "parallel_tool_calls": ("parallel_tool_calls",),
    "response_format": ("response_format",),
    "reasoning": tuple(sorted(REASONING_FIELDS)),
}
"""For each typed parameter, the fields of the body that it is read from."""

_TYPED = tuple(field for fields in FIELDS_OF.values() for field in fields)


def decode_request(
    payload: Mapping[str, Any], notices: list[Notice], reader: MessageReader, profiles: ProfileTable
) -> ChatRequest:
    """
    Read a request body. `profiles` are those with which it would be written again.

    Raises:
        BadRequest: it holds no messages, or a field of another shape than the wire's.
    """
    if not isinstance(payload, Mapping):
        msg = f"a request body must be an object, not {type(payload).__name__}"
        raise BadRequest(msg)
    items = payload.get("messages")
    if not isinstance(items, Sequence) or isinstance(items, str):
        msg = "messages: a request body needs a list of messages"
        raise BadRequest(msg)
    try:
        messages = reader.read(items)
    except ProtocolError as error:
        raise BadRequest(error.message) from None
    if not messages:
        msg = "messages: none of them says anything"
        raise BadRequest(msg)
    kept = {key: value for key, value in payload.items() if key not in TYPED_FIELDS and value is not None}
    parameters = decode_parameters(payload, kept, notices)
    as_read = _not_written_so(payload, parameters, profiles)
    if as_read:
        parameters = replace(parameters, extras={WIRE: {**kept, AS_READ: as_read}})
    return ChatRequest(messages, parameters)


def _not_written_so(
    payload: Mapping[str, Any], parameters: ChatRequestParameters, profiles: ProfileTable
) -> dict[str, Any]:
    """Return the typed fields that writing the parameters would not give exactly as they were read."""
    read = {field: value for field in _TYPED if (value := payload.get(field)) is not None}
    if not payload.get("tools"):
        # There is nothing to choose from, and the service refuses the choice.
        read.pop("tool_choice", None)
        read.pop("parallel_tool_calls", None)
    if not read:
        return {}
    written: dict[str, Any] = {}
    profile = profiles.for_model(parameters.model)
    try:
        fitted, _ = fit_parameters(parameters, profile, WIRE, NameMap())
        encode_parameters(written, fitted, profile, [])
    except UnsupportedByModel:
        return read
    return {
        field: value
        for fields in FIELDS_OF.values()
        if any(read.get(field) != written.get(field) for field in fields)
        for field in fields
        if (value := read.get(field)) is not None
    }


def decode_parameters(
    payload: Mapping[str, Any], kept: Mapping[str, Any], notices: list[Notice] | None = None
) -> ChatRequestParameters:
    """
    Read the parameters of a request body; `kept` is what goes into the extras.

    Raises:
        BadRequest: a field is of another shape than the wire's.
    """
    choice = payload.get("tool_choice")
    limit = payload.get("max_completion_tokens")
    if limit is None:
        limit = payload.get("max_tokens")
    tool_choice = decode_tool_choice(choice)
    if choice is not None and tool_choice is None and notices is not None:
        notices.append(Notice("information", "tool_choice", f"the choice {choice!r} is understood by this wire alone"))
    written, reasoning = payload.get("response_format"), decode_reasoning(payload)
    form = decode_response_format(written, written.get("json_schema") if isinstance(written, Mapping) else None)
    if notices is not None:
        unread = ["response_format"] if form is None else []
        unread += ["reasoning_effort", "reasoning", "thinking"] if reasoning is None else []
        for field in unread:
            if payload.get(field) not in (None, "", {}, False):
                told = f"{payload[field]!r} is understood by this wire alone"
                notices.append(Notice("information", field, told))
    stop = payload.get("stop")
    if isinstance(stop, Sequence) and not isinstance(stop, str):
        stop = [each for each in stop if each != ""]
    try:
        return ChatRequestParameters(
            model=payload.get("model"),
            temperature=payload.get("temperature"),
            top_p=payload.get("top_p"),
            max_tokens=limit,
            stop_sequences=stop or None,  # type: ignore[arg-type]
            seed=payload.get("seed"),
            presence_penalty=payload.get("presence_penalty"),
            frequency_penalty=payload.get("frequency_penalty"),
            tools=decode_tools(payload.get("tools")),
            tool_choice=tool_choice,
            parallel_tool_calls=payload.get("parallel_tool_calls"),
            response_format=form,
            reasoning=reasoning,
            extras={WIRE: kept} if kept else EMPTY,
        )
    except (TypeError, ValueError) as error:
        msg = f"the request body does not read: {error}"
        raise BadRequest(msg) from error
