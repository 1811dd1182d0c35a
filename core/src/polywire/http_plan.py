"""
The one course of a chat call over HTTP, for plain and streamed, sync and async callers alike.

`call_plan` is a generator that decides and never waits: it yields what is to be done (`Send` a request, `Acquire` a
lock) and is sent what came of it. A driver of a few lines does these things, once with and once without `await`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal

from polywire.codec import Codec, Encoded, HttpResponse
from polywire.errors import ModelError, PolywireError, SettingsError, UnsupportedByModel
from polywire.fast_dataclass import dataclass
from polywire.history import check_history
from polywire.http_errors import request_id_of
from polywire.http_exchange import Acquire, Endpoint, Send, exchange, fill_in, metadata_of, unreadable
from polywire.messages import AiMessage, Origin
from polywire.requests import PARAMETER_NAMES, ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, Notice
from polywire.transport.streams import HttpStream

__all__ = ["CallPlan", "Connection", "Opened", "call_plan", "preview"]


@dataclass(slots=True)
class Opened:
    """A stream that has begun, and what reading it needs."""

    stream: HttpStream
    encoded: Encoded
    notices: tuple[Notice, ...]


CallPlan = Generator[Send | Acquire, Any, ChatResponse | Opened]


@dataclass(slots=True, kw_only=True)
class Connection(Endpoint):
    """What all calls of one `HttpChatModel` have in common."""

    codec: Codec
    defaults: ChatRequestParameters
    unsupported: Literal["notice", "error"]
    history: Literal["strict", "repair"]


def call_plan(connection: Connection, request: ChatRequest, *, stream: bool) -> CallPlan:
    """
    Run one call: merge, check, encode, sign, send, decode.

    Returns (as the generator's value):
        the response; or, with `stream`, the opened stream.
    """
    parameters = connection.defaults.merge(request.parameters)
    model = parameters.model
    try:
        if model is None:
            msg = "no model is named: give model=… with the call, or set it in the settings"
            raise SettingsError(msg)
        checked = check_history(request.messages, connection.history)
        if parameters is not request.parameters or checked.messages is not request.messages:
            request = ChatRequest(checked.messages, parameters, request.options)
        encoded = _encode(connection, request, stream=stream)
        encoded.origin = Origin(connection.codec.wire, connection.provider, model)
        notices = (*checked.notices, *encoded.notices)
        answer = yield from exchange(connection, encoded, stream=stream)
        if isinstance(answer, HttpStream):
            return Opened(answer, encoded, notices)
        return _decoded(connection, answer, encoded, notices)
    except ModelError as error:
        fill_in(error, connection.provider, model)
        raise


def preview(connection: Connection, request: ChatRequest) -> tuple[Notice, ...]:
    """
    Return the notices that a request gets before it is sent.

    Raises:
        UnsupportedByModel: something would be left out, and the connection refuses that.
    """
    request = request.with_parameters(connection.defaults.merge(request.parameters))
    return tuple(_encode(connection, request, stream=False).notices)


def _encode(connection: Connection, request: ChatRequest, *, stream: bool) -> Encoded:
    encoded = connection.codec.encode(request, stream=stream)
    if connection.unsupported == "error":
        for notice in encoded.notices:
            if notice.kind == "dropped" and notice.subject.split(".")[0].split("[")[0] in PARAMETER_NAMES:
                raise UnsupportedByModel(notice.message, code=notice.subject)
    return encoded


# Answers


def _decoded(
    connection: Connection, answer: HttpResponse, encoded: Encoded, notices: tuple[Notice, ...]
) -> ChatResponse:
    metadata = metadata_of(encoded, answer.headers)
    try:
        response = connection.codec.decode(answer, encoded)
    except PolywireError as error:
        if isinstance(error, ModelError) and error.request_id is None:
            error.request_id = metadata.get("request_id") or request_id_of(answer.headers)
        raise
    except Exception as error:
        raise unreadable(answer) from error
    message = response.message
    if message.origin is None:
        message = AiMessage(message.parts, encoded.origin, extras=message.extras)
    elif not metadata and not notices:
        return response
    return ChatResponse(
        message,
        response.usage,
        response.finish_reason,
        (*notices, *response.notices),
        {**metadata, **response.metadata},
    )
