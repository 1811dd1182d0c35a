"""
What an endpoint says when it fails: an answer of another status, an error in a 200 answer, an error in a stream.

The classification is the shared one; here stand the places where this dialect's errors are found, the words that only
its speakers use, and the way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.codec import Headers, HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_payload, error_from_response
from polywire.immutable import FrozenDict

__all__ = ["ERROR_KINDS_HERE", "encode_error", "error_from_answer", "error_inside", "find_error"]

ERROR_KINDS_HERE: Mapping[str, str] = FrozenDict(
    {
        # Sampled calls that did not parse: another try may succeed (`failed_generation` says what came).
        "tool_use_failed": "server",
        # Numbers as strings, of one vendor's own list.
        "1113": "quota",
        "1301": "content_filter",
        "1302": "rate_limit",
        "1303": "rate_limit",
        "1305": "overloaded",
        "service_unavailable_error": "overloaded",
        "service_overloaded": "overloaded",
        "account_deactivated": "permission",
        "enginecore died": "server",
        "internalservererror": "server",
        "notfounderror": "not_found",
        "authenticationerror": "authentication",
    }
)
"""Words for kinds of error that the shared table does not hold; wire/compat-vendors.md section 7, read 2026-12."""

_TYPES = {
    "authentication": ("invalid_request_error", "invalid_api_key"),
    "permission": ("permission_error", None),
    "not_found": ("invalid_request_error", "not_found"),
    "quota": ("insufficient_quota", "insufficient_quota"),
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "context_length": ("invalid_request_error", "context_length_exceeded"),
    "content_filter": ("invalid_request_error", "content_filter"),
    "bad_request": ("invalid_request_error", None),
    "unsupported": ("invalid_request_error", "unsupported_parameter"),
    "overloaded": ("overloaded_error", "overloaded"),
    "timeout": ("timeout_error", "timeout"),
}


def find_error(payload: Mapping[str, Any]) -> Any:
    """
    Return the error inside a body or chunk that came with status 200; `None` where there is none.

    It stands at the top, bare or nested, in a choice, or in `x_groq`.
    """
    if payload.get("error"):
        return payload
    groq = payload.get("x_groq")
    if groq and isinstance(groq, Mapping) and groq.get("error"):
        return {"error": groq["error"], "request_id": groq.get("id")}
    choices = payload.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, Mapping) and choice.get("error"):
                return {"error": choice["error"]}
        return None
    if "choices" not in payload and payload.get("error") not in (None, False):
        return payload  # an error, though it says nothing
    if payload.get("object") == "error" or payload.get("type") == "error":
        return payload
    if isinstance(payload.get("message"), str) or payload.get("detail") or payload.get("errors"):
        return payload
    return payload if payload.get("error_code") or payload.get("error_msg") else None


def error_from_answer(response: HttpResponse) -> ModelError:
    """Read an answer of another status than 2xx. Never raises."""
    return error_from_response(response, kinds=ERROR_KINDS_HERE)


def error_inside(error: Any, *, headers: Headers | None = None, received_at: float = 0.0) -> ModelError:
    """Read an error that arrives with status 200; it carries the status that its kind stands for, never 200."""
    return error_from_payload(error, kinds=ERROR_KINDS_HERE, headers=headers, received_at=received_at)


def encode_error(error: ModelError) -> dict[str, Any]:
    """Write an error of any vendor's as this wire's body."""
    kind, code = _TYPES.get(error.kind, ("server_error", None))
    return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code or code}}
