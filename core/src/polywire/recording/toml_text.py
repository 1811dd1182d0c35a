"""Values as TOML writes them, for files that people read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["toml_key", "toml_value"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _text(key)


def toml_value(value: Any) -> str:
    """
    Return a value on one line: text, numbers, truth, lists (sets sorted), and mappings as inline tables.

    Raises:
        TypeError: TOML has no such value; `None` is one of them.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(str(value))
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    msg = f"TOML has no {type(value).__name__}"
    raise TypeError(msg)


def _text(text: str) -> str:
    if "'" not in text and '"' in text and text.isprintable():
        return f"'{text}'"
    # JSON's escapes are TOML's, except that TOML wants one more control character escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
