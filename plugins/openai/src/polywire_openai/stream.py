"""
A streamed answer, chunk by chunk.

Frames hold one JSON chunk each; `[DONE]` is the end mark, which some endpoints leave out. Usage may come after the
finish reason, in a chunk without choices, so reading goes on to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Frame
from polywire.errors import EmptyResponse, ProtocolError, StreamInterrupted
from polywire.events import NoticeAdded, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from polywire.messages import Origin
from polywire.responses import Notice
from polywire_openai.answer import AnswerReader
from polywire_openai.delta_template import DeltaTemplate, learn_template
from polywire_openai.errors import error_inside
from polywire_openai.reading import PLAIN, Reading

__all__ = ["OpenAIStreamDecoder"]

_DONE = b"[DONE]"
_DELTAS: frozenset[type] = frozenset({TextDelta, ThinkingDelta, ToolCallDelta})
_ATTEMPTS = 4
"""So many templates that never fitted a second chunk are made before the stream is taken as one without a pattern."""


def _chunks_in(data: bytes) -> list[bytes] | None:
    """Return the chunks of a frame that holds several: some servers leave out the blank lines between them."""
    first, found, _ = data.partition(b"\n")
    return data.split(b"\n") if found and wire_json.decode_object(first) is not None else None


class OpenAIStreamDecoder:
    """Turns the frames of one stream into events."""

    __slots__ = ("_answer", "_append", "_attempts", "_broken", "_delta", "_fragments", "_learned_at", "_match", "_part", "ended")  # fmt: skip

    def __init__(self, reading: Reading = PLAIN, origin: Origin | None = None) -> None:
        self.ended = False
        self._answer = AnswerReader(reading, origin)
        self._broken: bytes | None = None
        # The template in use: how it matches, which event it makes, and where the text is kept.
        self._match: Any = None
        self._delta: Any = TextDelta
        self._part = 0
        self._append: Any = None
        self._fragments: list[str] = []
        self._learned_at = 0
        self._attempts = _ATTEMPTS

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame. An error inside the stream is raised as a `ModelError`."""
        if self._match is not None:
            text = self._match(frame.data)
            if text:
                self._append(text)
                return (self._delta(text, self._part),)
        return self._feed_any(frame)

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._match is not None:
            self._forget()
        data = frame.data.strip()
        if not data or self.ended:
            return ()
        if self._broken is not None:
            msg = f"a chunk of the stream is not JSON: {self._broken[:200]!r}"
            raise ProtocolError(msg)
        if data == _DONE:
            self.ended = True
            return ()
        try:
            payload = wire_json.decode(data)
        except ValueError:
            if frame.event == "error":
                raise error_inside({"error": data.decode("utf-8", "replace")}) from None
            if (lines := _chunks_in(data)) is not None:
                return [event for line in lines for event in self.feed(Frame(line, frame.event))]
            # The last chunk of a stream that was cut off looks like this; only what follows can tell.
            self._broken = data
            return ()
        if not isinstance(payload, dict):
            if payload is None:  # a heartbeat
                return ()
            if isinstance(payload, (str, list)) and payload:
                raise error_inside(payload if isinstance(payload, list) else {"error": payload})
            msg = f"a chunk of the stream is no object: {data[:200]!r}"
            raise ProtocolError(msg)
        if frame.event == "error":
            raise error_inside(payload)
        events = self._answer.read(payload)
        if len(events) == 1 and self._answer.repeatable and type(events[0]) in _DELTAS and self._attempts:
            self._learn(frame.data, payload, events[0])
        return events

    def _learn(self, data: bytes, payload: dict[str, Any], event: Any) -> None:
        self._attempts -= 1
        text = event.arguments if type(event) is ToolCallDelta else event.text
        template: DeltaTemplate | None = learn_template(data, payload, text)
        if template is None:
            return
        self._match = template.match
        self._delta, self._part = type(event), event.part
        self._fragments = self._answer.fragments_of(event)
        self._append = self._fragments.append
        self._learned_at = len(self._fragments)

    def _forget(self) -> None:
        self._match = None
        if len(self._fragments) > self._learned_at:
            self._attempts = _ATTEMPTS

    def finish(self) -> Sequence[StreamEvent]:
        """
        The bytes are over, with or without an end mark.

        Raises:
            StreamInterrupted: the stream ended before it gave a reason for ending.
            EmptyResponse: there was no chunk.
        """
        answer = self._answer
        if not answer.seen:
            if self._broken is not None:
                msg = "the stream ended in the middle of its first chunk"
                raise StreamInterrupted(msg)
            msg = "the stream ended without any chunk"
            raise EmptyResponse(msg)
        if not self.ended and not answer.has_finish_reason:
            msg = "the stream ended before the answer was complete"
            raise StreamInterrupted(msg)
        events: list[StreamEvent] = []
        if not self.ended:
            message = "the stream ended after its finish reason, without the end mark [DONE]"
            events.append(NoticeAdded(Notice("information", "stream", message)))
        return events + answer.finish()
