"""Google Gemini for polywire: `generateContent`, `streamGenerateContent` and `batchEmbedContents`."""

from polywire_gemini.codec import GeminiCodec
from polywire_gemini.embeddings import GeminiEmbeddingCodec
from polywire_gemini.profiles import PROFILES
from polywire_gemini.wire import GeminiWire

__all__ = ["PROFILES", "GeminiCodec", "GeminiEmbeddingCodec", "GeminiWire"]
