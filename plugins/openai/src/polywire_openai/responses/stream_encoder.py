"""
A stream, written as the events of the Responses API.

Every part becomes an item of its own, numbered in the order in which parts begin; items may grow side by side. Events
are numbered from 0. What an item is in full is told when it is done, and all of it once more in the last event; there
is no end mark beside that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.contents import TextContent, ThinkingContent
from polywire.errors import ModelError, StreamInterrupted
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
    latest_usage,
)
from polywire.messages import AiPart, Origin, ToolCall
from polywire.profiles import Profile
from polywire.responses import Notice, TokenUsage
from polywire_openai.refusals import is_refusal, is_refusal_part
from polywire_openai.responses.encode_items import ItemWriter
from polywire_openai.responses.encode_response import finished_items, is_own, response_body, response_head
from polywire_openai.responses.errors import error_code
from polywire_openai.responses.fields import FUNCTION_CALL, MESSAGE, REASONING, made_id, own_extras

__all__ = ["OpenAIResponsesStreamEncoder"]


class _Growing:
    """One part that is being written."""

    __slots__ = ("fragments", "id", "index", "item", "kind")

    def __init__(self, index: int, kind: str, item: dict[str, Any]) -> None:
        self.index = index
        self.kind = kind
        self.item = item
        self.id = item.get("id", "")
        self.fragments: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class OpenAIResponsesStreamEncoder:
    """Writes the events of one stream as this wire's bytes."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._notices: list[Notice] = []
        self._metadata: dict[str, Any] = {}
        self._origin: Origin | None = None
        self._usage = TokenUsage()
        self._head: dict[str, Any] = {}
        self._started = False
        self._ended = False
        self._sequence = 0
        self._count = 0
        self._growing: dict[int, _Growing] = {}
        self._items: dict[int, dict[str, Any]] = {}

    @property
    def notices(self) -> Sequence[Notice]:
        """What could not be written, so far."""
        return tuple(self._notices)

    def feed(self, event: StreamEvent) -> bytes:
        """Return the bytes that this event lets go; may be empty."""
        out: list[bytes] = []
        match event:
            case ResponseStart():
                self._metadata.update(event.metadata)
                self._origin = event.origin or self._origin
            case UsageUpdate():
                self._usage = latest_usage(self._usage, event.usage)
            case NoticeAdded():
                pass
            case ResponseEnd():
                self._end(event, out)
            case _:
                self._start(out)
                self._write(event, out)
        return b"".join(out)

    def finish(self) -> bytes:
        """Return nothing for a stream that has ended, which its last event says; else an error."""
        if self._ended:
            return b""
        return self.error(StreamInterrupted("the stream ended before the answer was complete"))

    def error(self, error: ModelError) -> bytes:
        """Return the event that tells a client of this wire that the stream failed."""
        out: list[bytes] = []
        self._event("error", out, code=error_code(error), message=error.message, param=None)
        return b"".join(out)

    def _event(self, kind: str, out: list[bytes], **fields: Any) -> None:
        body = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        out.append(b"event: %s\ndata: %s\n\n" % (kind.encode(), wire_json.encode(body)))

    def _start(self, out: list[bytes]) -> None:
        if self._started:
            return
        self._started = True
        self._head = response_head(self._metadata, self._origin)
        snapshot = {**self._head, "status": "in_progress", "output": [], "usage": None}
        self._event("response.created", out, response=snapshot)
        self._event("response.in_progress", out, response=snapshot)

    # Parts

    def _write(self, event: StreamEvent, out: list[bytes]) -> None:
        match event:
            case TextDelta():
                state = self._text(event.part, out)
                state.fragments.append(event.text)
                place = {"item_id": state.id, "output_index": state.index, "content_index": 0}
                if is_refusal_part(event.part, self._origin):
                    self._event("response.refusal.delta", out, **place, delta=event.text)
                else:
                    self._event("response.output_text.delta", out, **place, delta=event.text, logprobs=[])
            case ThinkingDelta():
                state = self._thought(event.part, out)
                state.fragments.append(event.text)
                place = {"item_id": state.id, "output_index": state.index, "summary_index": 0}
                self._event("response.reasoning_summary_text.delta", out, **place, delta=event.text)
            case ToolCallStart():
                item = {"type": FUNCTION_CALL, "call_id": event.id, "name": event.name, "arguments": ""}
                self._open(event.part, FUNCTION_CALL, {**item, "status": "in_progress"}, "fc", out)
            case ToolCallDelta():
                state = self._growing[event.part]
                state.fragments.append(event.arguments)
                place = {"item_id": state.id, "output_index": state.index}
                self._event("response.function_call_arguments.delta", out, **place, delta=event.arguments)
            case ToolCallEnd():
                self._close(event.part, event.call, out)
            case PartEnd():
                self._close(event.part, event.content, out)

    def _open(self, part: int, kind: str, item: dict[str, Any], prefix: str, out: list[bytes]) -> _Growing:
        identity = made_id(prefix, self._head["id"], part)
        state = self._growing[part] = _Growing(self._count, kind, {**item, "id": identity})
        self._count += 1
        self._event("response.output_item.added", out, output_index=state.index, item=state.item)
        return state

    def _text(self, part: int, out: list[bytes]) -> _Growing:
        state = self._growing.get(part)
        if state is None:
            item = {"type": MESSAGE, "role": "assistant", "status": "in_progress", "content": []}
            state = self._open(part, MESSAGE, item, "msg", out)
            place = {"item_id": state.id, "output_index": state.index, "content_index": 0}
            empty: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
            if is_refusal_part(part, self._origin):
                empty = {"type": "refusal", "refusal": ""}
            self._event("response.content_part.added", out, **place, part=empty)
        return state

    def _thought(self, part: int, out: list[bytes]) -> _Growing:
        state = self._growing.get(part)
        if state is None:
            state = self._open(part, REASONING, {"type": REASONING, "summary": []}, "rs", out)
            place = {"item_id": state.id, "output_index": state.index, "summary_index": 0}
            empty = {"type": "summary_text", "text": ""}
            self._event("response.reasoning_summary_part.added", out, **place, part=empty)
        return state

    def _close(self, part: int, content: AiPart, out: list[bytes]) -> None:
        own = is_own(self._metadata, self._origin)
        writer = ItemWriter(self._profile, self._notices, for_input=False, seals=own)
        items = writer.answer([content], "message")
        state = self._growing.pop(part, None)
        if not items:
            return
        if state is not None:
            if _has_made_id(items[0], content):
                items[0]["id"] = state.id
            index = state.index
        else:
            index, self._count = self._count, self._count + 1
            self._event("response.output_item.added", out, output_index=index, item=finished_items(items)[0])
        item = finished_items(items)[0]
        if state is not None:
            self._told(state, item, content, out)
        self._items[index] = item
        self._event("response.output_item.done", out, output_index=index, item=item)

    def _told(self, state: _Growing, item: Mapping[str, Any], content: AiPart, out: list[bytes]) -> None:
        place = {"item_id": state.id, "output_index": state.index}
        match content:
            case TextContent():
                part, place = item["content"][0], {**place, "content_index": 0}
                if is_refusal(content):
                    self._event("response.refusal.done", out, **place, refusal=content.text)
                else:
                    self._event("response.output_text.done", out, **place, text=content.text, logprobs=[])
                self._event("response.content_part.done", out, **place, part=part)
            case ThinkingContent():
                place = {**place, "summary_index": 0}
                self._event("response.reasoning_summary_text.done", out, **place, text=state.text)
                part = {"type": "summary_text", "text": state.text}
                self._event("response.reasoning_summary_part.done", out, **place, part=part)
            case ToolCall():
                self._event(
                    "response.function_call_arguments.done",
                    out,
                    **place,
                    name=content.name,
                    arguments=content.arguments,
                )

    def _end(self, event: ResponseEnd, out: list[bytes]) -> None:
        self._start(out)
        # Text that is no more than its deltas has no end of its own.
        for part, state in list(self._growing.items()):
            if state.kind == MESSAGE:
                self._close(part, TextContent(state.text), out)
            elif state.kind == REASONING:
                self._close(part, ThinkingContent(state.text), out)
        self._metadata.update(event.metadata)
        own = is_own(self._metadata, self._origin)
        head = response_head(self._metadata, self._origin)
        items = [self._items[index] for index in sorted(self._items)]
        response = response_body(
            {**head, "id": self._head["id"]},
            items,
            event.finish_reason,
            self._usage,
            self._metadata,
            self._notices,
            own=own,
        )
        kind = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
        self._event(kind, out, response=response)
        self._ended = True


def _has_made_id(item: Mapping[str, Any], content: AiPart) -> bool:
    """Whether an item's id was made for this answer alone, so that it may be the one that was told when it began."""
    extras = getattr(content, "extras", None)
    return item.get("type") in {MESSAGE, REASONING, FUNCTION_CALL} and "id" not in own_extras(extras or {})
