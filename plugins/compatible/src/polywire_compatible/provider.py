"""From a row to a provider: one function builds the models of all of them."""

from __future__ import annotations

from functools import partial

from pydantic import Field

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


def build_chat(row: Row, context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = row.profiles()
    if context.profile:
        profiles = profiles.overridden(context.profile)
    path = row.path
    version = getattr(context.settings, "api_version", None)
    if version:
        path = f"openai/deployments/{context.model}/chat/completions?api-version={version}"
    auth = context.header_auth(row.key_header) if row.key_header else context.bearer_auth()
    return context.http_chat_model(
        OpenAIChatCodec(profiles, path=path), auth=auth, base_url=row.base_url, profiles=profiles
    )


def _provider(row: Row) -> Provider:
    variables = {}
    if row.key:
        variables["api_key"] = row.key
    if row.url:
        variables["base_url"] = row.url
    return Provider(
        name=row.name,
        summary=row.summary,
        settings=DeploymentSettings if row.key_header else CompatibleSettings,
        build_chat=partial(build_chat, row),
        wires=lambda: (OpenAIWire(),),
        profiles=row.profiles,
        variables=variables,
        requires_key=row.key_required,
    )


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name of every row."""
    return _provider(ROWS[name]) if name in ROWS else None
