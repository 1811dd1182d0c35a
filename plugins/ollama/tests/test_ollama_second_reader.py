"""What servers really sent, read by the vendor's own client as well: both find the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from polywire import wire_json
from polywire.testing import CodecUnderTest, Recording, load_recordings
from polywire_ollama import OllamaCodec

ollama = pytest.importorskip("ollama")

ANSWERS = [
    each
    for each in load_recordings(Path(__file__).parent / "recordings")
    if each.source.startswith("captured") and each.expected.error is None
]


def ask(recording: Recording) -> list[Any]:
    """Return what the vendor's client makes of a recording: one answer, or the pieces of a stream."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=recording.body))
    client = ollama.Client(host="http://127.0.0.1", transport=transport)
    answer = client.chat(model="m", messages=[], stream=recording.stream)
    return list(answer) if recording.stream else [answer]


@pytest.mark.parametrize("recording", ANSWERS, ids=lambda each: each.name)
def test_the_vendors_client_reads_the_same(recording: Recording) -> None:
    pieces = ask(recording)
    held = CodecUnderTest(codec=OllamaCodec(), model="m", recordings=(recording,))
    response = held.decode_stream([recording.body]) if recording.stream else held.decode(recording)

    assert (response.text or "") == "".join(piece.message.content or "" for piece in pieces)
    assert (response.thinking or "") == "".join(piece.message.thinking or "" for piece in pieces)
    calls = [call.function for piece in pieces for call in piece.message.tool_calls or ()]
    assert [(call.name, wire_json.decode(call.arguments)) for call in response.tool_calls] == [
        (call.name, call.arguments) for call in calls
    ]
    last = pieces[-1]
    assert last.done
    assert (response.usage.input_tokens, response.usage.output_tokens) == (last.prompt_eval_count, last.eval_count)


def test_there_are_both_a_plain_answer_and_a_stream() -> None:
    assert {each.stream for each in ANSWERS} == {True, False}
