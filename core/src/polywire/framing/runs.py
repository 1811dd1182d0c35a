"""
The short way through a stream whose frames are mostly alike; shared by the decoders of all wires.

A decoder owns `Runs`. It asks it first (`read`); a frame that is not like the last ones it reads with care, and tells
`learn` where that frame's news stood and what another text there would do. From then on like frames are read by their
template. A framing that knows the decoder's `Runs` (`connect`) hands the like frames of one read of the network over
together, as one `Run`. Which way a frame takes makes no difference to the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from polywire.codec import Frame, Framing, StreamDecoder
from polywire.events import StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from polywire.framing.templates import FrameTemplate, Path, learn_template, value_at

__all__ = ["Delta", "Run", "Runs", "connect", "maker"]

Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta
"""An event that adds to a text."""

_MOST_BYTES = 8192
"""Of a longer frame the envelope is a small part, and not worth a template."""


class Run(Frame, frozen=True, gc=False):
    """Several frames that are alike: what their template's holes hold, hole by hole. They have no data of their own."""

    columns: Sequence[list[Any]] = ()


class Runs:
    """
    What the next frame of one stream will most likely be. One per decoder.

    Args:
        attempts: so many templates that never fitted another frame are made before the stream is taken as one without a
            pattern; with 0 every frame is read with care.

    Attributes:
        template: what the last frames had in common, if they are known to have anything.
    """

    __slots__ = ("_attempts", "_attempts_left", "_fragments", "_make", "template")

    def __init__(self, attempts: int = 4) -> None:
        self.template: FrameTemplate | None = None
        self._attempts = self._attempts_left = attempts
        self._make: Any = None
        self._fragments: list[str] | None = None

    def read(self, frame: Frame) -> list[StreamEvent] | None:
        """Return the events of a frame, or run, that is like the last ones; `None` for one that must be read with care."""
        template = self.template
        if template is None:
            return None
        columns: Sequence[list[Any]]
        if type(frame) is Run:
            columns = frame.columns
        else:
            matched = template.match(frame.data) if frame.event == template.event else None
            # An empty text may be no news, or other news.
            if matched is None or not matched[0][0]:
                self.template = None
                return None
            columns = matched
        self._attempts_left = self._attempts
        if self._fragments is not None:
            self._fragments += columns[0]
        events: list[StreamEvent] = self._make(*columns)
        return events

    @property
    def learning(self) -> bool:
        """Whether nothing is known yet, and something may still be learned."""
        return self.template is None and self._attempts_left > 0

    def cut(self, text: bytes, head: bytes, separator: bytes) -> Run | None:
        """Return several whole frames as one run, if all of them are like the last ones; for framings."""
        if self.template is None:
            return None
        columns = self.template.match_all(text, head, separator)
        return Run(b"", None, columns) if columns is not None and all(columns[0]) else None

    def learn(
        self,
        frame: Frame,
        payload: Any,
        texts: Sequence[Path],
        event: Delta,
        fragments: list[str] | None = None,
        *,
        numbers: Sequence[Path] = (),
        ignored: Sequence[Path] = (),
        make: Callable[..., list[StreamEvent]] | None = None,
    ) -> None:
        """
        Remember a frame that was read with care.

        The caller promises: the same frame with another text in the place of this one, and other values at `ignored`,
        makes `event` with that text and changes nothing but that the text is added to `fragments`.

        Args:
            frame: the frame.
            payload: what it says.
            texts: where its text may stand; where it does stand is proved.
            event: the event that it made. If its text is not just one of these, nothing is learned.
            fragments: the list to which the text has been added, where the decoder keeps one.
            numbers: where integers stand that matter too; needs `make`.
            ignored: where values stand that say nothing.
            make: makes the events of many frames from their texts and, for each of `numbers`, their numbers; left out,
                each text makes an event like `event`.
        """
        if not self._attempts_left or len(frame.data) > _MOST_BYTES:
            return
        self._attempts_left -= 1
        text = event.arguments if type(event) is ToolCallDelta else event.text  # type: ignore[union-attr]
        path = next((path for path in texts if value_at(payload, path) == text), None)
        if path is None:
            return
        self.template = learn_template(frame.data, payload, path, event=frame.event, numbers=numbers, ignored=ignored)
        self._fragments = fragments
        self._make = make or maker(event)


def maker(event: Delta) -> Callable[[list[str]], list[StreamEvent]]:
    """Return what makes an event like this one of each text."""
    kind, part = type(event), event.part

    def make(texts: list[str]) -> list[StreamEvent]:
        return [kind(text, part) for text in texts]

    return make


def connect(framing: Framing, decoder: StreamDecoder) -> None:
    """Let a framing hand like frames over together, if it can and the decoder can take them so."""
    runs = getattr(decoder, "runs", None)
    if isinstance(runs, Runs) and hasattr(framing, "runs"):
        framing.runs = runs
