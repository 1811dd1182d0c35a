"""References to environment variables in settings: `"${OPENAI_API_KEY}"`; `"$${"` is a plain `"${"`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from polywire.auth import Secret

__all__ = ["Expansion", "Path", "expand"]

Path = tuple[str | int, ...]
"""Where a value stands: `("models", "assistant", "temperature")`."""

_REFERENCE = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Expansion(msgspec.Struct):
    """
    What came of the references in a document.

    Attributes:
        missing: the variables that are not set or blank, by the place that needs them. A key that needs one is left out.
        malformed: what is wrong with a reference, by place.
        origins: the variable that a value came from, by place.
    """

    missing: dict[Path, str] = {}
    malformed: dict[Path, str] = {}
    origins: dict[Path, str] = {}

    def missing_under(self, path: Path) -> dict[Path, str]:
        """Return what is missing at a place or below it."""
        return {place: name for place, name in self.missing.items() if place[: len(path)] == path}


_LEFT_OUT = object()


def expand(value: Any, environ: Mapping[str, str], expansion: Expansion, path: Path = ()) -> Any:
    """
    Return `value` with its references replaced, at every depth.

    A variable that is not set, or blank, is no error here: who needs the value reports it, and nobody else is disturbed.
    """
    if hasattr(value, "get_secret_value"):
        found = _expand_text(value.get_secret_value(), environ, expansion, path)
        return found if found is _LEFT_OUT else Secret(found)
    if isinstance(value, str):
        return _expand_text(value, environ, expansion, path)
    if isinstance(value, Mapping):
        items = {key: expand(item, environ, expansion, (*path, key)) for key, item in value.items()}
        return {key: item for key, item in items.items() if item is not _LEFT_OUT}
    if isinstance(value, (list, tuple)):
        elements = [expand(item, environ, expansion, (*path, index)) for index, item in enumerate(value)]
        return _LEFT_OUT if any(each is _LEFT_OUT for each in elements) else elements
    return value


def _expand_text(text: str, environ: Mapping[str, str], expansion: Expansion, path: Path) -> Any:
    if "${" not in text:
        return text
    missing: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "$${":
            return "${"
        name = (match[1] or "").strip()
        if not _NAME.fullmatch(name):
            expansion.malformed[path] = (
                'a reference must be written "${NAME}", with the name of an environment variable'
                ' ("$${" is a plain "${")'
            )
            return ""
        found = environ.get(name, "")
        if not found.strip():
            missing.append(name)
        else:
            expansion.origins[path] = name
        return found

    result = _REFERENCE.sub(replaced, text)
    if path in expansion.malformed:
        return _LEFT_OUT
    if missing:
        expansion.missing[path] = missing[0]
        return _LEFT_OUT
    # A variable's own line end, as a file or a shell leaves it, is no part of the value.
    return result.strip() if _REFERENCE.fullmatch(text.strip()) else result
