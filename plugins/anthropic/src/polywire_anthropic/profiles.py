"""
What Claude models and the Messages API can do, as rows with a source and a date.

The rows are those of API version 2023-06-01; what a later version changed for every model stands in `VERSION_RULES`
and is laid on top. A model that no row knows has the base: the current forms.

Words of this codec in `quirks`:
    minimum_thinking_budget: the least `budget_tokens`.
    thinking_budgets: the budget that stands for an effort where a model counts instead of grading.
    thinking_off: the form that asks for no thinking, where it is not `disabled`.
    unsigned_thinking: may thinking without a signature be sent? Endpoints that only look like Anthropic's give none.
    blank_text: may a text block be white space alone?
    assistant_documents: may a document stand directly in an assistant's message?
    user_citations: may a user's text carry citations?
    cache_minimum_tokens: prefixes shorter than this are not cached, and nobody says so.
    as_read: write a field that was read from this wire exactly as it came, as long as the typed value still says the
        same. For conversions, never for calls.
"""

from __future__ import annotations

from functools import lru_cache

from polywire.profiles import Profile, ProfileRule, ProfileTable

__all__ = ["ANTHROPIC_PROFILES", "CURRENT_VERSION", "VERSION_RULES", "anthropic_profiles"]

CURRENT_VERSION = "2026-10-21"
"""The `anthropic-version` that is sent where the settings name none."""

_SOURCE = "platform.claude.com/docs and the types of the anthropic package 2.15.0"
_NOTES = "platform.claude.com/docs, notes of 2026-07-01"
_READ = "2026-11-30"
_MODELS = "platform.claude.com/docs/en/models"
_CACHING = "platform.claude.com/docs/en/build-with-claude/prompt-caching, as quoted by others; 5.1 and 5.5 not found"
_FOUND = "2026-12-02"

BASE = Profile(
    # The documented length is 128 since 2025; 64, the older one, is taken everywhere.
    tool_name_pattern=r"[A-Za-z0-9_-]+",
    tool_name_length=64,
    tool_id_pattern=r"[A-Za-z0-9_-]+",
    tool_ids_unique="conversation",
    schema_dialect="anthropic",
    strict_schema_dialect="anthropic_strict",
    tool_result_images=True,
    system_in_place=False,
    alternating_roles=True,
    prefill=True,
    user_name=False,
    reasoning_field="thinking",
    reasoning_echo="always",
    reasoning_parameter="adaptive",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    effort_names={"minimal": "low"},
    sampling=frozenset({"temperature", "top_p", "stop_sequences"}),
    default_max_tokens=8192,
    blank_stop_sequences=False,
    response_formats=frozenset({"json_schema"}),
    cache_marks=4,
    image_sources=frozenset({"data", "url", "file_id"}),
    document_sources=frozenset({"data", "url", "file_id"}),
    quirks={
        "minimum_thinking_budget": 1024,
        "thinking_budgets": {
            "minimal": 1024,
            "low": 2048,
            "medium": 8192,
            "high": 16384,
            "xhigh": 24576,
            "max": 32768,
        },
        "unsigned_thinking": False,
        "blank_text": False,
        "assistant_documents": True,
        "user_citations": True,
        "as_read": False,
    },
)

_COUNTING = {
    "reasoning_parameter": "budget",
    "efforts": ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    "default_max_tokens": 16000,
}
_GRADING = {
    "reasoning_parameter": "adaptive",
    "efforts": ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    "sampling": ["stop_sequences"],
    "prefill": False,
    "default_max_tokens": 16000,
}

_RULES = (
    ProfileRule(
        "*claude-2*|*claude-instant*|*claude-3-opus*|*claude-3-sonnet*|*claude-3-haiku*",
        {"reasoning_parameter": None, "efforts": [], "default_max_tokens": 4096},
        "platform.claude.com/docs: models overview",
        _READ,
    ),
    ProfileRule(
        "*claude-3-5*|*claude-3.5*",
        {"reasoning_parameter": None, "efforts": [], "default_max_tokens": 8192},
        "platform.claude.com/docs: models overview",
        _READ,
    ),
    ProfileRule(
        "*claude-3-7*|*claude-3.7*|*claude-opus-4*|*claude-sonnet-4*|*claude-haiku-4*",
        _COUNTING,
        f"{_NOTES}: thinking has the form enabled with budget_tokens up to 4.5, and effort is an error",
        _READ,
    ),
    ProfileRule(
        "*claude-opus-4-6*|*claude-sonnet-4-6*|*claude-opus-4.6*|*claude-sonnet-4.6*",
        {
            "reasoning_parameter": "adaptive_or_budget",
            "efforts": ["none", "minimal", "low", "medium", "high", "max"],
            "prefill": False,
        },
        f"{_NOTES}: adaptive thinking from 4.6, the budget is deprecated and works; xhigh only from 4.7; no prefill",
        _READ,
    ),
    ProfileRule(
        "*claude-opus-4-7*|*claude-opus-4-8*|*claude-opus-4.7*|*claude-opus-4.8*",
        _GRADING,
        f"{_NOTES}: from 4.7 a budget, temperature, top_p and top_k are errors",
        _READ,
    ),
    ProfileRule(
        "*claude-sonnet-5*|*claude-haiku-5*|*claude-opus-5*",
        _GRADING,
        f"{_MODELS}/opus-5/migration-guide and /haiku-5-5/whats-new-haiku-5-5: budgets, sampling and prefill are errors; "
        "they think unless disabled, which is taken up to the effort high",
        _FOUND,
    ),
    ProfileRule(
        "*claude-fable-5*|*claude-mythos-5*|*claude-opus-5-5*|*claude-opus-5.5*",
        {**_GRADING, "efforts": ["minimal", "low", "medium", "high", "xhigh", "max"]},
        f"{_NOTES}, and {_MODELS}/opus-5-5/whats-new-opus-5-5: thinking is always on, and disabled is an error",
        _FOUND,
    ),
    ProfileRule(
        "*claude-opus-5-5*|*claude-opus-5.5*|*claude-sonnet-5-5*|*claude-sonnet-5.5*"
        "|*claude-fable-5-1*|*claude-fable-5.1*|*claude-mythos-5-1*|*claude-mythos-5.1*",
        {"tool_choices": ["auto", "none"]},
        f"{_MODELS}/opus-5-5/whats-new-opus-5-5 (which says it of Fable 5.1 too) and "
        "/sonnet-5-5/whats-new-sonnet-5-5: forced tool use is an error",
        _FOUND,
    ),
    ProfileRule(
        "*claude-sonnet-5-5*|*claude-sonnet-5.5*",
        {"quirks": {"thinking_off": "between_tools"}},
        f"{_MODELS}/sonnet-5-5/whats-new-sonnet-5-5: disabled is an error that names between_tools instead",
        _FOUND,
    ),
    ProfileRule(
        "*claude-opus-4-5*|*claude-opus-4-6*|*claude-haiku-4-5*",
        {"quirks": {"cache_minimum_tokens": 4096}},
        _CACHING,
        _FOUND,
    ),
    ProfileRule(
        "*claude-opus-4-7*|*claude-3-haiku*|*claude-3-5-haiku*",
        {"quirks": {"cache_minimum_tokens": 2048}},
        _CACHING,
        _FOUND,
    ),
    ProfileRule(
        "*claude-opus-4-8*|*claude-opus-4-1*|*claude-opus-4-2*|*claude-sonnet-5|*claude-sonnet-4*"
        "|*claude-3-opus*|*claude-3-5-sonnet*|*claude-3-7-sonnet*",
        {"quirks": {"cache_minimum_tokens": 1024}},
        _CACHING,
        _FOUND,
    ),
    ProfileRule(
        "*claude-opus-5|*claude-fable-5|*claude-mythos-5",
        {"quirks": {"cache_minimum_tokens": 512}},
        _CACHING,
        _FOUND,
    ),
)

VERSION_RULES: tuple[tuple[str, ProfileRule], ...] = (
    (
        "2026-10-21",
        ProfileRule(
            "*",
            {
                "sampling": ["stop_sequences"],
                "quirks": {"assistant_documents": False, "user_citations": False},
            },
            "platform.claude.com/docs: migration to 2026-10-21",
            _READ,
        ),
    ),
)
"""What an API version, and every later one, changed for all models."""


@lru_cache(maxsize=16)
def anthropic_profiles(version: str = CURRENT_VERSION) -> ProfileTable:
    """Return the profiles under one `anthropic-version` (`"2026-10-21"`; versions are dates and compare as text)."""
    later = tuple(rule for since, rule in VERSION_RULES if version >= since)
    return ProfileTable(BASE, _RULES + later, _SOURCE, _READ)


ANTHROPIC_PROFILES = anthropic_profiles()
"""The profiles under the current version."""
