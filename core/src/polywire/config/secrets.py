"""Keeping keys out of sight from the moment they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polywire.auth import Secret

__all__ = [
    "UNTYPED_TABLES",
    "hide",
    "hide_untyped",
    "reveal",
    "scrub",
    "secret_texts",
]

UNTYPED_TABLES = ("providers", "extension_settings")
"""The tables that core has no model for. Any string in them may be a key, under whatever name, so all are hidden."""
_OPEN_KEYS = frozenset({"plugin"})
_MASK = "**********"


def hide(value: Any) -> Any:
    """Return `value` with every string in it as a `Secret`, at every depth."""
    if isinstance(value, str):
        return Secret(value)
    if isinstance(value, Mapping):
        return {key: item if key in _OPEN_KEYS else hide(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [hide(item) for item in value]
    return value


def hide_untyped(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a settings document with the strings of its untyped tables hidden."""
    return {key: hide(value) if key in UNTYPED_TABLES else value for key, value in document.items()}


def reveal(value: Any) -> Any:
    """Return `value` with every hidden string in the open, for the model that types it."""
    if hasattr(value, "get_secret_value"):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return {key: reveal(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [reveal(item) for item in value]
    return value


def secret_texts(value: Any) -> Iterator[str]:
    """Yield every hidden string in `value`, blanks removed."""
    if hasattr(value, "get_secret_value"):
        text = value.get_secret_value()
        if isinstance(text, str) and text.strip():
            yield text.strip()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secret_texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from secret_texts(item)


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every one of `secrets` masked; very short ones are words like any other and stay."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 6:
            text = text.replace(secret, _MASK)
    return text
