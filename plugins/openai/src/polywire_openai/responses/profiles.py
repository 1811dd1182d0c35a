"""
What the models can do on this wire: OpenAI's own families, with the differences from Chat Completions.

The quirks of this wire:

    encrypted_reasoning  shall sealed reasoning be asked for (`include`)? default true, for models that reason
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.profiles import ProfileRule, ProfileTable
from polywire_openai.profiles import COMPATIBLE_PROFILES, OPENAI, OPENAI_PROFILES

__all__ = ["RESPONSES_COMPATIBLE_PROFILES", "RESPONSES_PROFILES"]

_DATE = "2026-12-02"
_REFERENCE = "openai 3.57.0 (types/responses) and OpenAI's OpenAPI description 2.3.0 of 2026-08-21"
_SAMPLING = frozenset({"temperature", "top_p"})
_SOURCES = frozenset({"data", "url", "file_id"})


def _changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule of Chat Completions says here: the limit has one name, and only two ways of sampling exist."""
    kept = {key: value for key, value in changes.items() if key not in {"max_tokens_field", "cache_marks"}}
    if "sampling" in kept:
        kept["sampling"] = frozenset(kept["sampling"]) & _SAMPLING
    return kept


def _rules(table: ProfileTable) -> tuple[ProfileRule, ...]:
    return tuple(
        ProfileRule(rule.models, changes, rule.source, rule.date)
        for rule in table.rules
        if (changes := _changes(rule.changes))
    )


_BASE = OPENAI.changed(
    {
        "tool_id_pattern": r"[\s\S]{1,64}",
        "tool_name_length": 128,
        "max_tokens_field": "max_output_tokens",
        "sampling": _SAMPLING,
        "tool_result_images": True,
        "user_name": False,
        "reasoning_echo": "always",
        "image_sources": _SOURCES,
        "document_sources": _SOURCES,
        # There is a type for sound, but not in the union of what a message may hold.
        "audio_sources": frozenset(),
        "audio_types": frozenset(),
    }
)

RESPONSES_PROFILES = ProfileTable(_BASE, _rules(OPENAI_PROFILES), _REFERENCE, _DATE)
"""The profiles of OpenAI's own service."""

RESPONSES_COMPATIBLE_PROFILES = ProfileTable(
    _BASE.changed({"strict_schema_dialect": None, "document_types": frozenset()}),
    _rules(COMPATIBLE_PROFILES),
    _REFERENCE,
    _DATE,
)
"""The profiles for any other endpoint that speaks this wire."""
