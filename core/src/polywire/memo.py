"""
What has been worked out for a value that never changes, remembered on the value itself.

A conversation is sent again with every turn. Its messages never change, so what a codec wrote for one of them stays
right, and so does what was found in a history as long as it begins with the very same messages. A message remembers:

- what one codec wrote for it, under that codec's key (`recall`, `remember`);
- where it is the last message of a history that was looked through: what was found in that history, together with the
  messages before it (`recall_beginning`, `remember_beginning`). Sent again with more behind it, only what is new is
  looked at; the memory then moves on to the new last message, so that a conversation keeps one of them.

A message forgets with itself; equality, hash, pickle and copies do not see it. What is remembered is replaced whole and
never changed, so threads may share messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from polywire.immutable import slot_setters

__all__ = ["NOTHING", "Remembering", "recall", "recall_beginning", "remember", "remember_beginning"]

NOTHING: tuple[object, Any, Any] = (None, None, None)
"""What a new value remembers."""

_LOOK_BACK = 64
"""How many messages from the end the one is looked for that was last in an earlier history: more than a turn adds."""


class Remembering:
    """A slotted value with room for what is remembered: a key, what was written under it, and a beginning."""

    __slots__ = ("_memo",)
    _memo: tuple[object, Any, Any]


(_set_memo,) = slot_setters(Remembering, "_memo")


def _memo_of(value: object) -> tuple[object, Any, Any]:
    # A value that was unpickled or copied has an empty slot, and one of another class none.
    return getattr(value, "_memo", NOTHING)


def recall(value: Remembering, key: object) -> Any:
    """Return what was remembered on `value` under this very `key` (by identity), or `None`."""
    try:
        memo = value._memo
    except AttributeError:
        return None
    return memo[1] if memo[0] is key else None


def remember(value: Remembering, key: object, result: Any) -> None:
    """Remember `result` on `value` under `key`, in the place of what was there."""
    try:
        beginning = value._memo[2]
    except AttributeError:
        beginning = None
    _set_memo(value, (key, result, beginning))


def recall_beginning(messages: Sequence[Any]) -> tuple[Any, int]:
    """
    Return what was found in the longest known beginning of a history, and how many messages that has; or `None` and 0.

    A beginning counts only if it is made of the very same objects: equal ones may differ in what is written for them
    (`True` and `1` are equal).
    """
    position = len(messages)
    for message in messages[: -_LOOK_BACK - 1 : -1]:
        position -= 1
        try:
            beginning = message._memo[2]
        except AttributeError:  # as in `_memo_of`
            continue
        if beginning is not None:
            before, found = beginning
            if len(before) == position and all(map(is_, before, messages)):
                return found, position + 1
            # It belongs to another conversation, or to this one before it was edited. Kept, it would hold that one alive.
            _set_beginning(message, None)
            return None, 0
    return None, 0


def remember_beginning(messages: Sequence[Any], found: Any, known: int = 0) -> None:
    """Remember what was found in this history, and forget it for the `known` messages that it begins with."""
    if known:
        _set_beginning(messages[known - 1], None)
    if isinstance(messages[-1], Remembering):
        _set_beginning(messages[-1], (tuple(messages[:-1]), found))


def _set_beginning(value: Any, beginning: tuple[tuple[Any, ...], Any] | None) -> None:
    key, result, _ = _memo_of(value)
    object.__setattr__(value, "_memo", (key, result, beginning))
