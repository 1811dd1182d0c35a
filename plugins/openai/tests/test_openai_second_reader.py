"""What the service really sent, read by the vendor's own client as well: both find the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from polywire.responses import ChatResponse
from polywire.testing import CodecUnderTest, Recording, load_recordings
from polywire_openai import OpenAIChatCodec, OpenAIResponsesCodec

openai = pytest.importorskip("openai")

RECORDINGS = Path(__file__).parent / "recordings"


def captured(folder: str) -> list[Any]:
    found = [each for each in load_recordings(RECORDINGS / folder) if each.source.startswith("captured")]
    return [pytest.param(each, id=each.name) for each in found]


def client(recording: Recording) -> Any:
    reply = httpx.Response(200, content=recording.body, headers={"content-type": "text/event-stream"})
    http = httpx.Client(transport=httpx.MockTransport(lambda _: reply))
    return openai.OpenAI(api_key="k", base_url="http://127.0.0.1", http_client=http)


def ours(codec: Any, recording: Recording) -> ChatResponse:
    return CodecUnderTest(codec=codec, model="m", recordings=(recording,)).decode_stream([recording.body])


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in response.tool_calls]


@pytest.mark.parametrize("recording", captured("chat"))
def test_chat_completions_are_read_the_same(recording: Recording) -> None:
    with client(recording).chat.completions.stream(model="m", messages=[{"role": "user", "content": "q"}]) as stream:
        read = stream.get_final_completion()
    message, response = read.choices[0].message, ours(OpenAIChatCodec(), recording)

    assert response.text == message.content
    found = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert calls_of(response) == found
    assert response.usage.total_tokens == read.usage.total_tokens
    assert response.metadata["raw_finish_reason"] == read.choices[0].finish_reason


@pytest.mark.parametrize("recording", captured("responses"))
def test_responses_are_read_the_same(recording: Recording) -> None:
    with client(recording).responses.stream(model="m", input="q") as stream:
        read = stream.get_final_response()
    response = ours(OpenAIResponsesCodec(), recording)

    assert (response.text or "") == read.output_text
    found = [(item.call_id, item.name, item.arguments) for item in read.output if item.type == "function_call"]
    assert calls_of(response) == found
    assert response.usage.total_tokens == read.usage.total_tokens
    assert response.usage.reasoning_tokens == read.usage.output_tokens_details.reasoning_tokens


def test_there_is_something_of_both_apis() -> None:
    assert captured("chat")
    assert captured("responses")
