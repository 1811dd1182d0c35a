"""What the service really sent, read by the vendor's own client as well: both find the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polywire import wire_json
from polywire.testing import CodecUnderTest, Recording, load_recordings
from polywire_anthropic import AnthropicCodec

anthropic = pytest.importorskip("anthropic")
# The library that the vendor's client sends with.
httpx2 = pytest.importorskip("httpx2")

ANSWERS = [
    each
    for each in load_recordings(Path(__file__).parent / "recordings")
    if each.source.startswith("captured") and each.expected.error is None
]


def ask(recording: Recording) -> Any:
    """Return the message that the vendor's client makes of a recording."""
    kind = "text/event-stream" if recording.stream else "application/json"
    reply = httpx2.Response(200, content=recording.body, headers={"content-type": kind})
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: reply))
    client = anthropic.Anthropic(api_key="k", base_url="http://127.0.0.1", http_client=http)
    asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    if not recording.stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


@pytest.mark.parametrize("recording", ANSWERS, ids=lambda each: each.name)
def test_the_vendors_client_reads_the_same(recording: Recording) -> None:
    message = ask(recording)
    held = CodecUnderTest(codec=AnthropicCodec(), model="m", recordings=(recording,))
    response = held.decode_stream([recording.body]) if recording.stream else held.decode(recording)

    def joined(kind: str, field: str) -> str:
        return "".join(getattr(block, field) for block in message.content if block.type == kind)

    assert (response.text or "") == joined("text", "text")
    assert (response.thinking or "") == joined("thinking", "thinking")
    calls = [block for block in message.content if block.type == "tool_use"]
    assert [(call.id, call.name, wire_json.decode(call.arguments)) for call in response.tool_calls] == [
        (call.id, call.name, call.input) for call in calls
    ]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (
        message.usage.input_tokens,
        message.usage.output_tokens,
    )
    assert response.metadata["raw_finish_reason"] == message.stop_reason


def test_there_are_both_a_plain_answer_and_a_stream() -> None:
    assert {each.stream for each in ANSWERS} == {True, False}
