"""
Cache marks: at most as many as the wire takes.

The rule: marks on tools and instructions are kept before those in the conversation, save that the conversation keeps
at least its last one; of each kind the last ones are kept. So marks that a tool loop adds turn by turn do not pile up:
the newest ones push out the oldest of the conversation. Every mark left out is told in a notice.
"""

from __future__ import annotations

from typing import Any

from polywire.contents import CacheMark
from polywire.responses import Notice

__all__ = ["cache_control", "limit_cache_marks"]

_KEY = "cache_control"


def cache_control(mark: CacheMark) -> dict[str, Any]:
    """Write one mark."""
    return {"type": "ephemeral"} if mark.ttl is None else {"type": "ephemeral", "ttl": mark.ttl}


def limit_cache_marks(body: dict[str, Any], limit: int, notices: list[Notice]) -> None:
    """Take the marks beyond `limit` out of a body that was just written."""
    # The automatic mark of the whole request takes one of the places.
    limit -= 1 if body.get(_KEY) is not None else 0
    fixed: list[tuple[Any, int, str]] = []
    turns: list[tuple[Any, int, str]] = []
    for key in ("tools", "system"):
        if isinstance(body.get(key), list):
            _gather(body[key], key, fixed)
    for index, turn in enumerate(body.get("messages", ())):
        content = turn["content"]
        if type(content) is list:
            _gather(content, f"messages[{index}].content", turns)
    if len(fixed) + len(turns) <= limit:
        return
    kept_turns = min(len(turns), max(limit - len(fixed), min(limit, 1)))
    kept_fixed = limit - kept_turns
    dropped = fixed[: max(len(fixed) - kept_fixed, 0)] + turns[: len(turns) - kept_turns]
    for holder, index, _ in dropped:
        holder[index] = {key: value for key, value in holder[index].items() if key != _KEY}
    places = ", ".join(place for _, _, place in dropped)
    notices.append(Notice("dropped", "cache", f"at most {limit} cache marks are sent; left out are those at {places}"))


def _gather(blocks: list[Any], where: str, marks: list[tuple[Any, int, str]]) -> None:
    for index, block in enumerate(blocks):
        if "content" in block and block["type"] == "tool_result" and isinstance(block["content"], list):
            _gather(block["content"], f"{where}[{index}].content", marks)
        if _KEY in block and block[_KEY] is not None:
            marks.append((blocks, index, f"{where}[{index}]"))
