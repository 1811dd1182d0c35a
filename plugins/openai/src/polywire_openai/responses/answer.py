"""
An answer, read event by event: the one set of functions for plain bodies and for streams.

A plain answer is read as a stream that has only its last event, so that both give the same response. Where an item is
told as it grows, its parts are told so too; what counts in the end is the item as it was completed. A part's number is
made of its item's place in the answer and its own in the item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polywire.contents import TextContent, ThinkingContent
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from polywire.messages import AiPart, Origin, ToolCall
from polywire.responses import Notice
from polywire.translation.calls import arguments_text, generate_call_id
from polywire.translation.ids import with_id
from polywire_openai.reading import Reading
from polywire_openai.responses.endings import ending_of
from polywire_openai.responses.errors import error_inside, find_error
from polywire_openai.responses.fields import CUSTOM_CALL, FUNCTION_CALL, MESSAGE, REASONING, WIRE
from polywire_openai.responses.growing import PARTS_OF_AN_ITEM, GrowingItem, number_in, with_annotations
from polywire_openai.responses.items import JOINT, parts_of_item
from polywire_openai.responses.places import Places, index_of
from polywire_openai.responses.usage import usage_details
from polywire_openai.usage import decode_usage

__all__ = ["PARTS_OF_AN_ITEM", "AnswerReader"]

_NOT_METADATA = frozenset({"output", "usage", "error", "object", "created_at", "status", "obfuscation"})
_TERMINAL = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
"""The last one is how some servers name any of the others."""


class AnswerReader:
    """
    Reads one answer.

    Attributes:
        seen: whether there was any event.
        ended: whether the event came with which every answer ends.
        fragments: where the text of the last delta was put.
        repeatable: whether the last delta, said again with another text, would add just that text.
    """

    def __init__(self, reading: Reading, origin: Origin | None = None) -> None:
        self._reading = reading
        self._origin = origin
        self._metadata: dict[str, Any] = {}
        self._usage: Mapping[str, Any] = {}
        self._open: dict[int, GrowingItem] = {}
        self._closed: dict[int, list[tuple[int, AiPart]]] = {}
        self._places = Places()
        self._ids: dict[str, int] = {}
        """The ids of the calls, each with its item's place: a second call of one id gets another."""
        self._status: str | None = None
        self._reason: str | None = None
        self.seen = False
        self.ended = False
        self.fragments: list[str] = []
        self.repeatable = True
        self._handlers: Mapping[str, Callable[[Mapping[str, Any], list[StreamEvent]], None]] = {
            "response.output_item.added": self._added,
            "response.output_item.done": self._done,
            "response.output_text.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.refusal.delta": self._refusal_delta,
            "response.refusal.done": self._refusal_done,
            "response.content_part.done": self._part_done,
            "response.output_text.annotation.added": self._annotation,
            "response.function_call_arguments.delta": self._arguments_delta,
            "response.function_call_arguments.done": self._arguments_done,
            "response.custom_tool_call_input.delta": self._input_delta,
            "response.custom_tool_call_input.done": self._input_done,
            "response.reasoning_summary_text.delta": self._summary_delta,
            "response.reasoning_summary_text.done": self._summary_done,
            "response.reasoning_text.delta": self._reasoning_delta,
            "response.reasoning_text.done": self._reasoning_done,
        }

    # Events

    def read(self, payload: Mapping[str, Any]) -> list[StreamEvent]:
        """
        Read one event. One of an unknown type says nothing.

        Raises:
            ModelError: it is, or holds, an error.
        """
        kind = payload.get("type")
        known = isinstance(kind, str) and (kind in self._handlers or "response" in payload)
        error = find_error(payload) if not known or kind == "response.failed" else None
        if error is not None:
            raise error_inside(error)
        events: list[StreamEvent] = []
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if kind is None and payload.get("object") == "response":
            return self.read_whole(payload)  # by a server that does not stream
        if handler is not None:
            self._start(events)
            handler(payload, events)
        elif isinstance(kind, str) and isinstance(payload.get("response"), Mapping):
            self._snapshot(payload["response"])
            self._start(events)
            if kind in _TERMINAL:
                if (error := find_error(payload["response"])) is not None:
                    raise error_inside(error)
                self.complete(payload["response"], events)
        return events

    def read_whole(self, response: Mapping[str, Any]) -> list[StreamEvent]:
        """Read a response body."""
        events: list[StreamEvent] = []
        self._snapshot(response)
        self._start(events)
        self.complete(response, events)
        return events

    def _start(self, events: list[StreamEvent]) -> None:
        if not self.seen:
            self.seen = True
            events.append(ResponseStart(dict(self._metadata), self._origin_here()))

    def _origin_here(self) -> Origin:
        if self._origin is not None and self._origin.model is not None:
            return self._origin
        model = self._metadata.get("model")
        provider = self._origin.provider if self._origin is not None else None
        return Origin(WIRE, provider, model if isinstance(model, str) else None)

    def _snapshot(self, response: Mapping[str, Any]) -> None:
        metadata = self._metadata
        for key, value in response.items():
            if value is None or key in _NOT_METADATA:
                continue
            metadata[key] = value
        if isinstance(kind := response.get("object"), str):
            metadata["type"] = kind
        if created := response.get("created_at"):
            metadata["created"] = created
        if isinstance(usage := response.get("usage"), Mapping):
            self._usage = usage

    # Items that grow

    def _item_at(self, payload: Mapping[str, Any], kind: str) -> tuple[GrowingItem, int]:
        index = self._places.of(payload, self._open)
        item = self._open.get(index)
        if item is None:
            item = GrowingItem({"type": kind})
            if index in self._closed:
                # Said once more after the item was complete: whatever it is, it adds nothing.
                return item, -1
            self._open[index] = item
            self._places.take(index, {"type": kind, "id": payload.get("item_id")})
        return item, index * PARTS_OF_AN_ITEM

    def _added(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        item = payload.get("item")
        if not isinstance(item, Mapping):
            return
        given = index_of(payload)
        index = self._places.next() if given is None else self._places.of(payload, self._open)
        identity, moved = item.get("id"), None
        state = self._open.get(index)
        if state is not None and "id" in state.item and self._places.is_known(identity, index):
            return  # said once more
        if (state is not None and "id" in state.item) or index in self._closed:
            # Some servers give every item the index 0: each is an item of its own all the same.
            if state is not None:
                self._close(index, state.grown(), events, cut=False)
            index, moved = self._places.next(), given
            state = None
        self._places.take(index, item, index=moved)
        state = self._open.setdefault(index, state or GrowingItem({}))
        state.item = {**state.item, **item}
        name, call_id = item.get("name"), item.get("call_id")
        if (
            item.get("type") == FUNCTION_CALL
            and not state.started
            and isinstance(name, str)
            and name
            and isinstance(call_id, str)
            and call_id
            and call_id not in self._ids
        ):
            self._ids[call_id] = index
            state.started = True
            part = index * PARTS_OF_AN_ITEM
            events.append(ToolCallStart(call_id, self._reading.names.from_wire(name), part))
            if state.said:
                events.append(ToolCallDelta("".join(state.said[0]), part))

    def _say(self, state: GrowingItem, place: int, text: str) -> str:
        """Add a piece, and return what may be told of it: of a character in two halves the first waits for the other."""
        text = state.joined(place, text)
        self.fragments = state.said.setdefault(place, [])
        if text:
            self.fragments.append(text)
        self.repeatable = not state.is_halved
        return text

    def _text_delta(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        text = payload.get("delta")
        if not isinstance(text, str) or not text:
            return
        state, part = self._item_at(payload, MESSAGE)
        place = number_in(payload, "content_index")
        if (text := self._say(state, place, text)) and part >= 0:
            events.append(TextDelta(text, part + state.number(place, None)))

    # What the end of a part says, its deltas said before; but some servers have none.

    def _is_unsaid(self, payload: Mapping[str, Any], place: int) -> bool:
        state = self._open.get(self._places.of(payload, self._open))
        return state is not None and not state.said.get(place)

    def _text_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, number_in(payload, "content_index")):
            self._text_delta({**payload, "delta": payload.get("text")}, events)

    def _refusal_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, number_in(payload, "content_index")):
            self._refusal_delta({**payload, "delta": payload.get("refusal")}, events)

    def _part_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        match payload.get("part"):
            case {"type": "output_text", "text": str(text)}:
                self._text_done({**payload, "text": text}, events)
            case {"type": "refusal", "refusal": str(text)}:
                self._refusal_done({**payload, "refusal": text}, events)
            case {"type": "reasoning_text", "text": str(text)}:
                self._reasoning_done({**payload, "text": text}, events)

    def _arguments_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, 0):
            self._arguments_delta({**payload, "delta": arguments_text(payload.get("arguments"))}, events)

    def _input_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, 0):
            self._input_delta({**payload, "delta": payload.get("input")}, events)

    def _summary_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, number_in(payload, "summary_index")):
            self._summary_delta({**payload, "delta": payload.get("text")}, events)

    def _reasoning_done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if self._is_unsaid(payload, PARTS_OF_AN_ITEM + number_in(payload, "content_index")):
            self._reasoning_delta({**payload, "delta": payload.get("text")}, events)

    def _refusal_delta(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        state, _ = self._item_at(payload, MESSAGE)
        place = number_in(payload, "content_index")
        if not state.said.get(place):
            state.refusals.add(place)
        self._text_delta(payload, events)

    def _annotation(self, payload: Mapping[str, Any], _: list[StreamEvent]) -> None:
        state, _part = self._item_at(payload, MESSAGE)
        if payload.get("annotation") is not None:
            state.annotations.setdefault(number_in(payload, "content_index"), []).append(payload["annotation"])

    def _arguments_delta(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        text = payload.get("delta")
        if not isinstance(text, str) or not text:
            return
        state, part = self._item_at(payload, FUNCTION_CALL)
        if (text := self._say(state, 0, text)) and state.started and part >= 0:
            events.append(ToolCallDelta(text, part))

    def _input_delta(self, payload: Mapping[str, Any], _: list[StreamEvent]) -> None:
        """Free text, which is told as an argument once it is whole."""
        text = payload.get("delta")
        if isinstance(text, str) and text:
            self._say(self._item_at(payload, CUSTOM_CALL)[0], 0, text)

    def _summary_delta(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        self._think(payload, number_in(payload, "summary_index"), events)

    def _reasoning_delta(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        # What is said in full comes after all that is said in short.
        self._think(payload, PARTS_OF_AN_ITEM + number_in(payload, "content_index"), events)

    def _think(self, payload: Mapping[str, Any], place: int, events: list[StreamEvent]) -> None:
        text = payload.get("delta")
        if not isinstance(text, str) or not text:
            return
        state, part = self._item_at(payload, REASONING)
        joint = JOINT if state.said and place not in state.said else ""
        if (text := self._say(state, place, text)) and part >= 0:
            events.append(ThinkingDelta(joint + text, part))

    def _done(self, payload: Mapping[str, Any], events: list[StreamEvent]) -> None:
        item = payload.get("item")
        if isinstance(item, Mapping):
            self._close(self._places.of(payload, self._open), item, events, cut=False)

    # Items that are complete

    def _close(self, index: int, item: Mapping[str, Any], events: list[StreamEvent], *, cut: bool) -> None:
        if index in self._closed:
            return
        self._places.take(index, item)
        state = self._open.pop(index, None) or GrowingItem({})
        item = state.completed(item)
        for place, found in state.annotations.items():
            item = with_annotations(item, place, found)
        for key in ("name", "call_id"):
            # What was announced counts where the end leaves it out.
            if key in state.item and (not isinstance(item.get(key), str) or not item[key]):
                item = {**item, key: state.item[key]}
        seed = str(self._metadata.get("id") or "")
        parts = [
            (place, self._with_own_id(part, seed, index) if type(part) is ToolCall else part)
            for place, part in parts_of_item(item, self._reading, seed=seed, index=index, cut=cut)
        ]
        self._closed[index] = parts
        for place, value in parts:
            self._end_part(index * PARTS_OF_AN_ITEM + state.number(place, value), value, state, place, events)

    def _with_own_id(self, call: ToolCall, seed: str, index: int) -> ToolCall:
        if self._ids.setdefault(call.id, index) == index:
            return call
        return with_id(call, generate_call_id(seed, index, call.name))

    def _end_part(self, part: int, value: AiPart, state: GrowingItem, place: int, events: list[StreamEvent]) -> None:
        match value:
            case TextContent():
                said = "".join(state.said.get(place, ()))
                if len(value.text) > len(said) and value.text.startswith(said):
                    events.append(TextDelta(value.text[len(said) :], part))
                if value.extras or not value.text or "".join(state.said.get(place, ())) != value.text:
                    events.append(PartEnd(value, part))
            case ThinkingContent():
                if not state.said and value.text:
                    events.append(ThinkingDelta(value.text, part))
                events.append(PartEnd(value, part))
            case ToolCall():
                if not state.started:
                    events.append(ToolCallStart(value.id, value.name, part))
                if (not state.started or not state.said) and value.arguments:
                    events.append(ToolCallDelta(value.arguments, part))
                events.append(ToolCallEnd(value, part))
            case _:
                events.append(PartEnd(value, part))

    def complete(self, response: Mapping[str, Any], events: list[StreamEvent]) -> None:
        """Read the response with which the answer ends: what it holds counts where an item was not told before."""
        self.ended = True
        self._status = response.get("status") if isinstance(response.get("status"), str) else None
        details = response.get("incomplete_details")
        if isinstance(details, Mapping) and isinstance(details.get("reason"), str):
            self._reason = details["reason"]
        cut = self._status == "incomplete" or self._reason is not None
        output = response.get("output")
        items = [item for item in output if isinstance(item, Mapping)] if isinstance(output, (list, tuple)) else []
        for index, item in zip(self._places.of_all(items), items, strict=True):
            self._close(index, item, events, cut=cut)
        for index in sorted(self._open):
            self._close(index, self._open[index].grown(), events, cut=cut)
            told = f"item {index} of the answer was not told as complete; it is read from its pieces"
            events.append(NoticeAdded(Notice("repaired", "stream", told)))
        if self._usage:
            events.append(UsageUpdate(decode_usage(self._usage)))

    def finish(self) -> list[StreamEvent]:
        """The answer is over: return its last event."""
        metadata = self._metadata
        raw = self._reason or self._status
        if raw is not None:
            metadata["raw_finish_reason"] = raw
        if details := usage_details(self._usage):
            metadata["usage_details"] = details
        parts = [part for index in sorted(self._closed) for _, part in self._closed[index]]
        return [ResponseEnd(ending_of(self._status, self._reason, parts), metadata)]
