"""
Calls whose arguments come in pieces, as Vertex AI sends them where `streamFunctionCallArguments` is asked for.

A call that `willContinue` is named first; each piece then says a value and its place (`{"jsonPath": "$.city", "stringValue":
"Han", "willContinue": true}`), texts growing; a part without `willContinue` is the last one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["PartialCall"]

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue")
_MOST_ITEMS = 100_000


class PartialCall:
    """One call in the making: the part that it will have been."""

    def __init__(self, part: Mapping[str, Any]) -> None:
        self._part = dict(part)
        self._function: dict[str, Any] = {"args": {}}
        self._growing: str | None = None
        self.add(part)

    @staticmethod
    def begins(part: Mapping[str, Any]) -> bool:
        """Whether a part with a call is the first of several."""
        function = part["functionCall"]
        return bool(function.get("willContinue")) or isinstance(function.get("partialArgs"), list)

    def add(self, part: Mapping[str, Any]) -> bool:
        """
        Take in a further part.

        Returns:
            whether it was the last one.
        """
        function = part["functionCall"]
        self._part.update({key: value for key, value in part.items() if key != "functionCall"})
        for key, value in function.items():
            if key == "args" and isinstance(value, dict):
                self._function["args"].update(value)
            elif key not in {"args", "partialArgs", "willContinue"} and value:
                self._function[key] = value
        pieces = function.get("partialArgs")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._set(piece)
        return not function.get("willContinue")

    def part(self) -> dict[str, Any]:
        """Return the whole part."""
        return {**self._part, "functionCall": self._function}

    def _set(self, piece: Mapping[str, Any]) -> None:
        path = str(piece.get("jsonPath") or "")
        value = next((piece[key] for key in _VALUES if key in piece), None)
        steps: list[str | int] = [
            int(number) if number else name or single or double for name, number, single, double in _STEP.findall(path)
        ]
        if not steps:
            return
        place: Any = self._function["args"]
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            last = following is None
            if isinstance(step, int):
                if not isinstance(place, list) or step > _MOST_ITEMS:
                    return
                place.extend([None] * (step + 1 - len(place)))
                known = place[step]
            elif isinstance(place, dict):
                known = place.get(step)
            else:
                return
            if last:
                grows = self._growing == path and isinstance(known, str) and isinstance(value, str)
                place[step] = known + value if grows else value
            else:
                if not isinstance(known, (dict, list)):
                    place[step] = known = [] if isinstance(following, int) else {}
                place = known
        self._growing = path if piece.get("willContinue") else None
