"""A whole answer, read into a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.codec import HttpResponse
from polywire.errors import ProtocolError
from polywire.events import ResponseCollector
from polywire.messages import Origin
from polywire.responses import ChatResponse
from polywire_openai.bodies import payload_of
from polywire_openai.reading import PLAIN, Reading
from polywire_openai.responses.answer import AnswerReader
from polywire_openai.responses.errors import error_inside, find_error

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
        ProtocolError: it has no output.
        ModelError: it is an error.
    """
    error = find_error(payload)
    if error is not None:
        raise error_inside(error)
    if not isinstance(payload.get("output"), (list, tuple)):
        msg = "the answer has no output field: this is no response of the Responses API"
        raise ProtocolError(msg)
    answer, collector = AnswerReader(reading, origin), ResponseCollector()
    collector.add_all(answer.read_whole(payload))
    collector.add_all(answer.finish())
    return collector.response()
