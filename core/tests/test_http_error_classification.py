"""From a failed answer to the right error: statuses, words, every shape of body, and how long to wait."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.codec import Headers, HttpResponse
from polywire.errors import ERROR_KINDS, ModelError
from polywire.http_errors import (
    error_from_payload,
    error_from_response,
    parse_duration,
    parse_rate_limits,
    parse_reset,
    parse_retry_after,
    read_error,
    summarize_body,
)

NOW = 1_792_567_680.0  # Wed, 21 Oct 2026 07:28:00 GMT


def answer(status: int, body: Any = b"", **headers: str) -> HttpResponse:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpResponse(status, Headers({name.replace("_", "-"): value for name, value in headers.items()}), raw, NOW)


def error_of(status: int, body: Any = b"", **headers: str) -> ModelError:
    return error_from_response(answer(status, body, **headers))


# Statuses

RETRIED = {
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limit",
    498: "overloaded",
    **dict.fromkeys([500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 525, 530, 599], "server"),
    529: "overloaded",
}
NOT_RETRIED = {
    400: "bad_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    405: "not_found",
    410: "not_found",
    413: "bad_request",
    415: "bad_request",
    418: "bad_request",
    422: "bad_request",
    424: "bad_request",
    499: "bad_request",
    501: "bad_request",
}


@pytest.mark.parametrize(("status", "kind"), [*RETRIED.items(), *NOT_RETRIED.items()])
@pytest.mark.parametrize(
    "body", [b"", {"error": {"message": "m"}}, {"error": {"message": "m", "type": "invalid_request_error"}}, b"<html>"]
)
def test_the_status_decides_where_no_word_does(status: int, kind: str, body: Any) -> None:
    error = error_of(status, body)

    assert error.kind == kind
    assert error.retryable is (status in RETRIED)
    assert error.status == status
    assert error.message


# Words


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}}, "quota"),
        (429, {"error": {"message": "m", "type": "exceeded_current_quota_error"}}, "quota"),
        (429, {"error": {"message": "m", "type": "engine_overloaded_error"}}, "overloaded"),
        (429, {"error": {"message": "m", "type": "requests", "code": "rate_limit_exceeded"}}, "rate_limit"),
        (429, {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}, "rate_limit"),
        (402, {"type": "error", "error": {"type": "billing_error", "message": "m"}}, "quota"),
        (
            400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}},
            "quota",
        ),
        (400, {"error": {"message": "m", "code": "invalid_api_key"}}, "authentication"),
        (
            400,
            {
                "error": {
                    "code": 400,
                    "message": "m",
                    "status": "INVALID_ARGUMENT",
                    "details": [{"reason": "API_KEY_INVALID"}],
                }
            },
            "authentication",
        ),
        (400, {"error": {"message": "m", "type": "not_found_error"}}, "not_found"),
        (404, {"error": {"message": "m", "type": "invalid_request_error", "code": "model_not_found"}}, "not_found"),
        (400, {"error": {"message": "m", "code": "content_filter"}}, "content_filter"),
        (
            400,
            {"error": {"message": "m", "code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
            "content_filter",
        ),
        (400, {"error": {"message": "m", "code": "content_policy_violation"}}, "content_filter"),
        (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, "overloaded"),
        (500, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded"),
        (500, {"type": "error", "error": {"type": "api_error", "message": "m"}}, "server"),
        (504, {"type": "error", "error": {"type": "timeout_error", "message": "m"}}, "timeout"),
        (
            413,
            {"error": {"message": "too large (TPM)", "type": "tokens", "code": "rate_limit_exceeded"}},
            "bad_request",
        ),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "m"}}, "bad_request"),
        (400, {"error": {"message": "m", "type": "api_error"}}, "bad_request"),
    ],
)
def test_the_vendors_words_win_over_the_status(status: int, body: Any, kind: str) -> None:
    error = error_of(status, body)

    assert error.kind == kind
    assert error.retryable is ERROR_KINDS[kind].default_retryable


def test_a_codecs_own_words_win_over_all() -> None:
    response = answer(429, {"error": {"code": "1113", "message": "no balance"}})

    assert error_from_response(response).kind == "rate_limit"
    assert error_from_response(response, kinds={"1113": "quota"}).kind == "quota"
    assert (
        error_from_response(response, code="rate_limit_exceeded", kinds={"rate_limit_exceeded": "quota"}).kind
        == "quota"
    )


CONTEXT_LENGTH = [
    {"message": "This model's maximum context length is 8192 tokens, however you requested 9000"},
    {"message": "m", "code": "context_length_exceeded"},
    {"message": "prompt is too long: 200123 tokens > 200000 maximum", "type": "invalid_request_error"},
    {"message": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"},
    {"message": "the request exceeds the available context size", "type": "exceed_context_size_error", "code": 400},
    {"message": "the input length exceeds the context length"},
    {"message": "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."},
    {"message": "Input is too long for requested model."},
    {"message": "Please reduce the length of the messages or completion."},
]


@pytest.mark.parametrize("fields", CONTEXT_LENGTH)
@pytest.mark.parametrize("wrap", ["error", "bare", "list", "string", "in a message"])
def test_context_length_is_known_in_every_wrapping(fields: dict[str, Any], wrap: str) -> None:
    body: Any = {
        "error": {"error": fields},
        "bare": fields,
        "list": [{"error": fields}],
        "string": {"error": fields["message"] if "code" not in fields else fields},
        "in a message": {"error": {"message": json.dumps([{"error": fields}]), "code": 400}},
    }[wrap]

    error = error_of(400, body)

    assert error.kind == "context_length"
    assert not error.retryable
    assert fields["message"] in error.message


def test_a_rate_limit_that_speaks_of_tokens_stays_one() -> None:
    error = error_of(
        429, {"error": {"message": "too many tokens in this minute: context window", "type": "rate_limit_error"}}
    )

    assert error.kind == "rate_limit"


# Shapes


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": {"message": "text", "type": "t", "param": None, "code": None}}, "text", "t"),
        ({"error": {"message": "text", "type": "t", "code": "c"}}, "text", "c"),
        ({"error": "text"}, "text", None),
        ({"code": "c", "error": "text"}, "text", "c"),
        ({"type": "error", "error": {"type": "t", "message": "text"}, "request_id": "req_1"}, "text", "t"),
        ({"object": "error", "message": "text", "type": "t", "code": 400}, "text", "t"),
        ({"message": "text", "request_id": "req_1"}, "text", None),
        ({"detail": "text"}, "text", None),
        ({"detail": [{"loc": ["body", "model"], "msg": "field required", "type": "missing"}]}, "body.model: field required", "missing"),
        ({"detail": {"error": {"message": "text"}}}, "text", None),
        ([{"error": {"code": 400, "message": "text", "status": "INVALID_ARGUMENT"}}], "text", "INVALID_ARGUMENT"),
        ([{"message": "one"}, {"message": "two"}], "one; two", None),
        ({"errors": [{"message": "text", "code": "c"}]}, "text", "c"),
        ({"errors": ["text"]}, "text", None),
        ("text", "text", None),
        ({"error": {"code": "401", "message": "text"}}, "text", "401"),
        ({"statusCode": 404, "message": "text"}, "text", None),
        ({"error": True, "message": "text"}, "text", None),
        ({"error": {"message": {"error": {"message": "text"}}}}, "text", None),
        ({"error": {"message": '{"error": {"message": "text", "code": "c"}}'}}, "text", "c"),
        ({"error": {"message": 'upstream 400: {"error": {"message": "text"}} (end)'}}, "upstream 400: text", None),
        (
            {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": '{"error":{"message":"text"}}'}}},
            "Provider returned error: text",
            "400",
        ),
        ({"error": {"message": "schema {\"type\": \"object\"} is wrong"}}, 'schema {"type": "object"} is wrong', None),
        ({"error": {"type": "overloaded_error"}}, "overloaded_error", "overloaded_error"),
        ({"error_description": "text", "error": "invalid_client"}, "invalid_client", None),
    ],
)  # fmt: skip
def test_every_known_shape_of_body(body: Any, message: str, code: str | None) -> None:
    error = error_of(400, body)

    assert error.message == message
    assert error.code == code
    assert error.body is not None
    assert message.rsplit(": ", maxsplit=1)[-1].rsplit("; ", maxsplit=1)[-1] in error.body.replace('\\"', '"')


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><head><title>502 Bad Gateway</title></head><body>cloud</body></html>", "502 Bad Gateway"),
        (b"<!DOCTYPE html>\n<html><TITLE>\n a &amp; b\n</TITLE></html>", "a & b"),
        (
            b"<html><head><style>x{}</style></head><body><h1>Error</h1><p>no capacity</p></body></html>",
            "Error no capacity",
        ),
        (b'<?xml version="1.0"?><Error><Message>no</Message></Error>', "no"),
        (b"upstream connect error", "upstream connect error"),
        (b"  \n two\n lines ", "two lines"),
        (b"\xff\xfe broken", "\ufffd\ufffd broken"),
        (b'{"error": {"message": "cut', '{"error": {"message": "cut'),
        (b'{"unknown": "shape"}', '{"unknown": "shape"}'),
        (b"\n\n\n" + b'{"error": {"message": "after blank lines"}}', "after blank lines"),
        (b"[" * 5000, "[" * 199 + "…"),
    ],
)
def test_bodies_that_are_not_json_errors(body: bytes, message: str) -> None:
    error = error_of(502, body)

    assert error.message == message
    assert summarize_body(body) == message


@pytest.mark.parametrize("body", [b"", b"  \n", b"\xef\xbb\xbf", b"null"])
def test_an_empty_body(body: bytes) -> None:
    assert "502" in error_of(502, body).message
    assert summarize_body(body) == ""


def test_a_long_body_is_shortened() -> None:
    error = error_of(500, b"x" * 1_000_000)

    assert len(error.message) == 200
    assert error.body is not None
    assert len(error.body) == 2000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["1s", '{"a":', "error"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "details", "errors", "status", "metadata", "raw", "loc", "msg", "retryDelay", "innererror"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    JSON,
    st.sampled_from([400, 429, 500, 302, 199, 700]),
    st.sampled_from(["", "x", "-1", "1m", "99999999999999999999"]),
)
def test_no_body_and_no_header_breaks_it(body: Any, status: int, header: str) -> None:
    error = error_of(status, body, retry_after=header, x_ratelimit_reset=header, x_ratelimit_remaining="0")
    assert isinstance(error, ModelError)
    assert error.message
    assert pickle.loads(pickle.dumps(error)).message == error.message
    inside = error_from_payload(body)
    assert inside.message
    assert inside.status is not None
    assert inside.status >= 400


# Errors inside a success


@pytest.mark.parametrize(
    ("payload", "kind", "status", "message", "code"),
    [
        ({"error": {"message": "queue full", "type": "rate_limit_exceeded", "code": 429}}, "rate_limit", 429, "queue full", "rate_limit_exceeded"),
        ({"error": {"code": 429, "message": "too many requests", "metadata": {"provider_name": "X"}}}, "rate_limit", 429, "too many requests", "429"),
        ({"error": {"code": "429", "message": "m"}}, "rate_limit", 429, "m", "429"),
        ({"error": {"code": 402, "message": "m"}}, "quota", 402, "m", "402"),
        ({"error": {"code": 502, "message": "m"}}, "server", 502, "m", "502"),
        ({"error": "model overloaded"}, "overloaded", 529, "model overloaded", None),
        ({"error": {"message": "x", "code": "server_error"}}, "server", 500, "x", "server_error"),
        ({"type": "error", "error": {"details": None, "type": "overloaded_error", "message": "Overloaded"}}, "overloaded", 529, "Overloaded", "overloaded_error"),
        ({"error": "runner stopped"}, "server", 500, "runner stopped", None),
        ({"error": {"message": "m", "type": "invalid_request_error"}}, "bad_request", 400, "m", "invalid_request_error"),
        ({"error": {"message": "maximum context length is 1"}}, "context_length", 400, "maximum context length is 1", None),
        ({"error": {}}, "server", 500, "the server reported an error and said no more", None),
    ],
)  # fmt: skip
def test_an_error_inside_a_success(payload: Any, kind: str, status: int, message: str, code: str | None) -> None:
    error = error_from_payload(payload)

    assert (error.kind, error.status, error.message, error.code) == (kind, status, message, code)


# Ids


def test_the_request_id_is_found() -> None:
    assert error_of(500, b"", x_request_id="a").request_id == "a"
    assert error_of(500, b"", request_id="b").request_id == "b"
    assert error_of(500, {"message": "m", "request_id": "c"}).request_id == "c"
    assert error_from_response(answer(500, b"", x_request_id="a"), request_id="d").request_id == "d"
    assert error_of(500).request_id is None


def test_a_redirect_names_the_host_and_not_the_query() -> None:
    error = error_of(307, b"", location="https://other.example/login?token=secret-token")

    assert error.kind == "protocol"
    assert "other.example" in error.message
    assert "follow_redirects" in error.message
    assert "secret-token" not in str(error)


@pytest.mark.parametrize("location", ["", "http://[bad", "//", "/x", "::::"])
def test_a_redirect_to_nowhere_is_still_an_error(location: str) -> None:
    assert "redirects" in error_of(302, b"", location=location).message


# Waiting


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 2.5 "}, 2.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "120.5"}, 0.1205),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after-ms": "-1", "retry-after": "2"}, 2.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:03 GMT"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT"}, 0.0),
        ({"retry-after": "Wednesday, 21-Oct-26 07:28:03 GMT"}, 3.0),
        # Relative to the answer's own date: a wrong clock on either side does no harm.
        ({"retry-after": "Wed, 21 Oct 2026 09:00:05 GMT", "date": "Wed, 21 Oct 2026 09:00:00 GMT"}, 5.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:03 GMT", "date": "nonsense"}, 3.0),
        ({"retry-after": "Wed Oct 21 07:28:03 2026"}, 3.0),
        ({"retry-after": "Wed, 21 Oct 2026 09:28:03 +0200"}, 3.0),
        ({"retry-after": "2026-10-21T07:28:03Z"}, 3.0),
        ({"retry-after": "2026-10-21T09:28:03.500+02:00"}, 3.5),
        ({"retry-after": "2026-10-21T07:27:03Z"}, 0.0),
        ({"retry-after": str(int(NOW) + 3)}, 3.0),
        ({"retry-after": str(int(NOW * 1000) + 2500)}, 2.5),
        ({"retry-after": "2s"}, 2.0),
        ({"x-ms-retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "1e12", "retry-after": "2"}, 2.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "9" * 30}, None),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:03 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 9999 07:28:03 GMT"}, None),
        ({"retry-after": "２"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(Headers(headers), NOW) == (seconds if seconds is None else pytest.approx(seconds))
    assert error_from_response(HttpResponse(429, Headers(headers), b"", NOW)).retry_after == (
        seconds if seconds is None else pytest.approx(seconds)
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m30s", 90.0), ("120ms", 0.12), ("6m0s", 360.0), ("20ms", 0.02), ("1h2m3s", 3723.0), ("1.5s", 1.5), ("37s", 37.0),
        ("0s", 0.0), ("1m30.951s", 90.951), ("250µs", 0.00025), ("12", 12.0), ("0.5", 0.5), (" 1s ", 1.0), ("1d", 86400.0),
        ("", None), ("s", None), ("1x", None), ("-1s", None), ("1m 30s", None), ("1m30", None), ("nan", None), ("1ss", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == (seconds if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1m30s", 90.0),
        ("7", 7.0),
        ("2026-10-21T07:28:07Z", 7.0),
        ("2026-10-21T07:28:07.500+00:00", 7.5),
        ("2026-10-21T09:28:07+02:00", 7.0),
        ("2026-10-21T07:00:00Z", 0.0),
        (str(int(NOW) + 7), 7.0),
        (str((int(NOW) + 7) * 1000), 7.0),
        ("Wed, 21 Oct 2026 07:28:07 GMT", 7.0),
        ("tomorrow", None),
        ("-7", None),
        ("2026-99-99T00:00:00Z", None),
    ],
)
def test_reset_times(text: str, seconds: float | None) -> None:
    assert parse_reset(text, NOW) == (seconds if seconds is None else pytest.approx(seconds))


def test_only_the_exhausted_bucket_says_how_long_to_wait() -> None:
    error = error_of(
        429,
        b"",
        vendor_ratelimit_requests_limit="50",
        vendor_ratelimit_requests_remaining="0",
        vendor_ratelimit_requests_reset="2026-10-21T07:28:07Z",
        vendor_ratelimit_tokens_remaining="900",
        vendor_ratelimit_tokens_reset="2026-10-21T08:28:00Z",
    )

    assert error.retry_after == pytest.approx(7.0)
    assert error.rate_limits == {
        "requests": {"limit": 50, "remaining": 0, "reset": pytest.approx(7.0)},
        "tokens": {"remaining": 900, "reset": pytest.approx(3600.0)},
    }


def test_reset_headers_of_the_other_order() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m30s",
        "x-ratelimit-limit-requests": "500",
    }

    assert error_from_response(HttpResponse(429, Headers(headers), b"", NOW)).retry_after == 90.0
    assert parse_rate_limits(headers, NOW) == {"requests": {"limit": 500, "remaining": 0, "reset": 90.0}}
    # With something left in every bucket the formula decides.
    headers["x-ratelimit-remaining-requests"] = "3"
    assert error_from_response(HttpResponse(429, Headers(headers), b"", NOW)).retry_after is None


def test_both_buckets_empty_wait_for_the_later() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "120ms",
        "x-ratelimit-reset": "nonsense",
        "x-tokenlimit-remaining": "5",
    }

    error = error_from_response(HttpResponse(429, Headers(headers), b"", NOW))

    assert error.retry_after == 2.0
    assert set(error.rate_limits) == {"requests", "tokens"}


def test_the_one_bucket_of_plain_headers() -> None:
    headers = {
        "X-RateLimit-Limit": "20",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str((int(NOW) + 30) * 1000),
    }

    error = error_from_response(HttpResponse(429, Headers(headers), b"", NOW))

    assert error.retry_after == pytest.approx(30.0)
    assert error.rate_limits == {"": {"limit": 20, "remaining": 0, "reset": pytest.approx(30.0)}}


@pytest.mark.parametrize("wrap", [lambda error: {"error": error}, lambda error: [{"error": error}]])
def test_a_delay_in_the_body(wrap: Any) -> None:
    body = wrap(
        {
            "code": 429,
            "message": "m",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "x/QuotaFailure"}, {"@type": "x/RetryInfo", "retryDelay": "37s"}],
        }
    )

    assert error_of(429, body).retry_after == 37.0
    assert error_of(429, body, retry_after="2").retry_after == 2.0
    assert error_from_payload(body).retry_after == 37.0
    assert read_error(body).retry_after == 37.0


@pytest.mark.parametrize("delay", ["-3s", "soon", -1, True, None, {}, "9" * 40])
def test_a_delay_that_makes_no_sense_is_none(delay: Any) -> None:
    assert error_of(429, {"error": {"message": "m", "details": [{"retryDelay": delay}]}}).retry_after is None


@pytest.mark.parametrize(("status", "retryable"), [(503, True), (409, True), (400, False), (401, False), (429, True)])
def test_x_should_retry_overrides(status: int, retryable: bool) -> None:
    assert error_of(status).retryable is retryable
    assert error_of(status, x_should_retry="false").retryable is False
    assert error_of(status, x_should_retry="TRUE").retryable is True
    assert error_of(status, x_should_retry="perhaps").retryable is retryable


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        (
            "Rate limit reached for m on tokens per min (TPM): Limit 10000. Please try again in 1.5s. Visit the site.",
            1.5,
        ),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 1m30.5s", 90.5),
        ("Please try again in 17ms.", 0.017),
        ("Requests have exceeded the call rate limit. Please retry after 12 seconds.", 12.0),
        ("Too many requests, wait 2 minutes", 120.0),
        ("Please try again in 1 second.", 1.0),
        ("retry after 500 milliseconds", 0.5),
        ("Please try again later.", None),
        ("You may retry 3 times in a minute.", None),
        ("Limit 10000, used 9000, requested 2000.", None),
        ("try again in 1e9 hours", None),
        ("try again in 99999999999 hours", None),
    ],
)
def test_a_delay_in_words_counts_where_no_header_says_one(message: str, seconds: float | None) -> None:
    body = {"error": {"message": message, "code": "rate_limit_exceeded"}}

    assert error_of(429, body).retry_after == (seconds if seconds is None else pytest.approx(seconds))
    assert error_of(429, body, retry_after="7").retry_after == 7.0
    assert error_of(500, {"error": {"message": message}}).retry_after is None


@pytest.mark.parametrize(
    ("detail", "seconds"),
    [
        ({"retryDelay": {"seconds": 12, "nanos": 500_000_000}}, 12.5),
        ({"retryDelay": {"seconds": "12"}}, 12.0),
        ({"retryDelay": {"nanos": 250_000_000}}, 0.25),
        ({"retryDelay": {}}, None),
        ({"retryDelay": {"seconds": "soon"}}, None),
        ({"retryDelay": {"seconds": -3}}, None),
        ({"retryDelay": {"seconds": [1]}}, None),
        ({"retry_after_ms": 1500}, 1.5),
        ({"retry_after_ms": -1}, None),
        ({"retry_after_ms": True}, None),
    ],
)
def test_a_delay_in_the_body_in_its_other_shapes(detail: dict[str, Any], seconds: float | None) -> None:
    assert error_of(429, {"error": {"message": "m", "details": [detail]}}).retry_after == seconds
    assert error_of(429, {"error": {"message": "m", **detail}}).retry_after == seconds
