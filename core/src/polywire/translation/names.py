"""
Tool names as a wire takes them, and back.

The map is injective and depends on nothing but the names: a valid name is never changed, an invalid one always becomes
the same valid one, so a history reads the same at every turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from polywire.responses import Notice

__all__ = ["NameMap"]

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class NameMap:
    """
    Maps the names of one request.

    Attributes:
        notices: one for each name that had to change.
    """

    __slots__ = ("_from_wire", "_to_wire", "notices")

    def __init__(self, names: Iterable[str] = (), pattern: str = "", length: int = 0) -> None:
        self._to_wire: dict[str, str] = {}
        self._from_wire: dict[str, str] = {}
        self.notices: tuple[Notice, ...] = ()
        if not pattern:
            return
        matches = _pattern(pattern).fullmatch
        distinct = list(dict.fromkeys(names))
        taken = {name for name in distinct if matches(name) and len(name) <= length}
        foreign = [name for name in distinct if name not in taken]
        for name in foreign:
            mapped = _shortened(name, length, matches, taken)
            taken.add(mapped)
            self._to_wire[name] = mapped
            self._from_wire[mapped] = name
        self.notices = tuple(
            Notice(
                "approximated", f"tools.{name}", f"the tool name {name!r} is not valid on this wire; sent as {mapped!r}"
            )
            for name, mapped in self._to_wire.items()
        )

    def __bool__(self) -> bool:
        """Whether any name changes."""
        return bool(self._to_wire)

    def to_wire(self, name: str) -> str:
        """The name to send."""
        return self._to_wire.get(name, name)

    def from_wire(self, name: str) -> str:
        """The caller's name for one that came back; a name that was never sent stays as it is."""
        return self._from_wire.get(name, name)


def _shortened(name: str, length: int, matches: object, taken: set[str]) -> str:
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    readable = _FOREIGN.sub("_", name)
    for size in range(8, len(digest) + 1, 4):
        tail = f"_{digest[:size]}"
        for head in (readable, f"t_{readable}", "t"):
            candidate = head[: max(length - len(tail), 0)] + tail
            if candidate not in taken and matches(candidate):  # type: ignore[operator]
                return candidate
    msg = f"no valid name can be made for the tool {name!r}"
    raise ValueError(msg)
