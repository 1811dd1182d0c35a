"""
Reading the body of a failed answer, whatever shape it has.

Every vendor, gateway and proxy words its errors in its own way. All shapes that are known are read here, once, for all
codecs: objects nested or not, lists, bare strings, JSON inside a message, validation lists, HTML pages, nothing at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from polywire.fast_dataclass import dataclass
from polywire.http_errors.delays import parse_duration
from polywire.immutable import EMPTY

__all__ = ["ErrorDetails", "is_foreign_error", "parse_body", "read_error", "readable_body", "summarize_body"]

_SUMMARY_LENGTH = 200
_JSON = json.JSONDecoder()  # of the standard library, because it can begin in the middle of a text
_BODY_LENGTH = 2000
_MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """
    What an error body says, in one shape for all vendors.

    Attributes:
        message: for a person to read.
        code: the vendor's most particular word or number for it, as text.
        words: every word the body uses for the kind of error (`code`, `type`, `status`, reasons), most particular
            first, lower case.
        status: the HTTP status that the body itself states; counts where the answer came with another one.
        retry_after: seconds that the body asks to wait.
        request_id: the vendor's id for the call.
        headers: rate-limit headers that the body quotes (OpenRouter: `error.metadata.headers`), in lower case.
    """

    message: str | None = None
    code: str | None = None
    words: tuple[str, ...] = ()
    status: int | None = None
    retry_after: float | None = None
    request_id: str | None = None
    headers: Mapping[str, str] = EMPTY


NO_DETAILS = ErrorDetails()


def parse_body(body: bytes) -> Any:
    """Return the JSON value of a body, or its text where it is not JSON; `None` where it is empty."""
    stripped = body.strip().removeprefix(b"\xef\xbb\xbf").strip()
    if not stripped:
        return None
    try:
        return msgspec.json.decode(stripped)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return stripped.decode("utf-8", "replace")


def is_foreign_error(payload: Mapping[str, Any]) -> bool:
    """
    Whether an object that is no answer of its wire is an error of a gateway's or another wire's.

    For codecs that have looked for their own fields, and found none.
    """
    if payload.get("type") == "error" or payload.get("object") == "error":
        return True
    if payload.get("error") not in (None, False):
        return True
    return isinstance(payload.get("message"), str) or any(payload.get(key) for key in ("detail", "errors", "error_msg"))


def read_error(value: Any) -> ErrorDetails:
    """
    Read a parsed error body of any known shape.

    The shapes: `{"error": {…}}`, `{"error": "text"}`, `{"type": "error", "error": {…}}`, the fields with nothing around
    them, `{"detail": "text" | [{"loc", "msg"}]}`, `{"message"}`, `{"errors": […]}`, a list of any of these, a bare
    string, and JSON in a message of any of these.
    """
    return _read(value, 0)


def summarize_body(body: bytes) -> str:
    """
    Say in one short line what a body is: the message of a JSON error, the title of an HTML page, else how it begins.

    Returns:
        the line; `""` for an empty body.
    """
    value = parse_body(body)
    if value is None:
        return ""
    if isinstance(value, str):
        return _short(read_error(value).message or value)
    return _short(read_error(value).message or body.decode("utf-8", "replace"))


def readable_body(body: bytes) -> str | None:
    """Return a body as text, shortened to what a person can read; `None` where it is empty."""
    text = body[: _BODY_LENGTH * 4].decode("utf-8", "replace").strip()
    if not text:
        return None
    return text if len(text) <= _BODY_LENGTH else text[: _BODY_LENGTH - 1] + "…"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SUMMARY_LENGTH else line[: _SUMMARY_LENGTH - 1] + "…"


def _looks_like_page(text: str) -> bool:
    return re.match(r"\s*(<\?xml|<!doctype|<!--|<html|<head|<body|<h\d)", text, re.IGNORECASE) is not None


def _text_of_page(text: str) -> str:
    import html  # with its table of every entity, for error pages alone

    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title and title[1].strip():
        return html.unescape(title[1])
    without_code = re.sub(r"<(script|style)\b.*?</\1>|<!--.*?-->", " ", text, flags=re.IGNORECASE | re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", without_code))


def _read(value: Any, depth: int) -> ErrorDetails:
    if depth > _MAX_DEPTH or value is None or isinstance(value, bool):
        return NO_DETAILS
    if isinstance(value, str):
        return _read_text(value, depth)
    if isinstance(value, Mapping):
        return _read_object(value, depth)
    if isinstance(value, Iterable):
        return _read_list(value, depth)
    return NO_DETAILS


def _read_text(text: str, depth: int) -> ErrorDetails:
    """A message; or JSON in a string, as gateways make it of the answer that they got."""
    start = re.search(r"[\[{]\s*[\"{\[]", text)
    if start:
        try:
            value, _ = _JSON.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            value = None
        inner = _read(value, depth + 1)
        if inner.message:
            said_before = text[: start.start()].strip().rstrip(":- ")  # "upstream answered 400: {…}"
            return replace(inner, message=f"{said_before}: {inner.message}") if said_before else inner
    if _looks_like_page(text):
        text = _text_of_page(text)
    text = text.strip()
    return ErrorDetails(message=text) if text else NO_DETAILS


def _read_list(items: Iterable[Any], depth: int) -> ErrorDetails:
    """A list of errors: usually one; validation errors come several."""
    found = [details for item in items if (details := _read(item, depth + 1)) != NO_DETAILS]
    if not found:
        return NO_DETAILS
    first = found[0]
    messages = list(dict.fromkeys(details.message for details in found if details.message))
    return ErrorDetails(
        "; ".join(messages) or None,
        first.code,
        first.words,
        first.status,
        first.retry_after,
        first.request_id,
        first.headers,
    )


def _read_object(body: Mapping[str, Any], depth: int) -> ErrorDetails:
    inner = NO_DETAILS
    for key in (
        "error",
        "errors",
        "detail",
        "details",
        "message",
        "msg",
        "error_message",
        "error_msg",
        "error_description",
    ):
        nested = body.get(key)
        if nested and (key != "details" or isinstance(nested, str)):
            inner = _read(nested, depth + 1)
            if inner.message or inner.words:
                break
    message = inner.message
    said = body.get("message")
    if (
        isinstance(body.get("error"), str)
        and isinstance(said, str)
        and said.strip()
        and message == body["error"].strip()
    ):
        # Some frameworks put the status's phrase into `error`, and what really went wrong into `message`.
        message = f"{message}: {said.strip()}"
    location = body.get("loc")
    if message and isinstance(location, (list, tuple)):
        message = f"{'.'.join(str(part) for part in location)}: {message}"
    words = (*inner.words, *_words_of(body))
    origin = body.get("metadata")
    if isinstance(origin, Mapping) and origin.get("raw"):  # a router passes on what the service behind it said
        raw = _read(origin["raw"], depth + 1)
        words = (*raw.words, *words)
        if raw.message and raw.message != message:
            message = f"{message}: {raw.message}" if message else raw.message
    status = inner.status if inner.status is not None else _status_of(body)
    code = inner.code or _code_of(body)
    retry_after = inner.retry_after if inner.retry_after is not None else _retry_delay(body)
    request_id = body.get("request_id") or body.get("requestId") or inner.request_id
    if message is None and words and ("error" in body or body.get("type") == "error"):
        message = words[0]
    return ErrorDetails(
        message,
        code,
        tuple(dict.fromkeys(words)),
        status,
        retry_after,
        request_id if isinstance(request_id, str) else None,
        inner.headers or _quoted_headers(origin),
    )


def _quoted_headers(origin: Any) -> Mapping[str, str]:
    headers = origin.get("headers") if isinstance(origin, Mapping) else None
    if not isinstance(headers, Mapping):
        return EMPTY
    return {
        str(name).lower(): str(value)
        for name, value in headers.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool)
    }


def _words_of(body: Mapping[str, Any]) -> Iterator[str]:
    """Every word in one object that may name the kind of error, most particular first."""
    for detail in _details(body):
        for key in ("error_code", "reason", "code"):
            if isinstance(detail.get(key), str):
                yield detail[key].lower()
    for key in ("innererror", "inner_error"):
        nested = body.get(key)
        if isinstance(nested, Mapping) and isinstance(nested.get("code"), str):
            yield nested["code"].lower()
    for key in ("code", "error_code", "errorCode", "type", "__type", "status", "reason", "error_type"):
        word = body.get(key)
        if isinstance(word, bool):
            continue
        if isinstance(word, int):
            yield str(word)
        elif isinstance(word, str) and word and word != "error":
            yield word.lower()


def _code_of(body: Mapping[str, Any]) -> str | None:
    """The word for the error. A number that only repeats the HTTP status says less than a word beside it."""
    fallback: str | None = None
    for key in ("code", "error_code", "errorCode", "type", "status"):
        word = body.get(key)
        if isinstance(word, (str, int)) and not isinstance(word, bool) and word not in ("", "error"):
            code = str(word)
            if not (code.isdigit() and len(code) == 3):
                return code
            fallback = fallback or code
    return fallback


def _status_of(body: Mapping[str, Any]) -> int | None:
    for key in ("code", "status", "status_code", "statusCode", "raw_status_code", "http_code"):
        number = body.get(key)
        if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) == 3:
            number = int(number)
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number <= 599:
            return number
    return None


def _details(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    details = body.get("details")
    for detail in (details,) if isinstance(details, Mapping) else details if isinstance(details, list) else ():
        if isinstance(detail, Mapping):
            yield detail


def _seconds_and_nanos(duration: Mapping[str, Any]) -> float | None:
    seconds, nanos = duration.get("seconds", 0), duration.get("nanos", 0)
    try:
        return float(seconds) + float(nanos) / 1e9 if {"seconds", "nanos"} & duration.keys() else None
    except (TypeError, ValueError, OverflowError):
        return None


def _retry_delay(body: Mapping[str, Any]) -> float | None:
    """The `RetryInfo` of google.rpc (`"retryDelay": "37s"`), and the plain fields that others use."""

    for detail in (*_details(body), body):
        for key in ("retryDelay", "retry_delay", "retry_after", "retryAfter", "retry_after_seconds", "retry_after_ms"):
            value = detail.get(key)
            if isinstance(value, Mapping):  # a duration of protobuf's, taken apart
                value = _seconds_and_nanos(value)
            if key == "retry_after_ms" and isinstance(value, (int, float)) and not isinstance(value, bool):
                value /= 1000
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value) if 0 <= value < 1e9 else None
            if isinstance(value, str) and (seconds := parse_duration(value)) is not None:
                return seconds
    return None
