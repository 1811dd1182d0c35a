"""An item of an answer while it grows: its pieces, and the item that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.translation.halves import HalfJoiner
from polywire_openai.refusals import REFUSALS_FROM, is_refusal
from polywire_openai.responses.fields import FUNCTION_CALL, MESSAGE

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

    def _texts(self) -> dict[int, str]:
        """The texts of the parts, each with its place."""
        left = {place: joiner.finish() for place, joiner in self._halves.items()}
        return {place: "".join(texts) + left.get(place, "") for place, texts in sorted(self.said.items())}

    def grown(self) -> dict[str, Any]:
        """Return the item as its pieces make it, for one that is never told as complete."""
        item = dict(self.item)
        match item.get("type", MESSAGE):
            case "message":
                item |= {"status": "completed", "content": None}
            case "reasoning" if self.said:
                # The seal that came at the beginning may be incomplete.
                item.pop("encrypted_content", None)
                item["summary"] = item["content"] = None
            case "function_call" | "custom_tool_call" if self.said:
                item["arguments" if item["type"] == FUNCTION_CALL else "input"] = None
        filled = self.completed(item)
        return {key: value for key, value in filled.items() if value is not None or key in self.item}

    def completed(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the item as its end tells it, filled with what its pieces said where the end leaves that out."""
        filled = dict(item)
        if not self.said:
            return filled
        match item.get("type", MESSAGE):
            case "message":
                filled["content"] = self._content(item.get("content"))
            case "function_call" if not item.get("arguments"):
                filled["arguments"] = self._texts().get(0)
            case "custom_tool_call" if not item.get("input"):
                filled["input"] = self._texts().get(0)
            case "reasoning" if not _has_text(item.get("summary")) and not _has_text(item.get("content")):
                texts = self._texts()
                short = [text for place, text in texts.items() if place < PARTS_OF_AN_ITEM]
                full = [text for place, text in texts.items() if place >= PARTS_OF_AN_ITEM]
                filled["summary"] = [{"type": "summary_text", "text": text} for text in short]
                if full:
                    filled["content"] = [{"type": "reasoning_text", "text": text} for text in full]
        return filled

    def _content(self, told: Any) -> Any:
        if isinstance(told, str) and told:
            return told
        content = list(told) if isinstance(told, (list, tuple)) else []
        if content and not any(_lacks_text(part) for part in content):
            return content
        for place, text in self._texts().items():
            kind, key = ("refusal", "refusal") if place in self.refusals else ("output_text", "text")
            if place >= len(content):
                content.append({"type": kind, key: text})
            elif _lacks_text(content[place]):
                content[place] = {**content[place], key: text}
        return content


def _lacks_text(part: Any) -> bool:
    """Whether a part of a message has no text, though it is of a kind that has."""
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type")
    return (kind == "output_text" and not part.get("text")) or (kind == "refusal" and not part.get("refusal"))


def _has_text(parts: Any) -> bool:
    """Whether any part of thinking says anything."""
    parts = parts if isinstance(parts, (list, tuple)) else ()
    return any(isinstance(part, Mapping) and part.get("text") for part in parts)


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
