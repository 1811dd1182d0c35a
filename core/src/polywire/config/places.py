"""Where a setting comes from, in words: the file, an environment variable or an argument."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from polywire.config.references import Path

__all__ = ["Places", "dotted", "leaves", "table_and_key"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TABLE_DEPTH = {"models": 2, "providers": 2, "extension_settings": 2, "defaults": 1}


def dotted(path: Path) -> str:
    """Write a place with dots, as TOML does: `retry.attempts`, `fallback[0]`, `models."Bad Name"`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
            continue
        key = step if _BARE_KEY.fullmatch(step) else f'"{step}"'
        text += f".{key}" if text else key
    return text


def table_and_key(path: Path) -> tuple[str, str]:
    """Write a place as it stands in a file: `("[models.assistant]", "retry.attempts")`."""
    depth = min(_TABLE_DEPTH.get(str(path[0]), 0) if path else 0, len(path))
    return (f"[{dotted(path[:depth])}]" if depth else ""), dotted(path[depth:])


def leaves(value: Any, path: Path = ()) -> list[Path]:
    """Return the places of everything in nested mappings that is no mapping itself."""
    if isinstance(value, Mapping) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    return [path]


class Places(msgspec.Struct):
    """
    Tells for every setting where it was written.

    Attributes:
        label: the file, or `"settings"` for a mapping given in code.
        variables: environment variables by the place they set.
        arguments: the places that arguments set.
    """

    label: str = "settings"
    variables: dict[Path, str] = {}
    arguments: list[Path] = []

    def source(self, path: Path) -> str | None:
        """Return the variable or argument that set a place; `None` for the file."""
        for argument in self.arguments:
            if _touches(argument, path):
                return f"argument {dotted(path)}"
        for place, variable in self.variables.items():
            if _touches(place, path):
                return f"environment variable {variable}"
        return None

    def where(self, path: Path) -> str:
        """Say where a setting stands: `settings.toml [models.assistant] temperature`."""
        source = self.source(path)
        if source is not None:
            return source
        return " ".join(word for word in (self.label, *table_and_key(path)) if word)


def _touches(source: Path, path: Path) -> bool:
    """Whether what was set at `source` is at `path`, or above it."""
    return path[: len(source)] == source and bool(source)
