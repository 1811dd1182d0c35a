"""Some endpoints tell with each chunk anew what the answer costs so far (xAI; vLLM with `continuous_usage_stats`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from polywire.errors import StreamInterrupted
from polywire.events import ResponseCollector, StreamEvent, TextDelta, ThinkingDelta, UsageUpdate
from polywire.framing.runs import Runs, connect
from polywire.framing.sse import SseFraming
from polywire.http_model import HttpChatModel
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_openai import OpenAIChatCodec
from polywire_openai.stream import OpenAIStreamDecoder


def usage(output: int, reasoning: int = 0, prompt: int = 11) -> dict[str, Any]:
    """As xAI writes it: the completion does not hold the reasoning, the total does."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output + reasoning,
        "prompt_tokens_details": {"text_tokens": prompt, "cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
        "num_sources_used": 0,
    }


def chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "r-1", "model": "grok-4", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


CHUNKS = [
    *(chunk({"reasoning_content": f"thought {n} "}, usage=usage(0, n)) for n in range(1, 6)),
    *(chunk({"content": f"piece {n} "}, usage=usage(n, 5)) for n in range(1, 6)),
    chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]}, usage=usage(8, 5)),
    *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": each}}]}, usage=usage(9, 5)) for each in ['{"a":', "1}"]),
    chunk({}, "tool_calls", usage=usage(12, 5)),
]  # fmt: skip


def sse(chunks: Sequence[Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks)


def cost(output: int, reasoning: int) -> TokenUsage:
    return TokenUsage(11, output + reasoning, 11 + output + reasoning, 4, None, reasoning)


def events_of(pieces: list[bytes], *, attempts: int = 4) -> list[StreamEvent]:
    framing, decoder = SseFraming(), OpenAIStreamDecoder()
    decoder.runs = Runs(attempts)
    connect(framing, decoder)
    events: list[StreamEvent] = []
    for piece in pieces:
        for frame in framing.feed(piece):
            events += decoder.feed(frame)
    events += decoder.finish()
    return events


def test_the_same_is_told_however_the_stream_is_cut_and_read() -> None:
    stream = sse(CHUNKS) + b"data: [DONE]\n\n"
    whole = events_of([stream], attempts=0)

    told = [event.usage for event in whole if type(event) is UsageUpdate]
    assert told == [
        cost(0, 1),
        cost(8, 5),
        cost(9, 5),
        cost(12, 5),
    ]  # with the start, where a call begins, and at the end
    assert events_of([stream]) == whole
    for at in range(1, len(stream)):
        assert events_of([stream[:at], stream[at:]]) == whole
    assert events_of([stream[at : at + 1] for at in range(len(stream))]) == whole


@pytest.mark.parametrize("chunks", range(1, len(CHUNKS)))
def test_a_stream_that_breaks_off_tells_what_was_counted_so_far(chunks: int) -> None:
    body = sse(CHUNKS[:chunks])
    for pieces in ([body], [body[at : at + 300] for at in range(0, len(body), 300)]):
        model = HttpChatModel(
            OpenAIChatCodec(),
            base_url="http://127.0.0.1/v1",
            transport=FakeTransport(Reply(chunks=pieces)),
            provider="openai",
        )
        stream = model.stream("hi", model="grok-4")
        with pytest.raises(StreamInterrupted) as caught:
            stream.collect()

        last = CHUNKS[chunks - 1]["usage"]
        expected = cost(last["completion_tokens"], last["completion_tokens_details"]["reasoning_tokens"])
        assert caught.value.partial is not None
        assert caught.value.partial.usage == expected
        assert stream.partial.usage == expected


def test_counts_that_fall_back_to_nothing_are_no_news() -> None:
    chunks = [chunk({"content": "a"}, usage=usage(n, prompt=0)) for n in (3, 4, 5, 0)]
    for attempts in (0, 4):
        collector = ResponseCollector()
        collector.add_all(events_of([sse([*chunks, chunk({}, "stop")]), b"data: [DONE]\n\n"], attempts=attempts))

        assert collector.usage.output_tokens == 5
        assert collector.response().text == "aaaa"


@pytest.mark.parametrize("odd", [None, "many", 2.5, [], {"prompt_tokens": 3}, {}])
def test_a_usage_of_another_shape_between_the_others(odd: Any) -> None:
    chunks = [
        *(chunk({"content": "a"}, usage=usage(n)) for n in range(1, 5)),
        chunk({"content": "a"}, usage=odd),
        *(chunk({"content": "a"}, usage=usage(n)) for n in range(5, 9)),
        chunk({}, "stop"),
    ]
    careful = events_of([sse(chunks), b"data: [DONE]\n\n"], attempts=0)

    assert events_of([sse(chunks), b"data: [DONE]\n\n"]) == careful
    assert [type(event) for event in careful].count(TextDelta) == 9
    assert not any(type(event) is ThinkingDelta for event in careful)
    usages = [event.usage for event in careful if type(event) is UsageUpdate]
    assert usages[-1].output_tokens == 8
