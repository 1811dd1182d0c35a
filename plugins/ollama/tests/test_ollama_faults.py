"""
Faults that clients of this wire have had, each as a kind with several instances: lines cut anywhere, calls in every shape
that servers send, pictures that are no bytes, options under the wrong name.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from polywire.codec import Encoded, Headers, HttpResponse
from polywire.contents import AudioContent, DocumentContent, ImageContent, ThinkingContent
from polywire.errors import ModelError, StreamInterrupted, UnsupportedByModel
from polywire.events import ResponseCollector
from polywire.framing.tail import last_events
from polywire.messages import AiMessage, Message, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters, Reasoning
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.tool_specifications import ToolSpecification
from polywire_ollama.codec import OllamaCodec

CODEC = OllamaCodec()
PNG = b"\x89PNG\r\n\x1a\n"


def encoded(messages: list[Message] | None = None, **parameters: Any) -> Encoded:
    request = ChatRequest(messages or [UserMessage("q")], ChatRequestParameters(model="qwen3", **parameters))
    return CODEC.encode(request, stream=True)


def body_of(messages: list[Message] | None = None, **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encoded(messages, **parameters).http.body)
    return body


def read(pieces: list[bytes]) -> ChatResponse:
    sent = encoded()
    framing, decoder, collector = sent.framing(), CODEC.stream_decoder(sent), ResponseCollector()
    for piece in pieces:
        for frame in framing.feed(piece):
            collector.add_all(decoder.feed(frame))
    collector.add_all(last_events(framing, decoder))
    return collector.response()


def line(message: dict[str, Any] | None, **more: Any) -> bytes:
    body = {"model": "qwen3", "created_at": "2026-12-01T10:00:00Z", "done": False, **more}
    return json.dumps(body if message is None else {**body, "message": {"role": "assistant", **message}}).encode()


DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 2}
SAID = TokenUsage(26, 2, 28)

STREAMS: dict[str, bytes] = {
    "lines": b"\n".join([line({"content": "Hé"}), line({"content": "llo"}), line({"content": ""}, **DONE)]) + b"\n",
    "CRLF": b"\r\n".join([line({"content": "Hé"}), line({"content": "llo"}), line({"content": ""}, **DONE)]) + b"\r\n",
    "blank lines between": b"\n\n".join([line({"content": "Hé"}), line({"content": "llo"}), line({"content": ""}, **DONE)]),
    "no line end at the end": b"\n".join([line({"content": "Hé"}), line({"content": "llo"}), line({"content": ""}, **DONE)]),
    "text beside the end": b"\n".join([line({"content": "Hé"}), line({"content": "llo"}, **DONE)]),
    "no message at the end": b"\n".join([line({"content": "Hé"}), line({"content": "llo"}), line(None, **DONE)]),
    "null fields": b"\n".join(
        [line({"content": "Hé", "tool_calls": None, "thinking": None}), line({"content": "llo"}), line({"content": None}, **DONE)]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_lines_are_read_alike_however_the_network_cuts_them(name: str) -> None:
    data = STREAMS[name]
    splits = [[data], [data[at : at + 1] for at in range(len(data))]]
    splits += [[data[:at], data[at:]] for at in range(len(data))]

    for pieces in splits:
        response = read(pieces)

        assert (response.text, response.finish_reason, response.usage) == ("Héllo", FinishReason.STOP, SAID)


@pytest.mark.parametrize("name", ["lines", "CRLF"])
def test_a_stream_that_ends_before_its_end_mark_is_interrupted(name: str) -> None:
    data = STREAMS[name]
    for at in range(len(data.rstrip())):
        with pytest.raises(ModelError) as raised:
            read([data[:at]] if at else [])

        assert raised.value.retryable or isinstance(raised.value, StreamInterrupted), at


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": arguments}}


CALLS: dict[str, list[bytes]] = {
    "two in one line, without ids": [line({"content": "", "tool_calls": [call("read", {"p": "a"}), call("read", {"p": "b"})]}), line({"content": ""}, **DONE)],
    "one a line, the same index": [
        line({"content": "", "tool_calls": [{"function": {"index": 0, "name": "read", "arguments": {"p": "a"}}}]}),
        line({"content": "", "tool_calls": [{"function": {"index": 0, "name": "read", "arguments": {"p": "b"}}}]}),
        line({"content": ""}, **DONE),
    ],
    "beside the end mark": [line({"content": "", "tool_calls": [call("read", {"p": "a"})]}), line({"content": "", "tool_calls": [call("read", {"p": "b"})]}, **DONE)],
    "arguments as text": [line({"content": "", "tool_calls": [call("read", '{"p":"a"}'), call("read", '{"p":"b"}')]}), line({"content": ""}, **DONE)],
    "empty ids": [line({"content": "", "tool_calls": [call("read", {"p": "a"}, id=""), call("read", {"p": "b"}, id=None)]}), line({"content": ""}, **DONE)],
    "ids": [line({"content": "", "tool_calls": [call("read", {"p": "a"}, id="call_1"), call("read", {"p": "b"}, id="call_2")]}), line({"content": ""}, **DONE)],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_told_apart_and_go_back_as_objects_with_their_tools_name(name: str) -> None:
    response = read([b"\n".join(CALLS[name])])

    calls = response.tool_calls
    assert [(each.name, each.input) for each in calls] == [("read", {"p": "a"}), ("read", {"p": "b"})]
    assert len({each.id for each in calls}) == 2
    assert response.finish_reason is FinishReason.TOOL_CALLS
    results: list[Message] = [ToolResultMessage(each.id, each.name, "ok") for each in calls]

    sent = body_of([UserMessage("q"), response.message, *results], tools=(ToolSpecification("read"),))["messages"]

    assert [each["function"]["arguments"] for each in sent[1]["tool_calls"]] == [{"p": "a"}, {"p": "b"}]
    assert [message["tool_name"] for message in sent[2:]] == ["read", "read"]
    assert [message["tool_call_id"] for message in sent[2:]] == [each["id"] for each in sent[1]["tool_calls"]]


def test_a_plain_answer_is_the_same_as_its_stream() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [call("read", {"p": "a"}), call("read", {"p": "b"})]}
    body = {"model": "qwen3", "created_at": "2026-12-01T10:00:00Z", "message": message, **DONE}

    whole = CODEC.decode(HttpResponse(200, Headers(), json.dumps(body).encode()), encoded())
    parts = read([b"\n".join(CALLS["two in one line, without ids"])])

    assert whole.message.parts == parts.message.parts
    assert (whole.finish_reason, whole.usage) == (parts.finish_reason, parts.usage)


@pytest.mark.parametrize(
    ("error", "kind"),
    [("an error was encountered while running the model", "server"), ("out of memory", "server")],
)
@pytest.mark.parametrize("before", [[], [line({"content": "Hé"})], [line({"thinking": "Hm", "content": ""})]])
def test_an_error_line_is_an_error_wherever_it_stands(error: str, kind: str, before: list[bytes]) -> None:
    with pytest.raises(ModelError, match=error) as raised:
        read([b"\n".join([*before, json.dumps({"error": error}).encode()])])

    assert raised.value.kind == kind


# Media


@pytest.mark.parametrize(
    "content",
    [
        ImageContent(url="https://example.com/a.png"),
        ImageContent(file_id="file-1"),
        AudioContent(data=b"RIFF\x04\0\0\0WAVE"),
        DocumentContent(data=b"%PDF-1.4"),
        ImageContent(data=b"GIF89a\x01\0\x01\0"),
    ],
)
def test_what_is_no_picture_in_bytes_is_refused_before_the_network(content: Any) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[0\]\.contents\[1\]"):
        body_of([UserMessage(["see", content])])


def test_a_picture_is_bare_base64_also_when_it_came_as_a_data_url() -> None:
    for content in (ImageContent(data=PNG), ImageContent(url="data:image/png;base64,iVBORw0KGgo=")):
        assert body_of([UserMessage(["see", content])])["messages"][0]["images"] == ["iVBORw0KGgo="]


def test_a_picture_in_a_result_follows_the_results() -> None:
    history: list[Message] = [
        UserMessage("q"),
        AiMessage([ToolCall("c1", "shoot"), ToolCall("c2", "now")], Origin("ollama")),
        ToolResultMessage("c1", "shoot", ["shot", ImageContent(data=PNG)]),
        ToolResultMessage("c2", "now", "noon"),
    ]

    messages = body_of(history)["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[4]["images"] == ["iVBORw0KGgo="]
    assert "iVBOR" not in json.dumps(messages[:4])


# Options and thinking


def test_options_stand_in_their_object_under_the_servers_names() -> None:
    body = body_of(max_tokens=50, stop_sequences="END", temperature=0.0, seed=0, top_p=1.0)

    assert body["options"] == {"num_predict": 50, "stop": ["END"], "temperature": 0.0, "seed": 0, "top_p": 1.0}
    assert {"max_tokens", "stop", "temperature", "max_completion_tokens"}.isdisjoint(body)


def test_options_of_the_servers_own_stand_beside_the_typed_ones() -> None:
    custom = {"options": {"num_ctx": 8192, "temperature": 0.9}}

    sent = encoded(temperature=0.2, seed=1, custom_parameters=custom)

    assert json.loads(sent.http.body)["options"] == {"temperature": 0.9, "seed": 1, "num_ctx": 8192}
    assert [(notice.kind, notice.subject) for notice in sent.notices] == [("information", "options.temperature")]


@pytest.mark.parametrize("tools", [None, ()])
def test_a_history_of_tools_goes_out_without_tools(tools: Any) -> None:
    history: list[Message] = [
        UserMessage("q"),
        AiMessage(ToolCall("c1", "now"), Origin("ollama")),
        ToolResultMessage("c1", "now", "noon"),
    ]

    assert "tools" not in body_of(history, tools=tools)


def test_thinking_goes_back_beside_its_calls_and_another_wires_stays_away() -> None:
    own = AiMessage([ThinkingContent("Need time."), ToolCall("c1", "now")], Origin("ollama"))
    foreign = AiMessage([ThinkingContent("secret", "c2ln"), ToolCall("c1", "now")], Origin("anthropic"))
    result = ToolResultMessage("c1", "now", "noon")

    assert body_of([UserMessage("q"), own, result])["messages"][1]["thinking"] == "Need time."
    assert "secret" not in json.dumps(body_of([UserMessage("q"), foreign, result]))


@pytest.mark.parametrize(
    ("reasoning", "think"),
    [
        (Reasoning("none"), False),
        (Reasoning("low"), "low"),
        (Reasoning("max"), "max"),
        (Reasoning(visible=False), False),
    ],
)
def test_thinking_is_switched_by_truth_and_graded_by_words(reasoning: Reasoning, think: Any) -> None:
    assert body_of(reasoning=reasoning)["think"] == think
