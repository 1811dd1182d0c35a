"""The provider `gemini`: its settings, and how a model is built of them."""

from __future__ import annotations

from polywire.embeddings import EmbeddingModel
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_gemini.codec import GeminiCodec
from polywire_gemini.embeddings import GeminiEmbeddingCodec
from polywire_gemini.profiles import PROFILES
from polywire_gemini.wire import GeminiWire

__all__ = ["PROVIDER", "GeminiSettings", "polywire_provider"]

# `v1` is the SDK's default by now; `v1beta` knows the newest fields.
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"


class GeminiSettings(ProviderSettings):
    """The table of a Gemini connection; it has no keys of its own."""


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = PROFILES.overridden(context.profile) if context.profile else PROFILES
    # The key travels in a header, never in the address: addresses end up in logs.
    auth = context.header_auth("x-goog-api-key")
    return context.http_chat_model(GeminiCodec(profiles), auth=auth, base_url=DEFAULT_BASE_URL, profiles=profiles)


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    auth = context.header_auth("x-goog-api-key")
    return context.http_embedding_model(GeminiEmbeddingCodec(), auth=auth, base_url=DEFAULT_BASE_URL)


PROVIDER = Provider(
    name="gemini",
    summary="Google Gemini: generateContent",
    settings=GeminiSettings,
    build_chat=build_chat,
    build_embedding=build_embedding,
    wires=lambda: (GeminiWire(),),
    profiles=PROFILES,
    # In this order, as the vendor's own SDK reads them.
    variables={"api_key": ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "base_url": ("GOOGLE_GEMINI_BASE_URL",)},
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `gemini`."""
    return PROVIDER if name == PROVIDER.name else None
