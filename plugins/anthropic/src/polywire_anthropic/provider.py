"""The provider `anthropic`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from polywire.auth import BearerAuth
from polywire.codec import Auth
from polywire.models import ChatModel
from polywire.plugins import BuildContext, PlainProviderSettings, Provider, hookimpl
from polywire.plugins.plain import Key
from polywire_anthropic.codec import AnthropicCodec
from polywire_anthropic.profiles import ANTHROPIC_PROFILES, CURRENT_VERSION, anthropic_profiles

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire_anthropic.settings import AnthropicSettings

__all__ = ["DEFAULT_BASE_URL", "PROVIDER", "AnthropicSettings", "polywire_provider"]

DEFAULT_BASE_URL = "https://api.anthropic.com"


class PlainAnthropicSettings(PlainProviderSettings, frozen=True):
    """`AnthropicSettings`, where a table says plain things."""

    version: Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")] = CURRENT_VERSION
    betas: tuple[str, ...] = ()
    key_header: Literal["x-api-key", "bearer"] = "x-api-key"
    auth_token: Key | None = None


def _settings() -> type[AnthropicSettings]:
    from polywire_anthropic.settings import AnthropicSettings

    return AnthropicSettings


def _auth(context: BuildContext, settings: AnthropicSettings) -> Auth:
    if settings.api_key is None and settings.auth_token is not None:
        return BearerAuth(settings.auth_token)
    return context.bearer_auth() if settings.key_header == "bearer" else context.header_auth("x-api-key")


def _requires_key(settings: AnthropicSettings) -> bool:
    return settings.auth_token is None and settings.base_url is None


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    settings: AnthropicSettings = context.settings
    profiles = anthropic_profiles(settings.version)
    if context.profile:
        profiles = profiles.overridden(context.profile)
    codec = AnthropicCodec(version=settings.version, betas=settings.betas, profiles=profiles)
    return context.http_chat_model(codec, auth=_auth(context, settings), base_url=DEFAULT_BASE_URL, profiles=profiles)


def wires() -> tuple[Wire, ...]:
    """Return the dialect, for conversion."""
    from polywire_anthropic.wire import AnthropicWire

    return (AnthropicWire(),)


PROVIDER = Provider(
    name="anthropic",
    summary="Anthropic: the Messages API (Claude), and endpoints that speak it",
    settings=_settings,
    plain_settings=PlainAnthropicSettings,
    build_chat=build_chat,
    wires=wires,
    profiles=ANTHROPIC_PROFILES,
    variables={
        "api_key": ("ANTHROPIC_API_KEY",),
        "auth_token": ("ANTHROPIC_AUTH_TOKEN",),
        "base_url": ("ANTHROPIC_BASE_URL",),
    },
    requires_key=_requires_key,
    own_addresses=(DEFAULT_BASE_URL,),
    requires_model=True,
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `anthropic`."""
    return PROVIDER if name == PROVIDER.name else None


def __getattr__(name: str) -> Any:
    if name == "AnthropicSettings":
        return _settings()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
