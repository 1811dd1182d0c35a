"""OpenAI's Responses API: a codec, and its wire in both directions."""

from polywire_openai.responses.codec import OpenAIResponsesCodec
from polywire_openai.responses.profiles import RESPONSES_PROFILES
from polywire_openai.responses.wire import OpenAIResponsesWire

__all__ = ["RESPONSES_PROFILES", "OpenAIResponsesCodec", "OpenAIResponsesWire"]
