"""
What the vendor says when it fails: an answer of another status, an error in a 200 answer, an error in a stream.

    {"type": "error", "error": {"type": …, "message": …, "details": {"error_code": …}}, "request_id": …}

The error's type decides the kind; `details.error_code`, where there is one, is the error's `code`. Messages are read in
one case alone: the wire has no type of its own for a prompt that is too long.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from polywire import wire_json
from polywire.codec import HttpResponse
from polywire.errors import ERROR_KINDS, ContextLengthExceeded, ModelError

__all__ = ["ERROR_TYPES", "error_from_answer", "error_in_stream"]

ERROR_TYPES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "invalid_request_error": ("bad_request", 400),
        "authentication_error": ("authentication", 401),
        "billing_error": ("quota", 402),
        "permission_error": ("permission", 403),
        "not_found_error": ("not_found", 404),
        "conflict_error": ("server", 409),
        "request_too_large": ("bad_request", 413),
        "rate_limit_error": ("rate_limit", 429),
        "api_error": ("server", 500),
        "timeout_error": ("timeout", 504),
        "overloaded_error": ("overloaded", 529),
    }
)
"""Every error type of the wire: polywire's kind, and the HTTP status that it stands for."""


def error_from_answer(response: HttpResponse) -> ModelError:
    """Read an answer of another status than 2xx."""
    body = wire_json.decode_object(response.body) or {}
    return _error(body, response.status, response.headers.get("request-id"))


def error_in_stream(event: Mapping[str, Any]) -> ModelError:
    """Read an error that arrives with status 200; it carries the status that its kind stands for."""
    return _error(event, None, None)


def _error(body: Mapping[str, Any], status: int | None, request_id: str | None) -> ModelError:
    error = body.get("error")
    error = error if isinstance(error, Mapping) else {"message": str(error) if error else "the vendor failed"}
    kind, usual = ERROR_TYPES.get(str(error.get("type")), ("server", 500))
    message = str(error.get("message") or error.get("type") or "the vendor failed")
    cls = ContextLengthExceeded if "prompt is too long" in message else ERROR_KINDS[kind]
    return cls(message, status=status or usual, request_id=body.get("request_id") or request_id)
