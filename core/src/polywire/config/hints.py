"""What was probably meant, where settings hold a usual mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polywire.config.plain import CHAT_PARAMETERS
from polywire.config.secrets import reveal

if TYPE_CHECKING:
    from polywire.config.places import Places
    from polywire.config.references import Path

__all__ = ["NEEDS_PLUGIN", "guessed_problems", "misspelt_plugin", "unwritten_references", "without_effect"]

NEEDS_PLUGIN = 'a name of your own needs plugin = "…", the name of an installed provider'
"""What to say of a connection's table whose name is no provider's, and that names none."""
_BARE_REFERENCE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_USUAL_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_CHAT_ALONE = (
    *(name for name in CHAT_PARAMETERS if name not in ("model", "custom_parameters")),
    *("profile", "history", "first_event", "between_events"),
)
"""What models of other kinds do not have."""


def misspelt_plugin(table: Mapping[str, Any]) -> str | None:
    """Return the key of a connection's table that was probably meant to be `plugin`."""
    from difflib import get_close_matches  # for mistakes alone

    from polywire.plugins.connections import ProviderSettings

    unknown = [str(key) for key in table if key not in ProviderSettings.model_fields]
    if "plugin" in table or not unknown:
        return None

    return next(iter(get_close_matches("plugin", unknown, n=1, cutoff=0.7)), None)


def guessed_problems(table: Mapping[str, Any], places: Places, base: Path) -> list[tuple[Path, str]]:
    """
    Tell what is wrong with a connection's table whose provider is not known: mistakes in the keys that all have.

    An unknown key may be the provider's own; it is told where its name is near to one that all have.
    """
    from difflib import get_close_matches

    from polywire.config.mistakes import checked
    from polywire.plugins.connections import ProviderSettings

    known = {
        key: value
        for key, value in table.items()
        if key in ProviderSettings.model_fields
        or get_close_matches(str(key), ProviderSettings.model_fields, cutoff=0.8)
    }
    return checked(ProviderSettings, known, places, base)[1]


def unwritten_references(value: Any, environ: Mapping[str, str], path: Path = ()) -> list[tuple[Path, str]]:
    """
    Tell of strings that look like a reference to an environment variable without its braces: `$ACME_KEY`.

    The name is told only where it looks like a variable's or is one: anything else may be a secret that begins so.
    """
    if isinstance(value, Mapping):
        return [each for key, item in value.items() for each in unwritten_references(item, environ, (*path, key))]
    text = reveal(value)
    match = _BARE_REFERENCE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or not (match[1] in environ or _USUAL_VARIABLE.fullmatch(match[1])):
        return []
    return [(path, f'is the text "${match[1]}" itself, not what the variable holds; did you mean "${{{match[1]}}}"?')]


def without_effect(table: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield the keys of a model's table that say nothing about a model of its kind, with what to say of them."""
    kind = table.get("kind", "chat")
    if kind not in ("chat", "embedding", "image", "speech"):
        return
    if kind != "embedding" and table.get("dimensions") is not None:
        yield "dimensions", f'has no effect on a model of kind "{kind}": it is of an embedding\'s vectors'
    if kind != "chat":
        for key in _CHAT_ALONE:
            if table.get(key) not in (None, {}):
                yield key, f'has no effect on a model of kind "{kind}": it is for chat models'
