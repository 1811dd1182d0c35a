"""SSE: the same frames for every way in which a network cuts the bytes."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from polywire.codec import Frame
from polywire.errors import ProtocolError
from polywire.framing.sse import SseFraming


def read(*chunks: bytes, **arguments: Any) -> list[tuple[str | None, bytes]]:
    framing = SseFraming(**arguments)
    frames: list[Frame] = []
    for chunk in chunks:
        frames.extend(framing.feed(chunk))
    frames.extend(framing.finish())
    return [(frame.event, frame.data) for frame in frames]


def read_every_way(body: bytes) -> list[tuple[str | None, bytes]]:
    """Whole, byte by byte, and cut in two at every place: one result."""
    whole = read(body)
    assert read(*(body[at : at + 1] for at in range(len(body)))) == whole, "byte by byte"
    for at in range(len(body) + 1):
        assert read(body[:at], body[at:]) == whole, f"cut at {at}"
    for at in range(0, len(body), 3):
        assert read(body[:at], b"", body[at : at + 1], b"", body[at + 1 :]) == whole, f"cut around {at}"
    return whole


def data_of(body: bytes) -> list[bytes]:
    return [data for _, data in read_every_way(body)]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_every_line_end_of_the_standard(line_end: bytes) -> None:
    body = line_end.join([b'data: {"a":1}', b"", b"event: x", b'data: {"b":2}', b"", b"data: [DONE]", b"", b""])

    assert read_every_way(body) == [(None, b'{"a":1}'), ("x", b'{"b":2}'), (None, b"[DONE]")]


def test_line_ends_may_be_mixed() -> None:
    assert data_of(b"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\ndata: 4\r\n\r\n") == [b"1", b"2", b"3", b"4"]


def test_a_cut_between_carriage_return_and_line_feed_makes_no_blank_line() -> None:
    framing = SseFraming()

    assert framing.feed(b"data: 1\r") == ()
    assert framing.feed(b"\ndata: 2\r") == ()
    assert [frame.data for frame in framing.feed(b"\n\r")] == [b"1\n2"]
    assert framing.feed(b"\n") == ()
    assert list(framing.finish()) == []


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_other_separators_are_text(separator: str) -> None:
    text = f"a{separator}b"

    assert [data.decode() for data in data_of(f"data: {text}\n\ndata: end\n\n".encode())] == [text, "end"]


def test_a_character_may_be_cut_anywhere() -> None:
    text = "東京 👩‍👩‍👧 é"

    assert [data.decode() for data in data_of(f"data: {text}\n\n".encode())] == [text]


def test_several_data_lines_are_one_event_and_other_fields_are_ignored() -> None:
    body = b'id: 7\nevent: message\nretry: 3000\nfoo: bar\nfoo\ndata: {"a":\ndata: 1}\n\ndata: [DONE]\n\n'

    assert read_every_way(body) == [("message", b'{"a":\n1}'), (None, b"[DONE]")]


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (b"data:x", b"x"),
        (b"data: x", b"x"),
        (b"data:  x", b" x"),
        (b"data:x ", b"x "),
        (b"data:\tx", b"\tx"),
        (b'data:{"content":" Hi"}', b'{"content":" Hi"}'),
        (b"data: a:b: c", b"a:b: c"),
    ],
)
def test_one_blank_after_the_colon_is_optional(line: bytes, data: bytes) -> None:
    assert data_of(line + b"\n\ndata:[DONE]\n\n") == [data, b"[DONE]"]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("line", [b'data: {"last":1}', b'data:{"last":1}'])
def test_the_last_event_needs_no_blank_line(line: bytes, end: bytes) -> None:
    assert data_of(b'data: {"first":1}\n\n' + line + end) == [b'{"first":1}', b'{"last":1}']


def test_an_event_cut_short_is_handed_out_as_it_is() -> None:
    assert data_of(b'data: 1\n\ndata: {"choi') == [b"1", b'{"choi']


@pytest.mark.parametrize(
    "heartbeat",
    [
        b":\n\n",
        b": ping\n\n",
        b": ping\n",
        b":\n:\n\n\n",
        b"\n",
        b"\n\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"data:   \n\n",
        b"data\n\n",
        b"data:\ndata:\n\n",
        b"event: ping\n\n",
        b"event: ping\ndata: \n\n",
        b"id: 1\n\n",
        b"retry: 1000\n\n",
    ],
)
def test_heartbeats_give_no_frame(heartbeat: bytes) -> None:
    body = heartbeat + b"data: 1\n\n" + heartbeat + b"event: e\ndata: 2\n\n" + heartbeat

    assert read_every_way(body) == [(None, b"1"), ("e", b"2")]


def test_a_comment_between_the_lines_of_an_event() -> None:
    assert read_every_way(b"event: e\n: wait\ndata: 1\n: wait\ndata: 2\n\n") == [("e", b"1\n2")]


def test_an_event_name_counts_for_one_event_only() -> None:
    assert read_every_way(b"event: a\ndata: 1\n\ndata: 2\n\ndata: 3\nevent: b\n\n") == [
        ("a", b"1"),
        (None, b"2"),
        ("b", b"3"),
    ]


def test_the_last_name_of_an_event_wins() -> None:
    assert read_every_way(b"event: a\nevent:b\ndata: 1\n\nevent:\ndata: 2\n\n") == [("b", b"1"), (None, b"2")]


@pytest.mark.parametrize(
    "body", [b"data: 1\n\n", b'data: {"a":1}\n\n', b"event: e\ndata: 1\n\n", b": c\n\ndata: 1\n\n"]
)
def test_a_byte_order_mark_is_no_text(body: bytes) -> None:
    assert read_every_way(b"\xef\xbb\xbf" + body) == read(body)


def test_a_byte_order_mark_counts_at_the_start_alone() -> None:
    assert data_of(b"data: \xef\xbb\xbf1\n\n\xef\xbb\xbfdata: 2\n\n") == [b"\xef\xbb\xbf1"]


@pytest.mark.parametrize("body", [b"", b"\n", b"\xef\xbb\xbf", b"\xef", b": nothing\n\n", b"da"])
def test_a_stream_without_events(body: bytes) -> None:
    assert data_of(body) == []


# Bare JSON

PRETTY = b'{\n  "error": {\n    "code": 503,\n    "message": "data: is: down"\n  }\n}'


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_bare_json_is_one_frame(line_end: bytes, end: bytes) -> None:
    body = (PRETTY + end).replace(b"\n", line_end)

    [data] = data_of(body)

    assert json.loads(data) == json.loads(PRETTY)


def test_bare_json_between_events() -> None:
    frames = data_of(b"data: 1\n\n" + PRETTY + b"\n\ndata: 2\n\n: c\n" + PRETTY + b"\n\n")

    assert [json.loads(data) for data in frames] == [1, json.loads(PRETTY), 2, json.loads(PRETTY)]


def test_bare_json_may_span_blank_lines() -> None:
    [data] = data_of(b'[{\n"a": 1\n}\n\n,\n\n{"b": 2}\n\n]\n\n')

    assert json.loads(data) == [{"a": 1}, {"b": 2}]


def test_bare_json_that_never_closes_is_handed_out_before_the_next_event() -> None:
    assert data_of(b'{"a":\n\ndata: 1\n\n') == [b'{"a":', b"1"]
    assert data_of(b'data: 1\n\n{"a":') == [b"1", b'{"a":']


def test_bare_json_can_be_ignored() -> None:
    framing = SseFraming(bare_json=False)

    assert [frame.data for frame in [*framing.feed(PRETTY + b"\n\ndata: 1\n\n"), *framing.finish()]] == [b"1"]


# Limits


@pytest.mark.parametrize(
    "body",
    [
        b"data: " + b"x" * 95,
        b"data: " + b"x" * 95 + b"\n\n",
        b'data: {"' + b"x" * 95 + b'"}\n\n',
        b"data: " + b"x" * 95 + b"\r\n\r\n",
        b"data: xxxx\n" * 10 + b"\n",
        b"event: e\ndata: " + b"x" * 95 + b"\n\n",
        b": " + b"x" * 100 + b"\n\n",
        b"data: 1\n\ndata: " + b"x" * 95 + b"\n\ndata: 2\n\n",
        b"{\n" + b" " * 100 + b"\n}",
    ],
)
def test_an_event_that_is_too_long_is_refused_however_it_is_cut(body: bytes) -> None:
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        read(body, max_event_bytes=100)
    with pytest.raises(ProtocolError, match="more than 100 bytes"):
        read(*(body[at : at + 1] for at in range(len(body))), max_event_bytes=100)
    for at in range(len(body)):
        with pytest.raises(ProtocolError, match="more than 100 bytes"):
            read(body[:at], body[at:], max_event_bytes=100)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("line", [b"data: " + b"x" * 94, b'data: {"' + b"x" * 90 + b'"}'])
def test_an_event_as_long_as_the_limit_is_taken_however_it_is_cut(line: bytes, end: bytes) -> None:
    assert len(line) == 100
    body = b"data: 1\n\n" + line + end

    for at in range(len(body) + 1):
        assert read(body[:at], body[at:], max_event_bytes=100) == [(None, b"1"), (None, line[6:])]
    assert read(*(body[at : at + 1] for at in range(len(body))), max_event_bytes=100)[1] == (None, line[6:])


def test_a_stream_may_be_longer_than_an_event_may_be() -> None:
    assert len(read(b'data: {"a":1}\n\n' * 100, max_event_bytes=20)) == 100


def test_a_long_event_in_small_pieces_is_not_joined_again_and_again() -> None:
    """A picture of 4 MB in pieces of 16 bytes takes linear time; joined at each piece it would take minutes."""
    framing = SseFraming()
    framing.feed(b"data: ")
    for _ in range(250_000):
        framing.feed(b"0123456789abcdef")

    [frame] = framing.feed(b"\n\n")

    assert len(frame.data) == 4_000_000


# Anything at all

LINES = st.sampled_from(
    [
        b"data: 1", b"data:2", b'data: {"a":1}', b"data", b"data:", b"data: ", b"event: e", b"event:", b"id: 1",
        b": comment", b"", b"", b"{", b"}", b'{"x":1}', b"[1", b"]", b"nonsense", "data: é\u2028".encode(), b" data: 3",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=14),
    st.lists(st.integers(0, 200), max_size=6),
)
@example([(b"{", b"\n"), (b"", b"\n"), (b"", b"\n"), (b"id: 1", b"\n")], [])
@example([(b"{", b"\n"), (b"", b"\n"), (b"", b"\n"), (b"", b"\n"), (b"id: 1", b"\n")], [3])
def test_the_cut_never_matters(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    body = b"".join(line + end for line, end in lines)
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    chunks = [body[start:end] for start, end in pairwise(places)]

    assert read(*chunks) == read(body) == read(*(body[at : at + 1] for at in range(len(body))))
    normalised = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert read(normalised) == read(body)
