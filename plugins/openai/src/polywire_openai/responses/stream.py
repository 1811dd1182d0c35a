"""
A streamed answer, frame by frame.

Every frame is one event; the answer ends with `response.completed`, `response.incomplete` or `response.failed`, each
with the whole response. There is no `[DONE]`; one that comes all the same says nothing. Deltas that are like the one before,
as most are, are read by a template (`polywire.framing.runs`).
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire import wire_json
from polywire.codec import Frame
from polywire.errors import EmptyResponse, ProtocolError, StreamInterrupted
from polywire.events import StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from polywire.framing.runs import Runs
from polywire.messages import Origin
from polywire_openai.fields import KEEPS_ALIVE
from polywire_openai.reading import PLAIN, Reading
from polywire_openai.responses.answer import AnswerReader
from polywire_openai.responses.errors import error_inside

__all__ = ["OpenAIResponsesStreamDecoder"]

_DONE = b"[DONE]"


_TEXT = (("delta",),)
_NO_NEWS = (("sequence_number",), ("obfuscation",))
"""The number that every event has, and the random letters that hide how long a text is."""


class OpenAIResponsesStreamDecoder:
    """Turns the frames of one stream into events."""

    __slots__ = ("_answer", "_broken", "ended", "runs")

    def __init__(self, reading: Reading = PLAIN, origin: Origin | None = None) -> None:
        self.ended = False
        self._answer = AnswerReader(reading, origin)
        self._broken: bytes | None = None
        self.runs = Runs()

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame. An error inside the stream is raised as a `ModelError`."""
        if self.ended:
            return ()
        events = self.runs.read(frame)
        return self._feed_any(frame) if events is None else events

    def _feed_any(self, frame: Frame) -> Sequence[StreamEvent]:
        data = frame.data.strip()
        if not data or data == _DONE or frame.event in KEEPS_ALIVE:
            return ()
        if self._broken is not None:
            msg = f"an event of the stream is not JSON: {self._broken[:200]!r}"
            raise ProtocolError(msg)
        try:
            payload = wire_json.decode(data)
        except ValueError:
            if frame.event == "error":
                raise error_inside({"error": data.decode("utf-8", "replace")}) from None
            # The last event of a stream that was cut off looks like this; only what follows can tell.
            self._broken = data
            return ()
        if not isinstance(payload, dict):
            if isinstance(payload, (str, list)) and payload:
                raise error_inside(payload if isinstance(payload, list) else {"error": payload})
            msg = f"an event of the stream is no object: {data[:200]!r}"
            raise ProtocolError(msg)
        if (b"\\ud" in data or b"\\uD" in data) and "delta" not in payload:
            payload = wire_json.replace_surrogates(payload)
        if "type" not in payload and frame.event:
            payload = {**payload, "type": frame.event}
        events = self._answer.read(payload)
        self.ended = self._answer.ended
        if len(events) == 1 and self._answer.repeatable:
            event = events[0]
            if isinstance(event, (TextDelta, ThinkingDelta, ToolCallDelta)):
                self.runs.learn(frame, payload, _TEXT, event, self._answer.fragments, ignored=_NO_NEWS)
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """
        The bytes are over.

        Raises:
            StreamInterrupted: the event with which every answer ends did not come.
            EmptyResponse: there was no event.
        """
        if self.ended:
            return self._answer.finish()
        if not self._answer.seen and self._broken is None:
            msg = "the stream ended without any event"
            raise EmptyResponse(msg)
        msg = "the stream ended before the answer was complete"
        raise StreamInterrupted(msg)
