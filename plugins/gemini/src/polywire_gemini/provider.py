"""The provider `gemini`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from polywire.auth import BearerAuth, Secret
from polywire.codec import Auth
from polywire.models import ChatModel
from polywire.plugins import BuildContext, PlainProviderSettings, Provider, hookimpl
from polywire_gemini.codec import GeminiCodec
from polywire_gemini.profiles import PROFILES

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire.embeddings import EmbeddingModel
    from polywire_gemini.settings import GeminiSettings

__all__ = ["PROVIDER", "GeminiSettings", "polywire_provider"]

# `v1` is the SDK's default by now; `v1beta` knows the newest fields.
_USUAL_VERSION = "v1beta"
DEFAULT_BASE_URL = f"https://generativelanguage.googleapis.com/{_USUAL_VERSION}"


_VERTEX_HOST = "aiplatform.googleapis.com"


class PlainGeminiSettings(PlainProviderSettings, frozen=True):
    """`GeminiSettings`, where a table says plain things."""

    access_token: Secret | None = None
    endpoint: Literal["gemini", "vertex"] | None = None


def _settings() -> type[GeminiSettings]:
    from polywire_gemini.settings import GeminiSettings

    return GeminiSettings


def is_vertex(settings: GeminiSettings) -> bool:
    """Whether the connection's rules are those of Vertex AI."""
    if settings.endpoint is not None:
        return settings.endpoint == "vertex"
    host = urlsplit(settings.base_url or "").hostname or ""
    return host == _VERTEX_HOST or host.endswith((f".{_VERTEX_HOST}", f"-{_VERTEX_HOST}"))


def _version(settings: GeminiSettings) -> str:
    """What is missing of an address that is a host alone: the API's version, which the vendor's own SDK adds too."""
    address = settings.base_url
    if address is None or urlsplit(address).path.strip("/") or is_vertex(settings):
        return ""
    return f"{_USUAL_VERSION}/"


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
        GeminiCodec(profiles, path=_version(context.settings)),
        auth=_auth(context),
        base_url=DEFAULT_BASE_URL,
        profiles=profiles,
    )


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    from polywire_gemini.embeddings import GeminiEmbeddingCodec, VertexEmbeddingCodec

    settings = context.settings
    codec = VertexEmbeddingCodec() if is_vertex(settings) else GeminiEmbeddingCodec(path=_version(settings))
    return context.http_embedding_model(codec, auth=_auth(context), base_url=DEFAULT_BASE_URL)


def wires() -> tuple[Wire, ...]:
    """Return the dialect, for conversion."""
    from polywire_gemini.wire import GeminiWire

    return (GeminiWire(),)


PROVIDER = Provider(
    name="gemini",
    summary="Google Gemini: generateContent",
    settings=_settings,
    plain_settings=PlainGeminiSettings,
    build_chat=build_chat,
    build_embedding=build_embedding,
    wires=wires,
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


def __getattr__(name: str) -> Any:
    if name == "GeminiSettings":
        return _settings()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
