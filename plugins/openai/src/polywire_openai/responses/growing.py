"""An item of an answer while it grows: its pieces, and the item that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.translation.halves import HalfJoiner
from polywire_openai.refusals import REFUSALS_FROM, is_refusal
from polywire_openai.responses.fields import MESSAGE

__all__ = ["PARTS_OF_AN_ITEM", "GrowingItem", "number_in", "with_annotations"]

PARTS_OF_AN_ITEM = 1000
"""So far apart are the numbers of the first parts of two items."""


class GrowingItem:
    """One item of the answer, as far as it has come."""

    __slots__ = ("_halves", "annotations", "item", "refusals", "said", "started")

    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item
        self.said: dict[int, list[str]] = {}
        self.annotations: dict[int, list[Any]] = {}
        self.refusals: set[int] = set()
        """The places of those parts that are refusals."""
        self.started = False
        self._halves: dict[int, HalfJoiner] = {}

    def number(self, place: int, part: object) -> int:
        """The number of a part among those of its item: as it was told, if it was."""
        declines = place in self.refusals or (is_refusal(part) and not self.said.get(place))
        return place + REFUSALS_FROM if declines else place

    @property
    def is_halved(self) -> bool:
        """Whether half a character waits for its other half."""
        return any(joiner.half for joiner in self._halves.values()) if self._halves else False

    def joined(self, place: int, text: str) -> str:
        """Return what may be told of a further piece: a character in two halves comes with the second."""
        if not self._halves and text.isascii():
            return text
        return self._halves.setdefault(place, HalfJoiner()).add(text)

    def grown(self) -> dict[str, Any]:
        """Return the item as its pieces make it, for one that is never told as complete."""
        left = {place: joiner.finish() for place, joiner in self._halves.items()}
        said = {place: "".join(texts) + left.get(place, "") for place, texts in sorted(self.said.items())}
        item = self.item
        match item.get("type", MESSAGE):
            case "message":
                content = [
                    {"type": "refusal", "refusal": text}
                    if place in self.refusals
                    else {"type": "output_text", "text": text}
                    for place, text in said.items()
                ]
                return {**item, "status": "completed", "content": content}
            case "function_call" if said:
                return {**item, "arguments": said[0]}
            case "custom_tool_call" if said:
                return {**item, "input": said[0]}
            case "reasoning" if said:
                short = [text for place, text in said.items() if place < PARTS_OF_AN_ITEM]
                full = [text for place, text in said.items() if place >= PARTS_OF_AN_ITEM]
                grown = {**item, "summary": [{"type": "summary_text", "text": text} for text in short]}
                # The seal that came at the beginning may be incomplete.
                grown.pop("encrypted_content", None)
                return (
                    {**grown, "content": [{"type": "reasoning_text", "text": text} for text in full]} if full else grown
                )
        return item


def number_in(payload: Mapping[str, Any], key: str) -> int:
    """Return the place that an event names; 0 where it names none."""
    value = payload.get(key)
    return value if type(value) is int and 0 <= value < PARTS_OF_AN_ITEM else 0


def with_annotations(item: Mapping[str, Any], place: int, annotations: list[Any]) -> Mapping[str, Any]:
    """Put annotations that were only told on their own into the part that they are about."""
    content = item.get("content")
    if not isinstance(content, (list, tuple)) or place >= len(content) or not isinstance(content[place], Mapping):
        return item
    if content[place].get("annotations"):
        return item
    filled = list(content)
    filled[place] = {**content[place], "annotations": annotations}
    return {**item, "content": filled}
