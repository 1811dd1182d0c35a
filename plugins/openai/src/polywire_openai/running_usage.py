"""
What an answer has cost so far.

Most endpoints tell it once, at the end; some tell a running total with every piece of text. Such a total is held back
while text flows [measured: told with each piece, a streamed event costs four times as much], and told where something
else comes, at the end, and where the stream is broken off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polywire.events import StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta, UsageUpdate
from polywire.framing.templates import Path
from polywire_openai.usage import decode_usage, has_input_count, merge_usage, usage_details

__all__ = ["RunningUsage"]

_PIECES = frozenset({TextDelta, ThinkingDelta, ToolCallDelta})


class RunningUsage:
    """
    The usage of one answer.

    Attributes:
        repeatable: whether the last piece told either nothing of it, or what the one before it did, but for some counts.
        growing: where these counts stand in the usage object.
    """

    __slots__ = ("_last", "_total", "_untold", "growing", "repeatable")

    def __init__(self) -> None:
        self._total: dict[str, Any] = {}
        self._last: Mapping[str, Any] | None = None
        self._untold = False
        self.growing: Sequence[Path] = ()
        self.repeatable = True

    def add(self, usage: Mapping[str, Any] | None) -> None:
        """Take in what a piece tells, if it tells anything."""
        if usage is None:
            self.growing, self.repeatable = (), True
            return
        growing = None if self._last is None else _changed(self._last, usage)
        # Were all counts 0, they would be no news: with a prompt's count that stays they never are.
        self.repeatable = growing is not None and has_input_count(usage)
        self.growing = growing or ()
        self._take(usage)

    def _take(self, usage: Mapping[str, Any]) -> None:
        self._last = usage
        self._total = merge_usage(self._total, usage)
        self._untold = True

    def grown(self) -> Callable[[Sequence[list[int]]], None]:
        """Return what takes in further pieces like the last: for each of `growing`, the counts of all of them."""
        usage, growing = self._last, self.growing

        def take(columns: Sequence[list[int]]) -> None:
            grown = usage
            for path, column in zip(growing, columns, strict=True):
                grown = _with_count(grown, path, column[-1])
            self._take(grown)  # type: ignore[arg-type]

        return take

    def tell(self, events: list[StreamEvent]) -> None:
        """Add what has not been told to a piece's events, unless these only add to texts."""
        if self._untold and (not events or not _PIECES.issuperset(map(type, events))):
            events += self.held_back()

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what has not been told."""
        if not self._untold:
            return ()
        self._untold = False
        return (UsageUpdate(decode_usage(self._total)),)

    def details(self) -> dict[str, Any]:
        """Return what the canonical numbers do not say."""
        return usage_details(self._total)


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Path] | None:
    """Return where the counts stand that have changed; `None` where anything else has."""
    if old.keys() != new.keys():
        return None
    changed: list[Path] = []
    for key, value in new.items():
        before = old[key]
        if type(value) is int and type(before) is int:
            if value != before:
                changed.append((key,))
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = _changed(before, value)
            if inner is None:
                return None
            changed += ((key, *path) for path in inner)
        elif value != before:
            return None
    return changed


def _with_count(usage: Any, path: Path, count: int) -> dict[str, Any]:
    first, *rest = path
    return {**usage, first: _with_count(usage[first], tuple(rest), count) if rest else count}
