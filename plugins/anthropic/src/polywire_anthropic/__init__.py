"""The Anthropic Messages API for polywire."""

from __future__ import annotations

from polywire_anthropic.codec import AnthropicCodec as AnthropicCodec
from polywire_anthropic.profiles import (
    ANTHROPIC_PROFILES as ANTHROPIC_PROFILES,
    anthropic_profiles as anthropic_profiles,
)

__all__ = ["ANTHROPIC_PROFILES", "AnthropicCodec", "anthropic_profiles"]
