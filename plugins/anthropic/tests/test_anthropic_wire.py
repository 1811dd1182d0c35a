"""The wire in both directions: what was read goes back exactly, up to the normal form."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from support.histories import histories

from polywire.contents import CacheMark, DocumentContent, ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.conversion import convert
from polywire.errors import BadRequest, ModelError, ProtocolError
from polywire.history import check_history
from polywire.messages import AiMessage, Origin, SystemMessage, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat
from polywire.requests import ChatRequest, OpaqueTool, ToolChoice, ToolSpecification
from polywire.responses import FinishReason
from polywire_anthropic import AnthropicCodec, AnthropicWire

WIRE = AnthropicWire()
EPHEMERAL = {"type": "ephemeral"}
CITATION = {
    "type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None, "start_char_index": 0,
    "end_char_index": 1,
}  # fmt: skip


def normal_content(content: Any, role: str) -> Any:
    """The published normal form of a `content`: blocks, without empty text, results first and in their order."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    blocks = [{key: value for key, value in block.items() if value is not None} for block in blocks]
    blocks = [block for block in blocks if block.get("type") != "text" or block["text"]]
    for block in blocks:
        if block["type"] == "tool_result":
            block["content"] = normal_content(block.get("content"), "")
            if not block.get("is_error"):
                block.pop("is_error", None)
    if role == "user":
        blocks = [block for block in blocks if block["type"] == "tool_result"] + [
            block for block in blocks if block["type"] != "tool_result"
        ]
    return blocks


def normal(body: dict[str, Any]) -> dict[str, Any]:
    body = copy.deepcopy({key: value for key, value in body.items() if value is not None})
    turns: list[dict[str, Any]] = []
    for turn in body["messages"]:
        content = normal_content(turn["content"], turn["role"])
        if turns and turns[-1]["role"] == turn["role"]:
            turns[-1]["content"] = normal_content(turns[-1]["content"] + content, turn["role"])
        else:
            turns.append({**turn, "content": content})
    body["messages"] = turns
    if "system" in body:
        body["system"] = normal_content(body["system"], "")
    return body


FULL: dict[str, Any] = {
    "model": "claude-opus-4-5",
    "max_tokens": 4096,
    "system": [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look.", "cache_control": EPHEMERAL},
                {"type": "text", "text": ""},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                    "transformations": {"oversized_image": "downsize"},
                },
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
                    "title": "T",
                    "context": "C",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é"}},
                {"type": "document", "source": {"type": "content", "content": "abc"}, "title": None},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "plan", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eHl6"},
                {"type": "text", "text": "I look.", "citations": [CITATION]},
                {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, 2.5, None, "é"]}, "caller": {"type": "direct"}},
                {"type": "text", "text": "and"},
                {"type": "tool_use", "id": "t2", "name": "g", "input": {"INVALID_JSON": "{\"a"}, "cache_control": EPHEMERAL},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "shot"},
                        {"type": "image", "source": {"type": "url", "url": "https://example.com/b.png"}},
                        {"type": "tool_reference", "tool_name": "g"},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "bad", "is_error": True, "cache_control": EPHEMERAL},
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "system", "content": "From now on in French."},
        {"role": "assistant", "content": "Bien."},
        {"role": "assistant", "content": "Encore."},
        {"role": "user", "content": "Merci."},
    ],
    "tools": [
        {"name": "f", "description": "F.", "input_schema": {"type": "object", "properties": {"a": {}}}, "strict": False,
         "cache_control": EPHEMERAL, "eager_input_streaming": True, "allowed_callers": ["direct"]},
        {"type": "custom", "name": "g", "input_schema": {"type": "object", "properties": {}}},
        {"type": "web_search_20260318", "name": "web_search"},
    ],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 2000, "display": "summarized"},
    "output_config": {"effort": "high"},
    "stop_sequences": ["END"],
    "temperature": 1.0,
    "top_k": 5,
    "metadata": {"user_id": "u"},
    "service_tier": "auto",
}  # fmt: skip


def there_and_back(body: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    read = WIRE.decode_request(body)
    check_history(read.value.messages)
    written = WIRE.encode_request(read.value)
    return written.value, (*read.notices, *written.notices)


def test_a_full_request_goes_there_and_back() -> None:
    before = copy.deepcopy(FULL)
    fewer_marks = copy.deepcopy(FULL)
    del fewer_marks["messages"][0]["content"][0]["cache_control"]
    expected = normal(fewer_marks)
    # `custom` is what a tool without a type is.
    del expected["tools"][1]["type"]

    written, notices = there_and_back(FULL)

    assert normal(written) == expected
    assert [notice.subject for notice in notices] == ["cache"]
    assert before == FULL


def test_a_request_reads_into_the_values() -> None:
    request = WIRE.decode_request(FULL).value

    parameters = request.parameters
    assert parameters.model == "claude-opus-4-5"
    assert parameters.reasoning == Reasoning("high", 2000, True)
    assert parameters.tool_choice == ToolChoice()
    assert parameters.parallel_tool_calls is False
    assert [type(tool) for tool in parameters.tools or ()] == [ToolSpecification, ToolSpecification, OpaqueTool]
    assert parameters.extras["anthropic"]["metadata"] == {"user_id": "u"}
    system, user, first, one, two, more, late, *_ = request.messages
    assert system == SystemMessage([TextContent("Be brief."), TextContent("Be kind.", CacheMark("1h"))])
    assert [type(content) for content in user.contents] == [  # type: ignore[union-attr]
        TextContent, ImageContent, ImageContent, ImageContent, DocumentContent, DocumentContent, OpaqueContent,
        OpaqueContent,
    ]  # fmt: skip
    assert isinstance(first, AiMessage)
    assert first.parts[:2] == (ThinkingContent("plan", "c2ln"), ThinkingContent(redacted="eHl6"))
    assert first.tool_calls[0].arguments == '{"a":[1,2.5,null,"é"]}'
    assert first.tool_calls[1].arguments == '{"a'
    assert isinstance(one, ToolResultMessage)
    assert isinstance(two, ToolResultMessage)
    assert (one.call_id, one.tool_name, one.is_error) == ("t1", "f", False)
    assert (two.call_id, two.tool_name, two.is_error, two.text) == ("t2", "g", True, "bad")
    assert more == UserMessage("Go on.")
    assert isinstance(late, SystemMessage)


@pytest.mark.parametrize(
    "fields",
    [
        {"thinking": {"type": "adaptive"}},
        {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "low"}},
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "between_tools"}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"output_config": {"effort": "max"}},
        {"output_config": {"effort": "low", "task_budget": {"total": 5}}},
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}, "additionalProperties": False}}}},
        {"temperature": 0.2, "top_p": 0.9},
        {"stop_sequences": ["a", "b"]},
        {"max_tokens": 0},
        {"stream": True},
        {"stream": False},
        {"cache_control": {"type": "ephemeral"}, "speed": "fast", "inference_geo": "us"},
        {"context_management": {"edits": []}, "mcp_servers": []},
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", ["claude-opus-4-5", "claude-opus-4-8", "claude-fable-5", "any"])
def test_parameters_go_there_and_back(fields: dict[str, Any], model: str) -> None:
    body = {"model": model, "max_tokens": 4096, "messages": [{"role": "user", "content": "q"}], **fields}

    written, notices = there_and_back(body)

    assert written == body
    assert notices == ()


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "auto"},
        {"type": "any"},
        {"type": "none"},
        {"type": "tool", "name": "f"},
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "tool", "name": "f", "disable_parallel_tool_use": False},
    ],
)
def test_choices_go_there_and_back(choice: dict[str, Any]) -> None:
    tools = [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]
    body = {
        "model": "m",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "q"}],
        "tools": tools,
        "tool_choice": choice,
    }

    written, notices = there_and_back(body)

    assert written == body
    assert notices == ()


def test_what_was_changed_in_between_is_what_goes_out() -> None:
    body = {
        "model": "claude-opus-4-5", "max_tokens": 8000, "messages": [{"role": "user", "content": "q"}],
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "temperature": 1.0,
    }  # fmt: skip
    request = WIRE.decode_request(body).value
    changed = request.with_parameters(
        request.parameters.merge(ChatRequestParameters(reasoning=Reasoning("none"), temperature=0.5))
    )

    written = WIRE.encode_request(changed).value

    assert written["thinking"] == {"type": "disabled"}
    assert "temperature" not in written


def test_what_comes_from_elsewhere_follows_the_version(check_request: Callable[..., None]) -> None:
    request = ChatRequest("q", ChatRequestParameters(model="claude-sonnet-4-5", temperature=0.5, seed=1))

    current = WIRE.encode_request(request)
    older = AnthropicWire(version="2023-06-01").encode_request(request)

    check_request(current.value)
    check_request(older.value, old=True)
    assert "temperature" not in current.value
    assert older.value["temperature"] == 0.5
    assert {notice.subject for notice in current.notices} == {"temperature", "seed"}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": "q"}], "max_tokens": "many"}, "max_tokens"),
        ({"messages": [{"role": "user", "content": "q"}], "temperature": "hot"}, "temperature"),
    ],
)
def test_a_request_of_another_shape_is_refused_with_its_place(body: Any, place: str) -> None:
    with pytest.raises(BadRequest) as caught:
        WIRE.decode_request(body)

    assert place in caught.value.message


# --- message lists ---


def test_a_message_list_goes_there_and_back() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]},
    ]

    conversion = convert(turns, source=WIRE, target=WIRE)

    assert conversion.payload == turns
    assert conversion.notices == ()


def test_instructions_in_a_list_are_user_text_with_a_notice() -> None:
    written = WIRE.encode_messages([SystemMessage("S"), UserMessage("q"), AiMessage("a")])

    assert written.value == [
        {"role": "user", "content": [{"type": "text", "text": "S"}, {"type": "text", "text": "q"}]},
        {"role": "assistant", "content": "a"},
    ]
    assert [(notice.kind, notice.subject) for notice in written.notices] == [("approximated", "messages[0]")]


def test_a_list_may_begin_with_the_assistant() -> None:
    assert WIRE.encode_messages([AiMessage("a")]).value == [{"role": "assistant", "content": "a"}]


def test_a_list_of_another_shape_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"messages\[1\]"):
        WIRE.decode_messages([{"role": "user", "content": "q"}, {"role": "narrator", "content": "x"}])


# --- answers ---

ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHl6"},
        {"type": "text", "text": "Hi", "citations": [CITATION]},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "container": {"id": "c_1", "expires_at": "2026-12-01T00:00:00Z"},
    "usage": {
        "input_tokens": 12, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 5,
        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 0}, "output_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 18}, "service_tier": "standard",
    },
}  # fmt: skip


def test_an_answer_goes_there_and_back() -> None:
    before = copy.deepcopy(ANSWER)

    conversion = convert(ANSWER, source=WIRE, target=WIRE)

    assert conversion.payload == ANSWER == before
    assert conversion.notices == ()


@pytest.mark.parametrize(
    "reason",
    [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "compaction",
        "shiny",
    ],
)
def test_stop_reasons_go_there_and_back(reason: str) -> None:
    body = {**ANSWER, "content": [{"type": "text", "text": "a"}], "stop_reason": reason}
    body["stop_sequence"] = "END" if reason == "stop_sequence" else None

    assert convert(body, source=WIRE, target=WIRE).payload == body


def test_the_details_of_a_refusal_go_there_and_back() -> None:
    details = {"type": "refusal", "category": None, "explanation": "No."}
    body = {**ANSWER, "content": [], "stop_reason": "refusal", "stop_details": details}

    assert convert(body, source=WIRE, target=WIRE).payload == body


def test_an_error_is_raised_and_not_converted() -> None:
    with pytest.raises(ModelError):
        WIRE.decode_response({"type": "error", "error": {"type": "overloaded_error", "message": "x"}})


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(ProtocolError):
        WIRE.decode_response({"choices": []})


# --- random histories ---


def body_of(messages: Any) -> dict[str, Any]:
    return WIRE.encode_request(ChatRequest(messages, ChatRequestParameters(model="m", max_tokens=9))).value


@settings(max_examples=120, deadline=None)
@given(histories(thinking=True, opaque="anthropic"))
def test_random_histories_are_legal_and_come_back_the_same(messages: Any) -> None:
    body = body_of(messages)

    roles = [turn["role"] for turn in body["messages"]]
    assert roles[0] == "user"
    assert all(one != two for one, two in itertools.pairwise(roles))
    waiting: list[str] = []
    seen: set[str] = set()
    for turn in body["messages"]:
        blocks = [{"type": "text", "text": turn["content"]}] if isinstance(turn["content"], str) else turn["content"]
        assert all(block["type"] != "text" or block["text"] for block in blocks)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == waiting
        assert [block["type"] for block in blocks[: len(results)]] == ["tool_result"] * len(results)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not seen & set(waiting)
        seen |= set(waiting)
    again = WIRE.decode_request(body).value
    check_history(again.messages)
    assert body_of(again.messages) == body


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=histories(thinking=True))
def test_random_bodies_fit_the_vendors_types(check_request: Callable[..., None], messages: Any) -> None:
    check_request(body_of(messages))


texts = st.text(st.characters(codec="utf-8"), min_size=0, max_size=8)
json_objects = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts, max_size=3)


@st.composite
def anthropic_bodies(draw: Any) -> dict[str, Any]:
    """Legal bodies in every notation that the wire allows."""
    turns: list[dict[str, Any]] = []
    number = 0
    text_block = texts.map(lambda text: {"type": "text", "text": text})
    for _ in range(draw(st.integers(1, 4))):
        said = [*draw(st.lists(text_block, max_size=2)), {"type": "text", "text": "u"}]
        turns.append({"role": "user", "content": draw(st.sampled_from(["string", "blocks"]))})
        turns[-1]["content"] = "u" if turns[-1]["content"] == "string" else said
        blocks: list[dict[str, Any]] = draw(st.lists(text_block, max_size=2))
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            calls.append(f"t{number}")
            blocks.append({"type": "tool_use", "id": f"t{number}", "name": "f", "input": draw(json_objects)})
        blocks += draw(st.lists(st.just({"type": "hologram", "x": [1, {"y": None}]}), max_size=1))
        turns.append({"role": "assistant", "content": [*blocks, {"type": "text", "text": "end"}]})
        if calls:
            results: list[dict[str, Any]] = []
            for call in calls:
                held = draw(texts.filter(bool) | st.lists(text_block, max_size=2))
                failed = draw(st.booleans())
                if failed and not (held if isinstance(held, str) else any(block["text"] for block in held)):
                    held = "failed"
                results.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": call,
                        "content": held,
                        **({"is_error": True} if failed else {}),
                    }
                )
            turns.append({"role": "user", "content": [*results, {"type": "text", "text": "go"}]})
    return {"model": "m", "max_tokens": 5, "messages": turns}


@settings(max_examples=120, deadline=None)
@given(anthropic_bodies())
def test_random_bodies_go_there_and_back(body: dict[str, Any]) -> None:
    written, notices = there_and_back(body)

    assert normal(json.loads(json.dumps(written))) == normal(body)
    assert notices == ()


def test_an_answer_of_another_wire_is_written_as_this_ones() -> None:
    from polywire.responses import ChatResponse, TokenUsage

    parts: list[Any] = [
        ThinkingContent("R", "their-seal"),
        TextContent("T", extras={"openai": {"annotations": []}}),
        ToolCall("functions.f:0", "f", '{"a":1}'),
        ToolCall("c2", "g", "[1]"),
        ImageContent(url="https://example.com/a.png"),
        OpaqueContent("openai", {"type": "x"}),
    ]
    response = ChatResponse(
        AiMessage(parts, Origin("openai", "openai", "gpt")),
        TokenUsage(10, 5, None, 4),
        FinishReason.TOOL_CALLS,
        (),
        {"id": "chatcmpl-1", "model": "gpt", "raw_finish_reason": "tool_calls", "created": 5},
    )

    written = WIRE.encode_response(response)

    call_id = written.value["content"][2]["id"]
    assert written.value == {
        "id": "chatcmpl-1",
        "type": "message",
        "role": "assistant",
        "model": "gpt",
        "content": [
            {"type": "thinking", "thinking": "R", "signature": ""},
            {"type": "text", "text": "T"},
            {"type": "tool_use", "id": call_id, "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "c2", "name": "g", "input": {"INVALID_JSON": "[1]"}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5},
    }
    assert call_id != "functions.f:0"
    assert [notice.kind for notice in written.notices] == ["approximated", "dropped", "dropped"]


def test_a_typed_answer_format_is_read() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "q"}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }

    assert WIRE.decode_request(body).value.parameters.response_format == ResponseFormat("json_schema", schema)


def test_thinking_without_a_seal_is_bound_to_no_wire() -> None:
    unsealed = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "R", "signature": ""}, {"type": "text", "text": "a"}],
    }
    sealed = {"role": "assistant", "content": [{"type": "thinking", "thinking": "R", "signature": "c2ln"}]}
    plain = {"role": "assistant", "content": "a"}

    read = WIRE.decode_messages([unsealed, sealed, plain]).value

    assert [message.origin for message in read] == [None, Origin("anthropic"), Origin("anthropic")]  # type: ignore[union-attr]
    assert WIRE.encode_messages(read[:1]).value == [unsealed]


def test_what_only_another_wire_knows_is_told() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    history: list[Any] = [
        UserMessage("q"),
        AiMessage(ToolCall("t1", "f")),
        ToolResultMessage("t1", "f", error=ToolError("timeout", "too late", True)),
    ]
    parameters = ChatRequestParameters(
        model="m",
        extras={"openai": {"logit_bias": {}, "user": "u", "stream": True}},
        response_format=ResponseFormat("json_schema", schema, "form"),
    )

    written = WIRE.encode_request(ChatRequest(history, parameters))

    assert [(notice.kind, notice.subject) for notice in written.notices] == [
        ("dropped", "extras"),
        ("information", "messages[2]"),
        ("information", "response_format"),
    ]
    assert "logit_bias, user" in written.notices[0].message


def test_what_cannot_be_read_into_a_value_is_kept_whole_or_told() -> None:
    odd_tool = {"name": "f", "input_schema": {"type": "array"}}
    odd_image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}}
    body = {
        "model": "m",
        "max_tokens": 1,
        "tools": [odd_tool],
        "tool_choice": {"type": "sometimes"},
        "messages": [
            {"role": "user", "content": ["q", odd_image, {"type": "image", "source": "x"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}], "trace": 1},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": None}], "trace": 2},
            {"role": "user", "content": ""},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "r", "trace": 3},
        ],
    }

    written, notices = there_and_back(body)

    assert written["tools"] == [odd_tool]
    assert written["messages"][0]["content"][1:] == [odd_image, {"type": "image", "source": "x"}]
    assert [message.get("trace") for message in written["messages"]] == [None, 1, None, None, 3]
    assert written["messages"][2]["content"] == [{"type": "tool_result", "tool_use_id": "t", "content": ""}]
    assert [(notice.kind, notice.subject) for notice in notices] == [
        ("dropped", "messages[2]"),
        ("repaired", "messages[3]"),
        ("dropped", "tool_choice"),
    ]


def test_documents_of_an_assistant_go_to_versions_that_take_them(check_request: Callable[..., None]) -> None:
    parts: list[Any] = [TextContent("Here."), DocumentContent(data=b"%PDF-1.7")]
    history: list[Any] = [UserMessage("q"), AiMessage(parts), UserMessage("r")]
    request = ChatRequest(history, ChatRequestParameters(model="m"))

    old = AnthropicCodec(version="2023-06-01").encode(request, stream=False)
    new = AnthropicCodec().encode(request, stream=False)

    assert json.loads(old.http.body)["messages"][1]["content"][1]["type"] == "document"
    assert json.loads(new.http.body)["messages"][1]["content"] == "Here."
    assert [notice.kind for notice in new.notices] == ["dropped"]
    check_request(json.loads(new.http.body))
