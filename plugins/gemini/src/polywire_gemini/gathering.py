"""What a candidate says beside its content, gathered over the chunks of a stream: each tells of its own piece alone."""

from __future__ import annotations

from typing import Any

__all__ = ["gathered"]

_OF_EACH_TOKEN = "logprobsResult"
_OF_EACH_PIECE = "citationMetadata"
_SAID_ONCE = frozenset({"groundingMetadata", "urlContextMetadata"})


def gathered(key: str, known: Any, value: Any) -> Any:
    """Return what is known under a key with what a further chunk says there; of most keys the last word counts."""
    if not isinstance(known, dict) or not isinstance(value, dict):
        return value
    if key == _OF_EACH_TOKEN:
        return known | {name: _joined(known.get(name), item) for name, item in value.items()}
    if key == _OF_EACH_PIECE:
        return known | {name: _joined(known.get(name), item, once=True) for name, item in value.items()}
    if key in _SAID_ONCE:
        return known | {name: item for name, item in value.items() if item or name not in known}
    return value


def _joined(known: Any, items: Any, *, once: bool = False) -> Any:
    if not isinstance(known, list) or not isinstance(items, list):
        return known if items is None else items
    return known + [item for item in items if not once or item not in known]
