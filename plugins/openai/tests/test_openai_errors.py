"""Failed answers of Chat Completions, and what of an answer's headers is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.errors import (
    AuthenticationFailed,
    BadRequest,
    ContentFiltered,
    ContextLengthExceeded,
    EmptyResponse,
    ModelError,
    NotFound,
    PermissionDenied,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    ServerError,
)
from polywire_openai import OpenAIChatCodec

CODEC = OpenAIChatCodec()


def decode(status: int, body: Any, headers: dict[str, str] | None = None) -> ModelError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return CODEC.decode_error(HttpResponse(status, Headers(headers or {}), data, 1000.0))


def nested(message: str = "m", type: str | None = None, code: Any = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": None, "code": code, **more}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, nested(type="invalid_request_error"), BadRequest, False),
        (401, nested(code="invalid_api_key"), AuthenticationFailed, False),
        (402, {"error": {"code": 402, "message": "m"}}, QuotaExceeded, False),
        (403, nested(), PermissionDenied, False),
        (404, nested(code="model_not_found"), NotFound, False),
        (408, nested(), None, True),
        (409, nested(), None, True),
        (413, nested(), BadRequest, False),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "m", "type": "extra_forbidden"}]}, BadRequest, False),
        (429, nested(type="requests", code="rate_limit_exceeded"), RateLimited, True),
        (429, nested(type="insufficient_quota", code="insufficient_quota"), QuotaExceeded, False),
        (429, nested(type="exceeded_current_quota_error"), QuotaExceeded, False),
        (429, nested(type="engine_overloaded_error"), None, True),
        (429, {"error": {"code": "1302", "message": "m"}}, RateLimited, True),
        (429, {"error": {"code": "1113", "message": "m"}}, QuotaExceeded, False),
        (400, {"error": {"code": "1301", "message": "m"}}, ContentFiltered, False),
        (400, nested(code="tool_use_failed", failed_generation="x"), ServerError, True),
        (400, nested(code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), ContentFiltered, False),
        (400, nested("This model's maximum context length is 8192 tokens", code="context_length_exceeded"), ContextLengthExceeded, False),
        (400, {"error": {"code": 400, "message": "m", "type": "exceed_context_size_error", "n_ctx": 1}}, ContextLengthExceeded, False),
        (400, {"object": "error", "message": "m", "type": "invalid_request_error", "param": None, "code": None}, BadRequest, False),
        (401, {"message": "m", "request_id": "r"}, AuthenticationFailed, False),
        (400, {"code": "x", "error": "m"}, BadRequest, False),
        (500, {"error": "m"}, ServerError, True),
        (400, [{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}], BadRequest, False),
        (498, nested(), None, True),
        (500, nested(), None, True),
        (502, nested(), None, True),
        (503, nested(), None, True),
        (520, nested(), None, True),
        (524, nested(), None, True),
        (529, nested(), None, True),
    ],
)  # fmt: skip
def test_every_shape_and_status(status: int, body: Any, kind: Any, retryable: bool) -> None:
    error = decode(status, body)

    assert kind is None or type(error) is kind
    assert error.retryable is retryable
    assert error.status == status
    assert "m" in error.message


def test_what_is_no_json_is_told_shortly() -> None:
    page = b"<html><head><title>502 Bad Gateway</title></head><body>" + b"x" * 5000 + b"</body></html>"
    error = decode(502, page)

    assert isinstance(error, ServerError)
    assert error.message == "502 Bad Gateway"
    assert decode(500, b"").retryable


def test_the_servers_own_word_on_retrying() -> None:
    assert decode(503, nested(), {"x-should-retry": "false"}).retryable is False
    assert decode(429, nested(), {"retry-after-ms": "1500", "retry-after": "2"}).retry_after == 1.5
    assert decode(429, nested(), {"x-request-id": "req_1"}).request_id == "req_1"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "too many requests", "metadata": {"provider_name": "X"}}}, RateLimited),
        ({"id": "x", "choices": [], "error": {"code": 429, "message": "too many requests"}}, RateLimited),
        ({"choices": [{"index": 0, "error": {"code": 429, "message": "too many requests"}}]}, RateLimited),
        ([{"error": {"code": 429, "message": "too many requests"}}], RateLimited),
        ({"object": "error", "message": "too many requests", "code": 429}, RateLimited),
    ],
)
def test_errors_inside_a_success(body: Any, kind: type[ModelError], answer: Any) -> None:
    with pytest.raises(kind, match="too many requests") as caught:
        answer(body, headers={"retry-after": "3"})

    assert caught.value.status == 429
    assert caught.value.retry_after == 3


@pytest.mark.parametrize("body", [b"", b"  \n ", b'{"id":"x","choices":[]}'])
def test_a_success_with_nothing_in_it_is_an_empty_response(body: bytes, answer: Any) -> None:
    with pytest.raises(EmptyResponse):
        answer(body)


@pytest.mark.parametrize(
    "body", [b"<html>", b"7", b'"x"', b"{}", b'{"id":"x"}', b'{"choices":5}', b'{"choices":[5]}', b'{"choices":[{}]}']
)
def test_a_success_of_another_shape_is_a_protocol_error(body: bytes, answer: Any) -> None:
    with pytest.raises((ProtocolError, EmptyResponse)):
        answer(body)


def test_blank_lines_before_the_body_are_nothing(golden: Any, answer: Any) -> None:
    response = answer(b"\n\n\n" + golden("openai-text.json"))

    assert response.text.startswith("CompletableFuture 是 Java 8")
    assert response.usage.total_tokens == 66
    assert response.metadata["id"] == "chatcmpl-9xYzAbC123"
    assert response.metadata["created"] == 1726200000


def test_headers_that_go_into_the_metadata() -> None:
    from polywire.http_plan import metadata_of
    from polywire.parameters import ChatRequestParameters
    from polywire.requests import ChatRequest

    encoded = CODEC.encode(ChatRequest("q", ChatRequestParameters(model="m")), stream=False)
    headers = {
        "X-Request-Id": "req_1", "apim-request-id": "other", "openai-processing-ms": "12",
        "x-ratelimit-remaining-requests": "9", "x-ratelimit-reset-requests": "6m0s",
    }  # fmt: skip

    assert metadata_of(encoded, Headers(headers)) == {
        "request_id": "req_1", "processing_ms": "12",
        "rate_limits": {"remaining-requests": "9", "reset-requests": "6m0s"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 640, "completion_tokens": 120, "total_tokens": 760, "prompt_tokens_details": {"cached_tokens": None}, "completion_tokens_details": None}, (640, 120, 760, None, None, None)),
        ({"prompt_tokens": 10, "completion_tokens": 300, "total_tokens": 310, "completion_tokens_details": {"reasoning_tokens": 250}}, (10, 300, 310, None, None, 250)),
        ({"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 310, "completion_tokens_details": {"reasoning_tokens": 250}}, (10, 300, 310, None, None, 250)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}, (10, 2, 12, 8, None, None)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "cached_tokens": 8}, (10, 2, 12, 8, None, None)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 6}}, (10, 2, 12, 4, 6, None)),
        ({"prompt_tokens": "10", "completion_tokens": True}, (None, None, None, None, None, None)),
        (None, (None, None, None, None, None, None)),
        ("x", (None, None, None, None, None, None)),
    ],
)  # fmt: skip
def test_usage(usage: Any, expected: Any, answer: Any, body_of: Any) -> None:
    read = answer(body_of({"content": "Hi"}, usage=usage)).usage

    assert (read.input_tokens, read.output_tokens, read.total_tokens) == expected[:3]
    assert (read.cached_tokens, read.cache_write_tokens, read.reasoning_tokens) == expected[3:]
