"""Bodies: of a request as it is written, and of an answer of status 2xx before it is read as one of OpenAI's wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from polywire import wire_json
from polywire.codec import Headers, HttpResponse
from polywire.errors import EmptyResponse, ModelError, ProtocolError
from polywire.fast_dataclass import dataclass
from polywire.http_errors import request_id_of
from polywire.responses import Notice
from polywire_openai.reading import Reading

__all__ = ["Body", "payload_of"]


@dataclass(slots=True)
class Body:
    """The body of a request, what reading its answer needs, and what was changed."""

    json: dict[str, Any]
    reading: Reading
    notices: list[Notice]


class ErrorInside(Protocol):
    """Makes an error of what stands inside an answer that came with status 200."""

    def __call__(self, error: Any, *, headers: Headers | None = None, received_at: float = 0.0) -> ModelError:
        """Make it."""


def payload_of(
    response: HttpResponse, *, find_error: Callable[[Mapping[str, Any]], Any], error_inside: ErrorInside
) -> dict[str, Any]:
    """
    Return the JSON object that an answer of status 2xx is.

    Args:
        response: the answer.
        find_error: finds a wire's error in such an object; `None` where there is none.
        error_inside: makes an exception of it.

    Raises:
        EmptyResponse: there is nothing in it.
        ProtocolError: it is no JSON object.
        ModelError: it is an error; a list stands for one too.
    """
    request_id = request_id_of(response.headers)
    if not response.body.strip():
        msg = "the answer has no body"
        raise EmptyResponse(msg, request_id=request_id)
    try:
        payload: Any = wire_json.decode_body(response.body)
    except ValueError:
        payload = None
    error = payload if isinstance(payload, list) and payload else None
    if isinstance(payload, dict):
        error = find_error(payload)
    if error is not None:
        raise error_inside(error, headers=response.headers, received_at=response.received_at)
    if not isinstance(payload, dict):
        msg = f"the answer is no JSON object: {response.body[:200]!r}"
        raise ProtocolError(msg, request_id=request_id)
    return payload
