"""The table of a connection in the settings file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from polywire.plugins import ProviderSettings

__all__ = ["OllamaSettings"]


def _address(value: object) -> object:
    """Complete an address as the server's own `OLLAMA_HOST` has it: scheme and port may be missing."""
    if not isinstance(value, str) or "://" in value:
        return value
    host = value.strip().replace("0.0.0.0", "127.0.0.1")
    return f"http://{host}" if ":" in host else f"http://{host}:11434"


class OllamaSettings(ProviderSettings):
    """The table of an Ollama connection. `base_url` may leave out scheme and port, as `OLLAMA_HOST` does."""

    base_url: Annotated[str | None, BeforeValidator(_address)] = None
