"""Counts as endpoints tell them."""

from __future__ import annotations

from math import isfinite
from typing import Any

__all__ = ["count_of"]


def count_of(value: Any) -> int | None:
    """
    Read a count of tokens. One that is missing or no number stays unknown; so does a negative one, which stands for that.

    A whole number may come with a fraction of nothing.
    """
    if type(value) is int:
        return value if value >= 0 else None
    return int(value) if isinstance(value, float) and isfinite(value) and value >= 0 else None
