"""How policies read their numbers: seconds as numbers or `timedelta`, checked where they are given."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

__all__ = ["positive_integer", "positive_seconds", "share"]


def positive_seconds(name: str, value: float | timedelta | None, *, zero: bool = False) -> float | None:
    """
    Read a number of seconds; `None` stays `None`.

    Raises:
        TypeError: it is neither a number nor a `timedelta`.
        ValueError: it is negative, not finite, or (unless `zero`) 0.
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{name} must be a number of seconds, not {type(value).__name__}"
        raise TypeError(msg)
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        msg = f"{name} must be {'0' if zero else 'more than 0'} {'or more ' if zero else ''}seconds, not {value}"
        raise ValueError(msg)
    return float(value)


def positive_integer(name: str, value: Any, *, least: int = 1) -> int:
    """
    Read a whole number.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is less than `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"{name} must be a whole number, not {value!r}"
        raise TypeError(msg)
    if value < least:
        msg = f"{name} must be {least} or more, not {value}"
        raise ValueError(msg)
    return value


def share(name: str, value: float) -> float:
    """
    Read a number from 0 to 1.

    Raises:
        TypeError: it is no number.
        ValueError: it lies outside.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"{name} must be a number, not {type(value).__name__}"
        raise TypeError(msg)
    if not 0 <= value <= 1:
        msg = f"{name} must lie between 0 and 1, not {value}"
        raise ValueError(msg)
    return float(value)
