"""Ollama's native API for polywire: `/api/chat` and `/api/embed`."""

from polywire_ollama.codec import OllamaCodec
from polywire_ollama.embeddings import OllamaEmbeddingCodec
from polywire_ollama.profiles import PROFILES
from polywire_ollama.wire import OllamaWire

__all__ = ["PROFILES", "OllamaCodec", "OllamaEmbeddingCodec", "OllamaWire"]
