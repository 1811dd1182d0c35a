"""Chat Completions in both directions: exact there and back, and what is written is read by the vendor's own SDK."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion

from polywire import convert, convert_stream
from polywire.contents import AudioContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import BadRequest, ModelError, ProtocolError, RateLimited
from polywire.events import ResponseCollector, ToolCallDelta, ToolCallEnd, ToolCallStart, events_of
from polywire.messages import AiMessage, CustomMessage, Origin, SystemMessage, ToolCall, ToolError, ToolResultMessage
from polywire.parameters import Reasoning, ResponseFormat, ToolChoice
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire_openai import OpenAIWire
from polywire_openai.decode_request import FIELDS_OF
from polywire_openai.encode_request import TYPED_FIELDS

WIRE = OpenAIWire()
PNG_URL = "data:image/png;base64,iVBORw0KGgo="


def call(identity: str, arguments: str = "{}", name: str = "f") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def there_and_back(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    conversion = convert(messages, source=WIRE, target=WIRE)
    return conversion.payload  # type: ignore[no-any-return]


CALLED = {"role": "assistant", "content": None, "tool_calls": [call("c1", '{ "a":1 }')]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "r"}

EXACT: dict[str, list[dict[str, Any]]] = {
    "roles": [{"role": "developer", "content": "d"}, {"role": "system", "content": "s", "name": "n"}, {"role": "user", "content": "u"}],
    "lists": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "media": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "high"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "SUQzAw==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"}},
        {"type": "file", "file": {"file_id": "file-1"}}]}],
    "cache breakpoint": [{"role": "user", "content": [{"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}}]}],
    "call with its raw arguments": [{"role": "user", "content": "q"}, CALLED, RESULT],
    "text beside calls": [{"role": "user", "content": "q"}, {**CALLED, "content": "wait"}, RESULT, {"role": "assistant", "content": "done"}],
    "parallel calls": [{"role": "user", "content": "q"}, {**CALLED, "tool_calls": [call("c1"), call("c2")]}, RESULT, {**RESULT, "tool_call_id": "c2"}],
    "result of several texts": [{"role": "user", "content": "q"}, CALLED, {**RESULT, "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    "empty result": [{"role": "user", "content": "q"}, CALLED, {**RESULT, "content": ""}],
    "custom call": [{"role": "user", "content": "q"}, {**CALLED, "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]}, RESULT],
    "refusal": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "refusal": "no"}, {"role": "user", "content": "r"}],
    "refusal among the content": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}]}],
    "sound by its id": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}, {"role": "user", "content": "r"}],
    "name of the model": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "name": "n"}],
}  # fmt: skip

EXTENDED: dict[str, list[dict[str, Any]]] = {
    "reasoning_content": [{"role": "user", "content": "q"}, {**CALLED, "reasoning_content": "R"}, RESULT],
    "reasoning": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning": "R"}],
    "reasoning_details": [{"role": "user", "content": "q"}, {**CALLED, "reasoning": "R", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": None}]}, RESULT],
    "thinking in the content": [{"role": "user", "content": "q"}, {"role": "assistant", "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "R"}], "signature": "s"}, {"type": "text", "text": "a"}]}],
    "fields of the call": [{"role": "user", "content": "q"}, {**CALLED, "tool_calls": [{**call("c1"), "extra_content": {"google": {"thought_signature": "s"}}}]}, RESULT],
    "unknown parts and fields": [{"role": "user", "content": [{"type": "hologram", "data": 1}], "mood": "calm"}],
    "cache_control": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}],
    "unknown role": [{"role": "user", "content": "q"}, {"role": "reminder", "content": "x"}],
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_messages_of_the_vendor_come_back_exactly(name: str, check_request: Any) -> None:
    messages = EXACT[name]

    assert there_and_back(messages) == messages
    check_request({"model": "m", "messages": there_and_back(messages)})


@pytest.mark.parametrize("name", EXTENDED)
def test_messages_of_compatible_endpoints_come_back_exactly(name: str) -> None:
    if name == "cache_control":
        [message] = there_and_back(EXTENDED[name])
        assert message["content"][0]["cache_control"] == {"type": "ephemeral"}
    else:
        assert there_and_back(EXTENDED[name]) == EXTENDED[name]


def test_the_normal_form() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "b"}], "name": None},
        {"role": "assistant", "content": "", "tool_calls": [call("c1", "")], "refusal": None, "audio": None, "annotations": []},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "r"}]},
        {"role": "assistant", "content": None, "tool_calls": [call("c2", '{"a')]},
        {"role": "tool", "tool_call_id": "c2", "content": "r"},
    ]  # fmt: skip
    written = there_and_back(messages)

    assert written == [
        {"role": "user", "content": "q"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "assistant", "content": None, "tool_calls": [call("c2", '{"INVALID_JSON":"{\\"a"}')]},
        {"role": "tool", "tool_call_id": "c2", "content": "r"},
    ]
    assert there_and_back(written) == written


def test_arguments_that_were_wrapped_are_read_as_they_were_before() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [call("c1", '{"INVALID_JSON":"[1]"}')]}
    [read] = WIRE.decode_messages([message]).value
    genuine = {"role": "assistant", "content": None, "tool_calls": [call("c1", '{"INVALID_JSON":"{}"}')]}
    [kept] = WIRE.decode_messages([genuine]).value

    assert isinstance(read, AiMessage)
    assert isinstance(kept, AiMessage)
    assert read.tool_calls[0].arguments == "[1]"
    assert kept.tool_calls[0].arguments == '{"INVALID_JSON":"{}"}'


def test_error_envelopes_are_failures_and_what_looks_alike_is_not() -> None:
    failed = ToolResultMessage("c1", "f", error=ToolError("timeout", "late", True, {"a": 1}))
    [written] = WIRE.encode_messages([failed]).value
    [_, read] = WIRE.decode_messages([CALLED, written]).value
    [_, alike] = WIRE.decode_messages([CALLED, {**RESULT, "content": '{"ok":false,"error":"x"}'}]).value

    assert read == failed
    assert isinstance(alike, ToolResultMessage)
    assert (alike.is_error, alike.text) == (False, '{"ok":false,"error":"x"}')


def test_success_envelopes_are_an_option() -> None:
    wire = OpenAIWire(success_envelopes=True)
    result = ToolResultMessage("c1", "f", "plain")
    [written] = wire.encode_messages([result]).value
    [_, read] = wire.decode_messages([CALLED, written]).value
    [_, untouched] = WIRE.decode_messages([CALLED, written]).value

    assert written["content"] == '{"ok":true,"data":"plain"}'
    assert read == result
    assert isinstance(untouched, ToolResultMessage)
    assert untouched.text == written["content"]


def test_the_old_function_messages_become_tool_messages(check_request: Any) -> None:
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a":1}'}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    written = there_and_back(messages)

    assert written[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":1}'}
    assert written[2] == {"role": "tool", "tool_call_id": written[1]["tool_calls"][0]["id"], "content": "r"}
    check_request({"model": "m", "messages": written})


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        (["x"], r"messages\[0\]"),
        ([{"role": "user", "content": "q"}, {"content": "x"}], r"messages\[1\]: role"),
        ([{"role": "user", "content": 5}], r"messages\[0\]\.content"),
        ([{"role": "user", "content": [5]}], r"messages\[0\]\.content\[0\]"),
        ([{"role": "tool", "content": "x"}], r"messages\[0\].*tool_call_id"),
        ([{"role": "function", "name": "f", "content": "x"}], r"messages\[0\]"),
    ],
)
def test_messages_of_another_shape_are_refused_with_their_place(messages: Any, place: str) -> None:
    with pytest.raises(ProtocolError, match=place):
        WIRE.decode_messages(messages)
    with pytest.raises(BadRequest, match=place):
        WIRE.decode_request({"model": "m", "messages": messages})


# --- requests ---


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "q"}], **fields}


TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
}


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.5, "top_p": 1, "seed": 3, "presence_penalty": 0.5, "frequency_penalty": 1.5},
        {"max_tokens": 5},
        {"max_completion_tokens": 5},
        {"stop": "END"},
        {"stop": ["a", "b"]},
        {"stream": True, "stream_options": {"include_usage": True}},
        {"reasoning_effort": "minimal"},
        {"reasoning_effort": "xhigh"},
        {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}}},
        {"tools": [{"type": "custom", "custom": {"name": "x"}}], "tool_choice": {"type": "custom", "custom": {"name": "x"}}},
        {"tools": [{**TOOL, "function": {**TOOL["function"], "strict": False}}]},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}, "strict": True}}},
        {"n": 2, "logit_bias": {"1": 2}, "user": "u", "store": True, "metadata": {"a": "b"}, "service_tier": "flex", "modalities": ["text"]},
    ],
)  # fmt: skip
def test_requests_come_back_exactly(fields: Any, check_request: Any) -> None:
    body = request(**fields)
    conversion = convert(body, source=WIRE, target=WIRE)

    assert conversion.payload == body
    check_request(conversion.payload)


def test_fields_of_a_request_become_parameters() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = request(
        max_tokens=5, stop="END", reasoning_effort="low", tools=[TOOL], tool_choice="any", logit_bias={"1": 2},
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}, temperature=None,
    )  # fmt: skip
    parameters = WIRE.decode_request(body).value.parameters

    assert (parameters.model, parameters.max_tokens, parameters.stop_sequences) == ("gpt-5-mini", 5, ("END",))
    assert parameters.tool_choice == ToolChoice("required")
    assert parameters.reasoning == Reasoning("low")
    assert parameters.response_format == ResponseFormat("json_schema", schema, "n")
    assert parameters.extras["openai"]["logit_bias"] == {"1": 2}
    assert set().union(*FIELDS_OF.values()) | {"model", "messages", "tools"} == TYPED_FIELDS


def test_what_the_caller_changed_is_written_and_not_what_was_read() -> None:
    read = WIRE.decode_request(request(stop="END", max_tokens=5)).value
    from dataclasses import replace

    changed = read.with_parameters(replace(read.parameters, stop_sequences=("X",)))
    body = WIRE.encode_request(changed).value

    assert body["stop"] == ["X"]
    assert body["max_tokens"] == 5


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"model": "m"},
        {"model": "m", "messages": "q"},
        {"model": "m", "messages": []},
        request(temperature="hot"),
        request(max_tokens=1.5),
        request(stop=[1]),
    ],
)
def test_requests_of_another_shape_are_refused(body: Any) -> None:
    with pytest.raises(BadRequest):
        WIRE.decode_request(body)


def test_messages_read_into_values() -> None:
    read = WIRE.decode_messages([
        {"role": "developer", "content": "d"}, {"role": "reminder", "content": "x"}, CALLED, RESULT,
    ])  # fmt: skip
    system, custom, ai, result = read.value

    assert isinstance(system, SystemMessage)
    assert isinstance(custom, CustomMessage)
    assert isinstance(ai, AiMessage)
    assert ai.origin == Origin("openai")
    assert result == ToolResultMessage("c1", "f", "r")
    assert len(read.notices) == 1


# --- responses ---


ANSWERS = {
    "text": ChatResponse(AiMessage("Hi"), TokenUsage(3, 2, 5, 1, None, 1), metadata={"id": "x", "model": "m", "created": 7}),
    "nothing known": ChatResponse(AiMessage("Hi")),
    "nothing said": ChatResponse(AiMessage([])),
    "calls": ChatResponse(
        AiMessage([TextContent("wait"), ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g")]), TokenUsage(3), FinishReason.TOOL_CALLS
    ),
    "thinking": ChatResponse(AiMessage([ThinkingContent("R", "sealed"), TextContent("Hi")], Origin("anthropic", None, "m"))),
    "refusal": ChatResponse(
        AiMessage(TextContent("no", extras={"openai": {"refusal": True}}), Origin("openai")), TokenUsage(1, 1), FinishReason.REFUSAL
    ),
    "sound": ChatResponse(AiMessage(AudioContent(data=b"\0\1", media_type="audio/wav", transcript="t"))),
    "blocks of others": ChatResponse(AiMessage([OpaqueContent("anthropic", {"type": "x"}), TextContent("Hi")], Origin("anthropic"))),
    "cut": ChatResponse(AiMessage(ToolCall("c1", "f", '{"a', incomplete=True)), TokenUsage(1, 1), FinishReason.LENGTH),
    "filtered": ChatResponse(AiMessage("x"), finish_reason=FinishReason.CONTENT_FILTER),
    "paused": ChatResponse(AiMessage("x"), finish_reason=FinishReason.PAUSE, metadata={"raw_finish_reason": "pause_turn"}),
    "failed": ChatResponse(AiMessage("x"), finish_reason=FinishReason.ERROR),
    "other": ChatResponse(AiMessage("x"), finish_reason=FinishReason.OTHER),
}  # fmt: skip
WORDS = {"calls": "tool_calls", "cut": "length", "filtered": "content_filter"}


def through_sdk(body: bytes, *, stream: bool = False) -> Any:
    """Let the vendor's SDK read an answer, as a server would send it."""
    kind = "text/event-stream" if stream else "application/json"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": kind}, content=body))
    with httpx.Client(transport=transport) as http:
        client = openai.OpenAI(api_key="k", base_url="http://127.0.0.1/v1", http_client=http, max_retries=0)
        messages: Any = [{"role": "user", "content": "q"}]
        if not stream:
            return client.chat.completions.create(model="m", messages=messages)
        with client.chat.completions.create(model="m", messages=messages, stream=True) as chunks:
            return list(chunks)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_read_by_the_vendors_sdk(name: str) -> None:
    response = ANSWERS[name]
    written = WIRE.encode_response(response)
    read = ChatCompletion.model_validate(json.loads(json.dumps(written.value)), strict=True)
    again = through_sdk(json.dumps(written.value).encode())
    message = read.choices[0].message

    assert again == read
    assert read.choices[0].finish_reason == WORDS.get(name, "stop")
    if name == "refusal":
        assert (message.content, message.refusal) == (None, "no")
    else:
        assert message.content == response.text
    assert [(each.id, each.function.name, each.function.arguments) for each in message.tool_calls or ()] == [  # type: ignore[union-attr]
        (each.id, each.name, each.arguments) for each in response.tool_calls
    ]
    if response.usage.input_tokens is not None:
        assert read.usage is not None
        assert read.usage.prompt_tokens == response.usage.input_tokens
    if name in {"thinking", "blocks of others"}:
        assert any(notice.kind == "dropped" for notice in written.notices)
    if name in {"paused", "failed", "other"}:
        assert [notice.subject for notice in written.notices] == ["finish_reason"]


@pytest.mark.parametrize("name", ANSWERS)
def test_streams_are_read_by_the_vendors_sdk(name: str) -> None:
    response = ANSWERS[name]
    encoder = WIRE.stream_encoder()
    body = b"".join(encoder.feed(event) for event in events_of(response)) + encoder.finish()
    chunks = through_sdk(body, stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]

    assert body.endswith(b"data: [DONE]\n\n")
    assert deltas[0].role == "assistant"
    said = "".join((delta.content or "") + (delta.refusal or "") for delta in deltas)
    assert said == (response.text or "")
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == WORDS.get(name, "stop")
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        for each in delta.tool_calls or ():
            made = calls.setdefault(each.index, ["", "", ""])
            made[0] += each.id or ""
            made[1] += each.function.name or ""
            made[2] += each.function.arguments or ""
    assert [tuple(made) for _, made in sorted(calls.items())] == [
        (each.id, each.name, each.arguments) for each in response.tool_calls
    ]
    if response.usage:
        assert chunks[-1].usage.prompt_tokens == response.usage.input_tokens
        assert chunks[-1].choices == []
    plain = {notice.subject for notice in WIRE.encode_response(response).notices if notice.kind == "approximated"}
    streamed = {notice.subject for notice in encoder.notices if notice.kind == "approximated"}
    assert streamed == plain


@pytest.mark.parametrize("name", ["openai-text.json", "openai-tool-call.json"])
def test_recorded_answers_come_back_exactly(name: str, golden: Any) -> None:
    assert convert(golden(name), source=WIRE, target=WIRE).payload == json.loads(golden(name))


def test_every_field_of_an_answer_comes_back(body_of: Any) -> None:
    body = body_of(
        {"content": "Hi", "annotations": [{"type": "url_citation"}], "mood": "calm", "reasoning": "R", "reasoning_details": [{"type": "reasoning.text", "text": "R", "index": 0}]},
        usage={
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.1,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 2, "accepted_prediction_tokens": 0},
        },
        system_fingerprint="fp", service_tier="default", provider="X",
    )  # fmt: skip
    body["choices"][0] |= {"logprobs": {"content": []}, "native_finish_reason": "end"}

    assert convert(body, source=WIRE, target=WIRE).payload == body


@pytest.mark.parametrize("name", ["openai-thinking.sse", "openai-tool-call.sse"])
def test_recorded_streams_say_the_same_after_the_way_there_and_back(name: str, golden: Any, read_stream: Any) -> None:
    body = golden(name)
    whole = b"".join(convert_stream([body], source=WIRE, target=WIRE))
    bytewise = b"".join(convert_stream([bytes([each]) for each in body], source=WIRE, target=WIRE))

    assert whole == bytewise
    first, second = read_stream(body, cut=False).response, read_stream(whole, cut=False).response
    assert second.message == first.message
    assert (second.usage, second.finish_reason, second.metadata) == (first.usage, first.finish_reason, first.metadata)


def test_calls_that_grow_side_by_side_are_written_so(read_stream: Any) -> None:
    first, second = ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g", {"b": 2})
    encoder = WIRE.stream_encoder()
    body = b"".join(
        encoder.feed(event)
        for event in [
            ToolCallStart("c1", "f", 0), ToolCallStart("c2", "g", 1), ToolCallDelta('{"b":', 1), ToolCallDelta('{"a":1}', 0),
            ToolCallDelta("2}", 1), ToolCallEnd(first, 0), ToolCallEnd(second, 1), *events_of(ChatResponse(AiMessage([]), finish_reason=FinishReason.TOOL_CALLS))[1:],
        ]
    )  # fmt: skip
    response = read_stream(body + encoder.finish(), cut=False).response

    assert [(each.id, each.arguments) for each in response.tool_calls] == [("c1", '{"a":1}'), ("c2", '{"b":2}')]


def test_a_failed_stream_is_an_error_to_the_vendors_sdk() -> None:
    encoder = WIRE.stream_encoder()
    body = encoder.feed(events_of(ANSWERS["text"])[0]) + encoder.feed(events_of(ANSWERS["text"])[1])
    with pytest.raises(openai.APIError, match="slow down"):
        through_sdk(body + encoder.error(RateLimited("slow down")), stream=True)
    with pytest.raises(openai.APIError, match="before the answer was complete"):
        through_sdk(body + encoder.finish(), stream=True)


@pytest.mark.parametrize(
    "kind", ["rate_limit", "quota", "authentication", "overloaded", "context_length", "server", "timeout"]
)
def test_errors_that_are_written_are_read_as_the_same_kind(kind: str, fail_stream: Any) -> None:
    from polywire.errors import ERROR_KINDS

    error = ERROR_KINDS[kind]("what happened")

    read: ModelError = fail_stream(WIRE.stream_encoder().error(error))

    assert (read.kind, read.message) == (kind, "what happened")


def test_an_error_is_no_answer() -> None:
    with pytest.raises(RateLimited):
        WIRE.decode_response({"error": {"message": "x", "code": 429}})


def test_an_unread_collector_is_not_needed_to_fold_what_is_written(read_stream: Any) -> None:
    encoder = WIRE.stream_encoder()
    collector = ResponseCollector()
    events = events_of(ANSWERS["calls"])
    collector.add_all(events)
    body = b"".join(encoder.feed(event) for event in events) + encoder.finish()

    assert read_stream(body, cut=False).response.message.tool_calls == tuple(
        ToolCall(each.id, each.name, each.arguments, "openai") for each in collector.response().tool_calls
    )
