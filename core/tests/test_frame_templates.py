"""A template fits frames that are like the one it was made of, in every byte but its holes, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.codec import Frame
from polywire.events import TextDelta
from polywire.framing.ndjson import NdjsonFraming
from polywire.framing.runs import Run, Runs, connect
from polywire.framing.sse import SseFraming
from polywire.framing.templates import FrameTemplate, learn_template

TEXT = ("a", 0, "text")
NUMBERS = (("counts", "now"),)
IGNORED = (("time",), ("number",), ("not there",))


def document(text: str, *, now: int = 5, time: str = "10:00", number: int = 7, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "a": [{"kind": "text", "text": text}],
        "time": time,
        "counts": {"now": now, "then": 5},
        **more,
    }


def encoded(body: Any, *, spaced: bool = False, ascii_only: bool = False) -> bytes:
    return json.dumps(body, ensure_ascii=ascii_only, separators=None if spaced else (",", ":")).encode()


def learned(body: Any, **arguments: Any) -> FrameTemplate:
    template = learn_template(encoded(body), body, TEXT, numbers=NUMBERS, ignored=IGNORED, **arguments)
    assert template is not None
    return template


TRICKY = [
    "x",
    "a" * 3000,
    'a"b',
    "\\",
    '\\"',
    "ends in \\\\",
    '","',
    "東京 \u2028 \U0001f600",
    '"}],"time":"10:00"',
    '"}],"time":"',
    "\n\n",
    "data: {}",
]


@pytest.mark.parametrize("text", TRICKY)
def test_the_holes_of_a_like_frame_are_read(text: str) -> None:
    template = learned(document("Hi"))

    assert template.match(encoded(document(text, now=123, time="11:59", number=8))) == [[text], [123]]


@pytest.mark.parametrize(
    "other",
    [
        document("x", more=1),
        document("x") | {"a": [{"kind": "text", "text": "x", "mood": "calm"}]},
        document("x") | {"a": [{"kind": "text", "text": "x"}, {"kind": "text", "text": "y"}]},
        document("x") | {"a": []},
        document("x") | {"counts": {"now": 5, "then": 6}},
        document("x") | {"counts": {"now": -5, "then": 5}},
        document("x") | {"counts": {"now": 5.0, "then": 5}},
        document("x") | {"counts": {"now": None, "then": 5}},
        document("x") | {"time": None},
        {"a": [{"kind": "text", "text": "x"}], "number": 7, "time": "10:00", "counts": {"now": 5, "then": 5}},
    ],
)
def test_other_frames_do_not_fit(other: Any) -> None:
    assert learned(document("Hi")).match(encoded(other)) is None


def test_the_same_words_written_otherwise_do_not_fit() -> None:
    template = learned(document("Hi"))

    assert template.match(encoded(document("x"), spaced=True)) is None
    assert template.match(b" " + encoded(document("x"))) is None
    assert template.match(encoded(document("x")) + b" ") is None


@pytest.mark.parametrize(
    "data",
    [
        b'"text":"a\nb"',
        b'"text":"\\x"',
        b'"text":"\xff"',
        b'"text":"\\ud83d"',
        b'"text":"a"b"',
        b'"text":"a\\"',
        b'"text":""a',
    ],
)
def test_what_is_no_json_string_does_not_fit(data: bytes) -> None:
    template, good = learned(document("Hi")), encoded(document("Hi"))
    bad = good.replace(b'"text":"Hi"', data)

    assert template.match(bad) is None
    for frames in ([bad, good], [good, bad], [bad, bad], [good, bad, good]):
        assert template.match_all(b"\n".join(frames), b"", b"\n") is None


@pytest.mark.parametrize("digits", [b"", b"05", b"1e3", b"0x1", b"1,2", b" 5", b"5 ", b"5\n", b'"5"', b"[5]"])
def test_what_is_no_plain_integer_does_not_fit(digits: bytes) -> None:
    template, good = learned(document("Hi")), encoded(document("Hi"))
    bad = good.replace(b'"now":5', b'"now":' + digits)

    assert template.match(bad) is None
    assert template.match_all(bad + b"\n\n" + good, b"", b"\n\n") is None


def test_two_broken_frames_do_not_make_up_for_each_other() -> None:
    body = {"a": [{"text": "Hi"}]}
    template = learn_template(encoded(body), body, TEXT)
    assert template is not None

    for one, other in ((b"a\\", b',"b'), (b'a","b', b'c"d"'), (b'a",', b',"b'), (b'a"', b'"b'), (b"a\\", b"b\\")):
        frames = [encoded(body).replace(b"Hi", one), encoded(body).replace(b"Hi", other), encoded(body)]
        assert template.match_all(b"\n\n".join(frames), b"", b"\n\n") is None


def test_blanks_that_hide_the_length_may_be_of_any_number() -> None:
    body = {"a": [{"text": "Hi"}]}
    template = learn_template(b'{"a":[{"text":"Hi"}]   }', body, TEXT)
    assert template is not None

    assert template.match(b'{"a":[{"text":"x"}]}') == [["x"]]
    assert template.match(b'{"a":[{"text":"x"}]       }') == [["x"]]
    assert template.match(b'{"a":[{"text":"x"}]\t}') is None
    assert template.match(b'{"a":[{"text":"x"}] 1 }') is None
    assert template.match_all(b'{"a":[{"text":"x"}] }\n{"a":[{"text":"y"}]}', b"", b"\n") == [["x", "y"]]


def test_the_place_of_the_text_is_proved() -> None:
    twice = {"note": {"text": "Hi"}, "a": [{"text": "Hi"}], "text": "Hi"}
    template = learn_template(encoded(twice), twice, TEXT)
    assert template is not None

    assert template.match(encoded(twice | {"a": [{"text": "x"}]})) == [["x"]]
    assert template.match(encoded(twice | {"text": "x"})) is None
    assert learn_template(b'{"a":[{"text":"Hi","text":"Ho"}]}', {"a": [{"text": "Ho"}]}, TEXT).match(  # type: ignore[union-attr]
        b'{"a":[{"text":"Hi","text":"x"}]}'
    ) == [["x"]]
    assert learn_template(encoded({"a": []}), {"a": []}, TEXT) is None
    assert learn_template(encoded({"a": [{"text": 1}]}), {"a": [{"text": 1}]}, TEXT) is None
    assert learn_template(rb'{"a":[{"te\u0078t":"Hi"}]}', {"a": [{"text": "Hi"}]}, TEXT) is None


texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\}{],:\n\u2028'), max_size=8)


times = st.text(st.sampled_from("1:-T %~") | st.just("\n"), max_size=5)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_many_frames_are_read_as_one_by_one(data: st.DataObject) -> None:
    template = learned(document("Hi", pad=data.draw(st.sampled_from(["", "z" * 80]))))
    frames: list[bytes] = []
    for _ in range(data.draw(st.integers(1, 5))):
        body = document(data.draw(texts), now=data.draw(st.integers(0, 10**20)), time=data.draw(times), pad="z" * 80)
        frame = encoded(body, ascii_only=data.draw(st.booleans()))
        if data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(frame)))
            piece = data.draw(st.sampled_from([b"", b'"', b"\\", b",", b" ", b'","', b"\n", b"}", b"0", frame]))
            frame = frame[:at] + piece + frame[at + data.draw(st.integers(0, 2)) :]
        frames.append(frame)

    one_by_one = [template.match(frame) for frame in frames]
    together = template.match_all(b"\n\ndata: ".join(frames).join([b"data: ", b""]), b"data: ", b"\n\n")

    if together is not None:
        assert [[[text], [count]] for text, count in zip(*together, strict=True)] == one_by_one
        assert [json.loads(frame)["a"][0]["text"] for frame in frames] == together[0]
    else:
        assert None in one_by_one or any(b"\n" in frame for frame in frames)
    for frame, values in zip(frames, one_by_one, strict=True):
        if values is not None:
            body = json.loads(frame)
            assert values == [[body["a"][0]["text"]], [body["counts"]["now"]]]


class Reader:
    """A decoder of one kind of frame."""

    def __init__(self, attempts: int = 4) -> None:
        self.ended = False
        self.runs = Runs(attempts)
        self.read_with_care = 0
        self.runs_seen = 0
        self.fragments: list[str] = []

    def feed(self, frame: Frame) -> list[Any]:
        self.runs_seen += type(frame) is Run
        events = self.runs.read(frame)
        if events is not None:
            return events
        self.read_with_care += 1
        body = json.loads(frame.data)
        if not body.get("text"):
            return []
        self.fragments.append(body["text"])
        event = TextDelta(body["text"], 3)
        self.runs.learn(frame, body, (("text",),), event, self.fragments, ignored=(("time",),))
        return [event]

    def finish(self) -> list[Any]:
        return []


@pytest.mark.parametrize("form", ["data", "event", "ndjson"])
@pytest.mark.parametrize("cut", [1, 7, 64, 10_000])
def test_a_framing_that_knows_the_decoder_hands_like_frames_over_together(form: str, cut: int) -> None:
    words = ["a", "b", "", "c", 'd"', "e", "f", "東", "g\\", "h"] * 5
    framing = NdjsonFraming() if form == "ndjson" else SseFraming()
    head, separator = {"data": ("data: ", "\n\n"), "event": ("event: e\ndata: ", "\n\n"), "ndjson": ("", "\n")}[form]
    lines = [json.dumps({"text": word, "time": f"{at}"}, ensure_ascii=False) for at, word in enumerate(words)]
    stream = "".join(head + line + separator for line in lines).encode()
    decoder = Reader()
    connect(framing, decoder)

    # The first frame alone, so that the others find a template.
    first = len(head + lines[0] + separator)
    pieces = [stream[:first], *(stream[at : at + cut] for at in range(first, len(stream), cut))]
    events = [event for piece in pieces for frame in framing.feed(piece) for event in decoder.feed(frame)]

    assert [event.text for event in events] == [word for word in words if word]
    assert decoder.fragments == [word for word in words if word]
    assert {event.part for event in events} == {3}
    assert bool(decoder.runs_seen) is (cut == 64)  # empty texts are read with care, and they are in every longer read
    assert decoder.read_with_care < len(words)


def test_a_stream_without_a_pattern_is_left_alone() -> None:
    decoder = Reader()
    for number in range(20):
        decoder.feed(Frame(encoded({"text": "x", f"key {number}": 1})))
        assert (decoder.runs.template is not None) is (number < 4)


def test_frames_of_another_name_or_a_great_length_are_read_with_care() -> None:
    decoder = Reader()
    decoder.feed(Frame(b'{"text":"a"}', "one"))
    decoder.feed(Frame(b'{"text":"b"}', "two"))
    assert decoder.read_with_care == 2
    decoder.feed(Frame(b'{"text":"c"}', "two"))
    assert decoder.read_with_care == 2
    decoder.feed(Frame(encoded({"text": "a" * 9000}), "three"))
    assert decoder.runs.template is None


def test_unknown_framings_and_decoders_stay_unconnected() -> None:
    class Plain:
        runs = "something else"

    framing = SseFraming()
    connect(framing, Plain())  # type: ignore[arg-type]
    assert framing.runs is None
    connect(object(), Reader())  # type: ignore[arg-type]
