"""
What a history holds, found in one pass that keeps the ledger too, so that only the changes that are needed are made.

What was found is remembered (see `memo`): a conversation that is sent turn by turn is looked through once, and each turn
costs work for what it adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire.contents import MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.memo import recall_beginning, remember_beginning
from polywire.messages import AiMessage, CustomMessage, Message, ToolResultMessage
from polywire.tool_calls import ToolCall

__all__ = ["Survey", "survey"]


class Survey:
    """
    What a history holds. There is one for each history (as a sequence of the very same messages), and it never changes,
    save for what others note in the last three attributes.

    Attributes:
        waiting: the calls of the last turn that have no result yet.
        broken: whether a rule of the ledger is broken before its end.
        call_ids: the ids of all calls, each once, in order.
        repeated_ids: whether an id stands for several calls.
        names: every tool that is named, each once, in order.
        wires: the wires to which something in it belongs: sealed thinking, opaque blocks, words that a model spoke.
        parallel: whether a turn holds several calls.
        media_in_results: whether a tool's result holds media.
        cache_marks: whether a content bears one.
        fitting: a pattern of ids, and how many of `call_ids`, from the first, are known to match it.
        written: a codec's key, the number of messages from the first that it has written, and what it wrote.
        measured: how many messages from the first have been measured, their bytes, and how many media they hold.
    """

    __slots__ = (
        "broken",
        "cache_marks",
        "call_ids",
        "fitting",
        "measured",
        "media_in_results",
        "names",
        "parallel",
        "repeated_ids",
        "waiting",
        "wires",
        "written",
    )

    def __init__(self) -> None:
        self.waiting: frozenset[str] = frozenset()
        self.broken = False
        self.call_ids: dict[str, None] = {}
        self.repeated_ids = False
        self.names: dict[str, None] = {}
        self.wires: set[str] = set()
        self.parallel = False
        self.media_in_results = False
        self.cache_marks = False
        self.fitting: tuple[str | None, int] = (None, 0)
        self.written: tuple[object, int, Any] = (None, 0, None)
        self.measured = (0, 0, 0)

    @property
    def closes(self) -> bool:
        """Whether every call is answered exactly once, in place."""
        return not self.broken and not self.waiting

    def extended(self, messages: Sequence[Message]) -> Survey:
        """Return what the history holds with these messages added."""
        found = Survey()
        found.call_ids, found.names, found.wires = self.call_ids.copy(), self.names.copy(), self.wires.copy()
        found.repeated_ids, found.parallel = self.repeated_ids, self.parallel
        found.media_in_results, found.cache_marks = self.media_in_results, self.cache_marks
        found.fitting, found.written, found.measured = self.fitting, self.written, self.measured
        found.waiting, found.broken = self.waiting, self.broken
        found._add(messages)
        return found

    def _add(self, messages: Sequence[Message]) -> None:
        names, call_ids, waiting = self.names, self.call_ids, set(self.waiting)
        for message in messages:
            kind = type(message)
            if kind is ToolResultMessage:
                call_id, name = message.call_id, message.tool_name  # type: ignore[union-attr]
                if call_id in waiting:
                    waiting.remove(call_id)
                else:
                    self.broken = True
                if name is not None:
                    names[name] = None
            elif waiting:
                self.broken = True
                waiting.clear()
            if kind is AiMessage:
                for part in message.parts:  # type: ignore[union-attr]
                    if type(part) is ToolCall:
                        if waiting:
                            self.parallel = True
                        call_id = part.id
                        if call_id in call_ids:
                            self.repeated_ids = True
                            self.broken = self.broken or call_id in waiting
                        call_ids[call_id] = None
                        names[part.name] = None
                        waiting.add(call_id)
                    else:
                        self._look_into(part, message)
            elif kind is not CustomMessage:
                for content in message.contents:  # type: ignore[union-attr]
                    if type(content) is not TextContent or content.cache is not None:
                        self._look_into(content, message)
        self.waiting = frozenset(waiting)

    def _look_into(self, content: Any, message: Message) -> None:
        """Look at what is no call, and no text without more."""
        if type(content) is TextContent:
            self.cache_marks = self.cache_marks or content.cache is not None
        elif type(content) is ThinkingContent:
            if type(message) is AiMessage and message.origin is not None:
                self.wires.add(message.origin.wire)
        elif type(content) is OpaqueContent:
            self.wires.add(content.wire)
        elif isinstance(content, MediaContent):
            self.cache_marks = self.cache_marks or content.cache is not None
            if type(message) is ToolResultMessage:
                self.media_in_results = True
            elif type(message) is AiMessage and message.origin is not None and getattr(content, "transcript", None):
                self.wires.add(message.origin.wire)


_EMPTY = Survey()


def survey(messages: Sequence[Message]) -> Survey:
    """Look through a history, or only through what was added to one that is known."""
    known, count = recall_beginning(messages)
    if known is not None and count == len(messages):
        return known  # type: ignore[no-any-return]
    found: Survey = (_EMPTY if known is None else known).extended(messages[count:] if count else messages)
    if messages:
        remember_beginning(messages, found, count)
    return found
