"""The table of a connection in the settings file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from polywire.plugins import ProviderSettings

__all__ = ["GeminiSettings"]


class GeminiSettings(ProviderSettings):
    """The table of a connection to the Gemini API, to Vertex AI, or to a gateway that speaks like one of them."""

    access_token: SecretStr | None = Field(
        None,
        description="an OAuth token, or a gateway's key, sent as Authorization: Bearer instead of the key's header",
    )
    endpoint: Literal["gemini", "vertex"] | None = Field(
        None, description="whose rules hold; left out: Vertex AI's on its own hosts, else the Gemini API's"
    )
