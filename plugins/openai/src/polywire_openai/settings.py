"""The table of a connection in the settings file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from polywire.plugins import ProviderSettings

__all__ = ["OpenAISettings"]


class OpenAISettings(ProviderSettings):
    """
    The table of an OpenAI connection, or of any endpoint that speaks Chat Completions.

    Without `api_key`, and with a `base_url` of another service, requests carry no `Authorization` header at all: the usual
    variable's key is not theirs.
    """

    organization: str | None = Field(None, description="the OpenAI-Organization header")
    project: str | None = Field(None, description="the OpenAI-Project header")
    api: Literal["chat", "responses"] | None = Field(
        None, description="which of the vendor's APIs is spoken; left out: that of the provider's name, else chat"
    )
    endpoint: Literal["openai", "compatible"] | None = Field(
        None, description="whose rules hold; left out: OpenAI's on its own hosts, else those of any compatible endpoint"
    )
