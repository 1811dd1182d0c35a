"""
What the vendor says when it fails: an answer of another status, an error in a 200 answer, an error in a stream.

    {"type": "error", "error": {"type": …, "message": …, "details": {"error_code": …}}, "request_id": …}

The classification is the shared one, which knows this wire's types; here stand what is read before it and the way back.
`details.error_code`, where there is one, is the error's `code`; else its type is.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from polywire import wire_json
from polywire.codec import Headers, HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_payload, error_from_response

__all__ = ["ERROR_TYPES", "error_from_answer", "error_inside", "error_type_of", "is_error"]

ERROR_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "authentication": "authentication_error",
        "quota": "billing_error",
        "permission": "permission_error",
        "not_found": "not_found_error",
        "bad_request": "invalid_request_error",
        "context_length": "invalid_request_error",
        "content_filter": "invalid_request_error",
        "unsupported": "invalid_request_error",
        "rate_limit": "rate_limit_error",
        "timeout": "timeout_error",
        "overloaded": "overloaded_error",
    }
)
"""The wire's error type for each kind; for every other kind it is `api_error`."""


def is_error(payload: Mapping[str, Any]) -> bool:
    """Whether a body, or an event, is an error; gateways leave out the outer type, and have errors of their own."""
    if payload.get("type") == "error" or payload.get("object") == "error":
        return True
    if "content" in payload:
        return False
    if "error" in payload:
        return True
    return "type" not in payload and (
        isinstance(payload.get("message"), str) or any(payload.get(key) for key in ("detail", "errors", "error_msg"))
    )


def error_from_answer(response: HttpResponse) -> ModelError:
    """Read an answer of another status than 2xx. Never raises."""
    return error_from_response(response, code=_code(wire_json.decode_object(response.body)))


def error_inside(payload: Mapping[str, Any], *, headers: Headers | None = None, received_at: float = 0.0) -> ModelError:
    """Read an error that arrives with status 200; it carries the status that its kind stands for, never 200."""
    return error_from_payload(payload, code=_code(payload), headers=headers, received_at=received_at)


def _code(body: Mapping[str, Any] | None) -> str | None:
    match body:
        case {"error": {"details": {"error_code": str(code)}}} if code:
            return code
        case {"error": {"type": str(kind)}} if kind:
            return kind
        case _:
            return None


def error_type_of(error: ModelError) -> str:
    """Return the wire's word for an error of any vendor's."""
    return ERROR_TYPES.get(error.kind, "api_error")
