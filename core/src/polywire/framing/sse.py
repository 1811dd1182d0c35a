"""
Server-sent events: bytes into frames.

The format is the WHATWG one (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
Lines end at CR, LF or CRLF and nowhere else: U+2028, U+2029 and U+0085 are text. Work is done on bytes, so a character
may be cut anywhere; the data of a frame is left undecoded, because JSON readers take bytes.

Where real servers differ from the standard, or a chat stream needs less of it:

- `id` and `retry` are ignored: a chat stream cannot be resumed.
- An event whose data is empty or blank is a heartbeat and gives no frame.
- An event that the end of the bytes cuts short is handed out by `finish`: many servers leave out the last blank line.
  Whether its data is whole is for the decoder to say.
- JSON that stands bare where a field belongs (`{` or `[` begins no field's name) becomes a frame of its own: some
  servers answer so when they fail, or when they did not notice that a stream was asked for. It may span blank lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from polywire.codec import Frame
from polywire.errors import ProtocolError

if TYPE_CHECKING:
    from polywire.framing.runs import Runs

__all__ = ["DEFAULT_MAX_EVENT_BYTES", "SseFraming"]

DEFAULT_MAX_EVENT_BYTES = 64 * 1024 * 1024
"""Large enough for a generated picture in base64, small enough that a hostile server cannot fill the memory."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIRST_EVENTS = 8
_MANY_EVENTS = 32
_LINE_FEED = 10
_CARRIAGE_RETURN = 13


class SseFraming:
    """
    Cuts one SSE stream into frames, incrementally. One per stream.

    Args:
        max_event_bytes: the longest event taken, its field names and comments included.
        bare_json: hand out JSON that stands where a field belongs; see the module's text. Without it such lines are
            ignored, as the standard has it.

    Attributes:
        runs: what the decoder knows of the next events, where the two are connected.
    """

    __slots__ = (
        "_after_carriage_return", "_bare", "_bare_json", "_max_event_bytes", "_pending", "_size", "_started", "runs",
    )  # fmt: skip

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES, bare_json: bool = True) -> None:
        self._max_event_bytes = max_event_bytes
        self._bare_json = bare_json
        self._pending: list[bytes] = []  # the bytes of the event that is not complete yet, line ends made LF
        self._size = 0
        self._bare: list[bytes] = []  # the blocks of bare JSON that is not complete yet
        self._started = False
        self._after_carriage_return = False
        self.runs: Runs | None = None

    def feed(self, chunk: bytes) -> Iterable[Frame]:
        """
        Take the next bytes, cut anywhere, and return the frames that they complete.

        Raises:
            ProtocolError: an event is longer than `max_event_bytes`.
        """
        if not self._started or self._after_carriage_return or b"\r" in chunk:
            chunk = self._normalised(chunk)
        if chunk[-2:] == b"\n\n" and not self._pending:
            # Whole events: the usual chunk. The most usual is one event, of one line of JSON.
            if chunk[:7] == b"data: {" and chunk.count(b"\n") == 2 and not self._bare:
                if len(chunk) - 2 > self._max_event_bytes:
                    self._refuse()
                return (Frame(chunk[6:-2]),)
            return self._read_learning(chunk[:-2])
        if b"\n" not in chunk:
            # Nothing can end here. Joining only when something can keeps a long event cut small linear.
            self._keep(chunk)
            return ()
        if self._pending:
            self._pending.append(chunk)
            chunk = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        complete, _, rest = chunk.rpartition(b"\n\n")
        frames = self._read_learning(complete) if complete else ()
        self._keep(rest.lstrip(b"\n"))
        return frames

    def finish(self) -> Iterable[Frame]:
        """The bytes are over: return what the last event holds, though no blank line ended it."""
        rest = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        frames = self._read_events(rest)
        if self._bare:
            frames.append(self._take_bare())
        return frames

    def _normalised(self, chunk: bytes) -> bytes:
        """Return the chunk with every line end made LF, and without a byte-order mark."""
        if self._after_carriage_return and chunk:
            # The CR that ended the last chunk was a whole line end already: an LF that follows belongs to it.
            self._after_carriage_return = False
            if chunk[0] == _LINE_FEED:
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_carriage_return = chunk[-1] == _CARRIAGE_RETURN
            without = chunk.replace(b"\r", b"")
            if without.replace(b"\n", b"\r\n") == chunk:
                chunk = without  # the usual case, all line ends CRLF [measured: a sixth of looking for the pairs]
            else:
                chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk if self._started else self._without_byte_order_mark(chunk)

    def _without_byte_order_mark(self, chunk: bytes) -> bytes:
        chunk = b"".join((*self._pending, chunk))
        self._pending.clear()
        self._size = 0
        self._started = len(chunk) >= len(_BYTE_ORDER_MARK) or not _BYTE_ORDER_MARK.startswith(chunk)
        return chunk.removeprefix(_BYTE_ORDER_MARK)

    def _keep(self, chunk: bytes) -> None:
        if chunk:
            self._pending.append(chunk)
            self._size += len(chunk)
            # The event's own last line end does not count.
            if self._size > self._max_event_bytes + (chunk[-1] == _LINE_FEED):
                self._refuse()

    def _refuse(self) -> None:
        msg = f"the stream holds an event of more than {self._max_event_bytes} bytes, the limit of this side"
        raise ProtocolError(msg)

    def _read_learning(self, text: bytes) -> Iterable[Frame]:
        """Read whole events; the first few of many alone, for what the decoder learns of them serves the rest."""
        if self.runs is None or not self.runs.learning or text.count(b"\n\n") < _MANY_EVENTS:
            return self._read_events(text)
        *first, rest = text.split(b"\n\n", _FIRST_EVENTS)
        return self._read_in_turn(b"\n\n".join(first), rest)

    def _read_in_turn(self, *texts: bytes) -> Iterator[Frame]:
        for text in texts:
            yield from self._read_events(text)

    def _read_events(self, text: bytes) -> list[Frame]:
        """Read whole events, with blank lines between them."""
        may_be_too_long = len(text) > self._max_event_bytes
        template = self.runs.template if self.runs is not None else None
        if template is not None and not may_be_too_long and not self._bare and b"\n\n" in text:
            head = b"data: " if template.event is None else b"event: %b\ndata: " % template.event.encode()
            run = self.runs.cut(text, head, b"\n\n")  # type: ignore[union-attr]
            if run is not None:
                return [run]
        blocks = text.split(b"\n\n")
        if text.count(b"\n") == 2 * len(blocks) - 2 and not may_be_too_long and not self._bare:
            # One line each. If all of them are data that is a JSON object, that is all there is to see.
            frames = [Frame(block[6:]) for block in blocks if block[:7] == b"data: {"]
            if len(frames) == len(blocks):
                return frames
        frames = []
        append = frames.append
        for block in blocks:
            if may_be_too_long and len(block.strip(b"\n")) > self._max_event_bytes:
                self._refuse()
            # Two shapes make up almost every stream. They are read at once, without a look at each line.
            if block[:6] == b"data: " and b"\n" not in block:
                data, event = block[6:], None
            else:
                name, separator, data = block.partition(b"\ndata: ")
                if separator and name[:7] == b"event: " and block.count(b"\n") == 1:
                    event = name[7:].decode("utf-8", "replace") or None
                else:
                    self._read_block(block, frames)
                    continue
            if self._bare:
                append(self._take_bare())
            if data and not data.isspace():
                append(Frame(data, event))
        return frames

    def _read_block(self, block: bytes, frames: list[Frame]) -> None:
        """Read one event, or a piece of bare JSON, line by line."""
        if self._bare and not block.lstrip(b"\n").startswith((b"data:", b"event:", b":")):
            self._add_bare(block, frames)
            return
        lines: list[bytes] = []
        event: str | None = None
        position = 0
        for line in block.split(b"\n"):
            name, colon, value = line.partition(b":")
            if name == b"data":
                lines.append(value.removeprefix(b" ") if colon else b"")
            elif name == b"event":
                event = value.removeprefix(b" ").decode("utf-8", "replace") or None
            elif self._bare_json and not lines and line.lstrip(b" \t")[:1] in (b"{", b"["):
                self._add_bare(block[position:], frames)
                return
            position += len(line) + 1
        data = b"\n".join(lines)
        if self._bare and lines:
            frames.append(self._take_bare())
        if data and not data.isspace():
            frames.append(Frame(data, event))

    def _add_bare(self, block: bytes, frames: list[Frame]) -> None:
        block = block.strip(b"\n")  # how many blank lines stand between two pieces must not depend on the cut
        if not block:
            return
        self._bare.append(block)
        if sum(map(len, self._bare)) > self._max_event_bytes:
            self._refuse()
        try:
            msgspec.json.decode(b"\n\n".join(self._bare), type=msgspec.Raw)
        except msgspec.DecodeError:
            return  # more of it may follow after a blank line
        frames.append(self._take_bare())

    def _take_bare(self) -> Frame:
        frame = Frame(b"\n\n".join(self._bare).strip())
        self._bare.clear()
        return frame
