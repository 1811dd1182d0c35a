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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.errors import UnsupportedByModel
from polywire.immutable import EMPTY
from polywire.memo import recall, remember
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire_anthropic.decode import WIRE
from polywire_anthropic.encode_blocks import Block, BlockWriter, compact_content

__all__ = ["FIRST_USER_TEXT", "encode_history", "encode_list"]

FIRST_USER_TEXT = "(The conversation begins with the assistant.)"
"""What the user says in a history that begins with the assistant."""

LATE = 1 << 30


class _Turn:
    __slots__ = ("blocks", "extras", "results", "role")

    def __init__(self, role: str) -> None:
        self.role = role
        self.blocks: list[Block] = []
        self.results: list[tuple[int, Block]] = []
        self.extras: dict[str, Any] = {}

    def content(self) -> list[Block]:
        if not self.results:
            return self.blocks
        if len(self.results) > 1:
            self.results.sort(key=lambda result: result[0])
        return [block for _, block in self.results] + self.blocks


class _HistoryWriter:
    def __init__(self, profile: Profile, notices: list[Notice], *, is_list: bool) -> None:
        self._profile = profile
        self._writer = BlockWriter(profile, notices)
        self._notices = notices
        self._is_list = is_list
        # A payload handed to a caller may be changed there; only one that is turned into bytes at once may share blocks.
        self._remembers = not profile.quirks.get("as_read")
        self._turns: list[_Turn] = []
        self._order: dict[str, int] = {}
        self._system: list[list[Block]] = []

    def write(self, messages: Sequence[Message]) -> None:
        """
        Write the messages into turns.

        The loop is the hot path of a long conversation, so what is short stands in it rather than in functions
        [measured: half the time of the same with a function for each kind].
        """
        profile = self._profile if self._remembers else None
        turns = self._turns
        for position, message in enumerate(messages):
            kind = type(message)
            if kind is SystemMessage:
                after = messages[position + 1] if position + 1 < len(messages) else None
                self._instructions(message, position, after)  # type: ignore[arg-type]
                continue
            if kind is CustomMessage:
                msg = f"messages[{position}]: this wire does not know the custom message {sorted(message.attributes)}"  # type: ignore[union-attr]
                raise UnsupportedByModel(msg)
            blocks: list[Block] | None = None if profile is None else recall(message, profile)  # type: ignore[arg-type]
            if blocks is None:
                blocks = self._written(message, position)
            if kind is ToolResultMessage:
                if not turns or turns[-1].role != "user":
                    turns.append(_Turn("user"))
                # The message's extras stand in the block: all results share the one user's turn.
                turns[-1].results.append((self._order.get(message.call_id, LATE), blocks[0]))  # type: ignore[union-attr]
                continue
            if not blocks:
                continue
            turn = self._turn(message.role, message.extras)  # type: ignore[union-attr]
            turn.blocks += blocks
            if kind is AiMessage:
                order = self._order
                for part in message.parts:  # type: ignore[union-attr]
                    if type(part) is ToolCall:
                        order.setdefault(part.id, len(order))

    def _written(self, message: Message, position: int) -> list[Block]:
        """Write a message's blocks, and remember them on it, unless there is something to say about it each time."""
        where, told = f"messages[{position}]", len(self._notices)
        if isinstance(message, AiMessage):
            blocks = self._writer.assistant(message, where)
        elif isinstance(message, ToolResultMessage):
            blocks = self._writer.result(message, where)
        else:
            assert isinstance(message, UserMessage)
            blocks = self._writer.user(message, where)
        if self._remembers and len(self._notices) == told:
            remember(message, self._profile, blocks)
        return blocks

    def _turn(self, role: str, extras: Mapping[str, Any]) -> _Turn:
        turns = self._turns
        if turns and turns[-1].role == role:
            turn = turns[-1]
        else:
            turn = _Turn(role)
            turns.append(turn)
            if role == "assistant":
                self._order = {}
        if extras:
            for key, value in extras.get(WIRE, {}).items():
                turn.extras.setdefault(key, value)
        return turn

    def _instructions(self, message: SystemMessage, position: int, after: Message | None) -> None:
        where = f"messages[{position}]"
        if any(content.kind not in {"text", "opaque"} for content in message.contents):
            msg = f"{where}: instructions take text only on this wire"
            raise UnsupportedByModel(msg)
        blocks = self._writer.contents(message.contents, where)
        if not blocks:
            return
        if self._may_stand(message, after):
            turn = _Turn("system")
            turn.blocks = blocks
            self._turns.append(turn)
        elif self._is_list:
            self._turn("user", EMPTY).blocks += blocks
            self._writer.tell(
                "approximated", where, "a message list has no field for instructions: they are written as user text"
            )
        else:
            if self._turns:
                self._writer.tell(
                    "approximated", where, "instructions in mid-conversation are sent in the top-level system field"
                )
            self._system.append(blocks)

    def _may_stand(self, message: SystemMessage, after: Message | None) -> bool:
        """Whether instructions may stay where they are: after the user and before the assistant, or as they were read."""
        if message.extras.get(WIRE, {}).get("in_place"):
            return bool(self._turns) or self._is_list
        follows_user = bool(self._turns) and self._turns[-1].role == "user"
        return self._profile.system_in_place and follows_user and (after is None or isinstance(after, AiMessage))

    def system(self) -> str | list[Block] | None:
        if not self._system:
            return None
        if all(len(blocks) == 1 and len(blocks[0]) == 2 and blocks[0]["type"] == "text" for blocks in self._system):
            return "\n\n".join(blocks[0]["text"] for blocks in self._system)
        return [block for blocks in self._system for block in blocks]

    def messages(self) -> list[dict[str, Any]]:
        turns = self._turns
        self._end()
        if not self._is_list:
            self._begin()
        return [{"role": turn.role, "content": compact_content(turn.content()), **turn.extras} for turn in turns]

    def _begin(self) -> None:
        turns = self._turns
        if not turns:
            msg = "messages: this wire needs a message of the user's that says something"
            raise UnsupportedByModel(msg)
        if turns[0].role == "assistant":
            first = _Turn("user")
            first.blocks = [{"type": "text", "text": FIRST_USER_TEXT}]
            turns.insert(0, first)
            self._writer.tell(
                "repaired", "messages[0]", f"the first message must be the user's; {FIRST_USER_TEXT!r} is put before it"
            )

    def _end(self) -> None:
        turns = self._turns
        if not turns or turns[-1].role != "assistant":
            return
        blocks = turns[-1].blocks
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
            turns.pop()
            return
        if not self._profile.prefill and all(block["type"] in _SAID for block in blocks):
            self._writer.tell(
                "information",
                "messages",
                "this model takes no prefilled answer: the vendor may refuse the last message",
            )


_SAID = frozenset({"text", "thinking", "redacted_thinking"})
"""What a finished answer holds; a turn with a server's own blocks is one that was paused, and goes back as it is."""


def encode_history(
    messages: Sequence[Message], profile: Profile, notices: list[Notice]
) -> tuple[str | list[Block] | None, list[dict[str, Any]]]:
    """
    Write a history that has passed `prepare`.

    Raises:
        UnsupportedByModel: something in it has no place on this wire; the message names the place.
    """
    writer = _HistoryWriter(profile, notices, is_list=False)
    writer.write(messages)
    turns = writer.messages()
    return writer.system(), turns


def encode_list(messages: Sequence[Message], profile: Profile, notices: list[Notice]) -> list[dict[str, Any]]:
    """Write a bare message list, which has no field for instructions and may begin anywhere. As `encode_history`."""
    writer = _HistoryWriter(profile, notices, is_list=True)
    writer.write(messages)
    return writer.messages()
