"""
From a failed answer to the right error: one classification for all codecs.

The order of authority: the vendor's own words (a codec's `kinds` first, then those that many vendors share), the
message where it speaks of a context too long, the HTTP status (the body's own where the answer was a 200), and at last
the status of the answer. `x-should-retry` overrides whether the error is retryable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from polywire import wire_json
from polywire.codec import Headers, HttpResponse
from polywire.errors import ERROR_KINDS, ModelError
from polywire.http_errors.bodies import (
    ErrorDetails,
    parse_body,
    read_error,
    readable_body,
    summarize_body,
)
from polywire.http_errors.delays import delay_in_words, exhausted_delay, parse_rate_limits, parse_retry_after
from polywire.immutable import EMPTY

__all__ = [
    "REQUEST_ID_HEADERS",
    "SHARED_KINDS",
    "error_from_payload",
    "error_from_response",
    "kind_of_status",
    "request_id_of",
    "speaks_of_context_length",
]

REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-requestid", "x-correlation-id", "x-amzn-requestid", "x-trace-id")
"""Where servers put their id for a call, the usual one first."""

_MESSAGE_LENGTH = 2000

_STATUS_KINDS = {
    400: "bad_request",
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    405: "not_found",
    407: "authentication",
    408: "timeout",
    409: "server",  # a lock or a conflict at the vendor: it passes
    410: "not_found",
    411: "bad_request",
    413: "bad_request",
    414: "bad_request",
    415: "bad_request",
    422: "bad_request",
    424: "bad_request",
    425: "server",
    429: "rate_limit",
    451: "permission",
    498: "overloaded",  # capacity of a flexible tier is used up
    499: "bad_request",  # the call was cancelled
    501: "bad_request",
    529: "overloaded",
}

SHARED_KINDS: Mapping[str, str] = {
    "context_length_exceeded": "context_length",
    "exceed_context_size_error": "context_length",
    "context_window_exceeded": "context_length",
    "string_above_max_length": "context_length",
    "insufficient_quota": "quota",
    "exceeded_current_quota_error": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "insufficient_balance": "quota",
    "insufficient_credits": "quota",
    "payment_required": "quota",
    "invalid_api_key": "authentication",
    "api_key_invalid": "authentication",
    "incorrect_api_key": "authentication",
    "authentication_error": "authentication",
    "unauthenticated": "authentication",
    "unauthorized": "authentication",
    "invalid_authentication_error": "authentication",
    "permission_error": "permission",
    "permission_denied": "permission",
    "permission_denied_error": "permission",
    "forbidden": "permission",
    "unsupported_country_region_territory": "permission",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "not_found": "not_found",
    "resource_not_found": "not_found",
    "deploymentnotfound": "not_found",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "responsibleaipolicyviolation": "content_filter",
    "contentfilter": "content_filter",
    "data_inspection_failed": "content_filter",
    "datainspectionfailed": "content_filter",
    "invalidapikey": "authentication",
    "arrearage": "quota",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "rate_limit_reached_error": "rate_limit",
    "too_many_requests": "rate_limit",
    "resource_exhausted": "rate_limit",
    "throttlingexception": "rate_limit",
    "overloaded_error": "overloaded",
    "overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "engine_overloaded": "overloaded",
    "service_unavailable": "overloaded",
    "unavailable": "overloaded",
    "unavailable_error": "overloaded",
    "capacity_exceeded": "overloaded",
    "resource_unavailable": "overloaded",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "server_error": "server",
    "api_error": "server",
    "internal_error": "server",
    "internal_server_error": "server",
    "internal": "server",
    "conflict_error": "server",
    "timeout_error": "timeout",
    "timeout": "timeout",
    "request_timeout": "timeout",
    "deadline_exceeded": "timeout",
    "invalid_request_error": "bad_request",
    "invalid_argument": "bad_request",
    "failed_precondition": "bad_request",
    "request_too_large": "bad_request",
    "unsupported_parameter": "bad_request",
    "unsupported_value": "bad_request",
    "not_supported_error": "bad_request",
}
"""Words for kinds of error that several vendors use alike, lower case."""

_GENERAL_WORDS = frozenset(
    {"invalid_request_error", "invalid_argument", "failed_precondition", "api_error", "server_error", "internal"}
)
"""Words so general that the status says more, where there is one of its own."""

_CONTEXT_LENGTH_PHRASES = (
    "maximum context length",
    "prompt is too long",
    "context length exceeded",
    "exceeds the context",
    "exceed context size",
    "exceeds the available context",
    "context window",
    "exceed_context_size",
    "context size has been exceeded",
    "input length exceeds",
    "input length and `max_tokens` exceed context limit",
    "exceeds the maximum number of tokens",
    "input token count",
    "too many tokens in",
    "prompt too long",
    "input is too long",
    "reduce the length of the messages",
    "exceeds max length",
    "exceeded model token limit",
    "maximum prompt length",
    "range of input length",
)
_QUOTA_PHRASES = ("credit balance is too low", "insufficient balance", "insufficient credits", "requires more credits")
_KEY_PHRASES = ("incorrect api key", "invalid api key", "invalid api-key", "api key not valid")
"""Some call a wrong key a bad request."""
_OTHER_PHRASES = (
    ("overloaded", "overloaded"),
    ("at capacity", "overloaded"),
    ("server busy", "overloaded"),
    ("does not support", "bad_request"),
    ("try pulling it", "not_found"),
    ("unauthorized", "authentication"),
    ("rate limit", "rate_limit"),
    ("too many requests", "rate_limit"),
    ("timed out", "timeout"),
)
"""Looked for only where there is neither a known word nor a status."""

_NO_CONTEXT_LENGTH = frozenset({"rate_limit", "quota", "overloaded", "authentication", "permission", "content_filter"})


def kind_of_status(status: int) -> str:
    """Return the kind of error that an HTTP status stands for."""
    kind = _STATUS_KINDS.get(status)
    if kind is None:
        kind = "server" if status >= 500 else "bad_request" if status >= 400 else "protocol"
    return kind


_KIND_STATUS = {
    "authentication": 401, "quota": 402, "permission": 403, "not_found": 404, "timeout": 408, "rate_limit": 429,
    "server": 500, "overloaded": 529, "bad_request": 400, "context_length": 400, "content_filter": 400,
    "unsupported": 400,
}  # fmt: skip


def speaks_of_context_length(message: str) -> bool:
    """Whether a message says that the conversation is longer than the model can read."""
    lowered = message.lower()
    return any(phrase in lowered for phrase in _CONTEXT_LENGTH_PHRASES)


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """Return the vendor's id for the call, from whichever header holds it."""
    for name in REQUEST_ID_HEADERS:
        if value := headers.get(name):
            return value
    return None


def error_from_response(
    response: HttpResponse,
    *,
    message: str | None = None,
    code: str | None = None,
    type: str | None = None,
    kinds: Mapping[str, str] = EMPTY,
    request_id: str | None = None,
) -> ModelError:
    """
    Make the error that a failed answer stands for. Never raises.

    Args:
        response: the answer, of any status but 2xx.
        message: what the codec read as the message; else it is found in the body.
        code: the vendor's word for the error; else found in the body.
        type: a second word, less particular.
        kinds: the vendor's own words and the kind (`polywire.errors`) each stands for; they win over the shared ones.
        request_id: the vendor's id for the call; else found in the headers or the body.
    """
    value = parse_body(response.body)
    details = read_error(value)
    summary = message or (None if isinstance(value, str) else details.message) or summarize_body(response.body)
    if 300 <= response.status < 400:
        summary = _redirect_message(response)
    return _make(
        details,
        message=summary or _reason(response.status),
        words=_words(code, type, details),
        code=code or details.code or type,
        status=response.status,
        own_status=None,
        headers=response.headers,
        received_at=response.received_at,
        body=readable_body(response.body),
        kinds=kinds,
        request_id=request_id,
    )


def error_from_payload(
    payload: Any,
    *,
    message: str | None = None,
    code: str | None = None,
    type: str | None = None,
    kinds: Mapping[str, str] = EMPTY,
    headers: Headers | None = None,
    received_at: float = 0.0,
    request_id: str | None = None,
) -> ModelError:
    """
    Make the error that a success or a stream carries inside: a 200 whose body, or one of whose frames, is an error.

    `payload` is the parsed JSON. The error's status is the one that the payload states, else the one that its kind
    stands for, never 200. An error of no known kind is the server's.
    """
    details = read_error(payload)
    words = _words(code, type, details)
    text = message or details.message
    if not text:
        text = words[0] if words else _whole_payload(payload) or "the server reported an error and said no more"
    return _make(
        details,
        message=text,
        words=words,
        code=code or details.code or type,
        status=None,
        own_status=details.status,
        headers=headers or Headers(),
        received_at=received_at,
        body=None,
        kinds=kinds,
        request_id=request_id,
    )


def _whole_payload(payload: Any) -> str:
    """An error in no known shape, as it came: better than nothing. Empty where it holds nothing."""
    error = payload.get("error") if isinstance(payload, Mapping) else payload
    if error in (None, "", True) or error == {} or error == []:
        return ""
    try:
        return summarize_body(wire_json.encode(payload))
    except TypeError:
        return ""


def _words(code: str | None, type: str | None, details: ErrorDetails) -> tuple[str, ...]:
    given = tuple(word.lower() for word in (code, type) if word)
    return tuple(dict.fromkeys((*given, *details.words)))


def _make(
    details: ErrorDetails,
    *,
    message: str,
    words: tuple[str, ...],
    code: str | None,
    status: int | None,
    own_status: int | None,
    headers: Headers,
    received_at: float,
    body: str | None,
    kinds: Mapping[str, str],
    request_id: str | None,
) -> ModelError:
    if len(message) > _MESSAGE_LENGTH:
        message = message[: _MESSAGE_LENGTH - 1] + "…"
    known_status = status if status is not None else own_status
    kind = _classify(message, words, known_status, kinds)
    rate_limits = parse_rate_limits({**details.headers, **headers}, received_at)
    error_class = ERROR_KINDS[kind]
    retry_after = parse_retry_after(headers, received_at)
    if retry_after is None:
        retry_after = details.retry_after
    if retry_after is None and details.headers:
        retry_after = parse_retry_after(details.headers, received_at)
    if retry_after is None and kind in ("rate_limit", "overloaded"):
        retry_after = exhausted_delay(rate_limits)
        if retry_after is None:
            retry_after = delay_in_words(message)
    should_retry = {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
    return error_class(
        message,
        status=known_status if known_status is not None else _KIND_STATUS.get(kind, 500),
        code=code,
        body=body,
        request_id=request_id or request_id_of(headers) or details.request_id,
        retryable=should_retry,
        retry_after=retry_after,
        rate_limits=rate_limits,
    )


def _classify(message: str, words: tuple[str, ...], status: int | None, kinds: Mapping[str, str]) -> str:
    for word in words:
        if word in kinds:
            return kinds[word]
    by_status = kind_of_status(status) if status is not None else None
    kind = None
    for word in words:
        known = SHARED_KINDS.get(word)
        if known is not None and (word not in _GENERAL_WORDS or by_status is None):
            kind = known
            break
    lowered = message.lower()
    if kind is None and by_status is None:
        kind = next((found for phrase, found in _OTHER_PHRASES if phrase in lowered), None)
    if status == 413 and kind not in ("context_length", "quota"):
        kind = "bad_request"  # some call it a rate limit, but a request too large stays too large
    kind = kind or by_status or "server"
    if kind not in _NO_CONTEXT_LENGTH and speaks_of_context_length(message):
        return "context_length"
    if kind == "bad_request" and any(phrase in lowered for phrase in _QUOTA_PHRASES):
        return "quota"
    if kind == "bad_request" and any(phrase in lowered for phrase in _KEY_PHRASES):
        return "authentication"
    return kind


def _redirect_message(response: HttpResponse) -> str:
    try:
        host = urlsplit(response.headers.get("location", "")).hostname
    except ValueError:
        host = None
    where = f"to the host {host!r}" if host else "elsewhere"
    return f"the server redirects {where} (HTTP {response.status}); correct base_url, or set follow_redirects"


def _reason(status: int) -> str:
    from http import HTTPStatus

    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "an unusual status"
    return f"the server answered {status} ({phrase}) with an empty body"
