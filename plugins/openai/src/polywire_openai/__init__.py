"""
OpenAI's wire for polywire: a codec for the service and all that speak it, and the models' profiles.

The names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polywire_openai.codec import OpenAIChatCodec as OpenAIChatCodec
    from polywire_openai.embeddings import OpenAIEmbeddingCodec as OpenAIEmbeddingCodec
    from polywire_openai.media import OpenAIImageCodec as OpenAIImageCodec, OpenAISpeechCodec as OpenAISpeechCodec
    from polywire_openai.profiles import (
        COMPATIBLE as COMPATIBLE,
        COMPATIBLE_PROFILES as COMPATIBLE_PROFILES,
        OPENAI as OPENAI,
        OPENAI_PROFILES as OPENAI_PROFILES,
    )
    from polywire_openai.responses import (
        RESPONSES_PROFILES as RESPONSES_PROFILES,
        OpenAIResponsesCodec as OpenAIResponsesCodec,
        OpenAIResponsesWire as OpenAIResponsesWire,
    )
    from polywire_openai.wire import OpenAIWire as OpenAIWire

_HOMES = {
    "COMPATIBLE": "profiles",
    "COMPATIBLE_PROFILES": "profiles",
    "OPENAI": "profiles",
    "OPENAI_PROFILES": "profiles",
    "OpenAIChatCodec": "codec",
    "OpenAIEmbeddingCodec": "embeddings",
    "OpenAIImageCodec": "media",
    "OpenAISpeechCodec": "media",
    "OpenAIResponsesCodec": "responses",
    "OpenAIResponsesWire": "responses",
    "OpenAIWire": "wire",
    "RESPONSES_PROFILES": "responses",
}

__all__ = [
    "COMPATIBLE",
    "COMPATIBLE_PROFILES",
    "OPENAI",
    "OPENAI_PROFILES",
    "RESPONSES_PROFILES",
    "OpenAIChatCodec",
    "OpenAIEmbeddingCodec",
    "OpenAIImageCodec",
    "OpenAIResponsesCodec",
    "OpenAIResponsesWire",
    "OpenAISpeechCodec",
    "OpenAIWire",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
