"""
Tool calls as they arrive, whole or in fragments, in every shape that endpoints are known to send.

To which call does a fragment belong?

1. One with an `index` belongs to the call that was last opened under it. But a new id together with a name opens another
   call: some endpoints number every call 0.
2. One without belongs to the call with its id; without an id, or with the first id for a call that had none, to the last.
3. One with a name whose arguments begin a new object, or that brings another name and no arguments, opens another call
   where the arguments so far are whole, for then nothing can continue them; the same call said once more is not another
   one. Within one delta, a second named item without a place of its own is always another call, though both have one index.
4. One with a name, no id and no arguments, beside a call that has no arguments either, is another call where both names are
   offered tools'; where nobody knows what is offered, where it says what type it is, which a piece of a name does not.

And what becomes of it: an id never changes once there; a name counts once, grows while no arguments have come (a
fragmented name), and is not doubled by being repeated; arguments that are an object become JSON text; what is missing
at the end is made. An empty id, or the text `null` for one, is none. An empty object as the first fragment stands in for
arguments that may follow, and counts where none do.

A call is announced when its arguments begin, for until then its name may still grow; and when its id and its name are
known, which some endpoints tell last. One that lacks either is announced when it is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.events import StreamEvent, ToolCallDelta, ToolCallEnd, ToolCallStart
from polywire.immutable import EMPTY
from polywire.messages import ToolCall
from polywire.requests import ToolSpecification
from polywire.translation.calls import arguments_text, generate_call_id, make_call
from polywire.translation.halves import HalfJoiner
from polywire_openai.fields import WIRE, extras_of, merged
from polywire_openai.reading import PLAIN, Reading

__all__ = ["CUSTOM", "INVALID_JSON", "ToolCallAssembler", "read_arguments", "read_calls", "read_plain_call"]

INVALID_JSON = "INVALID_JSON"
"""Arguments must hold an object, so those that hold none are sent as the value of this one key."""

CUSTOM = "custom"
"""The type of a call whose input is free text; here it is the argument `input`."""

_CALL = frozenset({"index", "id", "type", "function", "custom"})
_FUNCTION = frozenset({"name", "arguments"})
_EMPTY_ID = frozenset({"", "null"})
_WRAPPED = f'{{"{INVALID_JSON}"'


def read_arguments(text: str) -> str:
    """Return arguments as the model wrote them: those that were wrapped to make an object are taken out again."""
    if text.startswith(_WRAPPED):
        value = wire_json.decode_object(text)
        if value is not None and len(value) == 1:
            raw = value.get(INVALID_JSON)
            if isinstance(raw, str) and wire_json.decode_arguments(raw) is None:
                return raw
    return text


class _Slot:
    """One call in the making."""

    __slots__ = ("empty", "extras", "fragments", "halves", "id", "is_custom", "name", "number", "started", "touched")

    def __init__(self, number: int, call_id: str, name: str) -> None:
        self.number = number
        self.id = call_id
        self.name = name
        self.fragments: list[str] = []
        self.halves: HalfJoiner | None = None
        """Of a character that a server cut in two, once there was text beyond ASCII."""
        self.empty = ""
        """An empty object that came first: the arguments, if nothing else comes."""
        self.extras: dict[str, Any] = {}
        self.is_custom = False
        self.started = False
        self.touched = -1

    @property
    def arguments(self) -> str:
        return "".join(self.fragments) or self.empty

    def joined(self, arguments: str) -> str:
        """Return what may be told of a further fragment: a character in two halves comes with the second."""
        if self.halves is None:
            if arguments.isascii():
                return arguments
            self.halves = HalfJoiner()
        return self.halves.add(arguments)

    def is_whole(self) -> bool:
        return bool(self.fragments or self.empty) and wire_json.decode_object(self.arguments) is not None


class ToolCallAssembler:
    """
    Puts one answer's calls together.

    Args:
        reading: the request's names and schemas.
        first_part: the number of the first call's part; the others follow.
    """

    __slots__ = ("_by_index", "_delta", "_ids", "_reading", "_slots", "first_part", "seed")

    def __init__(self, reading: Reading, first_part: int) -> None:
        self._reading = reading
        self.first_part = first_part
        self.seed = ""
        """What tells this answer from others, for the ids that are made; set it before the first call."""
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._ids: dict[str, _Slot] = {}
        self._delta = 0

    def __bool__(self) -> bool:
        """Whether there is any call."""
        return bool(self._slots)

    def fragments_of(self, part: int) -> list[str]:
        """Return the list to which further arguments of this part are added."""
        return self._slots[part - self.first_part].fragments

    def add(self, items: Sequence[Any], events: list[StreamEvent], *, whole: bool = False) -> bool:
        """
        Take in the `tool_calls` of one delta, or of a `whole` message, where each item is a call.

        Returns:
            whether the same items with other arguments would add to the same call again.
        """
        self._delta += 1
        plain = len(items) == 1
        for item in items:
            if isinstance(item, Mapping):
                plain = self._add(item, events, whole) and plain
        return plain

    def _add(self, item: Mapping[str, Any], events: list[StreamEvent], whole: bool) -> bool:
        body = item.get("function")
        is_custom = not isinstance(body, Mapping) and isinstance(item.get("custom"), Mapping)
        if is_custom:
            body = item["custom"]
        body = body if isinstance(body, Mapping) else EMPTY
        name, index, call_id = body.get("name"), item.get("index"), item.get("id")
        name = name if isinstance(name, str) else ""
        if type(call_id) is int:
            call_id = str(call_id)
        call_id = call_id if isinstance(call_id, str) and call_id not in _EMPTY_ID else ""
        if type(index) is not int:
            index = _number(index)
        arguments = arguments_text(body.get("input") if is_custom else body.get("arguments"))

        slot = self._slot(index, call_id, name, arguments, events, whole=whole, is_typed="type" in item)
        if slot is None:
            return False
        slot.touched = self._delta
        slot.is_custom = slot.is_custom or is_custom
        if call_id and not slot.id and call_id not in self._ids and not slot.started:
            slot.id = call_id
            self._ids[call_id] = slot
        self._name(slot, name)
        self._keep_extras(slot, item, body)
        if arguments:
            if not slot.fragments and not slot.is_custom and not slot.empty and arguments.strip() == "{}":
                slot.empty = arguments
                return False
            if slot.empty and not slot.fragments and not arguments.lstrip().startswith("{"):
                slot.fragments.append(slot.empty)
            arguments = slot.joined(arguments)
            slot.fragments.append(arguments)
            if arguments and slot.id and slot.name and not slot.is_custom:
                if slot.started:
                    events.append(ToolCallDelta(arguments, slot.number + self.first_part))
                else:
                    self._start(slot, events)
        return not name and index is not None and slot.started and not (slot.halves is not None and slot.halves.half)

    def _slot(
        self,
        index: int | None,
        call_id: str,
        name: str,
        arguments: str,
        events: list[StreamEvent],
        *,
        whole: bool,
        is_typed: bool,
    ) -> _Slot | None:
        """Return the call that a fragment belongs to, opened if need be; `None` for one that only repeats a call."""
        if whole:
            slot = None
        elif index is not None:
            slot = self._by_index.get(index)
            another = slot is not None and slot.id and call_id and call_id != slot.id and (name or call_id in self._ids)
            if another or (slot is None and not name):
                slot = self._ids.get(call_id)
            elif slot is not None and name and slot.touched == self._delta and not (call_id and call_id == slot.id):
                slot = None
        elif call_id:
            slot = self._ids.get(call_id)
            if slot is None and not name and self._slots and not self._slots[-1].id:
                slot = self._slots[-1]  # the id comes after the name
        else:
            slot = self._slots[-1] if self._slots else None
            if slot is not None and name and slot.touched == self._delta:
                slot = None
        if slot is not None and name and self._is_without_arguments(slot, call_id, name, arguments, is_typed):
            slot = None
        if slot is not None and name and _begins_another(slot, call_id, name, arguments):
            if call_id and call_id == slot.id and name == slot.name and arguments == slot.arguments:
                return None
            slot = None
        if slot is None:
            if self._slots:
                self._start(self._slots[-1], events)
            slot = _Slot(len(self._slots), "" if call_id in self._ids else call_id, "")
            self._slots.append(slot)
            if slot.id:
                self._ids[slot.id] = slot
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _is_without_arguments(self, slot: _Slot, call_id: str, name: str, arguments: str, is_typed: bool) -> bool:
        """
        Whether a fragment with a name and nothing else begins a call of its own beside one without arguments; see rule 4.
        """
        if call_id or arguments or slot.fragments or slot.empty or not slot.name or slot.touched == -1:
            return False
        offered = self._offered
        if offered:
            return slot.name in offered and name in offered
        return not slot.id and is_typed

    @property
    def _offered(self) -> frozenset[str]:
        """The tools' names as they were sent, as far as they are known."""
        request = self._reading.request
        tools = request.parameters.tools or () if request is not None else ()
        to_wire = self._reading.names.to_wire
        return frozenset(to_wire(tool.name) for tool in tools if isinstance(tool, ToolSpecification))

    @staticmethod
    def _name(slot: _Slot, name: str) -> None:
        if not name or name == slot.name:
            return
        if not slot.name:
            slot.name = name
        elif not slot.started and not slot.fragments:
            # Fragments of a name, or the name so far said again and longer.
            slot.name = name if name.startswith(slot.name) else slot.name + name

    @staticmethod
    def _keep_extras(slot: _Slot, item: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        own = extras_of(item, _CALL)
        if own:
            slot.extras = merged(slot.extras, own[WIRE])
        if not body.keys() <= _FUNCTION and not slot.is_custom and (within := extras_of(body, _FUNCTION)):
            slot.extras = merged(slot.extras, {"function": within[WIRE]})
        kind = item.get("type")
        if isinstance(kind, str) and kind and kind not in {"function", CUSTOM}:
            slot.extras["type"] = kind

    def _start(self, slot: _Slot, events: list[StreamEvent]) -> None:
        """Announce a call, with the arguments so far."""
        if slot.started:
            return
        slot.started = True
        own_name = self._reading.names.from_wire(slot.name) or "unnamed"
        if not slot.id:
            slot.id = generate_call_id(self.seed, slot.number, own_name)
            self._ids[slot.id] = slot
        events.append(ToolCallStart(slot.id, own_name, slot.number + self.first_part))
        if slot.arguments and not slot.is_custom:
            events.append(ToolCallDelta(slot.arguments, slot.number + self.first_part))

    def finish(self, events: list[StreamEvent], *, cut: bool) -> None:
        """End every call. `cut`: the answer ended early, so that what is not whole is incomplete."""
        for slot in self._slots:
            part = slot.number + self.first_part
            if slot.halves is not None and (left := slot.halves.finish()):
                slot.fragments.append(left)
                if slot.started and not slot.is_custom:
                    events.append(ToolCallDelta(left, part))
            self._start(slot, events)
            call = self._call(slot, cut=cut)
            if slot.is_custom:
                events.append(ToolCallDelta(call.arguments, part))
            events.append(ToolCallEnd(call, part))

    def _call(self, slot: _Slot, *, cut: bool) -> ToolCall:
        extras = slot.extras
        if slot.is_custom:
            arguments = wire_json.compact({"input": slot.arguments})
            extras = {**extras, "type": CUSTOM}
        else:
            arguments = read_arguments(slot.arguments)
            if (lowered := self._reading.schemas.get(slot.name)) is not None:
                arguments = lowered.restore_text(arguments)
        call = make_call(
            self._reading.names.from_wire(slot.name),
            arguments,
            id=slot.id,
            source=WIRE,
            cut=cut,
            extras={WIRE: extras} if extras else EMPTY,
        )
        if slot.is_custom and cut:
            # Free text does not show that it was cut.
            return ToolCall(call.id, call.name, call.arguments, WIRE, incomplete=True, extras=call.extras)
        return call


def _number(index: Any) -> int | None:
    """Read an index that is no integer: one as text, or with a fraction of nothing, is meant for one."""
    if isinstance(index, float) and index.is_integer():
        return int(index)
    return int(index) if isinstance(index, str) and index.isascii() and index.isdigit() else None


def _begins_another(slot: _Slot, call_id: str, name: str, arguments: str) -> bool:
    """Whether a fragment with a name begins a call of its own; see rule 3."""
    if slot.empty and not slot.fragments and call_id and (call_id, name) == (slot.id, slot.name):
        return False
    begins = arguments.lstrip().startswith("{") or (not arguments and name != slot.name)
    return begins and slot.is_whole()


def read_plain_call(item: Any) -> ToolCall | None:
    """
    Read a call that has an id, a name and arguments in text, and nothing else; `None` for any other.

    Spelled out, for histories are full of such calls [measured: a third of the time of the same as a `match`].
    """
    if type(item) is not dict or len(item) != 3 or item.get("type") != "function":
        return None
    call_id, body = item.get("id"), item.get("function")
    if type(call_id) is not str or call_id in _EMPTY_ID or type(body) is not dict or len(body) != 2:
        return None
    name, text = body.get("name"), body.get("arguments")
    if type(name) is not str or not name or type(text) is not str:
        return None
    return ToolCall(call_id, name, read_arguments(text) if text.startswith(_WRAPPED) else text, WIRE)


def read_calls(items: Sequence[Any], *, seed: str) -> list[ToolCall]:
    """
    Read the `tool_calls` of a message that is whole and stands in a history, each item a call.

    An id counts as it is, and a name too; `seed` makes the ids of calls that have none.
    """
    calls: list[ToolCall] = []
    for index, item in enumerate(items):
        call = read_plain_call(item)
        if call is not None:
            calls.append(call)
            continue
        if isinstance(item, Mapping):
            assembler = ToolCallAssembler(PLAIN, index)
            assembler.seed = f"{seed}\0{index}"
            assembler.add([item], [])
            events: list[StreamEvent] = []
            assembler.finish(events, cut=False)
            calls += [event.call for event in events if type(event) is ToolCallEnd]
    return calls
