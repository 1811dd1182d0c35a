"""What a model inside this process can do."""

from __future__ import annotations

from polywire.profiles import ProfileTable
from polywire_openai import COMPATIBLE

__all__ = ["LOCAL_PROFILES"]

LOCAL_PROFILES = ProfileTable(
    COMPATIBLE.changed(
        {
            # A tool that is named is "auto" to llama.cpp; to offer that one alone says what is meant.
            "reasoning_parameter": None,
            "efforts": (),
            "image_sources": frozenset(),
            "audio_sources": frozenset(),
            "document_sources": frozenset(),
            "quirks": {"named_tool_choice": "narrow"},
        }
    ),
    (),
    "llama.cpp in xllamacpp 2026.10, tried",
    "2026-12-02",
)
"""llama.cpp's Chat Completions, with a model of text alone. Settings say more of a model that can do more (`profile`)."""
