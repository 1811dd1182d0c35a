"""The provider `gemini`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from polywire.auth import BearerAuth
from polywire.codec import Auth
from polywire.embeddings import EmbeddingModel
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_gemini.codec import GeminiCodec
from polywire_gemini.embeddings import GeminiEmbeddingCodec, VertexEmbeddingCodec
from polywire_gemini.profiles import PROFILES
from polywire_gemini.wire import GeminiWire

__all__ = ["PROVIDER", "GeminiSettings", "polywire_provider"]

# `v1` is the SDK's default by now; `v1beta` knows the newest fields.
DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com/v1beta"


_VERTEX_HOST = "aiplatform.googleapis.com"


class GeminiSettings(ProviderSettings):
    """The table of a connection to the Gemini API, to Vertex AI, or to a gateway that speaks like one of them."""

    access_token: SecretStr | None = Field(
        None,
        description="an OAuth token, or a gateway's key, sent as Authorization: Bearer instead of the key's header",
    )
    endpoint: Literal["gemini", "vertex"] | None = Field(
        None, description="whose rules hold; left out: Vertex AI's on its own hosts, else the Gemini API's"
    )


def is_vertex(settings: GeminiSettings) -> bool:
    """Whether the connection's rules are those of Vertex AI."""
    if settings.endpoint is not None:
        return settings.endpoint == "vertex"
    host = urlsplit(settings.base_url or "").hostname or ""
    return host == _VERTEX_HOST or host.endswith((f".{_VERTEX_HOST}", f"-{_VERTEX_HOST}"))


def _auth(context: BuildContext) -> Auth:
    token = context.settings.access_token
    if token is not None and token.get_secret_value().strip():
        return BearerAuth(token)
    # The key travels in a header, never in the address: addresses end up in logs.
    return context.header_auth("x-goog-api-key")


def _requires_key(settings: GeminiSettings) -> bool:
    return settings.base_url is None and settings.access_token is None


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = PROFILES.overridden(context.profile) if context.profile else PROFILES
    return context.http_chat_model(
        GeminiCodec(profiles), auth=_auth(context), base_url=DEFAULT_BASE_URL, profiles=profiles
    )


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    codec = VertexEmbeddingCodec() if is_vertex(context.settings) else GeminiEmbeddingCodec()
    return context.http_embedding_model(codec, auth=_auth(context), base_url=DEFAULT_BASE_URL)


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
    requires_key=_requires_key,
    own_addresses=(DEFAULT_BASE_URL, f"https://{_VERTEX_HOST}", f"https://*-{_VERTEX_HOST}"),
    requires_model=True,
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `gemini`."""
    return PROVIDER if name == PROVIDER.name else None
