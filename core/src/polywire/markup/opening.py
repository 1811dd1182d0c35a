"""
Thinking between tags where hardly any answer has it: one look at how the answer begins, and then nothing in the way.

For a profile that reads `<think>` alone, and only where the answer begins with it, the first characters decide. An
answer that begins otherwise is read by its own decoder from there on [measured: 50 ns an event instead of 7 µs].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polywire.codec import Frame, StreamDecoder
from polywire.errors import ModelError
from polywire.events import NoticeAdded, ResponseCollector, ResponseStart, StreamEvent, TextDelta, UsageUpdate

__all__ = ["OpeningDecoder", "may_begin_with_thinking"]

_OPEN = "<think>"
_SAYS_NOTHING = (ResponseStart, UsageUpdate, NoticeAdded)


def may_begin_with_thinking(text: str) -> bool | None:
    """Whether an answer that begins with `text` begins with thinking; `None` while it cannot be told."""
    begun = text.lstrip()
    if len(begun) < len(_OPEN) and _OPEN.startswith(begun):
        return None
    return begun.startswith(_OPEN)


class OpeningDecoder:
    """
    A stream decoder that hands over to one that reads tags if the answer begins with one, and else steps aside.

    Args:
        inner: the wire's own decoder.
        with_tags: makes a decoder that reads tags, and reads from the one that it is given.
    """

    def __init__(self, inner: StreamDecoder, with_tags: Callable[[StreamDecoder], StreamDecoder]) -> None:
        self._decoder: StreamDecoder = inner
        self._with_tags = with_tags
        self._held: list[StreamEvent] | None = []
        self._text = ""
        self.ended = False
        """Whether the wire's end mark was seen."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame."""
        if self._held is None:
            events = self._decoder.feed(frame)
            self.ended = self._decoder.ended
            return events
        try:
            events = self._decoder.feed(frame)
        except ModelError as error:
            raise self._with_partial(error) from error.__cause__
        self.ended = self._decoder.ended
        return self._look(self._held, events)

    def finish(self) -> Sequence[StreamEvent]:
        """The bytes are over."""
        if self._held is None:
            return self._decoder.finish()
        try:
            events = self._decoder.finish()
        except ModelError as error:
            raise self._with_partial(error) from error.__cause__
        held, self._held = self._held, None
        return [*held, *events]

    def _look(self, held: list[StreamEvent], events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        for event in events:
            if isinstance(event, _SAYS_NOTHING):
                continue
            if isinstance(event, TextDelta):
                self._text += event.text
                tagged = may_begin_with_thinking(self._text)
                if tagged is None:
                    continue
                if tagged:
                    return self._hand_over([*held, *events])
            # The answer begins with something else than tags: from here on there is nothing to look for.
            self._held = None
            return [*held, *events] if held else events
        held.extend(events)
        return ()

    def _hand_over(self, events: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        self._held = None
        first = _Replay(self._decoder, events)
        self._decoder = self._with_tags(first)
        return self._decoder.feed(Frame(b""))

    def _with_partial(self, error: ModelError) -> ModelError:
        """What was held back has arrived as well: it belongs to the error's partial answer."""
        if error.partial is None and self._held:
            collector = ResponseCollector()
            collector.add_all(self._held)
            error.partial = collector.partial()
        return error


class _Replay:
    """A decoder that first gives out what another one has decoded already."""

    def __init__(self, inner: StreamDecoder, events: Sequence[StreamEvent]) -> None:
        self._inner = inner
        self._events: Sequence[StreamEvent] | None = events
        self.ended = inner.ended

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._events is not None:
            events, self._events = self._events, None
            return events
        events = self._inner.feed(frame)
        self.ended = self._inner.ended
        return events

    def finish(self) -> Sequence[StreamEvent]:
        return self._inner.finish()
