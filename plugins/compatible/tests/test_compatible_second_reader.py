"""
What a service really sent, read by its own client as well: both find the same text, calls, thinking and numbers.

Where a service has no client of its own, it tells its users to take OpenAI's.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from polywire.responses import ChatResponse
from polywire.testing import CodecUnderTest, Recording, load_recordings
from polywire_compatible import ROWS
from polywire_openai import OpenAIChatCodec

RECORDINGS = Path(__file__).parent / "recordings"
QUESTION = [{"role": "user", "content": "q"}]

# The modules of the clients, and what is asked of them.
CLIENTS: dict[str, tuple[str, str]] = {
    "groq": ("groq", "Groq"),
    "together": ("together", "Together"),
    "zhipu": ("zai", "ZaiClient"),
    "mistral": ("mistralai.client", "Mistral"),
}


def answers() -> Iterable[tuple[str, Recording]]:
    for name in ROWS:
        for each in load_recordings(RECORDINGS / name):
            if "captured" in each.source and each.expected.error is None:
                yield name, each


def client(name: str, recording: Recording) -> Any:
    """Return the service's client over a transport that answers with the recording."""
    module, class_name = CLIENTS.get(name, ("openai", "OpenAI"))
    kind = getattr(pytest.importorskip(module), class_name)
    media_type = "text/event-stream" if recording.stream else "application/json"

    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=recording.body, headers={"content-type": media_type})

    transport = httpx.Client(transport=httpx.MockTransport(reply))
    if name == "mistral":
        return kind(api_key="k", client=transport)
    return kind(api_key="k", base_url="http://127.0.0.1/v1", http_client=transport)


class Read:
    """What a client found."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.text = ""
        self.thinking = ""
        self.calls: dict[Any, list[Any]] = {}
        self.usage: Any = None
        for chunk in chunks:
            chunk = getattr(chunk, "data", chunk)
            self.usage = getattr(chunk, "usage", None) or self.usage
            for choice in chunk.choices:
                self._read(getattr(choice, "message", None) or choice.delta)

    def _read(self, piece: Any) -> None:
        if isinstance(piece.content, str):
            self.text += piece.content
        for field in ("reasoning_content", "reasoning"):
            self.thinking += getattr(piece, field, None) or ""
        for place, call in enumerate(piece.tool_calls or ()):
            index = getattr(call, "index", None)
            found = self.calls.setdefault(place if index is None else index, ["", "", ""])
            found[0] = found[0] or ("" if call.id in (None, "null") else call.id)
            found[1] += call.function.name or ""
            found[2] += call.function.arguments or ""


def ask(name: str, recording: Recording) -> Read:
    reader = client(name, recording)
    if name == "mistral":
        chat = reader.chat.stream if recording.stream else reader.chat.complete
        answer = chat(model="m", messages=QUESTION)
    else:
        answer = reader.chat.completions.create(model="m", messages=QUESTION, stream=recording.stream)
    return Read(answer if recording.stream else [answer])


def ours(name: str, recording: Recording) -> ChatResponse:
    held = CodecUnderTest(codec=OpenAIChatCodec(ROWS[name].profiles()), model="m", recordings=(recording,))
    return held.decode_stream([recording.body]) if recording.stream else held.decode(recording)


@pytest.mark.parametrize(
    ("name", "recording"), [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in answers()]
)
def test_the_services_own_client_reads_the_same(name: str, recording: Recording) -> None:
    read, response = ask(name, recording), ours(name, recording)

    assert (response.text or "") == read.text
    assert (response.thinking or "") == read.thinking
    assert [[call.id, call.name, call.arguments] for call in response.tool_calls] == list(read.calls.values())
    if read.usage is not None:
        found = (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens)
        # xAI counts the thinking beside the answer; in the total it is both's.
        total = read.usage.total_tokens
        assert found == (read.usage.prompt_tokens, total - read.usage.prompt_tokens, total)


def test_there_is_something_to_read_of_nearly_every_service() -> None:
    assert {name for name, _ in answers()} == set(ROWS) - {"fireworks"}
