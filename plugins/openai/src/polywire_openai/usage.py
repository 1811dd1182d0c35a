"""
What a call cost.

`prompt_tokens` holds what was read from and written to a cache, and `completion_tokens` holds the reasoning, as in the
canonical numbers. Endpoints differ in where they put the object and in the names of the parts; all places and names
that are known are read here, whoever uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.responses import NO_USAGE, Notice, TokenUsage
from polywire.translation.counts import count_of
from polywire_openai.fields import merged

__all__ = ["decode_usage", "encode_usage", "find_usage", "has_input_count", "merge_usage", "usage_details"]

_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
_CACHE_WRITE = ("cache_write_tokens", "cache_creation_input_tokens")
_REASONING = ("reasoning_tokens",)
_TYPED = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})
_TYPED_PARTS = {
    "prompt_tokens_details": frozenset({"cached_tokens", "cache_write_tokens"}),
    "completion_tokens_details": frozenset({"reasoning_tokens"}),
}


def find_usage(payload: Mapping[str, Any], choice: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the usage object of a body or chunk: at its top, inside its choice, or in `x_groq`; without any number, `None`."""
    found = payload.get("usage")
    if found is None and "x_groq" not in payload and (choice is None or "usage" not in choice):
        return None
    if not isinstance(found, Mapping):
        found = choice.get("usage") if choice is not None else None
    if not isinstance(found, Mapping):
        groq = payload.get("x_groq")
        found = groq.get("usage") if isinstance(groq, Mapping) else None
    if not isinstance(found, Mapping) or all(value is None for value in found.values()):
        return None
    return found


def has_input_count(usage: Mapping[str, Any]) -> bool:
    """Whether a usage object tells of tokens that were read."""
    return any(usage.get(name) for name in _INPUT)


def merge_usage(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """
    Lay a later running count over an earlier one; a total that was not repeated is no longer right.

    Counts that are all 0 after others were not are no news: what has been read and written does not go away.
    """
    if not any(new.get(name) for name in (*_INPUT, *_OUTPUT)) and any(old.get(name) for name in (*_INPUT, *_OUTPUT)):
        return dict(old)
    kept = {key: value for key, value in old.items() if key != "total_tokens"}
    return merged(kept, new)  # type: ignore[no-any-return]


def _first(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> int | None:
    for place in places:
        for name in names:
            if (count := count_of(place.get(name))) is not None:
                return count
    return None


def _details(usage: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    for name in names:
        if isinstance(details := usage.get(name), Mapping):
            return details
    return {}


def decode_usage(usage: Mapping[str, Any] | None) -> TokenUsage:
    """Read a usage object; a number that is missing, null or no number stays unknown."""
    if not usage:
        return NO_USAGE
    prompt = (_details(usage, _INPUT_DETAILS), usage)
    completion = (_details(usage, _OUTPUT_DETAILS), usage)
    input_tokens, output_tokens = _first((usage,), _INPUT), _first((usage,), _OUTPUT)
    total, reasoning = count_of(usage.get("total_tokens")), _first(completion, _REASONING)
    cached, written = _first(prompt, _CACHED), _first(prompt, _CACHE_WRITE)
    if reasoning and (
        (total is not None and total == (input_tokens or 0) + (output_tokens or 0) + reasoning)
        or (output_tokens is not None and reasoning > output_tokens)
    ):
        # Some endpoints count reasoning beside the completion; their own total tells, or that a part is more than all.
        output_tokens = (output_tokens or 0) + reasoning
    if cached and input_tokens is not None and cached > input_tokens:
        # And some count what was cached beside the prompt.
        input_tokens += cached + (written or 0)
    if total is not None and total < max(input_tokens or 0, output_tokens or 0):
        total = None
    return TokenUsage(input_tokens, output_tokens, total, cached, written, reasoning)


def usage_details(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the canonical numbers do not say: audio and image tokens, costs, times."""
    details: dict[str, Any] = {}
    for key, value in (usage or {}).items():
        if value is None or key in _TYPED:
            continue
        if key in _TYPED_PARTS and isinstance(value, Mapping):
            value = {name: part for name, part in value.items() if name not in _TYPED_PARTS[key] and part is not None}
            if not value:
                continue
        details[key] = value
    return details


def encode_usage(
    usage: TokenUsage, details: Mapping[str, Any] | None = None, notices: list[Notice] | None = None
) -> dict[str, Any] | None:
    """Write a usage object; `None` where nothing is known. The wire demands all three counts: an unknown one is 0."""
    if not usage:
        return None
    counts = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    if notices is not None and None in counts:
        notices.append(Notice("information", "usage", "the wire demands token counts; unknown ones are written as 0"))
    written: dict[str, Any] = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), counts, strict=True))
    written = {key: count or 0 for key, count in written.items()}
    prompt = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens}
    completion = {"reasoning_tokens": usage.reasoning_tokens}
    for key, parts in (("prompt_tokens_details", prompt), ("completion_tokens_details", completion)):
        if known := {name: count for name, count in parts.items() if count is not None}:
            written[key] = known
    return merged(written, details) if details else written
