"""
A streamed answer, chunk by chunk.

Frames hold one JSON chunk each; `[DONE]` is the end mark, which some endpoints leave out. Usage may come after the
finish reason, in a chunk without choices, so reading goes on to the end. Chunks that are like the one before, as most
are, are read by a template (`polywire.framing.runs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Frame
from polywire.errors import EmptyResponse, ProtocolError, StreamInterrupted
from polywire.events import NoticeAdded, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from polywire.framing.runs import Delta, Runs, maker
from polywire.http_errors import summarize_body
from polywire.messages import Origin
from polywire.responses import Notice
from polywire_openai.answer import AnswerReader
from polywire_openai.errors import error_inside
from polywire_openai.fields import KEEPS_ALIVE
from polywire_openai.reading import PLAIN, Reading

__all__ = ["OpenAIStreamDecoder"]

_DONE = b"[DONE]"
_DELTA = ("choices", 0, "delta")
_TEXTS = {
    TextDelta: ((*_DELTA, "content"), (*_DELTA, "refusal")),
    ThinkingDelta: ((*_DELTA, "reasoning_content"), (*_DELTA, "reasoning")),
    ToolCallDelta: ((*_DELTA, "tool_calls", 0, "function", "arguments"),),
}
"""Where the text of a delta may stand in a chunk."""

_PADDING = (("obfuscation",),)
"""Random letters, which some endpoints add so that the length of a chunk does not tell that of its text."""


def _chunks_in(data: bytes) -> list[bytes] | None:
    """Return the chunks of a frame that holds several: some servers leave out the blank lines between them."""
    first, found, _ = data.partition(b"\n")
    return data.split(b"\n") if found and wire_json.decode_object(first) is not None else None


class OpenAIStreamDecoder:
    """Turns the frames of one stream into events."""

    __slots__ = ("_answer", "_broken", "_mark_is_sure", "_odd", "ended", "runs")

    def __init__(self, reading: Reading = PLAIN, origin: Origin | None = None) -> None:
        self.ended = False
        self._answer = AnswerReader(reading, origin)
        self._broken: bytes | None = None
        self._odd: bytes | None = None
        """A chunk that has no choices at all."""
        self._mark_is_sure = bool(reading.profile.quirks.get("end_mark", False))
        self.runs = Runs()

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame. An error inside the stream is raised as a `ModelError`."""
        events = self.runs.read(frame)
        return self._feed_any(frame) if events is None else events

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        data = frame.data.strip()
        if not data or self.ended or frame.event in KEEPS_ALIVE:
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
        if not self._answer.has_choice and payload.get("choices") is None:
            self._odd = data
        if len(events) == 1 and self._answer.repeatable:
            event = events[0]
            if isinstance(event, (TextDelta, ThinkingDelta, ToolCallDelta)):
                self._learn(frame, payload, event)
        return events

    def _learn(self, frame: Frame, payload: dict[str, Any], event: Delta) -> None:
        fragments, usage = self._answer.fragments_of(event), self._answer.usage
        numbers = [("usage", *path) for path in usage.growing]
        make = None
        if numbers:
            take, make_all = usage.grown(), maker(event)

            def make(texts: list[str], *columns: list[int]) -> list[StreamEvent]:
                take(columns)
                return make_all(texts)

        self.runs.learn(
            frame, payload, _TEXTS[type(event)], event, fragments, numbers=numbers, ignored=_PADDING, make=make
        )

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what the answer has cost so far, if that has not been told."""
        return self._answer.usage.held_back()

    def finish(self) -> Sequence[StreamEvent]:
        """
        The bytes are over, with or without an end mark.

        Raises:
            StreamInterrupted: the stream ended before it gave a reason for ending, or without the mark that this endpoint
                always sends.
            EmptyResponse: there was no chunk, or no choice in any.
            ProtocolError: none of the chunks was one of this wire.
        """
        answer = self._answer
        if not answer.seen:
            if self._broken is not None:
                msg = "the stream ended in the middle of its first chunk"
                raise StreamInterrupted(msg)
            msg = "the stream ended without any chunk"
            raise EmptyResponse(msg)
        if not self.ended and (self._mark_is_sure or not answer.has_finish_reason):
            msg = "the stream ended before the answer was complete"
            raise StreamInterrupted(msg)
        if not answer.has_choice:
            if self._odd is not None:
                msg = f"the stream has no choices: this is none of Chat Completions: {summarize_body(self._odd)}"
                raise ProtocolError(msg)
            msg = "the stream ended with no choice in it"
            raise EmptyResponse(msg)
        events: list[StreamEvent] = []
        if not self.ended:
            message = "the stream ended after its finish reason, without the end mark [DONE]"
            events.append(NoticeAdded(Notice("information", "stream", message)))
        return events + answer.finish()
