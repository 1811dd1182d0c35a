"""From a row to a provider: one function builds the models of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from polywire.auth import BearerAuth, Secret
from polywire.codec import Auth
from polywire.models import ChatModel
from polywire.plugins import BuildContext, PlainProviderSettings, Provider, hookimpl
from polywire.plugins.plain import AtLeastOne
from polywire.profiles import ProfileTable
from polywire_compatible.rows import ROWS, Row
from polywire_openai import OpenAIChatCodec

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire.embeddings import EmbeddingModel
    from polywire_compatible.settings import CompatibleSettings, DeploymentSettings

__all__ = ["CompatibleSettings", "DeploymentSettings", "polywire_provider"]


class PlainCompatibleSettings(PlainProviderSettings, frozen=True):
    """`CompatibleSettings`, where a table says plain things."""

    max_inputs: AtLeastOne | None = None


class PlainDeploymentSettings(PlainCompatibleSettings, frozen=True):
    """`DeploymentSettings`, where a table says plain things."""

    api_version: str | None = None
    access_token: Secret | None = None


def _settings() -> type[CompatibleSettings]:
    from polywire_compatible.settings import CompatibleSettings

    return CompatibleSettings


def _deployment_settings() -> type[DeploymentSettings]:
    from polywire_compatible.settings import DeploymentSettings

    return DeploymentSettings


def _auth(row: Row, context: BuildContext) -> Auth:
    token = getattr(context.settings, "access_token", None)
    if token is not None and token.get_secret_value().strip():
        return BearerAuth(token)
    return context.header_auth(row.key_header) if row.key_header else context.bearer_auth()


def build_chat(row: Row, context: BuildContext) -> ChatModel:
    """Build the model that a settings file names."""
    profiles = row.profiles(context.settings.base_url or row.base_url)
    if context.profile:
        profiles = profiles.overridden(_told(context.profile, profiles))
    path = _path(row.path, row.deployment_path, context)
    codec = OpenAIChatCodec(profiles, path=path)
    return context.http_chat_model(codec, auth=_auth(row, context), base_url=row.base_url, profiles=profiles)


def _told(changes: Mapping[str, Any], profiles: ProfileTable) -> Mapping[str, Any]:
    """Return the settings' changes to a profile: media of which they tell is no longer something that nobody documents."""
    undocumented = profiles.base.quirks.get("undocumented", ())
    left = tuple(kind for kind in undocumented if f"{kind}_sources" not in changes)
    if left == tuple(undocumented):
        return changes
    return {**changes, "quirks": {"undocumented": left, **changes.get("quirks", {})}}


def _path(path: str, deployment_path: str | None, context: BuildContext) -> str:
    version = getattr(context.settings, "api_version", None)
    return f"{deployment_path}?api-version={quote(version, safe='')}" if version and deployment_path else path


def build_embedding(row: Row, context: BuildContext) -> EmbeddingModel:
    """Build the embedding model that a settings file names."""
    from polywire_openai import OpenAIEmbeddingCodec

    offered = row.embeddings
    assert offered is not None, "a row without embeddings has no such builder"
    codec = OpenAIEmbeddingCodec(
        encoding=offered.encoding,
        max_inputs=context.settings.max_inputs or offered.max_inputs,
        max_batch_bytes=offered.max_batch_bytes,
        dimensions_field=offered.dimensions_field,
        purposes=offered.purposes,
        path=_path(offered.path, offered.deployment_path, context),
    )
    return context.http_embedding_model(codec, auth=_auth(row, context), base_url=row.base_url)


def _requires_key(row: Row, settings: CompatibleSettings) -> bool:
    return row.key_required and getattr(settings, "access_token", None) is None


def wires(row: Row) -> tuple[Wire, ...]:
    """Return the dialect, for conversion."""
    from polywire_openai import OpenAIWire

    return (OpenAIWire(row.profiles()),)


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
        settings=_deployment_settings if row.deployment_path else _settings,
        plain_settings=PlainDeploymentSettings if row.deployment_path else PlainCompatibleSettings,
        build_chat=partial(build_chat, row),
        build_embedding=partial(build_embedding, row) if row.embeddings is not None else None,
        wires=partial(wires, row),
        profiles=row.profiles,
        variables=variables,
        requires_key=partial(_requires_key, row),
        own_addresses=((row.base_url,) if row.base_url else ()) + row.other_hosts,
        requires_model=True,
    )


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name of every row."""
    return _provider(ROWS[name]) if name in ROWS else None


def __getattr__(name: str) -> Any:
    if name in ("CompatibleSettings", "DeploymentSettings"):
        return (_settings if name == "CompatibleSettings" else _deployment_settings)()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
