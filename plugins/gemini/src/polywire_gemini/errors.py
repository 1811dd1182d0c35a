"""Errors: a status word in the body says more than the HTTP status."""

from __future__ import annotations

from polywire.codec import HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_response

__all__ = ["decode_error"]

# google.rpc.Code words and reasons, as the vendor's SDK and documentation list them.
_KINDS = {
    "INVALID_ARGUMENT": "bad_request",
    "FAILED_PRECONDITION": "bad_request",
    "API_KEY_INVALID": "authentication",
    "UNAUTHENTICATED": "authentication",
    "PERMISSION_DENIED": "permission",
    "NOT_FOUND": "not_found",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "INTERNAL": "server",
    "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
    "CANCELLED": "bad_request",
}


def decode_error(response: HttpResponse) -> ModelError:
    """Read an error answer, or an error frame of a stream."""
    return error_from_response(response, kinds=_KINDS)
