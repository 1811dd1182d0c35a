"""The table of a connection in the settings file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from polywire.plugins import ProviderSettings
from polywire_anthropic.profiles import CURRENT_VERSION

__all__ = ["AnthropicSettings"]


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
