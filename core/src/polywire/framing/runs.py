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
from polywire.framing.templates import FrameTemplate, Path, learn_template

__all__ = ["Run", "Runs", "connect"]

Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta

_ATTEMPTS = 4
"""So many templates that never fitted another frame are made before the stream is taken as one without a pattern."""


class Run(Frame, frozen=True, gc=False):
    """Several frames that are alike: what their template's holes hold, hole by hole. They have no data of their own."""

    columns: list[list[Any]] = []


class Runs:
    """
    What the next frame of one stream will most likely be. One per decoder.

    Attributes:
        template: what the last frames had in common, if they are known to have anything.
    """

    __slots__ = ("_attempts", "_fragments", "_make", "template")

    def __init__(self) -> None:
        self.template: FrameTemplate | None = None
        self._attempts = _ATTEMPTS
        self._make: Any = None
        self._fragments: list[str] | None = None

    def read(self, frame: Frame) -> list[StreamEvent] | None:
        """Return the events of a frame, or run, that is like the last ones; `None` for one that must be read with care."""
        template = self.template
        if template is None:
            return None
        if type(frame) is Run:
            columns = frame.columns
        else:
            values = template.match(frame.data) if frame.event == template.event else None
            # An empty text may be no news, or other news.
            if values is None or not values[0]:
                self.template = None
                return None
            columns = [[value] for value in values]
        self._attempts = _ATTEMPTS
        if self._fragments is not None:
            self._fragments += columns[0]
        events: list[StreamEvent] = self._make(*columns)
        return events

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
        path: Path,
        event: Delta,
        fragments: list[str] | None = None,
        *,
        numbers: Sequence[Path] = (),
        ignored: Sequence[Path] = (),
        make: Callable[..., list[StreamEvent]] | None = None,
    ) -> None:
        """
        Remember a frame that was read with care.

        The caller promises: the same frame with another text at `path`, and other values at `ignored`, makes `event`
        with that text and changes nothing but that the text is added to `fragments`.

        Args:
            frame: the frame.
            payload: what it says.
            path: where its text stands.
            event: the only event that it made, of just that text.
            fragments: the list to which the text has been added, where the decoder keeps one.
            numbers: where integers stand that matter too; needs `make`.
            ignored: where values stand that say nothing.
            make: makes the events of many frames from their texts and, for each of `numbers`, their numbers; left out,
                each text makes an event like `event`.
        """
        if not self._attempts:
            return
        self._attempts -= 1
        self.template = learn_template(
            frame.data, payload, path, event=frame.event, numbers=numbers, ignored=ignored
        )
        self._fragments = fragments
        self._make = make or _maker(type(event), event.part)


def _maker(kind: type[Delta], part: int) -> Callable[[list[str]], list[StreamEvent]]:
    def make(texts: list[str]) -> list[StreamEvent]:
        return [kind(text, part) for text in texts]

    return make


def connect(framing: Framing, decoder: StreamDecoder) -> None:
    """Let a framing hand like frames over together, if it can and the decoder can take them so."""
    runs = getattr(decoder, "runs", None)
    if isinstance(runs, Runs) and hasattr(framing, "runs"):
        framing.runs = runs
