"""The Anthropic Messages API for polywire: a codec, a wire in both directions, and the models' profiles."""

from __future__ import annotations

from polywire_anthropic.codec import AnthropicCodec
from polywire_anthropic.profiles import ANTHROPIC_PROFILES, CURRENT_VERSION, anthropic_profiles
from polywire_anthropic.wire import AnthropicWire

__all__ = ["ANTHROPIC_PROFILES", "CURRENT_VERSION", "AnthropicCodec", "AnthropicWire", "anthropic_profiles"]
