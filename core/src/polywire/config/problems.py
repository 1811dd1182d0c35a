"""Mistakes in settings, told together, one line each: where, what, and what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polywire.errors import SettingsError

__all__ = ["InvalidSettings", "raise_problems"]


class InvalidSettings(SettingsError):
    """
    The settings hold mistakes; each is one line of the message.

    Attributes:
        problems: the lines.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


def raise_problems(problems: Iterable[str]) -> None:
    """
    Raise one error for all mistakes, each told once.

    Raises:
        InvalidSettings: there are any.
    """
    lines = tuple(dict.fromkeys(problems))
    if lines:
        raise InvalidSettings(lines)
