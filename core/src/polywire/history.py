"""
The ledger: is every tool call answered exactly once, in place?

Wires differ in how they write a call and its result, and agree in one rule: after an assistant turn with calls come
their results, one each, before anything else. A history that breaks it is refused here, before any network, with an
error that names the ids and the place, or is repaired, with a notice for each repair.

Ids belong to their assistant turn: some back ends begin again at `call_0` in every answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from hashlib import sha256
from typing import Literal

from polywire.errors import HistoryError
from polywire.fast_dataclass import dataclass
from polywire.messages import AiMessage, AiPart, Message, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.responses import Notice
from polywire.survey import survey

__all__ = ["CallRecord", "Checked", "Ledger", "check_history"]

CallStatus = Literal["pending", "running", "succeeded", "failed"]
HistoryMode = Literal["strict", "repair"]

_WAY_OUT = '; history="repair" mends it'
MISSING_RESULT_TEXT = "There is no result for this tool call."


@dataclass(slots=True)
class CallRecord:
    """
    What the ledger knows of one call.

    Attributes:
        id: the call's id, unique within its turn.
        name: the tool.
        arguments_hash: SHA-256 of the raw arguments, hexadecimal: tells a repeated call without keeping its arguments.
        turn: number of the assistant turn with calls, from 0.
        position: index of the assistant message.
        status: how far it has got.
    """

    id: str
    name: str
    arguments_hash: str
    turn: int
    position: int
    status: CallStatus = "pending"


class Ledger:
    """
    A small state machine over a history; feed it one message after another.

    Every rule is checked at the message that breaks it: `observe` raises `HistoryError`, and the ledger stays as it
    was before that message.
    """

    __slots__ = ("_current", "_position", "_records", "_turn")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._records: list[CallRecord] = []
        self._current: dict[str, CallRecord] = {}
        self._position = 0
        self._turn = 0
        for message in messages:
            self.observe(message)

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """Every call seen, in order."""
        return tuple(self._records)

    @property
    def pending(self) -> tuple[CallRecord, ...]:
        """The calls of the current turn that have no result yet, in order."""
        return tuple(record for record in self._current.values() if record.status in {"pending", "running"})

    def start(self, call_id: str) -> None:
        """Note that a pending call is being run."""
        record = self._current.get(call_id)
        if record is None or record.status != "pending":
            msg = f"the call {call_id!r} is not pending"
            raise HistoryError(msg, call_ids=(call_id,), position=self._position)
        record.status = "running"

    def observe(self, message: Message) -> None:
        """
        Take in the next message.

        Raises:
            HistoryError: it may not stand here; the error names the ids and the place.
        """
        if isinstance(message, ToolResultMessage):
            self._answer(message)
        else:
            self._require_answers(message)
            if isinstance(message, AiMessage):
                self._ask(message)
        self._position += 1

    def check(self) -> None:
        """
        Check that the history may be sent as it stands.

        Raises:
            HistoryError: calls of the last turn have no result.
        """
        if pending := self.pending:
            first = pending[0].position
            msg = (
                f"messages[{first}]: {_calls(pending, one='has no result', several='have no results')},"
                f" and the history ends after messages[{self._position - 1}]{_WAY_OUT}"
            )
            raise HistoryError(msg, call_ids=[record.id for record in pending], position=first)

    def _answer(self, message: ToolResultMessage) -> None:
        place = f"messages[{self._position}]"
        record = self._current.get(message.call_id)
        if record is None:
            earlier = [record for record in self._records if record.id == message.call_id]
            known = (
                f"; the call of that id in messages[{earlier[-1].position}] belongs to an earlier turn"
                if earlier
                else ""
            )
            waiting = (
                f"; waiting for a result: {', '.join(repr(each.id) for each in self.pending)}" if self.pending else ""
            )
            msg = f"{place}: the tool result {message.call_id!r} answers no call of the turn before it{known}{waiting}"
            msg += _WAY_OUT
            raise HistoryError(msg, call_ids=(message.call_id,), position=self._position)
        if record.status in {"succeeded", "failed"}:
            msg = f"{place}: the call {message.call_id!r} of messages[{record.position}] is answered twice{_WAY_OUT}"
            raise HistoryError(msg, call_ids=(message.call_id,), position=self._position)
        record.status = "failed" if message.is_error else "succeeded"

    def _require_answers(self, message: Message) -> None:
        pending = self.pending
        if pending:
            first = pending[0].position
            msg = (
                f"messages[{self._position}]: a{'n' if message.role == 'assistant' else ''} {message.role} message begins before"
                f" {_calls(pending, one='has a result', several='have results')} (called in messages[{first}]){_WAY_OUT}"
            )
            raise HistoryError(msg, call_ids=[record.id for record in pending], position=self._position)

    def _ask(self, message: AiMessage) -> None:
        calls = message.tool_calls
        if not calls:
            # The turn before is closed; a later result must not answer it.
            self._current = {}
            return
        current: dict[str, CallRecord] = {}
        for call in calls:
            if call.id in current:
                msg = f"messages[{self._position}]: two calls of one turn have the id {call.id!r}{_WAY_OUT}"
                raise HistoryError(msg, call_ids=(call.id,), position=self._position)
            digest = sha256(call.arguments.encode("utf-8", "surrogatepass")).hexdigest()
            current[call.id] = CallRecord(call.id, call.name, digest, self._turn, self._position)
        self._current = current
        self._records += current.values()
        self._turn += 1


def _calls(records: Sequence[CallRecord], *, one: str, several: str) -> str:
    names = ", ".join(f"{record.id!r} ({record.name})" for record in records)
    return f"the call {names} {one}" if len(records) == 1 else f"the calls {names} {several}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A history that has passed the ledger, and what had to be repaired for that."""

    messages: Sequence[Message]
    notices: tuple[Notice, ...] = field(default=())


def check_history(messages: Sequence[Message], mode: HistoryMode = "strict") -> Checked:
    """
    Pass a history through the ledger.

    Args:
        messages: the history; never changed.
        mode: `"strict"` raises; `"repair"` puts a neutral error result in the place of a missing one, moves results that
            stand too late to their turn, makes text of results that answer nothing, and tells calls of one turn that
            share an id apart.

    Raises:
        HistoryError: in strict mode, the first rule that is broken.
    """
    if survey(messages).closes:
        return Checked(messages)
    if mode == "strict":
        ledger = Ledger(messages)
        ledger.check()
    return _repaired(messages)


def _repaired(messages: Sequence[Message]) -> Checked:
    repaired: list[Message] = []
    notices: list[Notice] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        if isinstance(message, AiMessage) and message.tool_calls:
            end = position + 1
            while end < len(messages) and not isinstance(messages[end], AiMessage):
                end += 1
            _repair_turn(messages, position, end, repaired, notices)
            position = end
            continue
        if isinstance(message, ToolResultMessage):
            repaired.append(_as_text(message, position, notices))
        else:
            repaired.append(message)
        position += 1
    return Checked(tuple(repaired), tuple(notices))


def _repair_turn(
    messages: Sequence[Message], start: int, end: int, repaired: list[Message], notices: list[Notice]
) -> None:
    turn = messages[start]
    assert isinstance(turn, AiMessage)
    turn, ids = _distinct_ids(turn, start, notices)
    answers: dict[str, ToolResultMessage] = {}
    rest: list[Message] = []
    for position in range(start + 1, end):
        message = messages[position]
        if not isinstance(message, ToolResultMessage):
            rest.append(message)
            continue
        free = [call_id for call_id in ids.get(message.call_id, ()) if call_id not in answers]
        if not free:
            rest.append(_as_text(message, position, notices))
            continue
        if rest:
            notices.append(
                Notice(
                    "repaired", f"messages[{position}]", f"the result {message.call_id!r} is moved to its call's turn"
                )
            )
        if free[0] != message.call_id:
            message = ToolResultMessage(
                free[0], message.tool_name, message.contents, message.is_error, message.error, extras=message.extras
            )
        answers[free[0]] = message
    for call in turn.tool_calls:
        if call.id not in answers:
            error = ToolError("missing_result", MISSING_RESULT_TEXT)
            answers[call.id] = ToolResultMessage(call.id, call.name, MISSING_RESULT_TEXT, error=error)
            notices.append(
                Notice(
                    "repaired",
                    f"messages[{start}]",
                    f"the call {call.id!r} has no result; an error result is sent in its place",
                )
            )
    repaired.append(turn)
    repaired += [answers[call.id] for call in turn.tool_calls]
    repaired += rest


def _distinct_ids(turn: AiMessage, position: int, notices: list[Notice]) -> tuple[AiMessage, dict[str, list[str]]]:
    ids: dict[str, list[str]] = {}
    taken = {call.id for call in turn.tool_calls}
    parts: list[AiPart] = []
    for part in turn.parts:
        if isinstance(part, ToolCall):
            given = ids.setdefault(part.id, [])
            if given:
                number = len(given) + 1
                while (new := f"{part.id}_{number}") in taken:
                    number += 1
                taken.add(new)
                given.append(new)
                notices.append(
                    Notice(
                        "repaired", f"messages[{position}]", f"two calls share the id {part.id!r}; one is now {new!r}"
                    )
                )
                part = ToolCall(
                    new, part.name, part.arguments, part.source, incomplete=part.incomplete, extras=part.extras
                )
            else:
                given.append(part.id)
        parts.append(part)
    return (AiMessage(parts, turn.origin, extras=turn.extras) if len(taken) != len(ids) else turn), ids


def _as_text(message: ToolResultMessage, position: int, notices: list[Notice]) -> UserMessage:
    notices.append(
        Notice(
            "repaired", f"messages[{position}]", f"the result {message.call_id!r} answers no call; it is sent as text"
        )
    )
    name = f" of {message.tool_name}" if message.tool_name else ""
    head = f"(A tool result{name} whose call is no longer in this conversation:)\n"
    return UserMessage([head, *message.contents] if message.contents else [head + "(empty)"])
