"""The provider `anthropic`: its settings, and how a model is built of them."""

from __future__ import annotations

from typing import Literal

from polywire.auth import BearerAuth, HeaderAuth, NoAuth
from polywire.codec import Auth
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_anthropic.codec import AnthropicCodec
from polywire_anthropic.profiles import CURRENT_VERSION, anthropic_profiles

__all__ = ["PROVIDER", "AnthropicSettings", "polywire_provider"]

DEFAULT_BASE_URL = "https://api.anthropic.com"


class AnthropicSettings(ProviderSettings):
    """
    The table of an Anthropic connection.

    Attributes:
        version: the `anthropic-version` header.
        betas: what the `anthropic-beta` header names.
        key_header: how the key is sent: as `x-api-key`, or as `Authorization: Bearer` (`"bearer"`), which OAuth tokens
            need.
    """

    version: str = CURRENT_VERSION
    betas: tuple[str, ...] = ()
    key_header: Literal["x-api-key", "bearer"] = "x-api-key"


def _auth(settings: AnthropicSettings) -> Auth:
    if not settings.api_key:
        return NoAuth()
    if settings.key_header == "bearer":
        return BearerAuth(settings.api_key)
    return HeaderAuth("x-api-key", settings.api_key)


def build_chat(context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    settings = context.settings
    assert isinstance(settings, AnthropicSettings)
    profiles = anthropic_profiles(settings.version)
    if context.profile:
        profiles = profiles.overridden(context.profile)
    codec = AnthropicCodec(version=settings.version, betas=settings.betas, profiles=profiles)
    return context.http_chat_model(
        codec, auth=_auth(settings), base_url=settings.base_url or DEFAULT_BASE_URL, profiles=profiles
    )


PROVIDER = Provider(
    name="anthropic",
    summary="Anthropic: the Messages API (Claude)",
    settings=AnthropicSettings,
    build_chat=build_chat,
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `anthropic`."""
    return PROVIDER if name == PROVIDER.name else None
