"""How long to wait, where it is said in a body's own headers, in the IETF's structured fields, or without a remainder."""

from __future__ import annotations

import json

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_response

NOW = 1_800_000_000.0


def error(headers: dict[str, str], body: object = None) -> ModelError:
    content = json.dumps(body or {"error": {"message": "slow"}}).encode()
    return error_from_response(HttpResponse(429, Headers(headers), content, NOW))


def test_headers_that_a_router_quotes_in_its_body() -> None:
    quoted = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000030000"}
    failed = error({}, {"error": {"code": 429, "message": "Rate limit exceeded", "metadata": {"headers": quoted}}})
    assert failed.retry_after == pytest.approx(30)
    assert failed.rate_limits[""]["limit"] == 50


def test_a_quoted_retry_after_and_one_of_the_answer_itself_which_wins() -> None:
    body = {"error": {"message": "slow", "metadata": {"headers": {"Retry-After": 9}}}}
    assert error({}, body).retry_after == 9
    assert error({"retry-after": "4"}, body).retry_after == 4


@pytest.mark.parametrize("headers", [None, 7, ["a"], {"X-RateLimit-Reset": None}, {"Retry-After": "soon"}])
def test_quoted_headers_that_make_no_sense_count_as_absent(headers: object) -> None:
    assert error({}, {"error": {"message": "slow", "metadata": {"headers": headers}}}).retry_after is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"default";r=0;t=30', 30),
        ('"default"; r=0; t=30', 30),
        ('"minute";r=0;t=30, "day";r=10;t=4000', 30),
        ('"minute";r=0;t=30, "day";r=0;t=4000', 4000),
        ('"default";r=5;t=30', None),
        ('"default";r=0', None),
        ("nonsense", None),
    ],
)
def test_the_structured_field(value: str, expected: float | None) -> None:
    assert error({"RateLimit": value, "RateLimit-Policy": '"default";q=100;w=60'}).retry_after == expected


def test_the_policy_says_the_limit() -> None:
    failed = error({"RateLimit": '"default";r=0;t=30', "RateLimit-Policy": '"default";q=100;w=60'})
    assert failed.rate_limits == {"default": {"remaining": 0, "reset": 30, "limit": 100}}


def test_a_reset_alone_is_waited_for_and_one_with_something_left_is_not() -> None:
    assert error({"x-ratelimit-reset": "12"}).retry_after == 12
    assert error({"x-ratelimit-reset": "12", "x-ratelimit-remaining": "3"}).retry_after is None
    both = {"x-ratelimit-reset-tokens": "50", "x-ratelimit-reset-requests": "5", "x-ratelimit-remaining-requests": "0"}
    assert error(both).retry_after == 5
