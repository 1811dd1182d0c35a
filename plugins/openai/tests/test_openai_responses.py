"""
The Responses API: what is sent, held against the vendor's types; what comes back into the next request; and that the
vendor's own SDK reads what the wire writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from hypothesis import given, settings  # noqa: E402
from openai.types.responses import Response, ResponseStreamEvent  # noqa: E402
from openai.types.responses.response_create_params import (  # noqa: E402
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter  # noqa: E402
from support.histories import histories  # noqa: E402
from support.strict_types import check  # noqa: E402

from polywire import wire_json  # noqa: E402
from polywire.codec import Encoded, Frame, Headers, HttpResponse  # noqa: E402
from polywire.contents import (  # noqa: E402
    AudioContent,
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
)
from polywire.conversion import convert, convert_stream  # noqa: E402
from polywire.errors import BadRequest, ModelError, ProtocolError, RateLimited, StreamInterrupted, UnsupportedByModel  # noqa: E402
from polywire.events import ResponseCollector, events_of  # noqa: E402
from polywire.framing.sse import SseFraming  # noqa: E402
from polywire.history import check_history  # noqa: E402
from polywire.messages import (  # noqa: E402
    AiMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat, ToolChoice  # noqa: E402
from polywire.plugins import BuildContext  # noqa: E402
from polywire.requests import ChatRequest  # noqa: E402
from polywire.responses import ChatResponse, FinishReason, TokenUsage  # noqa: E402
from polywire.testing import load_recordings  # noqa: E402
from polywire.testing.transport import FakeTransport, Reply  # noqa: E402
from polywire.tool_specifications import OpaqueTool, ToolSpecification  # noqa: E402
from polywire_openai import OpenAIResponsesCodec, OpenAIResponsesWire  # noqa: E402
from polywire_openai.provider import polywire_provider  # noqa: E402

WIRE = "openai-responses"
RECORDINGS = {each.name: each for each in load_recordings(Path(__file__).parent / "recordings" / "responses")}
WHOLE = [name for name, each in RECORDINGS.items() if name.endswith(".json") and each.expected.error is None]
STREAMED = [name for name, each in RECORDINGS.items() if name.endswith(".sse") and each.expected.error is None]
PNG = b"\x89PNG\r\n\x1a\n"
TOOLS = (ToolSpecification("get_time"), ToolSpecification("now"))
STREAM_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


class Sent:
    """A body that was written, and what was told about it."""

    def __init__(self, encoded: Encoded) -> None:
        self.body: dict[str, Any] = json.loads(encoded.http.body)
        self.input: list[dict[str, Any]] = self.body["input"]
        self.path = encoded.http.path
        self.told = {(notice.kind, notice.subject) for notice in encoded.notices}


def check_body(body: dict[str, Any]) -> None:
    kind = ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming

    assert check(body, kind) == []


def send(messages: Any = "q", *, model: str = "gpt-5.5", stream: bool = False, **parameters: Any) -> Sent:
    """Write a request, held against the vendor's types."""
    request = ChatRequest(messages, ChatRequestParameters(model=model, **parameters))
    sent = Sent(OpenAIResponsesCodec().encode(request, stream=stream))
    check_body(sent.body)
    return sent


def read(name: str) -> ChatResponse:
    """Read a recorded answer."""
    codec = OpenAIResponsesCodec()
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="gpt-5.5")), stream=False)
    return codec.decode(HttpResponse(200, Headers(), RECORDINGS[name].body), encoded)


def output_of(name: str) -> list[dict[str, Any]]:
    return json.loads(RECORDINGS[name].body)["output"]  # type: ignore[no-any-return]


def next_turn(answer: ChatResponse) -> list[Message]:
    results = [ToolResultMessage(call.id, call.name, "noon") for call in answer.tool_calls]
    return (
        [UserMessage("q"), answer.message, *results]
        if results
        else [UserMessage("q"), answer.message, UserMessage("and?")]
    )


# What is sent


def test_a_request_keeps_nothing_at_the_service_and_asks_for_sealed_reasoning() -> None:
    sent = send([SystemMessage("be brief"), UserMessage("hi")], max_tokens=100)

    assert sent.path == "responses"
    assert sent.body == {
        "model": "gpt-5.5",
        "input": [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_output_tokens": 100,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_a_model_that_does_not_reason_is_not_asked_for_reasoning() -> None:
    sent = send(model="gpt-4.1", temperature=0.5, reasoning=Reasoning("high"))

    assert sent.body == {
        "model": "gpt-4.1",
        "input": [{"role": "user", "content": "q"}],
        "temperature": 0.5,
        "store": False,
    }
    assert sent.told == {("dropped", "reasoning")}


def test_a_streamed_request() -> None:
    assert send(stream=True).body["stream"] is True
    assert "stream_options" not in send(stream=True).body


def test_what_this_wire_does_not_have_is_told() -> None:
    sent = send(model="gpt-4.1", seed=1, stop_sequences="x", presence_penalty=0.5, frequency_penalty=0.5)

    assert set(sent.body) == {"model", "input", "store"}
    assert sent.told == {
        ("dropped", name) for name in ("seed", "stop_sequences", "presence_penalty", "frequency_penalty")
    }


def test_a_limit_that_is_too_low_is_raised_and_told() -> None:
    sent = send(max_tokens=3)

    assert sent.body["max_output_tokens"] == 16
    assert ("approximated", "max_tokens") in sent.told


@pytest.mark.parametrize(
    ("reasoning", "written"),
    [
        (Reasoning("low"), {"effort": "low"}),
        (Reasoning("high", visible=True), {"effort": "high", "summary": "auto"}),
        (Reasoning(visible=True), {"summary": "auto"}),
        (Reasoning("none"), {"effort": "none"}),
    ],
)
def test_reasoning(reasoning: Reasoning, written: dict[str, Any]) -> None:
    assert send(reasoning=reasoning).body["reasoning"] == written


def test_tools_and_formats_are_flat() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tool = ToolSpecification("now", "The time.", schema, strict=True)
    sent = send(tools=(tool, *TOOLS[:1]), response_format=ResponseFormat("json_schema", schema, "reply", strict=True))

    assert sent.body["tools"] == [
        {"type": "function", "name": "now", "description": "The time.", "parameters": schema, "strict": True},
        {
            "type": "function",
            "name": "get_time",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    ]
    assert sent.body["text"] == {"format": {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}}
    assert send(response_format="json").body["text"] == {"format": {"type": "json_object"}}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (ToolChoice("auto"), "auto"),
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice.tool("now"), {"type": "function", "name": "now"}),
        (
            ToolChoice("auto", ("now", "get_time")),
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "now"}, {"type": "function", "name": "get_time"}],
            },
        ),
    ],
)
def test_tool_choice(choice: ToolChoice, written: Any) -> None:
    assert send(tools=TOOLS, tool_choice=choice).body["tool_choice"] == written


def test_a_tool_of_the_service_itself_goes_as_it_is() -> None:
    sent = send(tools=(OpaqueTool(WIRE, {"type": "web_search"}), *TOOLS), parallel_tool_calls=False)

    assert sent.body["tools"][0] == {"type": "web_search"}
    assert sent.body["parallel_tool_calls"] is False


def test_media_are_flat_parts() -> None:
    contents: list[Content] = [
        TextContent("look"),
        ImageContent(data=PNG, detail="high"),
        ImageContent(url="https://example.com/a.png"),
        ImageContent(file_id="file-1"),
        DocumentContent(data=b"%PDF-1.4", name="a.pdf"),
        DocumentContent(url="https://example.com/a.pdf"),
        DocumentContent(file_id="file-2"),
    ]

    assert send([UserMessage(contents)]).input[0]["content"] == [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "detail": "high", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_image", "detail": "auto", "image_url": "https://example.com/a.png"},
        {"type": "input_image", "detail": "auto", "file_id": "file-1"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQ="},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_file", "file_id": "file-2"},
    ]


def test_sound_is_refused_before_the_network() -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[0\].*audio"):
        send([UserMessage(["q", AudioContent(data=b"RIFF\x00\x00\x00\x00WAVE")])])


def test_a_result_holds_pictures_and_is_linked_by_the_calls_id() -> None:
    call = ToolCall("call_a", "get_time", extras={WIRE: {"id": "fc_1"}})
    result = ToolResultMessage("call_a", "get_time", ["noon", ImageContent(data=PNG)])

    sent = send([UserMessage("q"), AiMessage(call, Origin(WIRE)), result], tools=TOOLS)

    assert sent.input[1:] == [
        {"type": "function_call", "call_id": "call_a", "name": "get_time", "arguments": "{}", "id": "fc_1"},
        {
            "type": "function_call_output",
            "call_id": "call_a",
            "output": [
                {"type": "input_text", "text": "noon"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo="},
            ],
        },
    ]


def test_a_failed_result_says_so_in_its_text_and_is_read_back() -> None:
    failed = ToolResultMessage("call_a", "now", error=ToolError("timeout", "too slow", True))
    sent = send([UserMessage("q"), AiMessage(ToolCall("call_a", "now")), failed], tools=TOOLS)

    assert json.loads(sent.input[2]["output"])["ok"] is False
    back = OpenAIResponsesWire().decode_messages(sent.input).value[2]
    assert back == failed


@pytest.mark.parametrize("stream", [True, False])
def test_a_body_that_asks_for_a_stream_still_does_on_another_wire_and_back(stream: bool) -> None:
    body = {"model": "m", "input": "hi", "stream": stream}

    there = convert(body, source="openai-responses", target="openai")

    assert (there.payload["stream"], there.notices) == (stream, ())
    assert convert(body, source="openai-responses", target="openai-responses").payload["stream"] is stream
    assert "stream" not in convert({"model": "m", "input": "hi"}, source="openai-responses", target="openai").payload


def test_what_a_stream_shall_hold_besides_goes_back_and_is_told_elsewhere() -> None:
    body = {"model": "m", "input": "hi", "stream": True, "stream_options": {"include_obfuscation": False}}

    back = convert(body, source="openai-responses", target="openai-responses")
    there = convert(body, source="openai-responses", target="openai")

    assert back.payload["stream_options"] == {"include_obfuscation": False}
    assert "stream_options" not in there.payload
    assert any(notice.kind == "dropped" and "stream_options" in notice.message for notice in there.notices)


def test_a_body_that_was_read_is_sent_as_the_call_is_made() -> None:
    body = {"model": "m", "input": "hi", "stream": True, "stream_options": {"include_obfuscation": False}}
    request = OpenAIResponsesWire().decode_request(body).value

    whole = json.loads(OpenAIResponsesCodec().encode(request, stream=False).http.body)
    streamed = json.loads(OpenAIResponsesCodec().encode(request, stream=True).http.body)

    assert whole.keys().isdisjoint({"stream", "stream_options"})
    assert (streamed["stream"], streamed["stream_options"]) == (True, {"include_obfuscation": False})


def test_cache_marks_only_where_the_model_takes_them() -> None:
    marked = [UserMessage([TextContent("long", cache=CacheMark("12h"))])]

    assert ("dropped", "cache") in send(marked).told


def test_names_and_ids_have_this_wires_lengths() -> None:
    name = "n" * 128
    sent = send([UserMessage("q"), AiMessage(ToolCall("c" * 64, name)), ToolResultMessage("c" * 64, name, "x")])

    assert sent.input[1]["name"] == name
    assert sent.input[1]["call_id"] == "c" * 64
    assert not sent.told


def test_custom_parameters_stand_beside_the_typed_ones() -> None:
    sent = send(
        response_format="json",
        reasoning=Reasoning("low"),
        custom_parameters={
            "text": {"verbosity": "low"},
            "reasoning": {"summary": "detailed"},
            "include": ["web_search_call.results"],
        },
    )

    assert sent.body["text"] == {"format": {"type": "json_object"}, "verbosity": "low"}
    assert sent.body["reasoning"] == {"effort": "low", "summary": "detailed"}
    assert sent.body["include"] == ["reasoning.encrypted_content", "web_search_call.results"]
    assert not sent.told


def test_who_wants_the_services_state_gets_it() -> None:
    sent = send(custom_parameters={"previous_response_id": "resp_0", "store": True})

    assert sent.body == {
        "model": "gpt-5.5",
        "input": [{"role": "user", "content": "q"}],
        "previous_response_id": "resp_0",
        "store": True,
    }


def test_a_request_without_a_model_is_refused() -> None:
    with pytest.raises(BadRequest, match="names no model"):
        OpenAIResponsesCodec().encode(ChatRequest("q"), stream=False)


# What comes back into the next request


@pytest.mark.parametrize(
    "name", ["text.json", "thinking-tools.json", "refusal.json", "search.json", "custom-tool.json"]
)
def test_every_item_goes_back_as_it_came_and_in_order(name: str) -> None:
    sent = Sent(
        OpenAIResponsesCodec().encode(
            ChatRequest(next_turn(read(name)), ChatRequestParameters(model="gpt-5.5")), stream=False
        )
    )
    came = output_of(name)

    assert [_essence(item) for item in sent.input[1 : 1 + len(came)]] == [_essence(item) for item in came]
    assert not [told for told in sent.told if told[0] == "dropped"]


def _essence(item: dict[str, Any]) -> dict[str, Any]:
    """An item without what says nothing: the status that every whole item has, and empty log probabilities."""
    lean = {key: value for key, value in item.items() if (key, value) != ("status", "completed")}
    if item["type"] == "message":
        lean["content"] = [{key: value for key, value in part.items() if key != "logprobs"} for part in item["content"]]
    return lean


def test_sealed_reasoning_and_calls_make_a_valid_request() -> None:
    sent = send(next_turn(read("thinking-tools.json")), tools=TOOLS)

    assert [item["type"] for item in sent.input[1:]] == [
        "reasoning", "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert sent.input[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [
            {"type": "summary_text", "text": "Need both clocks."},
            {"type": "summary_text", "text": "Then compare."},
        ],
        "encrypted_content": "gAAAAABsealed",
    }
    assert sent.input[2]["call_id"] == "call_a"
    assert sent.input[4] == {"type": "function_call_output", "call_id": "call_a", "output": "noon"}


def test_phases_and_annotations_go_back_unchanged() -> None:
    sent = send(next_turn(read("search.json")))

    assert [item.get("phase") for item in sent.input if item.get("type") == "message"] == ["commentary", "final_answer"]
    assert sent.input[4]["content"][0]["annotations"][0]["url"] == "https://example.com"
    assert sent.input[3]["type"] == "web_search_call"


def test_reasoning_without_a_seal_is_left_out_and_its_calls_go_without_ids() -> None:
    thought = ThinkingContent("Hm.", extras={WIRE: {"id": "rs_1"}})
    call = ToolCall("call_a", "now", extras={WIRE: {"id": "fc_1"}})
    history = [UserMessage("q"), AiMessage([thought, call], Origin(WIRE)), ToolResultMessage("call_a", "now", "noon")]

    sent = send(history, tools=TOOLS)

    assert sent.input[1] == {"type": "function_call", "call_id": "call_a", "name": "now", "arguments": "{}"}
    assert ("dropped", "messages") in sent.told

    kept = send(history, tools=TOOLS, custom_parameters={"store": True})
    assert [item.get("id") for item in kept.input[1:3]] == ["rs_1", "fc_1"]


def test_thinking_and_blocks_of_other_wires_stay_behind() -> None:
    message = AiMessage(
        [ThinkingContent("secret", "c2ln"), OpaqueContent("anthropic", {"type": "x"}), "noon"], Origin("anthropic")
    )
    sent = send([UserMessage("q"), message, UserMessage("and?")])

    assert sent.input[1] == {"role": "assistant", "content": "noon"}
    assert ("dropped", "messages[1]") in sent.told


def test_the_seal_of_an_item_that_had_only_begun_is_not_taken() -> None:
    codec = OpenAIResponsesCodec()
    encoded = codec.encode(ChatRequest("q", ChatRequestParameters(model="gpt-5.5")), stream=True)
    decoder, collector = codec.stream_decoder(encoded), ResponseCollector()
    for frame in SseFraming().feed(RECORDINGS["thinking-tools.sse"].body):
        collector.add_all(decoder.feed(frame))
    collector.add_all(decoder.finish())

    thought = collector.response().message.parts[0]
    assert isinstance(thought, ThinkingContent)
    assert thought.signature == "gAAAAABsealed"


# Streams


@pytest.mark.parametrize("shape", ["error-event.sse", "failed.sse", "bare-error.sse"])
def test_an_error_in_a_stream_carries_what_had_arrived(shape: str) -> None:
    codec = OpenAIResponsesCodec()
    model = polywire_provider("openai-responses")
    assert model is not None
    transport = FakeTransport(Reply(body=RECORDINGS[shape].body, chunk_size=5))
    assert model.build_chat is not None
    chat = model.build_chat(
        BuildContext(
            "openai-responses", model.settings(), defaults=ChatRequestParameters(model="m"), transport=transport
        )
    )
    assert codec.wire == chat.information.wire
    with pytest.raises(Exception) as caught:
        chat.stream("q").collect()  # type: ignore[attr-defined]

    assert caught.value.kind == RECORDINGS[shape].expected.error  # type: ignore[attr-defined]
    assert caught.value.partial.text == "Hel"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"type": "response.completed", "response": {"status": "failed", "error": {"code": "server_error"}}}, "server"),
        ({"type": "response.failed", "response": {"status": "failed", "error": None}}, "server"),
        ({"type": "response.failed"}, "server"),
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "wait"}}, "rate_limit"),
        ({"type": "error", "code": "insufficient_quota", "message": "no more"}, "quota"),
        ({"error": {"message": "busy", "code": "vector_store_timeout"}}, "timeout"),
    ],
)
def test_every_shape_of_failure_is_an_error_and_never_an_answer(frame: dict[str, Any], kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIResponsesWire().stream_decoder().feed(Frame(json.dumps(frame).encode()))

    assert caught.value.kind == kind
    assert caught.value.status != 200


@pytest.mark.parametrize(
    ("status", "details", "reason"),
    [
        ("incomplete", {"reason": "max_messages"}, "other"),
        ("incomplete", {"reason": "steered"}, "other"),
        ("cancelled", None, "other"),
        ("in_progress", None, "pause"),
        ("completed", None, "stop"),
    ],
)
def test_statuses_are_finish_reasons(status: str, details: Any, reason: str) -> None:
    body = {**json.loads(RECORDINGS["text.json"].body), "status": status, "incomplete_details": details}

    assert OpenAIResponsesWire().decode_response(body).value.finish_reason == reason


def test_an_item_that_is_never_told_as_complete_is_read_from_its_pieces() -> None:
    frames: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r1", "status": "in_progress"}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
        {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": []}},
    ]
    decoder, collector = OpenAIResponsesWire().stream_decoder(), ResponseCollector()
    for frame in frames:
        collector.add_all(decoder.feed(Frame(json.dumps(frame).encode())))
    collector.add_all(decoder.finish())

    response = collector.response()
    assert response.text == "Hi"
    assert response.finish_reason == "stop"
    assert [notice.kind for notice in response.notices] == ["repaired"]


def test_a_stream_that_stops_before_its_last_event_is_interrupted() -> None:
    body = RECORDINGS["text.sse"].body
    body = body[: body.index(b"event: response.completed")]
    wire = OpenAIResponsesWire()
    decoder = wire.stream_decoder()
    for frame in wire.framing().feed(body):
        decoder.feed(frame)

    with pytest.raises(StreamInterrupted):
        decoder.finish()


def test_a_body_that_is_another_apis_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no output"):
        OpenAIResponsesWire().decode_response({"id": "c1", "choices": []})


# Both ways


@pytest.mark.parametrize("name", WHOLE)
def test_the_sdk_reads_the_bodies_that_are_written(name: str) -> None:
    written = OpenAIResponsesWire().encode_response(read(name)).value

    Response.model_validate(written, strict=False)
    if name != "queued.json":
        assert [_essence(item) for item in written["output"]] == [_essence(item) for item in output_of(name)]
    assert written["status"] == json.loads(RECORDINGS[name].body)["status"]


@pytest.mark.parametrize("name", WHOLE)
def test_the_sdk_reads_the_streams_that_are_written(name: str) -> None:
    wire, answer = OpenAIResponsesWire(), read(name)
    encoder = wire.stream_encoder()
    body = b"".join(encoder.feed(event) for event in events_of(answer)) + encoder.finish()

    numbers = []
    for frame in SseFraming().feed(body):
        payload = json.loads(frame.data)
        event = STREAM_EVENT.validate_python(payload)
        assert event.type == frame.event
        numbers.append(event.sequence_number)
    assert numbers == list(range(len(numbers)))
    assert event.type in {"response.completed", "response.incomplete"}


def test_an_answer_of_another_wire_is_written_so_that_the_sdk_reads_it() -> None:
    answer = ChatResponse(
        AiMessage(["Hi", ToolCall("c1", "now", '{"a":1}')], Origin("anthropic")),
        TokenUsage(3, 4),
        FinishReason.TOOL_CALLS,
        metadata={"id": "msg_9", "model": "claude"},
    )
    written = OpenAIResponsesWire().encode_response(answer).value

    body = Response.model_validate(written)
    assert body.status == "completed"
    assert body.output_text == "Hi"
    assert body.output[1].type == "function_call"
    assert body.usage is not None
    assert body.usage.total_tokens == 7
    assert OpenAIResponsesWire().decode_response(written).value.tool_calls[0].arguments == '{"a":1}'


def test_a_failed_stream_is_told_in_this_wires_way() -> None:
    encoder = OpenAIResponsesWire().stream_encoder()
    body = encoder.error(RateLimited("slow down"))

    payload = json.loads(body.partition(b"data: ")[2])
    assert body.startswith(b"event: error\n")
    assert STREAM_EVENT.validate_python(payload).code == "rate_limit_exceeded"


def test_convert_finds_the_wire_by_its_name_there_and_back() -> None:
    chat = {
        "model": "gpt-5.5",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "q"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
        ],
        "tool_choice": {"type": "function", "function": {"name": "now"}},
    }
    there = convert(chat, source="openai", target=WIRE).payload
    check_body(there)
    back = convert(there, source=WIRE, target="openai").payload

    assert [item.get("type", item.get("role")) for item in there["input"]] == [
        "developer", "user", "function_call", "function_call_output",
    ]  # fmt: skip
    assert [message["role"] for message in back["messages"]] == ["developer", "user", "assistant", "tool"]
    assert back["messages"][2]["tool_calls"] == chat["messages"][2]["tool_calls"]  # type: ignore[index]
    assert back["tool_choice"] == chat["tool_choice"]


@pytest.mark.parametrize("name", STREAMED)
def test_streams_become_those_of_chat_completions(name: str) -> None:
    body = RECORDINGS[name].body
    told = b"".join(convert_stream([body[at : at + 9] for at in range(0, len(body), 9)], source=WIRE, target="openai"))

    assert told.endswith(b"data: [DONE]\n\n")


OTHERS = (
    [("anthropic", path) for path in sorted((ROOT / "plugins/anthropic/tests/recordings").rglob("*.sse"))]
    + [("gemini", path) for path in sorted((ROOT / "plugins/gemini/tests/recordings").glob("*.sse"))]
    + [("ollama", path) for path in sorted((ROOT / "plugins/ollama/tests/recordings").glob("*.ndjson"))]
)


@pytest.mark.parametrize(("source", "path"), OTHERS, ids=lambda each: getattr(each, "name", each))
def test_streams_of_other_wires_are_read_by_the_sdk(source: str, path: Path) -> None:
    told = b"".join(convert_stream([path.read_bytes()], source=source, target=WIRE))

    events = [STREAM_EVENT.validate_python(json.loads(frame.data)) for frame in SseFraming().feed(told)]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type in {"response.completed", "response.incomplete", "error"}
    if last.type != "error":
        added = [event.output_index for event in events if event.type == "response.output_item.added"]
        done = [event.output_index for event in events if event.type == "response.output_item.done"]
        assert sorted(added) == sorted(done) == list(range(len(last.response.output)))
        Response.model_validate(last.response.model_dump())


def test_a_request_that_was_read_is_written_as_it_was() -> None:
    payload: dict[str, Any] = {
        "model": "gpt-5.5",
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "q"}, {"type": "input_file", "file_id": "f1"}]},
            *(item for item in output_of("search.json")),
            {"type": "item_reference", "id": "msg_7"},
            {"role": "user", "content": "and?"},
        ],
        "tools": [{"type": "web_search"}, {"type": "custom", "name": "shell", "format": {"type": "text"}}],
        "tool_choice": {"type": "web_search_preview"},
        "text": {"verbosity": "low", "format": {"type": "json_object"}},
        "reasoning": {"effort": "low", "summary": "detailed", "context": "all_turns"},
        "previous_response_id": "resp_0",
        "truncation": "auto",
        "prompt_cache_key": "k",
    }
    wire = OpenAIResponsesWire()
    written = wire.encode_request(wire.decode_request(payload).value).value

    assert [_essence(item) if item.get("type") == "message" else item for item in written.pop("input")] == [
        _essence(item) if item.get("type") == "message" else item for item in payload.pop("input")
    ]
    assert written == payload


def test_a_text_as_input_and_the_services_default_of_keeping() -> None:
    wire = OpenAIResponsesWire()
    request = wire.decode_request({"model": "gpt-5.5", "input": "q"}).value

    assert request.messages == (UserMessage("q"),)
    assert wire.encode_request(request).value["store"] is True


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"model": "m"}, "input"),
        ({"model": "m", "input": [7]}, r"input\[0\] must be an object"),
        ({"model": "m", "input": [{"role": "robot", "content": "x"}]}, "role must be"),
        ({"model": "m", "input": [{"type": "function_call_output", "output": "x"}]}, "call_id"),
        ({"model": "m", "input": [{"type": "function_call", "arguments": "{}"}]}, "call_id and a name"),
        ({"model": "m", "input": "q", "temperature": "hot"}, "temperature"),
        (
            {"model": "m", "input": "q", "instructions": [{"role": "user", "content": "x"}]},
            "instructions must be a text",
        ),
        ({"model": "m", "input": "q", "reasoning": "high"}, "reasoning must be an object, not str"),
        ({"model": "m", "input": "q", "text": "json"}, "text must be an object, not str"),
    ],
)
def test_a_body_of_another_shape_is_refused_with_its_place(payload: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        OpenAIResponsesWire().decode_request(payload)


@pytest.mark.parametrize(
    "more",
    [
        {"reasoning": {"effort": ["high"]}},
        {"tools": [{"type": "web_search"}], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [None]}},
    ],
)
def test_what_is_of_another_shape_further_in_goes_back_as_it_came(more: dict[str, Any]) -> None:
    wire = OpenAIResponsesWire()
    payload = {"model": "m", "input": [{"role": "user", "content": "q"}], "store": False, **more}

    assert wire.encode_request(wire.decode_request(payload).value).value.items() >= payload.items()


@settings(max_examples=60, deadline=None)
@given(histories(thinking=True, opaque=WIRE))
def test_any_history_goes_there_and_back(history: tuple[Message, ...]) -> None:
    wire = OpenAIResponsesWire()
    written = wire.encode_messages(history).value
    json.loads(wire_json.encode(written))
    back = wire.decode_messages(written).value
    check_history(back)

    assert wire.encode_messages(back).value == written
    assert _said(back) == _said(wire.decode_messages(wire.encode_messages(back).value).value)
    assert [call.arguments for call in _calls(back)] == [call.arguments for call in _calls(history)]


def _calls(history: tuple[Message, ...]) -> list[ToolCall]:
    return [call for message in history if isinstance(message, AiMessage) for call in message.tool_calls]


def _said(history: tuple[Message, ...]) -> list[tuple[str, Any]]:
    return [(message.role, getattr(message, "text", None)) for message in history]


# The provider


@pytest.mark.parametrize(
    ("name", "api", "path"),
    [
        ("openai", None, "chat/completions"),
        ("openai", "responses", "responses"),
        ("openai-responses", None, "responses"),
        ("openai-responses", "chat", "chat/completions"),
    ],
)
def test_the_setting_or_the_name_chooses_the_api(name: str, api: str | None, path: str) -> None:
    provider = polywire_provider(name)
    assert provider is not None
    assert provider.build_chat is not None
    table = provider.settings.model_validate({"api_key": "sk-test", **({"api": api} if api else {})})
    body = RECORDINGS["text.json"].body if path == "responses" else b'{"choices":[{"message":{"content":"Hello"}}]}'
    transport = FakeTransport(Reply(body=body))
    defaults = ChatRequestParameters(model="gpt-5.5")

    chat = provider.build_chat(BuildContext(name, table, defaults=defaults, transport=transport))

    assert chat.chat("q").text == "Hello"
    assert transport.requests[0].url == f"https://api.openai.com/v1/{path}"
    assert transport.requests[0].request.headers["Authorization"] == "Bearer sk-test"


def test_both_names_offer_both_wires() -> None:
    for name in ("openai", WIRE):
        provider = polywire_provider(name)
        assert provider is not None
        assert [wire.name for wire in provider.offered_wires()] == ["openai", WIRE]
