"""A whole answer, read into a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.codec import HttpResponse
from polywire.errors import EmptyResponse, ProtocolError
from polywire.events import ResponseCollector
from polywire.messages import Origin
from polywire.responses import ChatResponse
from polywire_openai.answer import AnswerReader
from polywire_openai.bodies import payload_of
from polywire_openai.errors import error_inside, find_error
from polywire_openai.reading import PLAIN, Reading

__all__ = ["decode_body", "decode_response"]


def decode_body(response: HttpResponse, *, reading: Reading, origin: Origin | None) -> ChatResponse:
    """
    Read an answer of status 2xx.

    Raises:
        EmptyResponse: there is nothing in it.
        ProtocolError: it is not what the wire promises.
        ModelError: it is an error.
    """
    payload = payload_of(response, find_error=find_error, error_inside=error_inside)
    return decode_response(payload, reading=reading, origin=origin)


def decode_response(
    payload: Mapping[str, Any], *, reading: Reading = PLAIN, origin: Origin | None = None
) -> ChatResponse:
    """
    Read a response body.

    Raises:
        EmptyResponse: there is no choice in it.
        ProtocolError: it has no choices at all, or choices of another shape.
        ModelError: it is an error.
    """
    answer = AnswerReader(reading, origin)
    collector = ResponseCollector()
    collector.add_all(answer.read(payload, whole=True))
    choices = payload.get("choices")
    choices = [choices] if isinstance(choices, Mapping) else choices
    if not isinstance(choices, list):
        msg = "the answer has no choices field: this is no Chat Completions response"
        raise ProtocolError(msg)
    if not choices:
        msg = "the answer has no choice in it"
        raise EmptyResponse(msg)
    if not isinstance(choices[0], Mapping) or not isinstance(
        choices[0].get("message", choices[0].get("delta")), Mapping
    ):
        msg = "the answer's first choice has no message"
        raise ProtocolError(msg)
    collector.add_all(answer.finish())
    return collector.response()
