"""
Cache marks: at most as many as the wire takes.

The rule: marks on tools and instructions are kept before those in the conversation, save that the conversation keeps
at least its last one; of each kind the last ones are kept. So marks that a tool loop adds turn by turn do not pile up:
the newest ones push out the oldest of the conversation. Every mark left out is told in a notice.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from polywire.contents import CacheMark
from polywire.responses import Notice

__all__ = ["bears_mark", "cache_control", "limit_cache_marks"]

_KEY = "cache_control"
_Path: TypeAlias = tuple[Any, ...]


def cache_control(mark: CacheMark) -> dict[str, Any]:
    """Write one mark."""
    return {"type": "ephemeral"} if mark.ttl is None else {"type": "ephemeral", "ttl": mark.ttl}


def bears_mark(block: dict[str, Any]) -> bool:
    """Whether a block that was just written, or one within it, bears a mark."""
    if block.get(_KEY) is not None:
        return True
    inner = block.get("content")
    return block.get("type") == "tool_result" and isinstance(inner, list) and any(map(bears_mark, inner))


def limit_cache_marks(body: dict[str, Any], limit: int, notices: list[Notice]) -> None:
    """Take the marks beyond `limit` out of a body that was just written; what it holds is copied, not changed."""
    # The automatic mark of the whole request takes one of the places.
    limit -= 1 if body.get(_KEY) is not None else 0
    fixed: list[_Path] = []
    turns: list[_Path] = []
    for key in ("tools", "system"):
        if isinstance(body.get(key), list):
            _gather(body[key], (key,), fixed)
    for index, turn in enumerate(body.get("messages", ())):
        # What is ready JSON bears no marks.
        if type(turn) is dict and type(turn["content"]) is list:
            _gather(turn["content"], ("messages", index, "content"), turns)
    if len(fixed) + len(turns) <= limit:
        return
    kept_turns = min(len(turns), max(limit - len(fixed), min(limit, 1)))
    kept_fixed = limit - kept_turns
    dropped = fixed[: max(len(fixed) - kept_fixed, 0)] + turns[: len(turns) - kept_turns]
    for path in dropped:
        body[path[0]] = _without_mark(body[path[0]], path[1:])
    places = ", ".join(map(_place, dropped))
    notices.append(Notice("dropped", "cache", f"at most {limit} cache marks are sent; left out are those at {places}"))


def _gather(blocks: list[Any], path: _Path, marks: list[_Path]) -> None:
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        if "content" in block and block.get("type") == "tool_result" and isinstance(block["content"], list):
            _gather(block["content"], (*path, index, "content"), marks)
        if _KEY in block and block[_KEY] is not None:
            marks.append((*path, index))


def _without_mark(value: Any, path: _Path) -> Any:
    if not path:
        return {key: item for key, item in value.items() if key != _KEY}
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _without_mark(value[path[0]], path[1:])
    return copy


def _place(path: _Path) -> str:
    return str(path[0]) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
