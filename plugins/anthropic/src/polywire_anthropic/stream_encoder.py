"""
A stream, written as the events of the Messages API.

The wire has one block open at a time, so a part is stopped before the next starts. Where calls grow side by side, what
belongs to another part waits until the open call has ended; text and thinking end where another part begins. Blocks are
numbered from 0 in the order in which they start. Nothing empty is written: no text block without text, no fragment
without characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire import wire_json
from polywire.contents import TextContent, ThinkingContent
from polywire.errors import ModelError
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
from polywire.immutable import EMPTY
from polywire.messages import Origin, ToolCall
from polywire.responses import Notice, TokenUsage
from polywire_anthropic.decode import INVALID_JSON, WIRE
from polywire_anthropic.encode_response import AnswerWriter, is_own, message_head, own_fields, stop_fields, usage_of
from polywire_anthropic.errors import error_type_of

__all__ = ["AnthropicStreamEncoder"]

_encode = wire_json.encode
_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode({"type": name, **data}))


def _delta(index: int, kind: bytes, field: bytes, text: str) -> bytes:
    """Write the one event that comes by the thousand."""
    return (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":%s}}\n\n'
        % (index, kind, field, _encode(text))
    )


class AnthropicStreamEncoder:
    """Writes the events of one stream as this wire's bytes."""

    __slots__ = (
        "_closed", "_ended", "_fragments", "_index", "_metadata", "_notices", "_open", "_open_kind", "_origin", "_started",
        "_usage", "_waiting", "_writer",
    )  # fmt: skip

    def __init__(self) -> None:
        self._notices: list[Notice] = []
        self._metadata: dict[str, Any] = {}
        self._origin: Origin | None = None
        self._usage = TokenUsage()
        self._writer = AnswerWriter(self._notices, is_own=False)
        self._index = -1
        self._open: int | None = None
        self._open_kind = ""
        self._fragments = False
        self._closed: set[int] = set()
        self._waiting: dict[int, list[StreamEvent]] = {}
        self._started = False
        self._ended = False

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What could not be written, so far."""
        return tuple(self._notices)

    def feed(self, event: StreamEvent) -> bytes:
        """Return the bytes that this event lets go; may be empty."""
        kind = type(event)
        if kind is TextDelta and event.part == self._open and self._open_kind == "text":  # type: ignore[union-attr]
            return _delta(self._index, b"text_delta", b"text", event.text)  # type: ignore[union-attr]
        out: list[bytes] = []
        match event:
            case ResponseStart():
                self._metadata.update(event.metadata)
                self._origin = event.origin or self._origin
                self._writer.is_own = is_own(self._metadata, self._origin)
            case UsageUpdate():
                self._usage = latest_usage(self._usage, event.usage)
            case NoticeAdded():
                pass
            case ResponseEnd():
                self._end(event, out)
            case _:
                self._start(out)
                self._take(event, event.part, out)
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the end mark; for a stream that never said why it ended, an error."""
        if self._ended:
            return _STOP
        body = {"error": {"type": "api_error", "message": "the stream ended before the answer was complete"}}
        return _event("error", body)

    def error(self, error: ModelError) -> bytes:
        """Return the event that tells a client of this wire that the stream failed."""
        body: dict[str, Any] = {"error": {"type": error_type_of(error), "message": error.message}}
        if error.request_id:
            body["request_id"] = error.request_id
        return _event("error", body)

    def _start(self, out: list[bytes]) -> None:
        if self._started:
            return
        self._started = True
        usage = usage_of(self._usage, EMPTY, [], own=False)
        message = {
            **message_head(self._metadata), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage
        }  # fmt: skip
        out.append(_event("message_start", {"message": message}))

    def _end(self, event: ResponseEnd, out: list[bytes]) -> None:
        self._start(out)
        self._close(out)
        self._drain(out, final=True)
        self._metadata.update(event.metadata)
        own = self._writer.is_own
        delta = stop_fields(event.finish_reason, self._metadata, self._notices, own=own)
        if own:
            delta.update(own_fields(self._metadata))
        usage = usage_of(self._usage, self._metadata, self._notices, own=own)
        out.append(_event("message_delta", {"delta": delta, "usage": usage}))
        self._ended = True

    def _take(self, event: Any, part: int, out: list[bytes]) -> None:
        if self._open is not None and part != self._open:
            if self._open_kind == "tool_use":
                self._waiting.setdefault(part, []).append(event)
                return
            if not self._belongs_to_closed(event):
                self._close(out)
        self._write(event, part, out)
        self._drain(out)

    def _belongs_to_closed(self, event: Any) -> bool:
        """Whether it only completes a part whose block has been stopped: no reason to stop the open one."""
        return type(event) is PartEnd and event.part in self._closed

    def _drain(self, out: list[bytes], *, final: bool = False) -> None:
        """Write what has waited for an open call to end, part by part."""
        while self._waiting and (self._open is None or self._open_kind != "tool_use"):
            self._close(out)
            part = next(iter(self._waiting))
            for event in self._waiting.pop(part):
                self._write(event, part, out)
            if final:
                self._close(out)

    def _write(self, event: Any, part: int, out: list[bytes]) -> None:
        match event:
            case TextDelta():
                self._ensure(part, "text", {"type": "text", "text": ""}, out)
                out.append(_delta(self._index, b"text_delta", b"text", event.text))
            case ThinkingDelta():
                self._ensure(part, "thinking", {"type": "thinking", "thinking": "", "signature": ""}, out)
                out.append(_delta(self._index, b"thinking_delta", b"thinking", event.text))
            case ToolCallStart():
                call_id = self._writer.call_id(event.id, f"part {part}")
                more = event.extras.get(WIRE, EMPTY) if self._writer.is_own else EMPTY
                self._begin(part, {"type": "tool_use", "id": call_id, "name": event.name, "input": {}, **more}, out)
            case ToolCallDelta():
                if event.arguments:
                    self._fragments = True
                    out.append(_delta(self._index, b"input_json_delta", b"partial_json", event.arguments))
            case ToolCallEnd():
                self._end_call(event.call, out)
            case PartEnd():
                self._end_part(event, part, out)

    def _end_call(self, call: ToolCall, out: list[bytes]) -> None:
        if not self._fragments and call.arguments != "{}":
            arguments = call.arguments
            if not call.incomplete and wire_json.decode_arguments(arguments) is None:
                arguments = wire_json.compact({INVALID_JSON: arguments})
            out.append(_delta(self._index, b"input_json_delta", b"partial_json", arguments))
        self._close(out)

    def _end_part(self, event: PartEnd, part: int, out: list[bytes]) -> None:
        content = event.content
        is_open = self._open == part
        if isinstance(content, ThinkingContent) and (is_open or part not in self._closed):
            block = self._writer.thinking(content, f"part {part}")
            if block is None or block["type"] == "redacted_thinking":
                if block is not None:
                    self._whole(part, block, out)
                return
            if not is_open:
                self._begin(part, {"type": "thinking", "thinking": "", "signature": ""}, out)
                if content.text:
                    out.append(_delta(self._index, b"thinking_delta", b"thinking", content.text))
            if block["signature"]:
                out.append(_delta(self._index, b"signature_delta", b"signature", block["signature"]))
            self._close(out)
        elif isinstance(content, TextContent) and (is_open or part not in self._closed):
            if not is_open:
                self._begin(part, {"type": "text", "text": ""}, out)
                if content.text:
                    out.append(_delta(self._index, b"text_delta", b"text", content.text))
            for citation in self._citations(content):
                delta = {"index": self._index, "delta": {"type": "citations_delta", "citation": citation}}
                out.append(_event("content_block_delta", delta))
            self._close(out)
        elif isinstance(content, (TextContent, ThinkingContent)):
            sealed = isinstance(content, ThinkingContent) and content.signature
            if self._writer.is_own and (sealed or (isinstance(content, TextContent) and self._citations(content))):
                message = "its signature or citations came after its block had been stopped, and are left out"
                self._notices.append(Notice("dropped", f"part {part}", message))
        else:
            block = self._writer.part(content, f"part {part}")
            if block is not None:
                self._whole(part, block, out)

    def _citations(self, content: TextContent) -> list[Any]:
        return content.extras.get(WIRE, {}).get("citations") or [] if self._writer.is_own else []

    def _ensure(self, part: int, kind: str, block: Mapping[str, Any], out: list[bytes]) -> None:
        if self._open != part or self._open_kind != kind:
            self._begin(part, block, out)

    def _whole(self, part: int, block: Mapping[str, Any], out: list[bytes]) -> None:
        self._begin(part, block, out)
        self._close(out)

    def _begin(self, part: int, block: Mapping[str, Any], out: list[bytes]) -> None:
        self._close(out)
        self._index += 1
        self._open, self._open_kind, self._fragments = part, str(block.get("type")), False
        out.append(_event("content_block_start", {"index": self._index, "content_block": block}))

    def _close(self, out: list[bytes]) -> None:
        if self._open is None:
            return
        out.append(_event("content_block_stop", {"index": self._index}))
        self._closed.add(self._open)
        self._open, self._open_kind = None, ""
