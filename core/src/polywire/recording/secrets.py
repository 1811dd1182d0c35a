"""Does a text show a key, or a piece of one?"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from polywire.codec import HttpRequest

__all__ = ["SecretFound", "find_secret", "secrets_of_request", "secrets_of_settings"]

PIECE = 8
"""So many characters in a row that are the same as in a key are a piece of it."""
_END = 4
"""And so many at the edge of a key, where they stand beside asterisks or dots: as some vendors show a key."""
_MASK = r"(?:[*•.]{2,}|…)"
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|signature|credential", re.IGNORECASE)
_NOT_SECRET = re.compile(r"(bearer|basic|token)$", re.IGNORECASE)


class SecretFound(ValueError):
    """What was to be written shows a key, or a piece of one. The message does not."""


def secrets_of_request(request: HttpRequest) -> set[str]:
    """Return what may be secret in a signed request: in its headers, and in its address."""
    found: set[str] = set()
    for name, value in request.headers.items():
        if _SECRET_HEADER.search(name):
            found.update(word for word in re.split(r"[\s,;=]+", value) if not _NOT_SECRET.fullmatch(word))
            found.add(value)
    for name, value in parse_qsl(urlsplit(request.url).query):
        if _SECRET_HEADER.search(name):
            found.add(value)
    return found


def secrets_of_settings(settings: Any) -> set[str]:
    """Return every secret of a connection's table, at any depth."""
    if hasattr(settings, "get_secret_value"):
        return {settings.get_secret_value()}
    if isinstance(settings, Mapping):
        return {secret for value in settings.values() for secret in secrets_of_settings(value)}
    if isinstance(settings, (list, tuple)):
        return {secret for value in settings for secret in secrets_of_settings(value)}
    fields = getattr(type(settings), "model_fields", None)
    if fields:
        return {secret for name in fields for secret in secrets_of_settings(getattr(settings, name))}
    return set()


def find_secret(text: str, secrets: Iterable[str]) -> str | None:
    """
    Tell in words how a text shows one of the secrets; `None` where it does not.

    Looked for are the secret itself, also percent-encoded and in base64, any `PIECE` characters in a row of it, and its
    first or last four beside asterisks or dots. A secret of less than four characters is taken for a stand-in.
    """
    for secret in secrets:
        secret = secret.strip()
        if len(secret) < _END:
            continue
        for form in {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("=")}:
            size = min(PIECE, len(form))
            if any(form[at : at + size] in text for at in range(len(form) - size + 1)):
                return "a key, or a piece of one, stands in it"
        start, end = re.escape(secret[:_END]), re.escape(secret[-_END:])
        if re.search(rf"{_MASK}[\w-]{{0,12}}{end}|{start}[\w-]{{0,12}}{_MASK}", text):
            return "the edge of a key stands in it, the rest of it masked"
    return None
