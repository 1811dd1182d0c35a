"""Failed answers: the right error, with what the vendor said."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.errors import ERROR_KINDS, ContextLengthExceeded
from polywire_anthropic import AnthropicCodec
from polywire_anthropic.errors import error_type_of

CODEC = AnthropicCodec()


def failed(status: int, body: Any, headers: dict[str, str] | None = None, now: float = 0.0) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode_error(HttpResponse(status, Headers(headers or {}), data, now))


def error_body(kind: str, message: str = "No.", **error: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **error}, "request_id": "req_9"}


@pytest.mark.parametrize(
    ("status", "word", "kind", "retryable"),
    [
        (400, "invalid_request_error", "bad_request", False),
        (401, "authentication_error", "authentication", False),
        (402, "billing_error", "quota", False),
        (403, "permission_error", "permission", False),
        (404, "not_found_error", "not_found", False),
        (408, "timeout_error", "timeout", True),
        (409, "conflict_error", "server", True),
        (413, "request_too_large", "bad_request", False),
        (422, "invalid_request_error", "bad_request", False),
        (429, "rate_limit_error", "rate_limit", True),
        (500, "api_error", "server", True),
        (502, "api_error", "server", True),
        (504, "timeout_error", "timeout", True),
        (529, "overloaded_error", "overloaded", True),
        (520, "unheard_of_error", "server", True),
    ],
)
def test_the_table_of_errors(status: int, word: str, kind: str, retryable: bool) -> None:
    error = failed(status, error_body(word), {"request-id": "req_1"})

    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert (error.message, error.code, error.request_id) == ("No.", word, "req_1")


def test_the_request_id_of_the_body_counts_where_there_is_no_header() -> None:
    assert failed(400, error_body("invalid_request_error")).request_id == "req_9"


def test_the_particular_code_is_kept_and_an_unknown_one_changes_nothing() -> None:
    error = failed(400, error_body("invalid_request_error", details={"error_code": "image_dimensions_too_large"}))

    assert (error.code, error.kind) == ("image_dimensions_too_large", "bad_request")


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 200123 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000",
    ],
)
def test_a_prompt_that_is_too_long(message: str) -> None:
    error = failed(400, error_body("invalid_request_error", message))

    assert isinstance(error, ContextLengthExceeded)
    assert not error.retryable


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "2", "retry-after-ms": "1500"}, 1.5),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], expected: float) -> None:
    assert failed(429, error_body("rate_limit_error"), headers).retry_after == expected


def test_the_exhausted_bucket_says_how_long_to_wait() -> None:
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    headers = {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": (now + timedelta(seconds=7)).isoformat().replace("+00:00", "Z"),
        "anthropic-ratelimit-tokens-remaining": "900",
    }

    error = failed(429, error_body("rate_limit_error"), headers, now.timestamp())

    assert error.retry_after == pytest.approx(7.0)
    assert error.rate_limits


def test_the_server_may_overrule() -> None:
    assert not failed(503, error_body("api_error"), {"x-should-retry": "false"}).retryable
    assert failed(400, error_body("invalid_request_error"), {"x-should-retry": "true"}).retryable


@pytest.mark.parametrize(
    "body", [b"", b"<html><title>502 Bad Gateway</title></html>", b"[1]", b"\xff\xfe", b'"no"', b'{"error": "no"}']
)
def test_any_body_makes_an_error(body: bytes) -> None:
    error = failed(502, body)

    assert error.kind == "server"
    assert error.message
    assert len(error.message) <= 200


@pytest.mark.parametrize("kind", sorted(ERROR_KINDS))
def test_every_kind_has_a_word_on_this_wire(kind: str) -> None:
    word = error_type_of(ERROR_KINDS[kind]("x"))

    assert word.endswith("_error")
