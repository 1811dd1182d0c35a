"""
How each service says that something failed: its statuses, its bodies, its headers.

From wire/compat-vendors.md, sections 7 and 9; most bodies are recorded too, and here stand those that are one of many.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from polywire.codec import Headers, HttpResponse
from polywire.errors import ModelError
from polywire.parameters import ChatRequestParameters
from polywire.plugins import BuildContext
from polywire.testing.transport import FakeTransport, Reply
from polywire_compatible import ROWS
from polywire_compatible.provider import polywire_provider
from polywire_openai import OpenAIChatCodec

ANY = {"error": {"message": "no", "type": None, "code": None}}


def failed(status: int, body: Any, headers: dict[str, str] | None = None, now: float = 0.0) -> ModelError:
    codec = OpenAIChatCodec(ROWS["openai-compatible"].profiles())
    return codec.decode_error(HttpResponse(status, Headers(headers or {}), json.dumps(body).encode(), now))


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (402, "quota", False),  # no balance: DeepSeek, OpenRouter, Together
        (413, "bad_request", False),  # Groq: more tokens than a minute's
        (422, "bad_request", False),  # DeepSeek, Mistral, Together
        (424, "bad_request", False),
        (498, "overloaded", True),  # Groq: no room for flex
        (503, "server", True),  # DeepSeek, Groq
        (524, "server", True),  # OpenRouter: the provider's time ran out
        (529, "overloaded", True),  # OpenRouter
    ],
)
def test_statuses_of_note(status: int, kind: str, retryable: bool) -> None:
    error = failed(status, ANY)

    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)


BODIES: tuple[tuple[str, int, dict[str, Any], str], ...] = (
    ("azure", 400, {"error": {"message": "filtered", "type": None, "param": "prompt", "code": "content_filter",
     "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}}}, "content_filter"),
    ("azure's gateway", 401, {"statusCode": 401, "message": "invalid subscription key"}, "authentication"),
    ("azure's gateway, nested", 404, {"error": {"code": "404", "message": "Resource not found"}}, "not_found"),
    ("moonshot", 429, {"error": {"message": "busy", "type": "engine_overloaded_error"}}, "overloaded"),
    ("moonshot, no quota", 429, {"error": {"message": "no", "type": "exceeded_current_quota_error"}}, "quota"),
    ("xai", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided"}, "authentication"),
    ("mistral, flat", 400, {"object": "error", "message": "bad", "type": "invalid_request_error", "code": 3051,
     "raw_status_code": 400}, "bad_request"),
    ("mistral, no key", 401, {"message": "Unauthorized", "request_id": "r1"}, "authentication"),
    ("mistral, fields", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "x"], "msg": "Extra"}]}, "bad_request"),
    ("vllm, older", 400, {"object": "error", "message": "This model's maximum context length is 10 tokens",
     "type": "BadRequestError", "param": None, "code": 400}, "context_length"),
    ("llama.cpp, loading", 503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, "overloaded"),
    ("llama.cpp, too long", 400, {"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error",
     "n_prompt_tokens": 20031, "n_ctx": 4096}}, "context_length"),
    ("llama.cpp, no key", 401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}, "authentication"),
    ("llama.cpp, not there", 501, {"error": {"code": 501, "message": "no", "type": "not_supported_error"}}, "bad_request"),
    ("lm studio", 400, {"error": "'url' field must be a base64 encoded image"}, "bad_request"),
    ("groq", 400, {"error": {"message": "Failed to call a function", "type": "invalid_request_error",
     "code": "tool_use_failed", "failed_generation": "<function=w>"}}, "server"),
    ("openrouter", 402, {"error": {"code": 402, "message": "Insufficient credits"}, "user_id": "user_1"}, "quota"),
    ("openrouter, upstream", 429, {"error": {"code": 429, "message": "Provider returned error",
     "metadata": {"provider_name": "X", "raw": "slow down"}}}, "rate_limit"),
    ("zhipu, filtered", 400, {"error": {"code": "1301", "message": "unsafe"}}, "content_filter"),
    ("zhipu, no balance", 429, {"error": {"code": "1113", "message": "no balance"}}, "quota"),
    ("zhipu, busy", 429, {"error": {"code": "1305", "message": "busy"}}, "overloaded"),
    ("dashscope, filtered", 400, {"error": {"message": "Input data may contain inappropriate content", "param": None,
     "type": "data_inspection_failed", "code": "data_inspection_failed"}, "request_id": "r1"}, "content_filter"),
    ("dashscope, limit", 429, {"error": {"message": "Requests rate limit exceeded", "code": "limit_requests"}}, "rate_limit"),
    ("deepseek", 400, {"error": {"message": "The reasoning_content in the thinking mode must be passed back",
     "type": "invalid_request_error", "code": "invalid_request_error"}}, "bad_request"),
)  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), [each[1:] for each in BODIES], ids=[each[0] for each in BODIES])
def test_bodies(status: int, body: dict[str, Any], kind: str) -> None:
    error = failed(status, body)

    assert error.kind == kind
    assert error.retryable is (kind in {"rate_limit", "overloaded", "server"})


WAITS: tuple[tuple[str, dict[str, str], float], ...] = (
    ("seconds", {"retry-after": "8"}, 8.0),
    ("azure, milliseconds", {"retry-after-ms": "1234", "retry-after": "2"}, 1.234),
    ("groq, both", {"retry-after": "2", "x-ratelimit-reset-requests": "2m59.56s"}, 2.0),
    ("groq, no tokens left", {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66s",
     "x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "2m"}, 7.66),
    ("openrouter, milliseconds since the epoch", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1741305600000"}, 10.0),
)  # fmt: skip


@pytest.mark.parametrize(("headers", "wait"), [each[1:] for each in WAITS], ids=[each[0] for each in WAITS])
def test_how_long_a_service_asks_to_wait(headers: dict[str, str], wait: float) -> None:
    assert failed(429, ANY, headers, now=1741305590.0).retry_after == pytest.approx(wait)


IDS = {
    "deepseek": "x-ds-trace-id",
    "moonshot": "Msh-Request-Id",
    "mistral": "mistral-correlation-id",
    "azure-openai": "apim-request-id",
    "groq": "x-request-id",
}


@pytest.mark.parametrize(("name", "header"), IDS.items())
def test_the_services_id_of_a_call_is_in_the_answer_and_in_the_error(name: str, header: str) -> None:
    provider = polywire_provider(name)
    assert provider is not None
    assert provider.build_chat is not None
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    transport = FakeTransport(
        Reply(body=json.dumps(answer).encode(), headers={header: "r1"}),
        Reply(status=400, body=json.dumps(ANY).encode(), headers={header: "r2"}),
    )
    settings = provider.settings(api_key="sk-test", base_url="https://example.com")
    model = provider.build_chat(
        BuildContext(name, settings, defaults=ChatRequestParameters(model="m"), transport=transport)
    )

    assert model.chat("q").metadata["request_id"] == "r1"
    with pytest.raises(ModelError) as raised:
        model.chat("q")
    assert raised.value.request_id == "r2"


def test_limits_and_times_that_a_service_tells_are_kept() -> None:
    provider = polywire_provider("fireworks")
    assert provider is not None
    assert provider.build_chat is not None
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}
    headers = {
        "x-ratelimit-remaining-tokens-prompt": "59000",
        "x-tokenlimit-remaining": "100",
        "fireworks-server-processing-time": "0.2",
    }
    context = BuildContext(
        "fireworks",
        provider.settings(api_key="sk-test"),
        defaults=ChatRequestParameters(model="m"),
        transport=FakeTransport(Reply(body=json.dumps(answer).encode(), headers=headers)),
    )

    metadata = provider.build_chat(context).chat("q").metadata

    told = json.dumps([metadata.get(key) for key in ("rate_limits", "token_limits", "timings")], default=dict)
    assert all(value in told for value in headers.values())
