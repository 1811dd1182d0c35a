"""
What the frames of one stream have in common, and the few places where they differ.

The frames of a stream mostly repeat a long envelope around a short text. A template remembers the envelope, byte for
byte, and its *holes*: the text, and numbers or strings beside it that change from frame to frame. Reading takes out what
is in the holes and puts the envelope around it again; only where that gives the very bytes that came do they fit. So
nothing that another frame may say is ever overlooked: one that differs anywhere does not fit, and is read with care
[measured: 0.4 µs, where parsing a frame and looking at its fields takes 1.3 to 5].

Many frames that came with one read of the network are read together, with a handful of operations on all their bytes:
0.2 to 0.4 µs each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

import msgspec

from polywire import wire_json

__all__ = ["FrameTemplate", "Path", "learn_template", "value_at"]

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands in a JSON document: keys and places, from the top."""

_decode_string = msgspec.json.Decoder(str).decode
_decode_strings = msgspec.json.Decoder(list[str]).decode
_decode_integers = msgspec.json.Decoder(list[int]).decode

# What a hole may hold. The text is JSON's if it can be decoded; the others are valid as they are.
_TEXT = rb'([^"\\]*+(?:\\.[^"\\]*+)*+)'
_STRING = rb"([ !#-\[\]-~]*+)"
_INTEGER = rb"(0|[1-9][0-9]{0,17}+)"
_BLANKS = rb"( *+)"
_PADDED_END = re.compile(rb" +(?=\}\Z)")
_FIRST_BYTES = 8
"""So many bytes of a frame's beginning are looked for; the rest of the envelope is skipped and compared afterwards."""


class FrameTemplate:
    """
    An envelope and its holes. Made by `learn_template`.

    Args:
        constants: the envelope's pieces, one more than there are holes. The quotes of a string belong to them.
        holes: what each hole may hold, as patterns.
        text: the hole that holds the text.
        numbers: the holes that hold integers which are handed out.
        event: the SSE name that the frames have.
    """

    __slots__ = ("_constants", "_holes", "_numbers", "_readers", "_text", "event")

    def __init__(
        self, constants: Sequence[bytes], holes: Sequence[bytes], text: int, numbers: Sequence[int], event: str | None
    ) -> None:
        self._constants = tuple(constants)
        self._holes = tuple(holes)
        self._text = text
        self._numbers = tuple(numbers)
        self.event = event
        self._readers: dict[bytes, tuple[re.Pattern[bytes], bytes]] = {}

    def match(self, data: bytes) -> list[list[Any]] | None:
        """Read the data of one frame; as `match_all`."""
        pattern, envelope = self._readers.get(b"") or self._reader(b"", b"")
        found = pattern.fullmatch(data)
        if found is None:
            return None
        values = found.groups()
        if envelope % values != data:
            return None
        try:
            texts: list[str] = [_decode_string(b'"%b"' % values[self._text])]
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return [texts, *([int(values[number])] for number in self._numbers)] if self._numbers else [texts]

    def match_all(self, text: bytes, head: bytes, separator: bytes) -> list[list[Any]] | None:
        """
        Read a text of several frames, each with `head` before its data, and `separator` between them.

        Returns:
            the texts of all frames, and for each hole with numbers the numbers of all; `None` where a frame does not fit.
        """
        pattern, envelope = self._readers.get(head + separator) or self._reader(head, separator)
        text += separator
        found = pattern.findall(text)
        one = len(self._holes) == 1
        if not found or envelope * len(found) % (tuple(found) if one else tuple(chain.from_iterable(found))) != text:
            return None
        columns: list[Sequence[bytes]] = [found] if one else list(zip(*found, strict=True))
        try:
            texts: list[str] = _decode_strings(b'["%b"]' % b'","'.join(columns[self._text]))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        # All of a column at once [measured: a third of `int` for each].
        return [texts, *[_decode_integers(b"[%b]" % b",".join(columns[number])) for number in self._numbers]]

    def _reader(self, head: bytes, separator: bytes) -> tuple[re.Pattern[bytes], bytes]:
        """Return what takes out the holes' values, and what they are put into again."""
        first, *later, last = self._constants
        skipped = (len(head) + len(first), *map(len, later), len(last) + len(separator))
        pattern = _finder((head + first)[:_FIRST_BYTES], skipped, self._holes)
        envelope = b"%b".join([part.replace(b"%", b"%%") for part in (head + first, *later, last + separator)])
        self._readers[head + separator] = pattern, envelope
        return pattern, envelope


@lru_cache(maxsize=256)
def _finder(first: bytes, skipped: tuple[int, ...], holes: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """
    Find the holes of frames that begin with `first`: so many bytes are skipped before each of them, and after the last.

    Streams of one model mostly have envelopes of one length, so that hardly any has to compile a pattern of its own.
    """
    skips = [b".{%d}" % length for length in (skipped[0] - len(first), *skipped[1:])]
    pieces = [piece for pair in zip(skips, holes, strict=False) for piece in pair]
    return re.compile(re.escape(first) + b"".join(pieces) + skips[-1], re.DOTALL)


def learn_template(
    data: bytes,
    payload: Any,
    text: Path,
    *,
    event: str | None = None,
    numbers: Sequence[Path] = (),
    ignored: Sequence[Path] = (),
) -> FrameTemplate | None:
    """
    Make a template of a frame; `None` where none can be made with certainty.

    Args:
        data: the frame's bytes.
        payload: what they say.
        text: where the text stands that is new in every frame; the first value that a match gives.
        event: the frame's SSE name.
        numbers: where integers stand that change and matter; the values after the text, in this order.
        ignored: where strings and integers stand that change and say nothing. Those that are not there do not matter.
    """
    found: list[tuple[int, int, int, bytes]] = []
    for number, path in enumerate((text, *numbers, *ignored)):
        value = value_at(payload, path)
        is_string = type(value) is str
        if number > len(numbers):
            if not is_string and type(value) is not int:
                continue
        elif is_string is not (number == 0) or (number and type(value) is not int):
            return None
        place = _place(data, payload, path, value)
        if place is None:
            return None
        kind = _TEXT if number == 0 else _STRING if is_string else _INTEGER
        found.append((*place, number, kind))
    if padding := _PADDED_END.search(data):
        # Some vendors pad with blanks of random number, so that the length of a frame does not tell that of its text.
        found.append((*padding.span(), -1, _BLANKS))
    found.sort()
    constants: list[bytes] = []
    position = 0
    for start, end, _, _ in found:
        constants.append(data[position:start])
        position = end
    constants.append(data[position:])
    if not all(constants):
        return None
    places = {number: at for at, (_, _, number, _) in enumerate(found)}
    later = [places[number] for number in range(1, len(numbers) + 1)]
    return FrameTemplate(constants, [hole for *_, hole in found], places[0], later, event)


@lru_cache(maxsize=64)
def _literal(key: str) -> re.Pattern[bytes]:
    """Find a field's value, where it is a string (its inside) or an integer."""
    name = re.escape(wire_json.encode(key))
    return re.compile(name + rb'\s*:\s*(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|(\d+))')


def _place(data: bytes, payload: Any, path: Path, value: str | int) -> tuple[int, int] | None:
    """
    Find the bytes of the value at `path`.

    The place is proved: with another value there, the document has that value at `path` and is else the same.
    """
    if isinstance(value, str):
        other: str | int = "1" if value == "0" else "0"
        group = 1
    else:
        other, group = value + 1, 2
    for found in _literal(str(path[-1])).finditer(data):
        start, end = found.span(group)
        if start < 0:
            continue
        try:
            document = wire_json.decode(data[:start] + str(other).encode() + data[end:])
        except ValueError:
            continue
        if value_at(document, path) == other and _with_value(document, path, value) == payload:
            return start, end
    return None


def value_at(document: Any, path: Path) -> Any:
    """Return the value at `path`; `None` where there is none."""
    try:
        for step in path:
            document = document[step]
    except (KeyError, IndexError, TypeError):
        return None
    return document


def _with_value(document: Any, path: Path, value: Any) -> Any:
    holder: Any = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return document
