"""
A streamed answer, read block by block.

The wire's order: `message_start`, then for every block `content_block_start`, `content_block_delta`*,
`content_block_stop`, told apart by `index`; then `message_delta`, and `message_stop` as the end mark. `ping` and events
or deltas of an unknown type may come anywhere and mean nothing. A part's number is its block's index.

Nearly every event is a delta like the one before it, so those are read by a template (`polywire.framing.runs`); every
other event takes the general path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Frame
from polywire.contents import TextContent
from polywire.errors import EmptyResponse, ProtocolError, StreamInterrupted
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
from polywire.framing.runs import Runs
from polywire.messages import Origin
from polywire.responses import FinishReason, Notice
from polywire.translation.calls import arguments_text, generate_call_id
from polywire.translation.finish import finish_reason
from polywire.translation.halves import HalfJoiner
from polywire_anthropic.decode import (
    CALL_FIELDS,
    PLAIN,
    Reading,
    decode_call,
    decode_finish,
    decode_metadata,
    decode_part,
    extras_of,
    origin_of,
)
from polywire_anthropic.errors import error_inside, is_error
from polywire_anthropic.usage import decode_usage

__all__ = ["AnthropicStreamDecoder"]


class _Block:
    """A block that has begun: its start, and the fragments so far. Its part's number is mostly its index."""

    __slots__ = ("citations", "fragments", "halves", "kind", "part", "signature", "start")

    def __init__(self, kind: str, start: dict[str, Any], part: int) -> None:
        self.kind = kind
        self.part = part
        self.halves = HalfJoiner()
        self.start = start
        self.fragments: list[str] = []
        self.signature: list[str] = []
        self.citations: list[Any] = []


class AnthropicStreamDecoder:
    """Turns the frames of one stream into events."""

    __slots__ = (
        "_blocks", "_broken", "_calls", "_cut_candidate", "_fields", "_ids", "_last", "_origin", "_reading", "_seen",
        "_usage", "ended", "runs",
    )  # fmt: skip

    def __init__(self, reading: Reading = PLAIN, origin: Origin | None = None) -> None:
        self.ended = False
        self.runs = Runs()
        self._reading = reading
        self._origin = origin
        self._blocks: dict[int, _Block] = {}
        self._last = -1
        self._fields: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._seen = False
        self._calls = False
        self._ids: set[str] = set()
        self._broken: bytes | None = None
        # The last call, whole but perhaps cut off by the end of the answer, which only the stop reason tells.
        self._cut_candidate: tuple[int, _Block] | None = None

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame. An error inside the stream is raised as a `ModelError`."""
        events = self.runs.read(frame)
        return self._feed_any(frame) if events is None else events

    def finish(self) -> Sequence[StreamEvent]:
        """
        The bytes are over, with or without an end mark.

        Raises:
            StreamInterrupted: the stream ended before it gave a reason for ending.
            EmptyResponse: there was no event but `ping`.
        """
        reason = self._fields.get("stop_reason")
        if not self.ended and not reason:
            if not self._seen and self._broken is None:
                msg = "the stream ended without any event"
                raise EmptyResponse(msg)
            msg = "the stream ended before the answer was complete"
            raise StreamInterrupted(msg)
        events: list[StreamEvent] = []
        for index in sorted(self._blocks):
            self._stop_block(index, events)
        self._settle_call(events)
        if not self.ended:
            message = "the stream ended after its stop reason, without the end mark message_stop"
            events.append(NoticeAdded(Notice("information", "stream", message)))
        events.append(
            ResponseEnd(decode_finish(self._fields, has_calls=self._calls), decode_metadata(self._fields, self._usage))
        )
        return events

    # --- every event but the common deltas ---

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        data = frame.data.strip()
        if not data or data == b"[DONE]" or self.ended:
            return ()
        if self._broken is not None:
            msg = f"an event of the stream is not JSON: {self._broken[:200]!r}"
            raise ProtocolError(msg)
        try:
            event = wire_json.decode(data)
        except ValueError:
            if frame.event == "error":
                raise error_inside({"error": data.decode("utf-8", "replace")}) from None
            # The last event of a stream that was cut off looks like this; only what follows can tell.
            self._broken = data
            return ()
        if not isinstance(event, dict):
            msg = f"an event of the stream is no object: {data[:200]!r}"
            raise ProtocolError(msg)
        kind = event.get("type") or frame.event
        kind = kind if isinstance(kind, str) else None
        events: list[StreamEvent] = []
        match kind:
            case "content_block_delta":
                self._delta(event, events)
                if len(events) == 1:
                    self._learn(frame, event, events[0])
            case "content_block_start":
                self._start_block(event, events)
            case "content_block_stop":
                self._stop_block(_index(event), events)
            case "message_start":
                self._start(event, events)
            case "message_delta":
                self._message_delta(event, events)
            case "message_stop":
                self._seen = self.ended = True
            case "message" if "content" in event:
                self._whole_message(event, events)
            case _ if kind == "error" or (kind not in _QUIET and is_error(event)):
                raise error_inside(event)
        return events

    def _start(self, event: Mapping[str, Any], events: list[StreamEvent]) -> None:
        self._seen = True
        message = event.get("message")
        if not isinstance(message, Mapping):
            return
        usage = message.get("usage")
        self._fields = {key: value for key, value in message.items() if key not in {"content", "usage"}}
        self._use(usage)
        events.append(ResponseStart(decode_metadata(self._fields, None), origin_of(self._origin, self._fields)))
        if usage:
            events.append(UsageUpdate(decode_usage(self._usage)))
        # A server that has the beginning already puts it here; the wire promises an empty list.
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._start_block({"index": index, "content_block": block}, events)

    def _whole_message(self, message: Mapping[str, Any], events: list[StreamEvent]) -> None:
        """A server that does not stream answers with the whole message."""
        self._start({"message": message}, events)
        for index in sorted(self._blocks):
            self._stop_block(index, events)
        self.ended = True

    def _message_delta(self, event: Mapping[str, Any], events: list[StreamEvent]) -> None:
        self._seen = True
        delta = event.get("delta")
        if isinstance(delta, Mapping):
            self._fields.update({key: value for key, value in delta.items() if value is not None and value != ""})
        self._fields.update(
            {key: value for key, value in event.items() if key not in {"type", "delta", "usage"} and value is not None}
        )
        if self._fields.get("stop_reason"):
            for index in sorted(self._blocks):
                self._stop_block(index, events)
            self._settle_call(events)
        if event.get("usage"):
            self._use(event["usage"])
            events.append(UsageUpdate(decode_usage(self._usage)))

    def _use(self, usage: Any) -> None:
        # The counts of a later event are running totals: they take the place of the earlier ones.
        if isinstance(usage, Mapping):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _start_block(self, event: Mapping[str, Any], events: list[StreamEvent]) -> None:
        self._seen = True
        self._settle_call(events, ended=False)
        index, start = _index(event), event.get("content_block")
        if not isinstance(start, Mapping):
            msg = "content_block_start: content_block must be an object"
            raise ProtocolError(msg)
        # Some servers give every block the index 0: each is a part of its own all the same.
        self._stop_block(index, events)
        part = index if index > self._last else self._last + 1
        block = _Block(str(start.get("type") or ""), dict(start), part)
        self._blocks[index] = block
        self._last = part
        match block.kind:
            case "text":
                self._add(block, start.get("text"), TextDelta, events)
            case "thinking":
                self._add(block, start.get("thinking"), ThinkingDelta, events)
            case "tool_use":
                self._calls = True
                name = start.get("name")
                name = name if isinstance(name, str) else ""
                own, call_id = self._reading.names.from_wire(name), start.get("id")
                if not isinstance(call_id, str) or not call_id or call_id in self._ids:
                    block.start["id"] = call_id = generate_call_id(str(self._fields.get("id") or ""), part, own)
                self._ids.add(call_id)
                events.append(ToolCallStart(call_id, own or "unnamed", part, extras_of(start, CALL_FIELDS)))

    @staticmethod
    def _add(block: _Block, text: Any, kind: type[TextDelta | ThinkingDelta], events: list[StreamEvent]) -> None:
        if isinstance(text, str) and text:
            text = block.halves.add(text)
            if text:
                block.fragments.append(text)
                events.append(kind(text, block.part))

    def _delta(self, event: Mapping[str, Any], events: list[StreamEvent]) -> None:
        self._seen = True
        index, delta = _index(event), event.get("delta")
        if not isinstance(delta, Mapping):
            return
        block = self._blocks.get(index)
        kind = delta.get("type")
        kind = kind if isinstance(kind, str) else ""
        if block is not None and (kind, block.kind) in _OTHER_BLOCK:
            self._stop_block(index, events)
            block = None
        if block is None:
            if kind not in _OPENED_BY:
                if kind == "input_json_delta":
                    msg = f"a tool's input arrives for block {index}, which has not begun"
                    raise ProtocolError(msg)
                return
            opened = _OPENED_BY[kind]
            self._start_block({"index": index, "content_block": {"type": opened}}, events)
            block = self._blocks[index]
        match kind, block.kind:
            case "text_delta", "text":
                self._add(block, delta.get("text"), TextDelta, events)
            case "thinking_delta", "thinking":
                self._add(block, delta.get("thinking"), ThinkingDelta, events)
            case "input_json_delta", "tool_use":
                if arguments := arguments_text(delta.get("partial_json")):
                    block.fragments.append(arguments)
                    events.append(ToolCallDelta(arguments, block.part))
            case "signature_delta", _:
                if isinstance(text := delta.get("signature"), str):
                    block.signature.append(text)
            case "citations_delta", _:
                if delta.get("citation") is not None:
                    block.citations.append(delta["citation"])
            case _, "text" | "thinking" | "tool_use":
                pass  # of a later version; the wire asks to ignore what is not known
            case "input_json_delta", _:
                if isinstance(text := delta.get("partial_json"), str):
                    block.fragments.append(text)
            case _:
                _grow(block.start, delta)

    def _learn(self, frame: Frame, event: Mapping[str, Any], made: StreamEvent) -> None:
        """Take the next delta to be like this one, if another text in it would make the same event with that text."""
        block = self._blocks.get(_index(event))
        if isinstance(made, (TextDelta, ThinkingDelta, ToolCallDelta)) and block is not None and not block.halves.half:
            self.runs.learn(frame, event, _TEXTS[type(made)], made, block.fragments)

    def _stop_block(self, index: int, events: list[StreamEvent]) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        start, part_number = block.start, block.part
        if left := block.halves.finish():
            block.fragments.append(left)
            events.append((TextDelta if block.kind == "text" else ThinkingDelta)(left, part_number))
        if block.citations:
            start["citations"] = [*(start.get("citations") or ()), *block.citations]
        match block.kind:
            case "text":
                start["text"] = "".join(block.fragments)
                part = decode_part(start, index=part_number, reading=self._reading)
                # Plain text is told in full by its deltas.
                if isinstance(part, TextContent) and (part.extras or part.cache or part.text != start["text"]):
                    events.append(PartEnd(part, part_number))
            case "thinking":
                start["thinking"] = "".join(block.fragments)
                if block.signature:
                    begun = start.get("signature")
                    start["signature"] = "".join((begun if isinstance(begun, str) else "", *block.signature))
                part = decode_part(start, index=part_number)
                if part is not None:
                    events.append(PartEnd(part, part_number))
            case "tool_use":
                self._settle_call(events, ended=False)
                self._cut_candidate = (part_number, block)
                if wire_json.decode_object("".join(block.fragments)) or (start.get("input") and not block.fragments):
                    self._settle_call(events, ended=False)
            case _:
                if block.fragments:
                    text = "".join(block.fragments)
                    value = wire_json.decode_object(text)
                    start["input"] = text if value is None else value
                part = decode_part(start, index=part_number)
                if part is not None:
                    events.append(PartEnd(part, part_number))

    def _settle_call(self, events: list[StreamEvent], *, ended: bool = True) -> None:
        """End the last call. Where the answer was cut off and nothing follows, the cut went through this call."""
        if self._cut_candidate is None:
            return
        (index, block), self._cut_candidate = self._cut_candidate, None
        is_last = ended and index == self._last
        cut = is_last and finish_reason(self._fields.get("stop_reason")) is FinishReason.LENGTH
        given = block.start.get("input")
        arguments = "".join(block.fragments) if block.fragments else given
        call = decode_call(block.start, arguments, index=index, reading=self._reading, cut=cut)
        if not block.fragments and given:
            events.append(ToolCallDelta(call.arguments, index))
        events.append(ToolCallEnd(call, index))


_TEXTS = {
    TextDelta: (("delta", "text"),),
    ThinkingDelta: (("delta", "thinking"),),
    ToolCallDelta: (("delta", "partial_json"),),
}
"""Where the text of a delta stands."""

_OTHER_BLOCK = frozenset({("text_delta", "thinking"), ("thinking_delta", "text")})
"""Deltas that begin a block of their own, though nothing said so, and the kind of block that they end."""

_QUIET = frozenset({"ping", "content_block_start", "content_block_delta", "content_block_stop"})
_OPENED_BY = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}


def _index(event: Mapping[str, Any]) -> int:
    """The block that an event is about; servers with one block alone may leave it out."""
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Lay the delta of a block that is not known over it: text grows, anything else is replaced."""
    for key, value in delta.items():
        if key == "type" or value is None:
            continue
        old = block.get(key)
        block[key] = old + value if isinstance(old, str) and isinstance(value, str) else value
