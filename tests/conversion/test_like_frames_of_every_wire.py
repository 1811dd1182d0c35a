"""The short way through a stream gives what reading each frame with care gives: on every wire, at any cut, whatever comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.codec import StreamDecoder
from polywire.errors import ModelError
from polywire.events import ResponseCollector, StreamEvent
from polywire.framing.ndjson import NdjsonFraming
from polywire.framing.runs import Runs, connect
from polywire.framing.sse import SseFraming
from polywire.responses import ChatResponse
from polywire.translation.names import NameMap
from polywire_anthropic.stream import AnthropicStreamDecoder
from polywire_gemini.decode import GeminiStreamDecoder
from polywire_ollama.codec import OllamaCodec, OllamaStreamDecoder
from polywire_openai.responses.stream import OpenAIResponsesStreamDecoder
from polywire_openai.stream import OpenAIStreamDecoder

texts = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\}{],:\n\u2028%'), max_size=6)
Draw = Callable[[Any], Any]


def openai(draw: Draw) -> list[Any]:
    key = draw(st.sampled_from(["content", "reasoning_content", "reasoning", "refusal", "arguments"]))
    bodies = []
    for number in range(draw(st.integers(1, 6))):
        text = draw(texts)
        delta: dict[str, Any] = {key: text}
        if key == "arguments":
            call = {"index": 0, "function": {"arguments": text}}
            if number == 0:
                call = {"index": 0, "id": "call_1", "function": {"name": "f", "arguments": text}}
            delta = {"tool_calls": [call]}
        body: dict[str, Any] = {"id": "c", "created": draw(st.sampled_from([1, 1, 1, 2])), "choices": [{"index": 0, "delta": delta}]}  # fmt: skip
        if draw(st.integers(0, 5)) == 0:
            body["usage"] = {"prompt_tokens": 1, "completion_tokens": number}
        bodies.append(body | {"obfuscation": draw(st.text("abC1", max_size=4))})
    return [*bodies, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, "[DONE]"]


def responses(draw: Draw) -> list[Any]:
    kind, item = draw(
        st.sampled_from(
            [
                ("output_text", {"type": "message", "id": "m", "content": []}),
                ("refusal", {"type": "message", "id": "m", "content": []}),
                ("function_call_arguments", {"type": "function_call", "id": "i", "call_id": "c", "name": "f"}),
                ("reasoning_summary_text", {"type": "reasoning", "id": "r", "summary": []}),
                ("reasoning_text", {"type": "reasoning", "id": "r", "summary": []}),
            ]
        )
    )
    bodies: list[Any] = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    for _ in range(draw(st.integers(1, 6))):
        place = {
            "content_index": draw(st.sampled_from([0, 0, 0, 1])),
            "summary_index": draw(st.sampled_from([0, 0, 1])),
        }
        padding = {"obfuscation": draw(st.text("abC1", max_size=4))} if draw(st.booleans()) else {}
        bodies.append({"type": f"response.{kind}.delta", "output_index": 0, **place, "delta": draw(texts), **padding})
    bodies.append({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}})
    return [body | {"sequence_number": number} for number, body in enumerate(bodies)]


def anthropic(draw: Draw) -> list[Any]:
    bodies: list[Any] = [{"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}]
    for index in range(draw(st.integers(1, 2))):
        kind, field = draw(
            st.sampled_from([("text", "text"), ("thinking", "thinking"), ("input_json", "partial_json")])
        )
        block = {"type": "tool_use", "id": f"t{index}", "name": "f", "input": {}} if kind == "input_json" else {"type": kind, field: ""}  # fmt: skip
        bodies.append({"type": "content_block_start", "index": index, "content_block": block})
        for _ in range(draw(st.integers(1, 5))):
            delta = {"type": f"{kind}_delta", field: draw(texts)}
            bodies.append({"type": "content_block_delta", "index": index, "delta": delta})
            if draw(st.integers(0, 4)) == 0:
                bodies.append({"type": "ping"})
        bodies.append({"type": "content_block_stop", "index": index})
    return [*bodies, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]


def gemini(draw: Draw) -> list[Any]:
    bodies: list[Any] = []
    thought = draw(st.booleans())
    for _ in range(draw(st.integers(1, 6))):
        part: dict[str, Any] = {"text": draw(texts)} | ({"thought": True} if thought else {})
        if draw(st.integers(0, 5)) == 0:
            part["thoughtSignature"] = "s"
        count = st.sampled_from([1, 2, 3])
        usage: dict[str, Any] = {"promptTokenCount": 4, "candidatesTokenCount": draw(count), "totalTokenCount": draw(count)}  # fmt: skip
        if draw(st.booleans()):
            usage["thoughtsTokenCount"] = draw(count)
        body: dict[str, Any] = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
        if draw(st.integers(0, 4)):
            body["usageMetadata"] = usage
        bodies.append(body | {"responseId": "r"})
    return [*bodies, {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}]


def ollama(draw: Draw) -> list[Any]:
    key = draw(st.sampled_from(["content", "thinking"]))
    bodies: list[Any] = []
    for number in range(draw(st.integers(1, 6))):
        message = {"role": "assistant", "content": "", key: draw(texts)}
        bodies.append({"model": "m", "created_at": f"10:0{number}", "message": message, "done": False})
    return [*bodies, {"model": "m", "created_at": "z", "message": {"content": ""}, "done": True, "done_reason": "stop"}]


WIRES: dict[str, tuple[Callable[[Draw], list[Any]], Callable[[], Any]]] = {
    "openai": (openai, OpenAIStreamDecoder),
    "responses": (responses, OpenAIResponsesStreamDecoder),
    "anthropic": (anthropic, AnthropicStreamDecoder),
    "gemini": (gemini, lambda: GeminiStreamDecoder(NameMap(), {})),
    "ollama": (ollama, lambda: OllamaStreamDecoder(NameMap(), OllamaCodec())),
}
NAMED = {"responses", "anthropic"}


def written(wire: str, bodies: list[Any], draw: Draw) -> bytes:
    """The bytes of a stream, as one of many servers writes them; sometimes a few of them are broken."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    frames = []
    for body in bodies:
        data = body if isinstance(body, str) else json.dumps(body, ensure_ascii=draw(st.booleans()), separators=separators)  # fmt: skip
        if isinstance(body, dict) and draw(st.integers(0, 3)) == 0:
            data = data[:-1] + " " * draw(st.integers(0, 3)) + "}"
        if draw(st.integers(0, 30)) == 0:
            at = draw(st.integers(0, len(data)))
            data = data[:at] + draw(st.sampled_from(['"', "\\", ",", '","', "}", "5"])) + data[at:]
        name = f"event: {body['type']}{end}" if wire in NAMED else ""
        frames.append(data + end if wire == "ollama" else f"{name}data: {data}{end}{end}")
    return "".join(frames).encode()


def read(decoder: StreamDecoder, wire: str, pieces: list[bytes]) -> tuple[list[StreamEvent], ChatResponse, str]:
    framing = NdjsonFraming() if wire == "ollama" else SseFraming()
    connect(framing, decoder)
    collector, events, error = ResponseCollector(), [], ""
    try:
        for piece in pieces:
            for frame in framing.feed(piece):
                events += decoder.feed(frame)
        events += decoder.finish()
    except ModelError as failure:
        error = f"{type(failure).__name__}: {failure.message}"
    collector.add_all(events)
    return events, collector.response(), error


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_like_frames_say_what_frames_read_with_care_say(wire: str, data: st.DataObject) -> None:
    bodies, make = WIRES[wire]
    stream = written(wire, bodies(data.draw), data.draw)
    careful = make()
    careful.runs = Runs(attempts=0)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    assert read(make(), wire, pieces) == read(careful, wire, [stream])


@pytest.mark.parametrize("wire", WIRES)
def test_most_of_a_plain_stream_takes_the_short_way(wire: str) -> None:
    counted: list[int] = []

    class Counting(Runs):
        def read(self, frame: Any) -> list[StreamEvent] | None:
            events = super().read(frame)
            counted.append(0 if events is None else 1)
            return events

    words = [f"word {number}" for number in range(20)]
    streams: dict[str, list[Any]] = {
        "openai": [{"choices": [{"index": 0, "delta": {"content": word}}], "obfuscation": word[5:]} for word in words],
        "responses": [
            {"type": "response.output_text.delta", "sequence_number": number, "output_index": 0, "delta": word}
            for number, word in enumerate(words)
        ],
        "anthropic": [
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in words
        ],
        "gemini": [
            {"candidates": [{"content": {"parts": [{"text": word}]}}], "usageMetadata": {"totalTokenCount": number}}
            for number, word in enumerate(words)
        ],
        "ollama": [
            {"created_at": f"10:{number}", "message": {"content": word}, "done": False}
            for number, word in enumerate(words)
        ],
    }
    decoder = WIRES[wire][1]()
    decoder.runs = Counting()
    pieces = [
        (json.dumps(body) + "\n").encode() if wire == "ollama" else f"data: {json.dumps(body)}\n\n".encode()
        for body in streams[wire]
    ]
    read(decoder, wire, pieces)

    assert sum(counted) >= 18
