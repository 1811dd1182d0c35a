"""The provider `ollama`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from polywire.embeddings import EmbeddingModel
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_ollama.codec import OllamaCodec
from polywire_ollama.embeddings import OllamaEmbeddingCodec
from polywire_ollama.profiles import PROFILES
from polywire_ollama.wire import OllamaWire

__all__ = ["PROVIDER", "OllamaSettings", "polywire_provider"]

DEFAULT_BASE_URL = "http://localhost:11434"


def _address(value: object) -> object:
    """Complete an address as the server's own `OLLAMA_HOST` has it: scheme and port may be missing."""
    if not isinstance(value, str) or "://" in value:
        return value
    host = value.strip().replace("0.0.0.0", "127.0.0.1")
    return f"http://{host}" if ":" in host else f"http://{host}:11434"


class OllamaSettings(ProviderSettings):
    """The table of an Ollama connection. `base_url` may leave out scheme and port, as `OLLAMA_HOST` does."""

    base_url: Annotated[str | None, BeforeValidator(_address)] = None


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = PROFILES.overridden(context.profile) if context.profile else PROFILES
    return context.http_chat_model(
        OllamaCodec(profiles), auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL, profiles=profiles
    )


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    return context.http_embedding_model(OllamaEmbeddingCodec(), auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL)


PROVIDER = Provider(
    name="ollama",
    summary="Ollama: /api/chat, on this machine or in its cloud",
    settings=OllamaSettings,
    build_chat=build_chat,
    build_embedding=build_embedding,
    wires=lambda: (OllamaWire(),),
    profiles=PROFILES,
    variables={"api_key": ("OLLAMA_API_KEY",), "base_url": ("OLLAMA_HOST",)},
    # A server on this machine asks for none; the cloud says so itself.
    requires_key=False,
    own_addresses=(DEFAULT_BASE_URL, "https://ollama.com"),
    requires_model=True,
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `ollama`."""
    return PROVIDER if name == PROVIDER.name else None
