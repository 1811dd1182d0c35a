"""The tables of connections in the settings file."""

from __future__ import annotations

from pydantic import Field, SecretStr

from polywire.plugins import ProviderSettings

__all__ = ["CompatibleSettings", "DeploymentSettings"]


class CompatibleSettings(ProviderSettings):
    """The table of a connection to a service or server that speaks Chat Completions."""

    max_inputs: int | None = Field(
        None, ge=1, description="at most so many texts in one request for embeddings; left out: what the service takes"
    )


class DeploymentSettings(CompatibleSettings):
    """The same for a resource with deployments."""

    api_version: str | None = Field(
        None, description="the older address of a deployment, with this api-version; left out: the v1 address"
    )
    access_token: SecretStr | None = Field(
        None, description="a Microsoft Entra token, sent as Authorization: Bearer instead of the key"
    )
