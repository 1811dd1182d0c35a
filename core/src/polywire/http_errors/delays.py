"""
How long a server asks to wait: its headers, read into seconds.

Nothing here raises: a value that makes no sense counts as absent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["parse_duration", "parse_rate_limits", "parse_reset", "parse_retry_after"]

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "d": 86400.0}
_DURATION = re.compile(r"(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ms|us|µs|μs|ns|d|h|m|s))+", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|μs|ns|d|h|m|s)", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_MAX_DELAY = 366 * 86400.0
"""Longer than any limit's window: more is nonsense."""
_EPOCH_SECONDS = 1e8
_EPOCH_MILLISECONDS = 1e11


def parse_duration(text: str) -> float | None:
    """
    Read a duration as Go writes it (`"1m30s"`, `"120ms"`, `"6m0s"`), or a plain number of seconds.

    Returns:
        seconds, or `None` where it is neither.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _sensible(float(text))
    if not _DURATION.fullmatch(text):
        return None
    return _sensible(sum(float(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(text)))


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """
    Read `retry-after-ms` (which wins; Azure has it as `x-ms-retry-after-ms` too) or `retry-after`.

    The latter is seconds, fractions included, or an HTTP date; some servers write a duration (`"2s"`), an RFC 3339 time or
    a moment since the epoch.

    Args:
        headers: the answer's headers, looked up in lower case.
        now: when the answer came, in seconds since the epoch. A date counts from the answer's own `date` header where
            there is one, so that a clock gone wrong on either side does no harm.

    Returns:
        seconds, or `None` where the server does not say, or says what makes no sense. A date that is past is 0.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = headers.get(name, "").strip()
        if _NUMBER.fullmatch(milliseconds):
            delay = _sensible(float(milliseconds) / 1000)
            if delay is not None:
                return delay
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    reference = _http_date(headers.get("date", ""))
    return parse_reset(value, now if reference is None else reference)


_ASKED_IN_WORDS = re.compile(
    r"(?:try again|retry|wait)(?: again)?(?: in| after| for)?:? (?P<number>\d+(?:\.\d+)?) ?"
    r"(?P<unit>milliseconds?|seconds?|minutes?|hours?)\b"
    r"|(?:try again|retry)(?: again)? (?:in|after) (?P<duration>(?:\d+(?:\.\d+)?(?:ms|h|m|s))+)(?![\w])",
    re.IGNORECASE | re.ASCII,
)
_WORD_UNITS = {"milli": 1e-3, "second": 1.0, "minute": 60.0, "hour": 3600.0}


def delay_in_words(message: str) -> float | None:
    """
    Read how long a message asks to wait: `Please try again in 1.5s.`, `Please retry after 12 seconds.`

    OpenAI and Azure say it so, and gateways pass on the words and drop the headers.
    """
    found = _ASKED_IN_WORDS.search(message)
    if found is None:
        return None
    if found["duration"]:
        return parse_duration(found["duration"].lower())
    unit = next(seconds for name, seconds in _WORD_UNITS.items() if found["unit"].lower().startswith(name))
    return _sensible(float(found["number"]) * unit)


def parse_reset(text: str, now: float) -> float | None:
    """
    Read when a limit is reset: a duration, an RFC 3339 time, an HTTP date, or a moment since the epoch (s or ms).

    Returns:
        seconds from `now`, or `None`. A moment that is past is 0.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number < _EPOCH_SECONDS:
            return _sensible(number)
        return _sensible(max(0.0, (number if number < _EPOCH_MILLISECONDS else number / 1000) - now))
    duration = parse_duration(text)
    if duration is not None:
        return duration
    moment = _rfc_3339(text)
    if moment is None:
        moment = _http_date(text)
    return None if moment is None else _sensible(max(0.0, moment - now))


_BUCKET = re.compile(r".*?(?P<kind>rate|token)limit-(?P<rest>.+)")
_FIELDS = ("limit", "remaining", "reset")


def parse_rate_limits(headers: Mapping[str, str], now: float) -> dict[str, dict[str, Any]]:
    """
    Read the rate-limit headers, in every order in which vendors put their words.

    `x-ratelimit-remaining-requests`, `vendor-ratelimit-tokens-reset`, `x-ratelimit-reset` and their like become
    `{"requests": {"limit": 500, "remaining": 0, "reset": 90.0}}`; `reset` in seconds from `now`. The one bucket of
    `x-ratelimit-reset` is called `""`.
    """
    buckets: dict[str, dict[str, Any]] = {}
    for name, value in headers.items():
        match = _BUCKET.fullmatch(name.lower())
        if match is None or match["rest"] == "policy":
            if name.lower() in ("ratelimit", "ratelimit-policy"):
                _read_structured(value, buckets)
            continue
        words = match["rest"].split("-")
        field = next((word for word in (words[0], words[-1]) if word in _FIELDS), None)
        if field is None:
            continue
        words = words[1:] if words[0] == field else words[:-1]
        bucket = "-".join(words) or ("tokens" if match["kind"] == "token" else "")
        number: float | None
        if field == "reset":
            number = parse_reset(value, now)
        else:
            number = float(value) if _NUMBER.fullmatch(value.strip()) else None
            if number is not None and number.is_integer():
                number = int(number)
        if number is not None:
            buckets.setdefault(bucket, {})[field] = number
    return buckets


_STRUCTURED_ITEM = re.compile(r'\s*"(?P<name>[^"]*)"(?P<parameters>(?:\s*;\s*[a-z]+=[^,;]*)+)\s*(?:,|$)', re.ASCII)
_STRUCTURED_PARAMETER = re.compile(r";\s*([a-z]+)=(\d{1,15})\s*(?=;|$)", re.ASCII)
_STRUCTURED_FIELDS = {"r": "remaining", "t": "reset", "q": "limit"}


def _read_structured(value: str, buckets: dict[str, dict[str, Any]]) -> None:
    """Read `RateLimit: "name";r=0;t=30` and `RateLimit-Policy: "name";q=100;w=60` (draft-ietf-httpapi-ratelimit-headers)."""
    for item in _STRUCTURED_ITEM.finditer(value):
        for key, digits in _STRUCTURED_PARAMETER.findall(item["parameters"]):
            if key in _STRUCTURED_FIELDS:
                number = _sensible(float(digits)) if key == "t" else int(digits)
                if number is not None:
                    buckets.setdefault(item["name"], {})[_STRUCTURED_FIELDS[key]] = number


def exhausted_delay(rate_limits: Mapping[str, Mapping[str, Any]]) -> float | None:
    """
    Return how long until every exhausted bucket is reset; buckets with something left do not count.

    Where none is said to be exhausted, those that do not say what is left may be.
    """
    delays = [bucket["reset"] for bucket in rate_limits.values() if bucket.get("remaining") == 0 and "reset" in bucket]
    if not delays:
        delays = [bucket["reset"] for bucket in rate_limits.values() if "reset" in bucket and "remaining" not in bucket]
    return max(delays, default=None)


def _sensible(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and 0 <= seconds <= _MAX_DELAY else None


def _http_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime  # where there is a date: it loads a parser of mails

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return _timestamp(moment)


def _rfc_3339(text: str) -> float | None:
    try:
        return _timestamp(datetime.fromisoformat(text))
    except ValueError:
        return None


def _timestamp(moment: datetime) -> float | None:
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
