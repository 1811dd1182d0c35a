"""The provider `ollama`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polywire.models import ChatModel
from polywire.plugins import BuildContext, PlainProviderSettings, Provider, hookimpl
from polywire_ollama.codec import OllamaCodec
from polywire_ollama.profiles import PROFILES

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire.embeddings import EmbeddingModel
    from polywire_ollama.settings import OllamaSettings

__all__ = ["PROVIDER", "OllamaSettings", "polywire_provider"]

DEFAULT_BASE_URL = "http://localhost:11434"


def _settings() -> type[OllamaSettings]:
    from polywire_ollama.settings import OllamaSettings

    return OllamaSettings


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = PROFILES.overridden(context.profile) if context.profile else PROFILES
    return context.http_chat_model(
        OllamaCodec(profiles), auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL, profiles=profiles
    )


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    from polywire_ollama.embeddings import OllamaEmbeddingCodec

    return context.http_embedding_model(OllamaEmbeddingCodec(), auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL)


def wires() -> tuple[Wire, ...]:
    """Return the dialect, for conversion."""
    from polywire_ollama.wire import OllamaWire

    return (OllamaWire(),)


PROVIDER = Provider(
    name="ollama",
    summary="Ollama: /api/chat, on this machine or in its cloud",
    settings=_settings,
    plain_settings=PlainProviderSettings,
    build_chat=build_chat,
    build_embedding=build_embedding,
    wires=wires,
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


def __getattr__(name: str) -> Any:
    if name == "OllamaSettings":
        return _settings()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
