"""NDJSON: the same frames for every way in which a network cuts the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from polywire.errors import ProtocolError
from polywire.framing.ndjson import NdjsonFraming


def read(*chunks: bytes, **arguments: int) -> list[bytes]:
    framing = NdjsonFraming(**arguments)
    frames = [frame for chunk in chunks for frame in framing.feed(chunk)]
    return [frame.data for frame in [*frames, *framing.finish()]]


def read_every_way(body: bytes) -> list[bytes]:
    whole = read(body)
    assert read(*(body[at : at + 1] for at in range(len(body)))) == whole
    for at in range(len(body) + 1):
        assert read(body[:at], body[at:]) == whole, f"cut at {at}"
    return whole


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"\n", b"\r\n"])
def test_one_frame_for_each_line(line_end: bytes, last: bytes) -> None:
    assert read_every_way(b'{"a":1}' + line_end + b'{"b":2}' + line_end + b'{"c":3}' + last) == [
        b'{"a":1}',
        b'{"b":2}',
        b'{"c":3}',
    ]


def test_several_objects_in_one_read_and_one_object_in_several() -> None:
    framing = NdjsonFraming()

    assert [frame.data for frame in framing.feed(b'{"a":1}\n{"b":2}\n{"c":fal')] == [b'{"a":1}', b'{"b":2}']
    assert [frame.data for frame in framing.feed(b'se}\n{"d"')] == [b'{"c":false}']
    assert [frame.data for frame in framing.feed(b":4}\n")] == [b'{"d":4}']
    assert list(framing.finish()) == []


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \n", b"\t\r\n", b"\n\n\n"])
def test_blank_lines_are_heartbeats(blank: bytes) -> None:
    assert read_every_way(blank + b'{"a":1}\n' + blank + b'{"b":2}\n' + blank) == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_other_separators_are_text(separator: str) -> None:
    line = f'{{"a":"x{separator}y 東京"}}'

    assert [data.decode() for data in read_every_way(f"{line}\n{line}".encode())] == [line, line]


def test_a_byte_order_mark_is_no_text() -> None:
    assert read_every_way(b'\xef\xbb\xbf{"a":1}\n{"b":2}\n') == [b'{"a":1}', b'{"b":2}']


@pytest.mark.parametrize("body", [b"", b"\n", b"\xef\xbb\xbf", b" \r\n"])
def test_a_stream_without_lines(body: bytes) -> None:
    assert read_every_way(body) == []


@pytest.mark.parametrize("body", [b"x" * 101, b"x" * 101 + b"\n", b"1\n" + b"x" * 101 + b"\r\n2\n"])
def test_a_line_that_is_too_long_is_refused_however_it_is_cut(body: bytes) -> None:
    for at in range(len(body)):
        with pytest.raises(ProtocolError, match="more than 100 bytes"):
            read(body[:at], body[at:], max_line_bytes=100)
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        read(*(body[at : at + 1] for at in range(len(body))), max_line_bytes=100)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_as_long_as_the_limit_is_taken_however_it_is_cut(end: bytes) -> None:
    body = b"1\n" + b"x" * 100 + end

    for at in range(len(body) + 1):
        assert read(body[:at], body[at:], max_line_bytes=100) == [b"1", b"x" * 100]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([b'{"a":1}', b"", b" ", b"\r", "é\u2028".encode()]), max_size=12), st.integers(0, 90))
def test_the_cut_never_matters(lines: list[bytes], cut: int) -> None:
    body = b"\n".join(lines)

    assert read(body[:cut], body[cut:]) == read(body) == read(*(body[at : at + 1] for at in range(len(body))))
