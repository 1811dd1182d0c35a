"""From a row to a provider: one function builds the models of all of them."""

from __future__ import annotations

from functools import partial

from pydantic import Field, SecretStr

from polywire.auth import BearerAuth
from polywire.codec import Auth
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_compatible.rows import ROWS, Row
from polywire_openai import OpenAIChatCodec, OpenAIWire

__all__ = ["CompatibleSettings", "DeploymentSettings", "polywire_provider"]


class CompatibleSettings(ProviderSettings):
    """The table of a connection to a service or server that speaks Chat Completions."""


class DeploymentSettings(CompatibleSettings):
    """The same for a resource with deployments."""

    api_version: str | None = Field(
        None, description="the older address of a deployment, with this api-version; left out: the v1 address"
    )
    access_token: SecretStr | None = Field(
        None, description="a Microsoft Entra token, sent as Authorization: Bearer instead of the key"
    )


def _auth(row: Row, context: BuildContext) -> Auth:
    token = getattr(context.settings, "access_token", None)
    if token is not None and token.get_secret_value().strip():
        return BearerAuth(token)
    return context.header_auth(row.key_header) if row.key_header else context.bearer_auth()


def build_chat(row: Row, context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = row.profiles()
    if context.profile:
        profiles = profiles.overridden(context.profile)
    path = row.path
    version = getattr(context.settings, "api_version", None)
    if version and row.deployment_path:
        path = f"{row.deployment_path}?api-version={version}"
    codec = OpenAIChatCodec(profiles, path=path)
    return context.http_chat_model(codec, auth=_auth(row, context), base_url=row.base_url, profiles=profiles)


def _requires_key(row: Row, settings: CompatibleSettings) -> bool:
    return row.key_required and getattr(settings, "access_token", None) is None


def _provider(row: Row) -> Provider:
    variables = {}
    if row.key:
        variables["api_key"] = row.key
    if row.url:
        variables["base_url"] = row.url
    if row.deployment_path:
        variables |= {"api_version": ("OPENAI_API_VERSION",), "access_token": ("AZURE_OPENAI_AD_TOKEN",)}
    return Provider(
        name=row.name,
        summary=row.summary,
        settings=DeploymentSettings if row.deployment_path else CompatibleSettings,
        build_chat=partial(build_chat, row),
        wires=lambda: (OpenAIWire(row.profiles()),),
        profiles=row.profiles,
        variables=variables,
        requires_key=partial(_requires_key, row),
    )


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name of every row."""
    return _provider(ROWS[name]) if name in ROWS else None
