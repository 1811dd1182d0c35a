"""The short way through a stream gives what the general way gives, whatever the chunks hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.codec import Frame
from polywire.events import ResponseCollector, StreamEvent
from polywire.responses import ChatResponse
from polywire_openai.delta_template import learn_template
from polywire_openai.stream import OpenAIStreamDecoder


def read(frames: list[bytes], *, short: bool) -> tuple[list[StreamEvent], ChatResponse]:
    decoder, collector, events = OpenAIStreamDecoder(), ResponseCollector(), []
    for data in frames:
        if not short:
            decoder._attempts = 0
        found = decoder.feed(Frame(data))
        collector.add_all(found)
        events += found
    last = decoder.finish()
    collector.add_all(last)
    return [*events, *last], collector.response()


texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\}{],:\n\u2028'), max_size=8)
deltas = st.one_of(
    *(st.fixed_dictionaries({key: texts}) for key in ("content", "reasoning_content", "reasoning")),
    st.fixed_dictionaries({"content": texts, "role": st.just("assistant")}),
    st.fixed_dictionaries({"content": texts, "mood": st.sampled_from(["calm", "content"])}),
    st.fixed_dictionaries({"content": texts, "annotations": st.just([{"content": "x"}])}),
    st.fixed_dictionaries(
        {"tool_calls": st.tuples(st.fixed_dictionaries({"index": st.just(0), "id": st.just("c"), "function": st.fixed_dictionaries({"name": st.just("f"), "arguments": texts})})).map(list)}
    ),
    st.fixed_dictionaries(
        {"tool_calls": st.tuples(st.fixed_dictionaries({"index": st.sampled_from([0, 1]), "function": st.fixed_dictionaries({"arguments": texts})})).map(list)}
    ),
)  # fmt: skip


@st.composite
def streams(draw: Any) -> list[bytes]:
    compact = draw(st.booleans())
    padded = draw(st.booleans())
    frames = []
    created = 1
    for _ in range(draw(st.integers(1, 4))):
        shape = draw(deltas)
        for _ in range(draw(st.integers(1, 4))):
            delta = json.loads(json.dumps(shape))
            key = next(iter(delta))
            if key == "tool_calls":
                delta[key][0]["function"]["arguments"] = draw(texts)
            else:
                delta[key] = draw(texts)
            created += draw(st.sampled_from([0, 0, 0, 1]))
            body: dict[str, Any] = {"id": "c", "created": created, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}  # fmt: skip
            if draw(st.integers(0, 9)) == 0:
                body["usage"] = {"prompt_tokens": created, "completion_tokens": 1}
            if padded:
                body["obfuscation"] = draw(st.text("abC19", max_size=5))
            dumped = json.dumps(body, ensure_ascii=draw(st.booleans()), separators=(",", ":") if compact else None)
            frames.append(dumped.encode())
    frames.append(b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')
    frames.append(b"[DONE]")
    return frames


@settings(max_examples=200, deadline=None)
@given(streams())
def test_the_short_way_gives_what_the_general_way_gives(frames: list[bytes]) -> None:
    events, response = read(frames, short=True)
    expected_events, expected = read(frames, short=False)

    assert response == expected
    assert events == expected_events


def chunk(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("more", [{}, {"obfuscation": "a9Z"}, {"note": {"content": "Hi"}}])
def test_a_template_fits_like_chunks_alone(more: dict[str, Any]) -> None:
    body = chunk("Hi", **more)
    template = learn_template(encoded(body), body, "Hi")

    assert template is not None
    for text in (
        "x",
        'a"b',
        "\\",
        "東京",
        '"},"finish_reason":null}]}',
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ):
        assert template.match(encoded(chunk(text, **more))) == text
    assert template.match(encoded(chunk("x", **more, other=1))) is None
    assert template.match(encoded({**chunk("x", **more), "id": "d"})) is None
    assert template.match(encoded({**chunk("x", **more), "choices": []})) is None


def test_padding_may_be_of_any_length() -> None:
    body = chunk("Hi", obfuscation="a9")
    template = learn_template(encoded(body), body, "Hi")

    assert template is not None
    assert template.match(encoded(chunk("x", obfuscation=""))) == "x"
    assert template.match(encoded(chunk("x", obfuscation="abc123"))) == "x"
    assert template.match(encoded(chunk("x", obfuscation='","usage":"'))) is None


def test_no_template_is_made_where_the_place_is_not_certain() -> None:
    body = {"id": "c", "content": "Hi", "choices": [{"index": 0, "delta": {"text": "Hi"}}]}

    assert learn_template(encoded(body), body, "Hi") is None
