"""
A history, written as the wire's `system` and `messages`.

The rules, by turn and not by message:

- Instructions go into `system`, in order: joined by a blank line, or as blocks where a text is more than text (a cache
  mark) or a message holds several. Instructions in mid-conversation go there too, with a notice, unless the profile lets
  them stand in place or they were read in place from this wire.
- Neighbours of one role become one turn, their blocks in order.
- The results of an assistant's calls stand in the one user turn that follows, in the order of the calls, before any text.
- The first turn is the user's. Where a history begins with the assistant, a short user turn is put before it, with a
  notice.
- Text that is empty is not sent. The last turn, where it is the assistant's, ends without white space.

What is written for sending is ready JSON as far as nothing in it may still change, and is remembered: on each message,
and on the history as a whole, so that a conversation sent turn by turn costs work for what each turn adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from polywire import wire_json
from polywire.errors import UnsupportedByModel
from polywire.immutable import EMPTY
from polywire.memo import recall, remember
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.survey import Survey
from polywire_anthropic.cache_marks import bears_mark
from polywire_anthropic.decode import WIRE
from polywire_anthropic.encode_blocks import Block, BlockWriter, compact_content

__all__ = ["FIRST_USER_TEXT", "encode_history", "encode_history_json", "encode_list"]

FIRST_USER_TEXT = "(The conversation begins with the assistant.)"
"""What the user says in a history that begins with the assistant."""

LATE = 1 << 30


class _Turn:
    __slots__ = ("blocks", "extras", "results", "role", "whole")

    def __init__(self, role: str, blocks: list[Any]) -> None:
        self.role = role
        self.blocks = blocks
        self.results: list[tuple[int, Any]] = []
        self.extras: Mapping[str, Any] = EMPTY
        self.whole: msgspec.Raw | None = None
        """The turn as ready JSON, where one message alone has given all of it."""

    def copy(self) -> _Turn:
        twin = _Turn(self.role, self.blocks.copy())
        twin.results, twin.extras, twin.whole = self.results.copy(), self.extras, self.whole
        return twin

    def add(self, blocks: list[Any]) -> None:
        self.whole = None
        self.blocks = [*self.blocks, *blocks]

    def written(self) -> Any:
        if self.whole is not None:
            return self.whole
        results, content = self.results, self.blocks
        if results:
            if len(results) > 1:
                results.sort(key=lambda result: result[0])
            content = [block for _, block in results] + content
        written = {"role": self.role, "content": compact_content(content)}
        return {**written, **self.extras} if self.extras else written


class _HistoryWriter:
    """
    Writes a history into turns.

    Args:
        profile: the model's.
        notices: where what was changed is told.
        is_list: whether there is no field for instructions.
        as_json: write blocks and turns as ready JSON, and remember them. Not for what is handed to a caller, who may
            change it.
    """

    def __init__(
        self, profile: Profile, notices: list[Notice], *, is_list: bool = False, as_json: bool = False
    ) -> None:
        self._profile = profile
        self._writer = BlockWriter(profile, notices)
        self._notices = notices
        self._told = len(notices)
        self._is_list = is_list
        self._as_json = as_json
        self._before: list[Any] = []
        """The turns, written, that stand before the last one and will not change."""
        self._last: _Turn | None = None
        self._first_role = ""
        self._order: dict[str, int] = {}
        self._system: list[list[Block]] = []
        self._is_settled = as_json

    def go_on(self, found: Survey) -> int:
        """Go on from what was written for the beginning of this history; returns how many messages that holds."""
        key, count, state = found.written
        if key is not self._profile:
            return 0
        before, last, order, system = state
        self._before, self._last = before.copy(), last.copy()
        self._first_role = "user"  # nothing that begins otherwise is noted
        self._order, self._system = order.copy(), system.copy()
        return count

    def note(self, found: Survey, count: int) -> None:
        """Let the history remember what was written for it, unless more messages could change any of it."""
        last = self._last
        if self._is_settled and last is not None and last.role == "user" and len(self._notices) == self._told:
            found.written = (self._profile, count, (self._before, last, self._order, self._system))

    def _next(self, role: str, blocks: list[Any]) -> _Turn:
        """Begin a turn; the one before is written, for nothing can change it any more."""
        if self._last is None:
            self._first_role = role
        else:
            self._before.append(self._last.written())
        turn = self._last = _Turn(role, blocks)
        return turn

    def write(self, messages: Sequence[Message], start: int = 0) -> None:
        """
        Write the messages, from the one at `start`, into turns.

        The loop is the hot path of a long conversation, so what is short stands in it rather than in functions
        [measured: half the time of the same with a function for each kind].
        """
        profile, as_json, plain = self._profile, self._as_json, self._writer.plain
        whole: msgspec.Raw | None = None
        for position, message in enumerate(messages[start:] if start else messages, start):
            kind = type(message)
            if kind is SystemMessage:
                after = messages[position + 1] if position + 1 < len(messages) else None
                self._instructions(message, position, after)  # type: ignore[arg-type]
                continue
            if kind is CustomMessage:
                msg = f"messages[{position}]: this wire does not know the custom message {sorted(message.attributes)}"  # type: ignore[union-attr]
                raise UnsupportedByModel(msg)
            if as_json:
                blocks, whole = recall(message, profile) or self._ready(message, position)  # type: ignore[arg-type]
            else:
                blocks = plain(message) or self._blocks(message, position)
            turn = self._last
            if kind is ToolResultMessage:
                if turn is None or turn.role != "user":
                    turn = self._next("user", [])
                    turn.whole = whole
                else:
                    turn.whole = None
                if message.error is not None:  # type: ignore[union-attr]
                    # Here, and not where the block is written, for the block is remembered.
                    self._writer.tell_error(message, message.error, position)  # type: ignore[arg-type, union-attr]
                # The message's extras stand in the block: all results share the one user's turn.
                turn.results.append((self._order.get(message.call_id, LATE), blocks[0]))  # type: ignore[union-attr]
                continue
            if not blocks:
                continue
            role = message.role
            if turn is None or turn.role != role:
                turn = self._next(role, blocks)
                turn.whole = whole
                if kind is AiMessage:
                    self._order = {}
            else:
                turn.add(blocks)
            if message.extras:  # type: ignore[union-attr]
                # What was said first counts.
                own = message.extras.get(WIRE, EMPTY)  # type: ignore[union-attr]
                turn.extras = {**turn.extras, **{key: own[key] for key in own if key not in turn.extras}}
            if kind is AiMessage:
                order = self._order
                for part in message.parts:  # type: ignore[union-attr]
                    if type(part) is ToolCall:
                        order.setdefault(part.id, len(order))

    def _blocks(self, message: Message, position: int) -> list[Block]:
        where = f"messages[{position}]"
        if type(message) is AiMessage:
            return self._writer.assistant(message, where)
        if type(message) is ToolResultMessage:
            return self._writer.result(message, where)
        assert isinstance(message, UserMessage)
        return self._writer.user(message, where)

    def _ready(self, message: Message, position: int) -> tuple[list[Any], msgspec.Raw | None]:
        """
        Write a message's blocks as JSON, with the turn that they make where no other message has a part in it.

        Both are remembered, unless there is something to say about the message each time. Blocks with cache marks stay
        as they are, for which marks are sent goes by all of them; and so do those of a turn with fields of its own.
        """
        plain = self._writer.plain(message)
        if plain is not None:
            ready = _as_json(message, plain)
            remember(message, self._profile, ready)  # type: ignore[arg-type]
            return ready
        told = len(self._notices)
        blocks: list[Any] = self._blocks(message, position)
        whole: msgspec.Raw | None = None
        own_fields = type(message) is not ToolResultMessage and message.extras  # type: ignore[union-attr]
        if not own_fields and not any(map(bears_mark, blocks)):
            blocks, whole = _as_json(message, blocks)
        if len(self._notices) == told:
            remember(message, self._profile, (blocks, whole))  # type: ignore[arg-type]
        return blocks, whole

    def _instructions(self, message: SystemMessage, position: int, after: Message | None) -> None:
        where = f"messages[{position}]"
        if any(content.kind not in {"text", "opaque"} for content in message.contents):
            msg = f"{where}: instructions take text only on this wire"
            raise UnsupportedByModel(msg)
        blocks = self._writer.contents(message.contents, where)
        if not blocks:
            return
        self._is_settled = self._is_settled and self._last is None
        if self._may_stand(message, after):
            self._next("system", blocks)
        elif self._is_list:
            if self._last is None or self._last.role != "user":
                self._next("user", blocks)
            else:
                self._last.add(blocks)
            self._writer.tell(
                "approximated", where, "a message list has no field for instructions: they are written as user text"
            )
        else:
            if self._last is not None:
                self._writer.tell(
                    "approximated", where, "instructions in mid-conversation are sent in the top-level system field"
                )
            self._system.append(blocks)

    def _may_stand(self, message: SystemMessage, after: Message | None) -> bool:
        """Whether instructions may stay where they are: after the user and before the assistant, or as they were read."""
        if message.extras.get(WIRE, {}).get("in_place"):
            return self._last is not None or self._is_list
        follows_user = self._last is not None and self._last.role == "user"
        return self._profile.system_in_place and follows_user and (after is None or isinstance(after, AiMessage))

    def system(self) -> str | list[Block] | None:
        if not self._system:
            return None
        if all(len(blocks) == 1 and len(blocks[0]) == 2 and blocks[0]["type"] == "text" for blocks in self._system):
            return "\n\n".join(blocks[0]["text"] for blocks in self._system)
        return [block for blocks in self._system for block in blocks]

    def messages(self) -> list[dict[str, Any]]:
        self._end()
        if not self._is_list:
            self._begin()
        return self._before if self._last is None else [*self._before, self._last.written()]

    def _begin(self) -> None:
        if self._last is None and not self._before:
            msg = "messages: this wire needs a message of the user's that says something"
            raise UnsupportedByModel(msg)
        if self._first_role == "assistant":
            self._before.insert(0, {"role": "user", "content": FIRST_USER_TEXT})
            self._writer.tell(
                "repaired", "messages[0]", f"the first message must be the user's; {FIRST_USER_TEXT!r} is put before it"
            )

    def _end(self) -> None:
        turn = self._last
        if turn is None or turn.role != "assistant":
            return
        turn.whole = None
        turn.blocks = [wire_json.decode(block) if type(block) is msgspec.Raw else block for block in turn.blocks]
        blocks = turn.blocks
        if blocks[-1]["type"] == "text" and blocks[-1]["text"][-1].isspace():
            self._writer.tell(
                "repaired", "messages", "white space at the end of the last assistant message is left out"
            )
        while blocks and blocks[-1]["type"] == "text":
            trimmed = blocks[-1]["text"].rstrip()
            if trimmed:
                blocks[-1] = {**blocks[-1], "text": trimmed}
                break
            blocks.pop()
        if not blocks:
            self._last = None
            return
        if not self._profile.prefill and all(block["type"] in _SAID for block in blocks):
            self._writer.tell(
                "information",
                "messages",
                "this model takes no prefilled answer: the vendor may refuse the last message",
            )


_SAID = frozenset({"text", "thinking", "redacted_thinking"})
"""What a finished answer holds; a turn with a server's own blocks is one that was paused, and goes back as it is."""


def _as_json(message: Message, blocks: list[Block]) -> tuple[list[msgspec.Raw], msgspec.Raw]:
    """Return a message's blocks as JSON, and the turn that they make alone."""
    head = b'{"role":"assistant","content":' if type(message) is AiMessage else b'{"role":"user","content":'
    if len(blocks) != 1:
        written = list(map(wire_json.encode, blocks))
        return list(map(msgspec.Raw, written)), msgspec.Raw(b"%b[%b]}" % (head, b",".join(written)))
    one = wire_json.encode(blocks[0])
    content = compact_content(blocks)
    inner = wire_json.encode(content) if type(content) is str else b"[%b]" % one
    return [msgspec.Raw(one)], msgspec.Raw(b"%b%b}" % (head, inner))


def encode_history(
    messages: Sequence[Message], profile: Profile, notices: list[Notice]
) -> tuple[str | list[Block] | None, list[dict[str, Any]]]:
    """
    Write a history that has passed `prepare`.

    Raises:
        UnsupportedByModel: something in it has no place on this wire; the message names the place.
    """
    writer = _HistoryWriter(profile, notices)
    writer.write(messages)
    turns = writer.messages()
    return writer.system(), turns


def encode_history_json(
    messages: Sequence[Message], profile: Profile, notices: list[Notice], found: Survey | None
) -> tuple[str | list[Block] | None, list[Any]]:
    """
    Write a history for sending: as `encode_history`, but in part as ready JSON.

    Args:
        messages: the history.
        profile: the model's.
        notices: where what was changed is told.
        found: what the history holds, which remembers what is written for it; `None` for one that was changed on the way.

    Raises:
        UnsupportedByModel: as for `encode_history`.
    """
    writer = _HistoryWriter(profile, notices, as_json=True)
    start = 0 if found is None else writer.go_on(found)
    writer.write(messages, start)
    turns = writer.messages()
    if found is not None and start != len(messages):
        writer.note(found, len(messages))
    return writer.system(), turns


def encode_list(messages: Sequence[Message], profile: Profile, notices: list[Notice]) -> list[dict[str, Any]]:
    """Write a bare message list, which has no field for instructions and may begin anywhere. As `encode_history`."""
    writer = _HistoryWriter(profile, notices, is_list=True)
    writer.write(messages)
    return writer.messages()
