"""Durations as settings write them, in seconds."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from polywire.http_errors import parse_duration

__all__ = ["read_duration"]


def read_duration(value: Any) -> Any:
    """
    Return seconds for `"30s"`, `"500ms"`, `"2m"`, `"1h30m"`, a number of seconds, or a `timedelta`.

    Raises:
        ValueError: it is none of these, or negative.
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        text = value.strip()
        seconds = parse_duration("".join(text.split()).lower())
        if seconds is None:
            msg = 'must be a duration such as "30s", "500ms", "2m" or "1h30m", or a number of seconds'
            raise ValueError(msg)
        return seconds
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = 'must be a duration such as "30s", "500ms" or "2m", or a number of seconds'
        raise ValueError(msg)
    try:
        seconds = float(value)
    except OverflowError:  # an int may have any number of digits
        seconds = math.inf
    if not math.isfinite(seconds) or seconds < 0:
        msg = "must be a number of seconds, 0 or more"
        raise ValueError(msg)
    return seconds
