"""
What the service says when it fails: an answer of another status, a failed response, an error in a stream.

In a stream it has three shapes: an `error` event with the fields bare, a `response.failed` event with the whole
response, and a frame that holds an `error` object alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.codec import Headers, HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_payload, error_from_response, is_foreign_error
from polywire.immutable import FrozenDict
from polywire_openai.errors import ERROR_KINDS_HERE

__all__ = ["KINDS", "error_code", "error_from_answer", "error_inside", "find_error"]

KINDS: Mapping[str, str] = FrozenDict(
    {
        **ERROR_KINDS_HERE,
        "vector_store_timeout": "timeout",
        "invalid_prompt": "bad_request",
        "previous_response_not_found": "bad_request",
        "invalid_encrypted_content": "bad_request",
        "data_residency_mismatch": "permission",
        "bio_policy": "content_filter",
        "misalignment_policy_violation": "content_filter",
        "image_content_policy_violation": "content_filter",
        **dict.fromkeys(
            (
                "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large",
                "image_too_small", "image_parse_error", "invalid_image_mode", "image_file_too_large",
                "unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found",
            ),
            "bad_request",
        ),
    }
)  # fmt: skip
"""The words of this wire that the shared table does not hold (openai 3.57.0, ResponseError.code)."""

_CODES = {
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "overloaded": "server_error",
    "context_length": "context_length_exceeded",
    "content_filter": "content_filter",
    "authentication": "invalid_api_key",
    "not_found": "not_found",
    "bad_request": "invalid_prompt",
    "unsupported": "unsupported_parameter",
    "timeout": "timeout",
}


def find_error(payload: Mapping[str, Any]) -> Any:
    """Return the error in a body, a response or a frame that came with status 200; `None` where there is none."""
    kind = payload.get("type")
    if kind == "error":
        # The fields are bare in the reference and nested in some implementations.
        return payload if payload.get("error") else {"error": {**payload, "type": payload.get("code")}}
    if kind == "response.failed":
        response = payload.get("response")
        error = response.get("error") if isinstance(response, Mapping) else None
        return {"error": error or "the response failed, and nothing says why"}
    if error := payload.get("error"):
        # Beside a bare text stands what else there is to know.
        return payload if isinstance(error, str) else {"error": error}
    if payload.get("status") == "failed":
        return {"error": "the response failed, and nothing says why"}
    if "output" not in payload and ("type" not in payload or payload.get("object") == "error"):
        return payload if is_foreign_error(payload) else None
    return None


def error_from_answer(response: HttpResponse) -> ModelError:
    """Read an answer of another status than 2xx. Never raises."""
    return error_from_response(response, kinds=KINDS)


def error_inside(error: Any, *, headers: Headers | None = None, received_at: float = 0.0) -> ModelError:
    """Read an error that arrives with status 200; it carries the status that its kind stands for, never 200."""
    return error_from_payload(error, kinds=KINDS, headers=headers, received_at=received_at)


def error_code(error: ModelError) -> str:
    """The word of this wire for an error of any vendor's."""
    return error.code or _CODES.get(error.kind, "server_error")
