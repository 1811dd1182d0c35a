"""The table of a connection in the settings file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from polywire.plugins import ProviderSettings

__all__ = ["OllamaSettings"]


_PORT = 11434
_ANY_HOST = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""Where a server listens everywhere, and where it is then found."""


def _address(value: object) -> object:
    """
    Complete an address as the server reads its own `OLLAMA_HOST`: quotes may stand around it, and scheme, host and port
    may be missing (Ollama's source, envconfig/config.go).
    """
    if not isinstance(value, str):
        return value
    text = value.strip().strip("\"'").strip()
    if "://" in text or not text:
        return text or value
    if text == "ollama.com":
        return "https://ollama.com"
    place, slash, path = text.partition("/")
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]") or (":" in host and not host.endswith("]")):
        host, port = place, ""
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"http://{_ANY_HOST.get(host, host)}:{port or _PORT}{slash}{path}"


class OllamaSettings(ProviderSettings):
    """The table of an Ollama connection. `base_url` may leave out scheme and port, as `OLLAMA_HOST` does."""

    base_url: Annotated[str | None, BeforeValidator(_address)] = None
