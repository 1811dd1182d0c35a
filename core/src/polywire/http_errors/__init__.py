"""
From a failed answer to the right error, once for all codecs.

`error_from_response` reads a failed answer, `error_from_payload` an error inside a success or a stream. Below them,
`bodies` reads whatever shape a body has, and `delays` what the headers say about waiting.
"""

from __future__ import annotations

from polywire.http_errors.bodies import ErrorDetails, is_foreign_error, parse_body, read_error, summarize_body
from polywire.http_errors.classification import (
    REQUEST_ID_HEADERS,
    SHARED_KINDS,
    error_from_payload,
    error_from_response,
    kind_of_status,
    request_id_of,
    speaks_of_context_length,
)
from polywire.http_errors.delays import parse_duration, parse_rate_limits, parse_reset, parse_retry_after

__all__ = [
    "REQUEST_ID_HEADERS",
    "SHARED_KINDS",
    "ErrorDetails",
    "error_from_payload",
    "error_from_response",
    "is_foreign_error",
    "kind_of_status",
    "parse_body",
    "parse_duration",
    "parse_rate_limits",
    "parse_reset",
    "parse_retry_after",
    "read_error",
    "request_id_of",
    "speaks_of_context_length",
    "summarize_body",
]
