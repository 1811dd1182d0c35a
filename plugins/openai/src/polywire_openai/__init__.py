"""OpenAI Chat Completions for polywire: a codec for the service and all that speak its wire, and the models' profiles."""

from __future__ import annotations

from polywire_openai.codec import OpenAIChatCodec
from polywire_openai.embeddings import OpenAIEmbeddingCodec
from polywire_openai.media import OpenAIImageCodec, OpenAISpeechCodec
from polywire_openai.profiles import COMPATIBLE, COMPATIBLE_PROFILES, OPENAI, OPENAI_PROFILES
from polywire_openai.wire import OpenAIWire

__all__ = [
    "COMPATIBLE",
    "COMPATIBLE_PROFILES",
    "OPENAI",
    "OPENAI_PROFILES",
    "OpenAIChatCodec",
    "OpenAIEmbeddingCodec",
    "OpenAIImageCodec",
    "OpenAISpeechCodec",
    "OpenAIWire",
]
