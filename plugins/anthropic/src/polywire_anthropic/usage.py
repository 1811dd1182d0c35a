"""
What a call cost, between the wire's numbers and the canonical ones.

On the wire `input_tokens` leaves out what was read from or written to a cache; the canonical `input_tokens` is the
whole prompt: `input_tokens + cache_creation_input_tokens + cache_read_input_tokens`. `output_tokens` includes thinking
on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.responses import TokenUsage
from polywire.translation.counts import count_of as _count

__all__ = ["decode_usage", "encode_usage", "usage_details"]

_TYPED = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"})
_NOTHING = TokenUsage()


def decode_usage(usage: Any) -> TokenUsage:
    """Read a `usage` object; a number that is missing, null or no number stays unknown."""
    if not isinstance(usage, Mapping):
        return _NOTHING
    fresh = _count(usage.get("input_tokens"))
    cached = _count(usage.get("cache_read_input_tokens"))
    written = _count(usage.get("cache_creation_input_tokens"))
    if written is None and isinstance(parts := usage.get("cache_creation"), Mapping):
        counts = [count for value in parts.values() if (count := _count(value)) is not None]
        written = sum(counts) if counts else None
    known = [count for count in (fresh, cached, written) if count is not None]
    details = usage.get("output_tokens_details")
    return TokenUsage(
        sum(known) if known else None,
        _count(usage.get("output_tokens")),
        None,
        cached,
        written,
        _count(details.get("thinking_tokens")) if isinstance(details, Mapping) else None,
    )


def usage_details(usage: Any) -> dict[str, Any]:
    """Return what the canonical numbers do not say: tiers, speed, server tools, the parts of the cache writes."""
    if not isinstance(usage, Mapping):
        return {}
    return {key: value for key, value in usage.items() if key not in _TYPED and value is not None}


def encode_usage(usage: TokenUsage, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """
    Write a `usage` object.

    The wire demands both totals, so unknown ones are written as 0; the caller says so in a notice.
    """
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    whole = usage.input_tokens or 0
    written_out: dict[str, Any] = {"input_tokens": max(whole - (cached or 0) - (written or 0), 0)}
    if written is not None:
        written_out["cache_creation_input_tokens"] = written
    if cached is not None:
        written_out["cache_read_input_tokens"] = cached
    written_out["output_tokens"] = usage.output_tokens or 0
    if usage.reasoning_tokens is not None:
        written_out["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    for key, value in (details or {}).items():
        if key not in written_out:
            written_out[key] = value
        elif isinstance(value, Mapping) and isinstance(written_out[key], dict):
            written_out[key] = {**value, **written_out[key]}
    return written_out
