"""Streams of Chat Completions: framing, ends, nulls, usage, thinking, refusals, errors inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polywire.contents import AudioContent, ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import (
    ContentFiltered,
    EmptyResponse,
    Overloaded,
    ProtocolError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from polywire.events import PartEnd, ResponseEnd, ResponseStart, TextDelta, ThinkingDelta
from polywire.responses import FinishReason, TokenUsage

DONE = "data: [DONE]\n\n"


def test_a_recorded_stream_of_thinking_and_text(golden: Any, read_stream: Any) -> None:
    read = read_stream(golden("openai-thinking.sse"))
    response = read.response

    assert response.text == "CompletableFuture 是 Java 8 引入的异步编程工具。"
    assert response.thinking == "用户想要一句话解释CompletableFuture，我需要给出准确又简洁的定义。"
    assert response.finish_reason is FinishReason.STOP
    assert response.usage == TokenUsage(14, 52, 66)
    assert [event for event in read.events if isinstance(event, (TextDelta, ThinkingDelta))] == [
        ThinkingDelta("用户想要一句话解释", 0),
        ThinkingDelta("CompletableFuture，我需要给出准确又简洁的定义。", 0),
        TextDelta("CompletableFuture", 1),
        TextDelta(" 是 Java 8 引入的异步编程工具。", 1),
    ]
    assert type(read.events[0]) is ResponseStart
    assert type(read.events[-1]) is ResponseEnd


def test_a_recorded_stream_of_a_tool_call(golden: Any, read_stream: Any) -> None:
    response = read_stream(golden("openai-tool-call.sse")).response
    [call] = response.tool_calls

    assert response.text is None
    assert (call.id, call.name, call.arguments) == ("call_abc123", "get_weather", '{"city":"杭州"}')
    assert response.finish_reason is FinishReason.TOOL_CALLS
    assert response.usage == TokenUsage(62, 18, 80)


# --- framing, as far as the decoder has a part in it ---


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            (
                b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\r\n\r\n'
                b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n'
            ),
            "Hi",
        ),
        (
            (
                b'data: {"choices":[{"index":0,"delta":{"content":"a\xe2\x80\xa8b\xe2\x80\xa9c\xc2\x85d"},'
                b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
            ),
            "a\u2028b\u2029c\u0085d",
        ),
        ('data: {"choices":[{"index":0,"delta":{"content":"東京"},"finish_reason":"stop"}]}\n\n' + DONE, "東京"),
        (
            'id: 7\nevent: message\nretry: 3000\ndata: {"choices":[{"index":0,\n'
            'data: "delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n' + DONE,
            "Hi",
        ),
        ('data:{"choices":[{"index":0,"delta":{"content":" Hi"},"finish_reason":"stop"}]}\n\ndata:[DONE]\n\n', " Hi"),
        (
            ": PROCESSING\n\n: PROCESSING\n\n"
            'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n:\n\n' + DONE,
            "Hi",
        ),
        (
            "data:\n\ndata: \n\n"
            'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n' + DONE,
            "Hi",
        ),
    ],
    ids=["crlf", "line-separators", "multi-byte", "several-data-lines", "no-blank", "comments", "heartbeats"],
)
def test_framings(body: Any, text: str, read_stream: Any) -> None:
    response = read_stream(body).response

    assert response.text == text
    assert response.finish_reason is FinishReason.STOP


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_last_event_may_lack_its_blank_line(end: str, read_stream: Any, chunks: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    body = chunks({"content": "Hi"}, finish="stop", usage=usage, done=False).rstrip("\n") + end
    response = read_stream(body).response

    assert (response.text, response.finish_reason, response.usage) == ("Hi", FinishReason.STOP, TokenUsage(3, 1, 4))
    assert [notice.kind for notice in response.notices] == ["information"]


# --- ends ---


def test_a_stream_without_its_end_mark_is_complete_once_it_has_a_finish_reason(read_stream: Any, chunks: Any) -> None:
    response = read_stream(chunks({"content": "Hi"}, done=False)).response

    assert (response.text, response.finish_reason) == ("Hi", FinishReason.STOP)
    assert "[DONE]" in response.notices[0].message


@pytest.mark.parametrize("delta", [{"content": "The answer is"}, {"reasoning": "The answer is"}])
def test_a_stream_that_stops_before_its_finish_reason_is_interrupted(delta: Any, fail_stream: Any, chunks: Any) -> None:
    error = fail_stream(chunks(delta, finish=None, done=False), kind=StreamInterrupted)

    assert (error.partial.text or error.partial.thinking) == "The answer is"
    assert error.partial.finish_reason is FinishReason.ERROR


def test_a_call_that_was_cut_off_never_runs(fail_stream: Any, chunks: Any) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "rm", "arguments": '{"path": "/tmp/a'}}
    error = fail_stream(chunks({"tool_calls": [call]}, finish=None, done=False), kind=StreamInterrupted)
    [partial] = error.partial.tool_calls

    assert (partial.incomplete, partial.is_valid, partial.arguments) == (True, False, '{"path": "/tmp/a')


@pytest.mark.parametrize("body", ["", ": ping\n\n: ping\n\n" + DONE, "\n\n", DONE, "data:\n\n" + DONE])
def test_a_stream_without_any_chunk_is_an_empty_response(body: str, fail_stream: Any) -> None:
    error = fail_stream(body, kind=EmptyResponse)

    assert error.retryable


def test_half_a_chunk_at_the_end_is_not_guessed(fail_stream: Any) -> None:
    fail_stream('data: {"choices":[{"index":0,"delta":{"content":"Hi"', kind=StreamInterrupted)


def test_a_broken_chunk_in_the_middle_is_an_error(fail_stream: Any, chunks: Any) -> None:
    error = fail_stream('data: {"choices":[{"ind\n\n' + chunks({"content": "Hi"}), kind=ProtocolError)

    assert "not JSON" in str(error)


def test_what_follows_the_end_mark_is_not_read(read_stream: Any, chunks: Any) -> None:
    assert read_stream(chunks({"content": "Hi"}) + chunks({"content": "!"}), cut=False).response.text == "Hi"


# --- usage ---


def test_usage_in_a_chunk_of_its_own(read_stream: Any) -> None:
    body = (
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}],"usage":null}\n\n'
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}\n\n'
        'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}\n\n' + DONE
    )
    response = read_stream(body).response

    assert (response.text, response.finish_reason, response.usage) == ("Hi", FinishReason.STOP, TokenUsage(10, 5, 15))


@pytest.mark.parametrize(
    "last",
    [
        {"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
        {"x_groq": {"id": "r", "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}},
        {"usage": {"prompt_tokens": 10, "completion_tokens": 5}},
    ],
)
def test_usage_beside_the_finish_reason(last: Any, read_stream: Any, chunks: Any) -> None:
    assert read_stream(chunks({"content": "Hi"}, **last)).response.usage == TokenUsage(10, 5, 15)


def test_usage_inside_the_choice(read_stream: Any) -> None:
    body = (
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop",'
        '"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cached_tokens":4}}]}\n\n' + DONE
    )

    assert read_stream(body).response.usage == TokenUsage(10, 5, 15, cached_tokens=4)


def test_running_counts_are_not_added_up(read_stream: Any) -> None:
    lines = [
        f'data: {{"choices":[{{"index":0,"delta":{{"content":"x"}}}}],"usage":{{"prompt_tokens":11,"completion_tokens":{n}}}}}\n\n'
        for n in (2, 6, 7, 80)
    ]
    lines.append('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
    response = read_stream("".join(lines) + DONE).response

    assert response.usage == TokenUsage(11, 80, 91)
    assert response.text == "xxxx"


# --- nulls and odd shapes ---


def test_nulls_everywhere(read_stream: Any) -> None:
    body = (
        'data: {"choices":[{"index":0,"delta":null,"finish_reason":null}],"usage":null}\n\n'
        'data: {"choices":[{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null,'
        '"refusal":null,"audio":null,"annotations":null},"logprobs":null,"finish_reason":null}],"usage":null,"error":null,'
        '"x_groq":null,"id":null,"created":null}\n\n'
        'data: {"choices":null}\n\n'
        'data: {"choices":[{"index":null,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n' + DONE
    )
    response = read_stream(body).response

    assert (response.text, response.usage, response.thinking) == ("Hi", TokenUsage(), None)


def test_the_first_chunk_may_have_no_choice_and_no_id(read_stream: Any, chunks: Any) -> None:
    first = 'data: {"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}\n\n'
    response = read_stream(first + chunks({"role": "assistant", "content": ""}, {"content": "Hi"})).response

    assert response.text == "Hi"
    assert response.metadata["id"] == "c1"
    assert response.metadata["created"] == 7
    assert response.metadata["prompt_filter_results"] == [{"prompt_index": 0}]


def test_only_the_first_of_several_answers_is_read_and_that_is_told(read_stream: Any) -> None:
    body = "".join(
        f'data: {{"choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{finish}}}]}}\n\n'
        for index, text, finish in [
            (0, "a", "null"),
            (1, "x", "null"),
            (0, "b", "null"),
            (1, "y", '"stop"'),
            (0, "", '"stop"'),
        ]
    )
    response = read_stream(body + DONE).response

    assert response.text == "ab"
    assert [(notice.kind, notice.subject) for notice in response.notices] == [("dropped", "choices")]


def test_a_server_that_does_not_stream_answers_whole(read_stream: Any, golden: Any) -> None:
    response = read_stream(
        b"data: " + golden("openai-tool-call.json").replace(b"\n", b"") + b"\n\n" + DONE.encode()
    ).response

    assert [call.id for call in response.tool_calls] == ["call_abc123"]
    assert response.usage == TokenUsage(62, 18, 80)


# --- finish reasons ---


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("eos", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("model_length", FinishReason.LENGTH),
        ("sensitive", FinishReason.CONTENT_FILTER),
        ("guardrail_intervened", FinishReason.CONTENT_FILTER),
        ("network_error", FinishReason.ERROR),
        ("insufficient_system_resource", FinishReason.ERROR),
        ("error", FinishReason.ERROR),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("abort", FinishReason.OTHER),
        ("a_word_of_tomorrow", FinishReason.OTHER),
        ("function_call", FinishReason.OTHER),
    ],
)
def test_finish_reasons(
    word: str, reason: FinishReason, read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    streamed = read_stream(chunks({"content": "partial"}, finish=word)).response
    plain = answer(body_of({"content": "partial"}, word))

    assert streamed.text == plain.text == "partial"
    assert streamed.finish_reason is plain.finish_reason is reason
    assert streamed.metadata["raw_finish_reason"] == plain.metadata["raw_finish_reason"] == word


def test_an_empty_finish_reason_is_none(read_stream: Any, fail_stream: Any) -> None:
    line = 'data: {{"choices":[{{"index":0,"delta":{{"content":"{}"}},"finish_reason":"{}"}}]}}\n\n'
    ended = line.format("a", "") + line.format("b", "stop") + line.format("", "")
    endless = line.format("a", "") + line.format("b", "")

    assert read_stream(ended + DONE).response.finish_reason is FinishReason.STOP
    assert read_stream(endless + DONE, cut=False).response.finish_reason is FinishReason.OTHER
    fail_stream(endless, kind=StreamInterrupted)


# --- thinking ---


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_under_either_name_and_which_it_was(field: str, read_stream: Any, chunks: Any) -> None:
    response = read_stream(
        chunks({field: "R", "content": ""}, {field: "S", "content": None}, {"content": "T"})
    ).response

    assert response.message.parts == (
        ThinkingContent("RS", extras={"openai": {"field": field}}),
        TextContent("T"),
    )


def test_thinking_under_both_names_counts_once(read_stream: Any, chunks: Any) -> None:
    detail = {"type": "reasoning.text", "text": "We", "index": 0}
    body = chunks({"reasoning": "We", "reasoning_content": "We", "reasoning_details": [detail]}, {"content": "T"})
    response = read_stream(body).response

    assert response.thinking == "We"
    assert response.message.parts[0].extras == {"openai": {"field": "reasoning_content", "reasoning_details": [detail]}}


def test_fragments_of_reasoning_details_are_put_together(
    read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    form = {"format": "anthropic-claude-v1"}
    body = chunks(
        {"content": "", "reasoning": "Let ", "reasoning_details": [{"type": "reasoning.text", "text": "Let ", **form, "index": 0}]},
        {"content": "", "reasoning": "me", "reasoning_details": [{"type": "reasoning.text", "text": "me", **form, "index": 0}]},
        {"content": "", "reasoning_details": [{"type": "reasoning.text", "signature": "Er0B", **form, "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "QU", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "JD", "index": 1}]},
        {"content": "Hi"},
    )  # fmt: skip
    details = [
        {"type": "reasoning.text", "text": "Let me", **form, "index": 0, "signature": "Er0B"},
        {"type": "reasoning.encrypted", "data": "QUJD", "index": 1},
    ]
    streamed = read_stream(body).response
    plain = answer(body_of({"content": "Hi", "reasoning": "Let me", "reasoning_details": details}))

    assert streamed.thinking == "Let me"
    assert streamed.message == plain.message
    assert streamed.message.parts[0].extras["openai"]["reasoning_details"] == details


def test_thinking_as_chunks_of_the_content(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Let me"}], "signature": "c2ln"}
    streamed = read_stream(
        chunks(
            {"role": "assistant", "content": [thinking]},
            {"content": "Hel"},
            {"content": [{"type": "text", "text": "lo"}]},
        )
    ).response
    plain = answer(body_of({"content": [thinking, {"type": "text", "text": "Hello"}]}))

    assert streamed.message == plain.message
    assert streamed.message.parts == (
        ThinkingContent("Let me", "c2ln", extras={"openai": {"field": "content"}}),
        TextContent("Hello"),
    )


def test_think_tags_where_the_profile_says_so(read_stream: Any, chunks: Any) -> None:
    body = chunks({"content": "<thi"}, {"content": "nk>hush</th"}, {"content": "ink>All "}, {"content": "good"})
    read = read_stream(body, profile={"think_tags": True}, cut=False).response
    plain = read_stream(body).response

    assert (read.thinking, read.text) == ("hush", "All good")
    assert (plain.thinking, plain.text) == (None, "<think>hush</think>All good")


def test_calls_written_as_text_where_the_profile_says_so(read_stream: Any, chunks: Any) -> None:
    body = chunks(
        {"content": "Ok.<tool"},
        {"content": '_call>{"name":"f",'},
        {"content": '"arguments":{"a":1}}</tool_'},
        {"content": 'call><tool_call>{"name":"g","arguments":{}}</tool_call>'},
    )
    read = read_stream(body, profile={"tool_markup": ["hermes"]}, cut=False).response
    plain = read_stream(body).response

    assert read.text == "Ok."
    assert [(call.name, call.input) for call in read.tool_calls] == [("f", {"a": 1}), ("g", {})]
    assert read.finish_reason is FinishReason.TOOL_CALLS
    assert len({call.id for call in read.tool_calls}) == 2
    assert plain.tool_calls == ()
    assert plain.finish_reason is FinishReason.STOP


# --- refusals, annotations, sound, pictures, what is not known ---


def test_a_refusal(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    streamed = read_stream(
        chunks({"role": "assistant", "content": None}, {"refusal": "I "}, {"refusal": "can't"})
    ).response
    plain = answer(body_of({"content": None, "refusal": "I can't"}))

    assert streamed.message == plain.message
    assert streamed.finish_reason is plain.finish_reason is FinishReason.REFUSAL
    assert streamed.message.parts == (TextContent("I can't", extras={"openai": {"refusal": True}}),)


def test_annotations_and_unknown_fields_ride_on_the_text(
    read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    first = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "u"}}
    second = {**first, "url_citation": {**first["url_citation"], "url": "v"}}  # type: ignore[dict-item]
    streamed = read_stream(
        chunks({"content": "Hi", "mood": "calm"}, {"annotations": [first]}, {"annotations": [second]})
    ).response
    plain = answer(body_of({"content": "Hi", "annotations": [first, second], "mood": "calm"}))

    assert streamed.message == plain.message
    assert streamed.message.parts == (
        TextContent("Hi", extras={"openai": {"annotations": [first, second], "mood": "calm"}}),
    )


def test_unknown_fields_without_text_are_in_the_metadata(
    read_stream: Any, chunks: Any, answer: Any, body_of: Any
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    streamed = read_stream(chunks({"tool_calls": [{"index": 0, **call}], "mood": "calm"})).response
    plain = answer(body_of({"content": None, "tool_calls": [call], "mood": "calm"}))

    assert streamed.metadata["message"] == plain.metadata["message"] == {"mood": "calm"}


def test_sound(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    streamed = read_stream(
        chunks(
            {"audio": {"id": "audio_1", "transcript": "Hel"}},
            {"audio": {"data": "AAEC"}},
            {"audio": {"data": "AwQ="}},
            {"audio": {"transcript": "lo", "data": "BQ=="}},
            {"audio": {"expires_at": 9}},
        )
    ).response
    whole = {"id": "audio_1", "transcript": "Hello", "data": "AAECAwQF", "expires_at": 9}
    plain = answer(body_of({"content": None, "audio": whole}))
    [part] = streamed.message.parts

    assert streamed.message == plain.message
    assert isinstance(part, AudioContent)
    assert (part.data, part.transcript, part.media_type) == (bytes(range(6)), "Hello", "audio/pcm")
    assert part.extras == {"openai": {"id": "audio_1", "expires_at": 9}}


def test_pictures_and_unknown_content_chunks(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    reference = {"type": "reference", "reference_ids": [1, 2]}
    streamed = read_stream(chunks({"content": [reference]}, {"content": "T"}, {"images": [image]})).response
    plain = answer(body_of({"content": [reference, {"type": "text", "text": "T"}], "images": [image]}))

    assert streamed.message == plain.message
    assert streamed.message.parts == (
        TextContent("T"),
        OpaqueContent("openai", reference),
        ImageContent(url="https://example.com/a.png"),
    )


# --- metadata ---


def test_metadata_is_the_same_for_a_stream_and_a_body(read_stream: Any, chunks: Any, answer: Any, body_of: Any) -> None:
    said = {
        "system_fingerprint": "fp", "service_tier": "default", "provider": "X", "timings": {"prompt_ms": 3.5},
        "x_groq": {"id": "req_1"}, "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cost": 0.1},
    }  # fmt: skip
    streamed = read_stream(
        chunks({"role": "assistant", "content": ""}, {"content": "Hi"}, **said, obfuscation="a9")
    ).response
    plain = answer(body_of({"content": "Hi"}, **said))

    assert streamed.metadata == plain.metadata
    assert streamed.usage == plain.usage
    assert streamed.metadata == {
        "id": "c1", "type": "chat.completion", "created": 7, "model": "m", "raw_finish_reason": "stop",
        "system_fingerprint": "fp", "service_tier": "default", "provider": "X", "timings": {"prompt_ms": 3.5},
        "x_groq": {"id": "req_1"}, "usage_details": {"cost": 0.1},
    }  # fmt: skip


def test_what_stands_in_the_choice(read_stream: Any, answer: Any, body_of: Any) -> None:
    def line(content: str, token: str, finish: str) -> str:
        probabilities = {"content": [{"token": token, "logprob": -1.5}], "refusal": None}
        choice = {"index": 0, "delta": {"content": content}, "logprobs": probabilities, "finish_reason": finish or None}
        if finish:
            choice |= {"stop_reason": "END", "native_finish_reason": "end_turn"}
        return f"data: {json.dumps({'id': 'c1', 'choices': [choice]})}\n\n"

    streamed = read_stream(line("a", "A", "") + line("b", "B", "") + line("c", "C", "stop") + DONE).response
    body = body_of({"content": "abc"})
    body["choices"][0] |= {
        "logprobs": {"content": [{"token": token, "logprob": -1.5} for token in "ABC"], "refusal": None},
        "stop_reason": "END",
        "native_finish_reason": "end_turn",
    }
    plain = answer(body)

    assert streamed.metadata["logprobs"]["content"] == plain.metadata["logprobs"]["content"]
    assert streamed.metadata["choice"] == plain.metadata["choice"]
    assert streamed.metadata["choice"] == {"stop_reason": "END", "native_finish_reason": "end_turn"}
    assert streamed.metadata["stop_sequence"] == plain.metadata["stop_sequence"] == "END"


# --- errors inside ---


@pytest.mark.parametrize(
    ("payload", "kind", "message", "status"),
    [
        ({"error": {"message": "queue full", "type": "rate_limit_exceeded", "code": 429}}, RateLimited, "queue full", 429),
        ({"error": "model overloaded"}, Overloaded, "model overloaded", 529),
        ({"error": {"message": "x", "code": "server_error"}}, ServerError, "x", 500),
        ({"error": {"message": "x", "type": "server_error", "param": None, "code": None}}, ServerError, "x", 500),
        ({"error": {"code": 502, "message": "Provider disconnected"}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}, ServerError, "Provider disconnected", 502),
        ({"error": {"message": "EngineCore died", "type": "InternalServerError", "param": None, "code": 500}}, ServerError, "EngineCore died", 500),
        ({"choices": [], "x_groq": {"id": "req_1", "error": "over capacity"}}, ServerError, "over capacity", 500),
        ({"choices": [{"index": 0, "delta": {}, "error": {"code": 529, "message": "busy"}, "finish_reason": "error"}]}, Overloaded, "busy", 529),
        ({"object": "error", "message": "bad", "type": "overloaded_error", "code": None}, Overloaded, "bad", 529),
        ({"message": "gone", "code": 502}, ServerError, "gone", 502),
        ({"error": {"message": "no", "code": "content_filter"}}, ContentFiltered, "no", 400),
        ([{"error": {"code": 429, "message": "slow"}}], RateLimited, "slow", 429),
    ],
)  # fmt: skip
def test_errors_inside_a_stream(
    payload: Any, kind: Any, message: str, status: int, fail_stream: Any, chunks: Any
) -> None:
    frame = f"data: {json.dumps(payload)}\n\n"
    first = fail_stream(frame + DONE, kind=kind)
    later = fail_stream(chunks({"content": "Hel"}, {"content": "lo"}, finish=None, done=False) + frame, kind=kind)

    for error in (first, later):
        assert type(error) is kind
        assert error.message == message
        assert error.status == status
    assert first.partial.text is None
    assert later.partial.text == "Hello"


@pytest.mark.parametrize("data", ['{"error":"kaput"}', '{"message":"kaput"}', "kaput"])
def test_an_event_named_error(data: str, fail_stream: Any) -> None:
    assert fail_stream(f"event: error\ndata: {data}\n\n").message == "kaput"


def test_an_error_that_is_null_is_none(read_stream: Any, chunks: Any) -> None:
    assert read_stream(chunks({"content": "Hi"}, error=None)).response.text == "Hi"


def test_a_part_is_ended_only_where_it_is_more_than_its_deltas(read_stream: Any, chunks: Any) -> None:
    events = read_stream(chunks({"content": "Hi"})).events

    assert not any(isinstance(event, PartEnd) for event in events)
