"""Durations as settings write them, for pydantic's models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from polywire.plugins.seconds import read_duration

__all__ = ["Duration", "read_duration"]

Duration = Annotated[float, BeforeValidator(read_duration)]
"""Seconds. Settings write `"30s"`, `"500ms"`, `"2m"`, or a number."""
