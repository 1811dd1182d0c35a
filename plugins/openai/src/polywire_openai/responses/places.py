"""
Which item of an answer an event is about.

Events name their item by `output_index`, by `item_id`, or not at all; some servers count from 1, leave gaps, or give every
item one index. A place is ours: it belongs to one item, and grows with the order in which items are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire_openai.responses.fields import MESSAGE

__all__ = ["Places", "index_of"]


def index_of(event: Mapping[str, Any]) -> int | None:
    """The index that an event names, if it is one."""
    index = event.get("output_index")
    return index if type(index) is int and index >= 0 else None


class Places:
    """
    The places of one answer's items.

    Attributes:
        kinds: every place that is taken, and the type of its item as far as it is known.
    """

    __slots__ = ("_by_id", "_by_index", "kinds")

    def __init__(self) -> None:
        self.kinds: dict[int, str | None] = {}
        self._by_id: dict[str, int] = {}
        self._by_index: dict[int, int] = {}
        """Where the items of an index are that was given to several: the last one's place."""

    def of(self, event: Mapping[str, Any], open_places: Mapping[int, Any]) -> int:
        """The place of the item that an event is about: by its index, else by its id, else the last that is open."""
        index = index_of(event)
        if index is not None:
            return self._by_index.get(index, index)
        item = event.get("item")
        identity = event.get("item_id") or (item.get("id") if isinstance(item, Mapping) else None)
        if isinstance(identity, str) and identity in self._by_id:
            return self._by_id[identity]
        return max(open_places, default=self.next())

    def next(self) -> int:
        """The place after all that are taken."""
        return 1 + max(self.kinds, default=-1)

    def is_known(self, identity: Any, place: int) -> bool:
        """Whether this place is that of the item of this id."""
        return isinstance(identity, str) and self._by_id.get(identity) == place

    def take(self, place: int, item: Mapping[str, Any], *, index: int | None = None) -> None:
        """Note what stands at a place, and under which index it was told if that is another's by now."""
        kind, identity = item.get("type"), item.get("id")
        if isinstance(kind, str) or place not in self.kinds:
            self.kinds[place] = kind if isinstance(kind, str) else None
        if isinstance(identity, str):
            self._by_id.setdefault(identity, place)
        if index is not None:
            self._by_index[index] = place

    def of_all(self, items: Sequence[Mapping[str, Any]]) -> list[int]:
        """
        The places of all items of the answer, as its last event lists them: by their ids, else by their order among those
        that were told, for the indexes under which they were told may have gaps.
        """
        found: list[int | None] = []
        for item in items:
            identity = item.get("id")
            place = self._by_id.get(identity) if isinstance(identity, str) else None
            found.append(None if place in found else place)
        left = [place for place in sorted(self.kinds) if place not in found]
        places: list[int] = []
        for index, (item, place) in enumerate(zip(items, found, strict=True)):
            if place is None:
                kind = item.get("type", MESSAGE)
                place = next((each for each in left if self.kinds[each] in (None, kind)), None)
                if place is not None:
                    left.remove(place)
                elif index in self.kinds or index in places:
                    place = max(self.next(), 1 + max(places, default=-1))
                else:
                    place = index
            places.append(place)
        return places
