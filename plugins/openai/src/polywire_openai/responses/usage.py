"""What a call cost: inclusive counts, and their parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.responses import Notice, TokenUsage

__all__ = ["encode_usage", "usage_details"]

_PARTS = {
    "input_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "output_tokens_details": frozenset({"reasoning_tokens"}),
}
_COUNTS = frozenset({"input_tokens", "output_tokens", "total_tokens"})


def usage_details(usage: Any) -> dict[str, Any]:
    """Return what the canonical numbers do not say."""
    details: dict[str, Any] = {}
    for key, value in usage.items() if isinstance(usage, Mapping) else ():
        if value is None or key in _COUNTS:
            continue
        if key in _PARTS and isinstance(value, Mapping):
            value = {name: part for name, part in value.items() if name not in _PARTS[key] and part is not None}
            if not value:
                continue
        details[key] = value
    return details


def encode_usage(
    usage: TokenUsage, details: Mapping[str, Any], notices: list[Notice], *, is_own: bool
) -> dict[str, Any] | None:
    """
    Write a usage object. The wire demands every count, so an unknown one is 0; of the parts of an answer of this wire's
    own (`is_own`), those that it did not have stay away.
    """
    if not usage:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    parts = (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    if None in counts or (not is_own and None in parts):
        notices.append(Notice("information", "usage", "the wire demands token counts; unknown ones are written as 0"))
    inner: dict[str, dict[str, Any]] = {
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
    written: dict[str, Any] = {
        "input_tokens": counts[0] or 0,
        **{
            key: {name: count or 0 for name, count in each.items() if not is_own or count is not None}
            for key, each in inner.items()
        },
        "output_tokens": counts[1] or 0,
        "total_tokens": counts[2] or 0,
    }
    for key, value in details.items():
        known = written.get(key)
        written[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, Mapping) else value
    return written
