"""The provider `anthropic`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from polywire.auth import BearerAuth
from polywire.codec import Auth, Wire
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_anthropic.codec import AnthropicCodec
from polywire_anthropic.profiles import ANTHROPIC_PROFILES, CURRENT_VERSION, anthropic_profiles
from polywire_anthropic.wire import AnthropicWire

__all__ = ["DEFAULT_BASE_URL", "PROVIDER", "AnthropicSettings", "polywire_provider"]

DEFAULT_BASE_URL = "https://api.anthropic.com"


def _blank_is_unset(value: object) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    return None if isinstance(text, str) and not text.strip() else value


class AnthropicSettings(ProviderSettings):
    """The table of an Anthropic connection, or of an endpoint that speaks the Messages API."""

    version: str = Field(
        CURRENT_VERSION,
        pattern=r"\d{4}-\d{2}-\d{2}",
        description="the anthropic-version header; what is sent goes by it",
    )
    betas: tuple[str, ...] = Field((), description="what the anthropic-beta header names")
    key_header: Literal["x-api-key", "bearer"] = Field(
        "x-api-key", description="how api_key is sent: in x-api-key, or as Authorization: Bearer"
    )
    auth_token: Annotated[SecretStr | None, BeforeValidator(_blank_is_unset)] = Field(
        None, description="a token of OAuth or of a gateway, sent as Authorization: Bearer where there is no api_key"
    )


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
    return (AnthropicWire(),)


PROVIDER = Provider(
    name="anthropic",
    summary="Anthropic: the Messages API (Claude), and endpoints that speak it",
    settings=AnthropicSettings,
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
