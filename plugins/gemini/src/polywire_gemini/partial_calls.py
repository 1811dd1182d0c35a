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
_IDENTITY = ("id", "name")
_MOST_ITEMS = 100_000


class PartialCall:
    """
    One call in the making: the part that it will have been.

    Attributes:
        is_damaged: whether a value had no place among the others, so that the call is not what the model made.
    """

    def __init__(self, part: Mapping[str, Any]) -> None:
        self._part = dict(part)
        self._function: dict[str, Any] = {"args": {}}
        self._growing: str | None = None
        self.is_damaged = False
        self.add(part)

    @staticmethod
    def begins(part: Mapping[str, Any]) -> bool:
        """Whether a part with a call is the first of several."""
        function = part["functionCall"]
        return bool(function.get("willContinue")) or isinstance(function.get("partialArgs"), list)

    def is_another(self, part: Mapping[str, Any]) -> bool:
        """Whether a part begins another call, though this one's end was not told."""
        function = part["functionCall"]
        return any(
            function.get(key) and self._function.get(key) and function[key] != self._function[key] for key in _IDENTITY
        )

    def add(self, part: Mapping[str, Any]) -> bool:
        """
        Take in a further part.

        Returns:
            whether it was the last one.
        """
        function = part["functionCall"]
        self._part.update({key: value for key, value in part.items() if key != "functionCall" and value is not None})
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
        goes_on = bool(piece.get("willContinue"))
        said = [piece[key] for key in _VALUES if piece.get(key) is not None]
        # A default value may be left out: the empty text with which a text begins or ends.
        value: Any = said[0] if said else "" if goes_on else None
        steps: list[str | int] = [
            int(number) if number else name or single or double for name, number, single, double in _STEP.findall(path)
        ]
        if not steps:
            self.is_damaged = self.is_damaged or path not in {"", "$"}
            return
        place: Any = self._function["args"]
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            last = following is None
            if isinstance(step, int):
                if not isinstance(place, list) or step > _MOST_ITEMS:
                    self.is_damaged = True
                    return
                place.extend([None] * (step + 1 - len(place)))
                known = place[step]
            elif isinstance(place, dict):
                known = place.get(step)
            else:
                self.is_damaged = True
                return
            if last:
                if self._growing == path and isinstance(known, str) and isinstance(value, str):
                    value = known + value
                place[step] = value if said or goes_on or known is None or "nullValue" in piece else known
            else:
                if not isinstance(known, (dict, list)):
                    place[step] = known = [] if isinstance(following, int) else {}
                place = known
        self._growing = path if goes_on else None
