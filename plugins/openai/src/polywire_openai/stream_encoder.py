"""
A stream, written as the chunks of Chat Completions.

The first chunk names the role. Calls are numbered from 0 in the order in which they start, and may grow side by side.
The finish reason has a chunk of its own, and so has the usage; `[DONE]` is the end mark. Thinking is written under
the endpoint's name for it, or `reasoning_content`: under which name it came is told only at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire import wire_json
from polywire.contents import AudioContent, ImageContent, OpaqueContent, TextContent, ThinkingContent
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
from polywire.messages import Origin, ToolCall
from polywire.responses import Notice, TokenUsage
from polywire_openai.encode_response import AnswerFields, audio_fields, is_own
from polywire_openai.errors import encode_error
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.refusals import is_refusal, is_refusal_part
from polywire_openai.thinking import IN_CONTENT, THINKING_FIELDS, thinking_chunk, thinking_seal
from polywire_openai.usage import encode_usage

__all__ = ["OpenAIStreamEncoder"]

_encode = wire_json.encode
_KIND = "chat.completion.chunk"


def _frame(body: Mapping[str, Any]) -> bytes:
    return b"data: %s\n\n" % _encode(body)


class OpenAIStreamEncoder:
    """
    Writes the events of one stream as this wire's bytes.

    Args:
        thinking_field: where the endpoint has its thinking; `None`: `reasoning_content`.
    """

    __slots__ = (
        "_before_text", "_calls", "_declined", "_ended", "_head", "_is_own", "_metadata", "_notices", "_origin", "_plain", "_said", "_started",
        "_thinking_field", "_usage", "_with_arguments",
    )  # fmt: skip

    def __init__(self, thinking_field: str | None = None) -> None:
        self._thinking_field = thinking_field or THINKING_FIELDS[0]
        self._notices: list[Notice] = []
        self._metadata: dict[str, Any] = {}
        self._origin: Origin | None = None
        self._is_own = False
        self._usage = TokenUsage()
        self._head: dict[str, Any] = {}
        self._before_text = b""
        self._started = False
        self._ended = False
        self._declined = False
        self._calls: dict[int, int] = {}
        self._with_arguments: set[int] = set()
        self._said: set[int] = set()
        self._plain: set[int] = set()
        """Of the parts that were begun, those of text, which is told by a short way."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What could not be written, so far."""
        return tuple(self._notices)

    def feed(self, event: StreamEvent) -> bytes:
        """Return the bytes that this event lets go; may be empty."""
        if type(event) is TextDelta and event.part in self._plain:
            return b'%s%s},"finish_reason":null}]}\n\n' % (self._before_text, _encode(event.text))
        out: list[bytes] = []
        match event:
            case ResponseStart():
                self._metadata.update(event.metadata)
                self._origin = event.origin or self._origin
                self._is_own = is_own(self._metadata, self._origin)
            case UsageUpdate():
                self._usage = latest_usage(self._usage, event.usage)
            case NoticeAdded():
                pass
            case ResponseEnd():
                self._end(event, out)
            case _:
                self._start(out, with_text=type(event) is not ToolCallStart)
                self._write(event, event.part, out)
        return b"".join(out)

    def finish(self) -> bytes:
        """Return the end mark; for a stream that never said why it ended, an error."""
        if self._ended:
            return b"data: [DONE]\n\n"
        return self.error(StreamInterrupted("the stream ended before the answer was complete"))

    def error(self, error: ModelError) -> bytes:
        """Return the frame that tells a client of this wire that the stream failed."""
        return _frame(encode_error(error))

    def _fields(self) -> AnswerFields:
        return AnswerFields(self._metadata, self._notices, is_own=self._is_own)

    def _start(self, out: list[bytes], *, with_text: bool) -> None:
        if self._started:
            return
        self._started = True
        fields = self._fields()
        self._head = {**fields.head(_KIND), **fields.more()}
        self._before_text = b'data: %s,"choices":[{"index":0,"delta":{"content":' % _encode(self._head)[:-1]
        self._delta({"role": "assistant", "content": "" if with_text else None}, out)

    def _delta(self, delta: Mapping[str, Any], out: list[bytes]) -> None:
        out.append(_frame({**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}))

    def _write(self, event: Any, part: int, out: list[bytes]) -> None:
        match event:
            case TextDelta():
                self._said.add(part)
                declined = is_refusal_part(part, self._origin)
                if not declined:
                    self._plain.add(part)
                self._declined = self._declined or declined
                self._delta({"refusal" if declined else "content": event.text}, out)
            case ThinkingDelta():
                self._said.add(part)
                self._delta(self._thought(event.text), out)
            case ToolCallStart():
                self._calls[part] = len(self._calls)
                function = {"name": event.name, "arguments": ""}
                self._call(part, {"id": event.id, "type": "function", "function": function}, out)
            case ToolCallDelta():
                if event.arguments:
                    self._with_arguments.add(part)
                    self._call(part, {"function": {"arguments": event.arguments}}, out)
            case ToolCallEnd():
                self._end_call(event.call, part, out)
            case PartEnd():
                self._end_part(event.content, part, out)

    def _thought(self, text: str) -> dict[str, Any]:
        field = self._thinking_field
        return {field: [thinking_chunk(text)] if field == IN_CONTENT else text}

    def _call(self, part: int, fields: Mapping[str, Any], out: list[bytes]) -> None:
        self._delta({"tool_calls": [{"index": self._calls[part], **fields}]}, out)

    def _end_call(self, call: ToolCall, part: int, out: list[bytes]) -> None:
        if part not in self._with_arguments and not call.incomplete:
            # Readers of this wire parse what they have gathered, and nothing does not parse.
            self._call(part, {"function": {"arguments": call.arguments}}, out)
        if self._is_own and (own := {key: value for key, value in own_extras(call.extras).items() if key != "type"}):
            self._call(part, own, out)

    def _end_part(self, content: Any, part: int, out: list[bytes]) -> None:
        was_said = part in self._said
        match content:
            case TextContent():
                if content.text and not was_said:
                    self._declined = self._declined or is_refusal(content)
                    self._delta({"refusal" if is_refusal(content) else "content": content.text}, out)
                if self._is_own and not is_refusal(content) and (own := own_extras(content.extras)):
                    self._delta(own, out)
            case ThinkingContent():
                if content.text and not was_said:
                    self._delta(self._thought(content.text), out)
                if details := own_extras(content.extras).get("reasoning_details"):
                    self._delta({"reasoning_details": details}, out)
                if self._is_own and self._thinking_field == IN_CONTENT and (seal := thinking_seal(content)):
                    self._delta({IN_CONTENT: [{**thinking_chunk(""), **seal}]}, out)
                if not self._is_own and (content.signature is not None or content.redacted is not None):
                    message = "the seal on thinking of another wire is left out: this wire has no place for it"
                    self._notices.append(Notice("dropped", f"part {part}", message))
            case AudioContent() if content.data is not None:
                self._delta({"audio": audio_fields(content, own=self._is_own)}, out)
            case ImageContent() if content.url is not None or content.data is not None:
                image = {"type": "image_url", "image_url": {"url": content.url or content.data_url}}
                self._delta({"images": [image]}, out)
            case OpaqueContent() if content.wire == WIRE and "type" not in content.data:
                self._delta(content.data, out)
            case _:
                message = f"this wire's answers hold no {getattr(content, 'kind', 'such part')}; it is left out"
                self._notices.append(Notice("dropped", f"part {part}", message))

    def _end(self, event: ResponseEnd, out: list[bytes]) -> None:
        self._start(out, with_text=True)
        self._metadata.update(event.metadata)
        fields = self._fields()
        head = {**self._head, **fields.more()}
        reason = fields.finish(event.finish_reason, declined=self._declined)
        out.append(_frame({**head, "choices": [{"index": 0, "delta": {}, **fields.choice(), "finish_reason": reason}]}))
        usage = encode_usage(self._usage, fields.details(), self._notices)
        if usage is not None:
            out.append(_frame({**head, "choices": [], "usage": usage}))
        self._ended = True
