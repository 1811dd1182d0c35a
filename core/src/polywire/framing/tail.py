"""The end of a stream's bytes, read in one way by the driver, the converter and the conformance kit."""

from __future__ import annotations

from polywire.codec import Framing, StreamDecoder
from polywire.errors import ProtocolError
from polywire.events import StreamEvent

__all__ = ["last_events"]


def last_events(framing: Framing, decoder: StreamDecoder) -> list[StreamEvent]:
    """
    The bytes are over: return the events of an unterminated last frame, and the decoder's last ones.

    What stands last may be half a frame. It is not guessed at: a rest that cannot be read is left, and the decoder says
    whether the answer was complete without it.

    Raises:
        ModelError: the answer is not complete, or the rest is a whole error.
    """
    events: list[StreamEvent] = []
    if not decoder.ended:
        try:
            for frame in framing.finish():
                if not decoder.ended:
                    events.extend(decoder.feed(frame))
        except ProtocolError:
            pass
    events.extend(decoder.finish())
    return events
