"""The provider `openai`: its settings, and how a model is built of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from polywire.models import ChatModel
from polywire.plugins import BuildContext, PlainProviderSettings, Provider, hookimpl
from polywire.profiles import ProfileTable
from polywire_openai.codec import OpenAIChatCodec
from polywire_openai.profiles import COMPATIBLE_PROFILES, OPENAI_PROFILES

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire.embeddings import EmbeddingModel
    from polywire.media_models import ImageModel, SpeechModel
    from polywire_openai.settings import OpenAISettings

# What only some models need is imported when one of them is built: it is a tenth of the time to a first answer.

__all__ = ["DEFAULT_BASE_URL", "PROVIDER", "RESPONSES", "OpenAISettings", "polywire_provider"]

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_OWN_HOST = "api.openai.com"


class PlainOpenAISettings(PlainProviderSettings, frozen=True):
    """`OpenAISettings`, where a table says plain things."""

    organization: str | None = None
    project: str | None = None
    api: Literal["chat", "responses"] | None = None
    endpoint: Literal["openai", "compatible"] | None = None


def _settings() -> type[OpenAISettings]:
    from polywire_openai.settings import OpenAISettings

    return OpenAISettings


def profiles_for(settings: OpenAISettings) -> ProfileTable:
    """Return the profiles that hold for a connection."""
    own = settings.endpoint == "openai" if settings.endpoint else _is_own_host(settings.base_url)
    return OPENAI_PROFILES if own else COMPATIBLE_PROFILES


def _is_own_host(base_url: str | None) -> bool:
    if not base_url:
        return True
    host = urlsplit(base_url).hostname or ""
    return host == _OWN_HOST or host.endswith(f".{_OWN_HOST}")


def _requires_key(settings: OpenAISettings) -> bool:
    return _is_own_host(settings.base_url)


def _headers(settings: OpenAISettings) -> dict[str, str]:
    headers = {"OpenAI-Organization": settings.organization, "OpenAI-Project": settings.project}
    return {name: value for name, value in headers.items() if value}


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    settings: OpenAISettings = context.settings
    if settings.api == "responses" or (settings.api is None and context.plugin == RESPONSES.name):
        return _build_responses(context)
    profiles = profiles_for(settings)
    if context.profile:
        profiles = profiles.overridden(context.profile)
    codec = OpenAIChatCodec(profiles, headers=_headers(settings))
    return context.http_chat_model(codec, auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL, profiles=profiles)


def _build_responses(context: BuildContext) -> ChatModel:
    from polywire_openai.responses import OpenAIResponsesCodec
    from polywire_openai.responses.profiles import RESPONSES_COMPATIBLE_PROFILES, RESPONSES_PROFILES

    settings: OpenAISettings = context.settings
    profiles = RESPONSES_PROFILES if profiles_for(settings) is OPENAI_PROFILES else RESPONSES_COMPATIBLE_PROFILES
    if context.profile:
        profiles = profiles.overridden(context.profile)
    codec = OpenAIResponsesCodec(profiles, headers=_headers(settings))
    return context.http_chat_model(codec, auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL, profiles=profiles)


def build_embedding(context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    from polywire_openai.embeddings import OpenAIEmbeddingCodec

    settings: OpenAISettings = context.settings
    # Not every compatible endpoint knows base64, and each has limits of its own.
    own = profiles_for(settings) is OPENAI_PROFILES
    codec = OpenAIEmbeddingCodec(encoding="base64" if own else None, headers=_headers(settings))
    return context.http_embedding_model(codec, auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL)


def build_image(context: BuildContext) -> ImageModel:
    """Build the model for pictures that a settings file names."""
    from polywire_openai.media import OpenAIImageCodec

    codec = OpenAIImageCodec(headers=_headers(context.settings))
    return context.http_image_model(codec, auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL)


def build_speech(context: BuildContext) -> SpeechModel:
    """Build the model that speaks, which a settings file names."""
    from polywire_openai.media import OpenAISpeechCodec

    codec = OpenAISpeechCodec(headers=_headers(context.settings))
    return context.http_speech_model(codec, auth=context.bearer_auth(), base_url=DEFAULT_BASE_URL)


def wires() -> tuple[Wire, ...]:
    """Return the dialects, for conversion."""
    from polywire_openai.responses import OpenAIResponsesWire
    from polywire_openai.wire import OpenAIWire

    return (OpenAIWire(), OpenAIResponsesWire())


def responses_profiles() -> ProfileTable:
    """Return the profiles of the Responses API."""
    from polywire_openai.responses import RESPONSES_PROFILES

    return RESPONSES_PROFILES


def _provider(name: str, summary: str, profiles: ProfileTable | Callable[[], ProfileTable]) -> Provider:
    return Provider(
        name=name,
        summary=summary,
        settings=_settings,
        plain_settings=PlainOpenAISettings,
        build_chat=build_chat,
        build_embedding=build_embedding,
        build_image=build_image,
        build_speech=build_speech,
        wires=wires,
        profiles=profiles,
        variables={
            "api_key": ("OPENAI_API_KEY",),
            "base_url": ("OPENAI_BASE_URL",),
            "organization": ("OPENAI_ORG_ID",),
            "project": ("OPENAI_PROJECT_ID",),
        },
        requires_key=_requires_key,
        own_addresses=(DEFAULT_BASE_URL,),
        requires_model=True,
    )


PROVIDER = _provider("openai", "OpenAI: Chat Completions, and any endpoint that speaks it", OPENAI_PROFILES)
RESPONSES = _provider("openai-responses", "OpenAI: the Responses API", responses_profiles)
"""The same connection under the name of the other API, which is then spoken where the settings name none."""


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the names `openai` and `openai-responses`."""
    return next((each for each in (PROVIDER, RESPONSES) if each.name == name), None)


def __getattr__(name: str) -> Any:
    if name == "OpenAISettings":
        return _settings()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
