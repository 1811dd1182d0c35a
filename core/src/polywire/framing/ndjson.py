"""
Newline-delimited JSON: bytes into frames, one per line (https://github.com/ndjson/ndjson-spec).

Lines end at LF, with or without a CR before it; blank lines are heartbeats. Work is done on bytes, so a character may
be cut anywhere, and U+2028 and its like are text. Several objects on one line, as proxies that lose line ends leave them,
are cut apart by `objects_of`; that is the decoder's to ask for, once a line does not read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polywire.codec import Frame
from polywire.errors import ProtocolError

if TYPE_CHECKING:
    from polywire.framing.runs import Runs

__all__ = ["DEFAULT_MAX_LINE_BYTES", "NdjsonFraming", "objects_of"]

DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024
"""Large enough for a picture in base64, small enough that a hostile server cannot fill the memory."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NdjsonFraming:
    """
    Cuts one NDJSON stream into frames, incrementally. One per stream.

    Args:
        max_line_bytes: the longest line taken.

    Attributes:
        runs: what the decoder knows of the next lines, where the two are connected.
    """

    __slots__ = ("_max_line_bytes", "_pending", "_size", "_started", "runs")

    def __init__(self, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._started = False
        self.runs: Runs | None = None

    def feed(self, chunk: bytes) -> Sequence[Frame]:
        """
        Take the next bytes, cut anywhere, and return the frames that they complete.

        Raises:
            ProtocolError: a line is longer than `max_line_bytes`.
        """
        if b"\n" not in chunk:
            self._keep(chunk)
            return ()
        if self._pending:
            self._pending.append(chunk)
            chunk = b"".join(self._pending)
            self._pending.clear()
            self._size = 0
        complete, _, rest = chunk.rpartition(b"\n")
        frames = self._read_lines(complete)
        self._keep(rest)
        return frames

    def finish(self) -> Sequence[Frame]:
        """The bytes are over: return the last line, though no line end ended it."""
        rest = b"".join(self._pending)
        self._pending.clear()
        self._size = 0
        return self._read_lines(rest)

    def _keep(self, chunk: bytes) -> None:
        if chunk:
            self._pending.append(chunk)
            self._size += len(chunk)
            if self._size > self._max_line_bytes + (chunk[-1] == 13):  # a CR may be half of the line end
                self._refuse()

    def _refuse(self) -> None:
        msg = f"the stream holds a line of more than {self._max_line_bytes} bytes, the limit of this side"
        raise ProtocolError(msg)

    def _read_lines(self, text: bytes) -> list[Frame]:
        if not self._started:
            self._started = True
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if len(text) > self._max_line_bytes and any(
            len(line.removesuffix(b"\r")) > self._max_line_bytes for line in text.split(b"\n")
        ):
            self._refuse()
        if self.runs is not None and b"\n" in text and (run := self.runs.cut(text, b"", b"\n")) is not None:
            return [run]
        return [Frame(data) for line in text.split(b"\n") if (data := line.strip(b" \t\r"))]


_decoder = json.JSONDecoder(strict=False)


def objects_of(data: bytes) -> list[dict[str, Any]] | None:
    """
    Read the JSON objects that stand one after the other in `data`, with white space between them or none.

    Returns:
        the objects; `None` where it is not these and nothing else.
    """
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        return None
    found: list[dict[str, Any]] = []
    place = 0
    while place < len(text):
        try:
            value, place = _decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        found.append(value)
        while place < len(text) and text[place] in " \t\r\n":
            place += 1
    return found
