"""Requests of Chat Completions: what is written, and what is told about it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from polywire.contents import (
    AudioContent,
    CacheMark,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.errors import BadRequest, SettingsError, UnsupportedByModel
from polywire.messages import (
    AiMessage,
    CustomMessage,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat, ToolChoice
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest, OpaqueTool, ToolSpecification
from polywire_openai import COMPATIBLE, OPENAI_PROFILES, OpenAIChatCodec

PNG = b"\x89PNG\r\n\x1a\n"
PNG_URL = "data:image/png;base64,iVBORw0KGgo="
EMPTY_SCHEMA = {"type": "object", "properties": {}}
DEEPSEEK_LIKE = {
    "reasoning_field": "reasoning_content",
    "reasoning_echo": "tool_calls",
    "reasoning_echo_empty": True,
    "empty_content_with_reasoning": True,
}


def tool(name: str = "f", **more: Any) -> ToolSpecification:
    return ToolSpecification(name, **more)


def turn(*parts: Any) -> list[Any]:
    """A user's question, the model's message, and a result for each call in it."""
    message = AiMessage(parts)
    results = [ToolResultMessage(call.id, call.name, "r") for call in message.tool_calls]
    return [UserMessage("q"), message, *results]


# --- roles and contents ---


def test_one_text_is_a_string_and_several_are_a_list(encode: Any) -> None:
    sent = encode([SystemMessage("s"), UserMessage("a"), AiMessage("b"), UserMessage(["c", "d"], "bob")])

    assert sent.messages == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}], "name": "bob"},
    ]
    assert sent.notices == ()


def test_several_texts_are_joined_where_lists_are_not_taken(encode: Any) -> None:
    sent = encode(
        [SystemMessage(["s", "t"]), UserMessage(["a", "b"]), AiMessage(["c", "d"])],
        profile={"quirks": {"text_arrays": False}},
    )

    assert [message["content"] for message in sent.messages] == ["s\n\nt", "a\n\nb", "cd"]


def test_an_empty_text_among_others_is_left_out(encode: Any) -> None:
    sent = encode([UserMessage(["", ImageContent(data=PNG)]), AiMessage([TextContent(""), TextContent("x")])])

    assert sent.messages[0]["content"] == [{"type": "image_url", "image_url": {"url": PNG_URL}}]
    assert sent.messages[1]["content"] == "x"


@pytest.mark.parametrize(
    ("model", "profile", "role"),
    [
        ("gpt-4.1", None, "system"),
        ("o3", None, "developer"),
        ("gpt-5-mini", None, "developer"),
        ("gpt-5.6-terra", None, "developer"),
        ("gpt-5-chat-latest", None, "system"),
        ("gpt-5", {}, "system"),
        ("deepseek-chat", {}, "system"),
        ("m", {"system_role": "developer"}, "developer"),
        ("m", {"system_role": "user"}, "user"),
    ],
)
def test_the_role_of_instructions_is_the_profiles(model: str, profile: Any, role: str, encode: Any) -> None:
    developer = SystemMessage("Be brief.", extras={"openai": {"role": "developer"}})
    for message in (SystemMessage("Be brief."), developer):
        assert encode([message, UserMessage("q")], model=model, profile=profile).messages[0]["role"] == role


def test_instructions_within_the_conversation_stay_unless_the_endpoint_wants_them_first(encode: Any) -> None:
    history = [SystemMessage("S1"), UserMessage("u"), AiMessage("a"), SystemMessage("S2"), UserMessage("v")]
    kept = encode(history)
    moved = encode(history, profile={"system_in_place": False})

    assert [message["role"] for message in kept.messages] == ["system", "user", "assistant", "system", "user"]
    assert moved.messages[0] == {"role": "system", "content": "S1\n\nS2"}
    assert [message["role"] for message in moved.messages] == ["system", "user", "assistant", "user"]
    assert moved.told("approximated", "messages")


def test_neighbours_of_one_role_are_merged_where_roles_must_alternate(encode: Any) -> None:
    sent = encode(
        [SystemMessage("s"), UserMessage("a"), UserMessage(["b", ImageContent(data=PNG)]), AiMessage("c"), AiMessage("d"), UserMessage("e")],
        profile={"alternating_roles": True},
    )  # fmt: skip

    assert [message["role"] for message in sent.messages] == ["system", "user", "assistant", "user"]
    assert [part.get("text") for part in sent.messages[1]["content"]] == ["a", "b", None]
    assert sent.messages[2]["content"] == "c\n\nd"


def test_pictures_sound_and_files(encode: Any) -> None:
    sent = encode(
        UserMessage(
            [
                "look",
                ImageContent(url="https://example.com/a.png", detail="low"),
                ImageContent(url="data:image/jpg;base64,/9j/4AAQ"),
                AudioContent(data=b"RIFF\0\0\0\0WAVE"),
                AudioContent(data=b"ID3\x03"),
                DocumentContent(data=b"%PDF-1", name="a.pdf"),
                DocumentContent(file_id="file-1"),
            ]
        )
    )

    assert sent.messages[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4AAQ"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "SUQzAw==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0x"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]


@pytest.mark.parametrize(
    "content",
    [
        ImageContent(data=b"<svg>", media_type="image/svg+xml"),
        ImageContent(file_id="file-1"),
        AudioContent(url="https://example.com/a.wav"),
        AudioContent(data=b"fLaC"),
        DocumentContent(url="https://example.com/a.pdf"),
        VideoContent(data=b"\0\0\0\0ftyp"),
    ],
)
def test_media_that_the_service_does_not_take_are_refused_with_their_place(content: Any, encode: Any) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[1\]\.contents\[1\]"):
        encode([SystemMessage("s"), UserMessage(["look", content])])


def test_a_document_of_plain_text_is_written_as_text(encode: Any) -> None:
    sent = encode(UserMessage([DocumentContent(data=b"hello", media_type="text/plain", name="a.txt"), "?"]))

    assert sent.messages[0]["content"][0] == {"type": "text", "text": "a.txt:\nhello"}
    assert sent.told("approximated", "messages[0].contents[0]")


def test_a_lone_surrogate_is_replaced_and_pairs_are_not(encode: Any) -> None:
    sent = encode([UserMessage("a\ud83d b"), AiMessage("\U0001f600"), UserMessage(["\ud83d", "x"])])

    assert sent.messages[0]["content"] == "a\ufffd b"
    assert sent.messages[1]["content"] == "\U0001f600"
    assert sent.messages[2]["content"][0]["text"] == "\ufffd"


def test_a_message_of_another_providers_own_is_refused(encode: Any) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[1\]"):
        encode([UserMessage("q"), CustomMessage({"shape": "odd"})])


# --- the model's messages ---


def test_a_message_of_calls_alone_has_null_content(encode: Any) -> None:
    sent = encode(turn(ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "g")))

    assert sent.messages[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
            {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ],
    }
    assert sent.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": "r"}


@pytest.mark.parametrize("parts", [[], [TextContent("")]])
def test_a_message_that_says_nothing_is_an_empty_string_and_never_null(parts: Any, encode: Any) -> None:
    sent = encode([UserMessage("q"), AiMessage(parts), UserMessage("r")])

    assert sent.messages[1] == {"role": "assistant", "content": ""}


def test_text_after_a_call_is_written_before_it_and_that_is_told(encode: Any) -> None:
    sent = encode(turn(TextContent("a"), ToolCall("c1", "f"), TextContent("b")))

    assert sent.messages[1]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert sent.told("approximated", "messages[1].parts[2]")


@pytest.mark.parametrize("raw", ['{"city": "Par', "[1,2]", '"abc"', "42", "true", "{]", "\x01"])
def test_arguments_that_are_no_object_are_wrapped_in_one(raw: str, encode: Any) -> None:
    sent = encode(turn(ToolCall("c1", "f", raw)))
    [call] = sent.messages[1]["tool_calls"]

    assert json.loads(call["function"]["arguments"]) == {"INVALID_JSON": raw}


@pytest.mark.parametrize("arguments", ["", "null", None, {}, "{}"])
def test_no_arguments_are_an_empty_object(arguments: Any, encode: Any) -> None:
    [call] = encode(turn(ToolCall("c1", "f", arguments))).messages[1]["tool_calls"]

    assert call["function"]["arguments"] == "{}"


def test_raw_arguments_go_back_as_they_came(encode: Any) -> None:
    raw = '{ "a":1,\n"b" : "ü\\u00fc" }'
    [call] = encode(turn(ToolCall("c1", "f", raw))).messages[1]["tool_calls"]

    assert call["function"]["arguments"] == raw


def test_a_refusal_goes_back_as_one(encode: Any) -> None:
    refused = TextContent("I can't", extras={"openai": {"refusal": True}})
    history = [UserMessage("q"), AiMessage(refused), UserMessage("why?")]
    own = encode(history)
    other = encode(history, profile={})

    assert own.messages[1] == {"role": "assistant", "content": None, "refusal": "I can't"}
    assert other.messages[1] == {"role": "assistant", "content": "I can't"}


def test_generated_sound_goes_back_by_its_id(encode: Any) -> None:
    sound = AudioContent(data=b"\0\1", media_type="audio/wav", extras={"openai": {"id": "audio_1"}})
    sent = encode([UserMessage("q"), AiMessage(sound), UserMessage("r"), AiMessage(["x", ImageContent(data=PNG)])])

    assert sent.messages[1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    assert sent.messages[3]["content"] == "x"
    assert sent.told("dropped", "messages[3].parts[1]")


def test_fields_of_calls_go_back_to_compatible_endpoints_and_not_to_the_service(encode: Any) -> None:
    signature = {"google": {"thought_signature": "U0lH"}}
    history = turn(ToolCall("c1", "f", "{}", extras={"openai": {"extra_content": signature}}))
    [own] = encode(history).messages[1]["tool_calls"]
    codec = OpenAIChatCodec(ProfileTable(COMPATIBLE))
    body = codec.encode(ChatRequest(history, ChatRequestParameters(model="m")), stream=False).http.body
    [other] = json.loads(body)["messages"][1]["tool_calls"]

    assert "extra_content" not in own
    assert other["extra_content"] == signature


def test_custom_calls_are_written_as_such(encode: Any) -> None:
    call = ToolCall("c1", "run_sql", {"input": "SELECT 1"}, extras={"openai": {"type": "custom"}})
    custom = {"type": "custom", "custom": {"name": "run_sql"}}
    sent = encode(turn(call), tools=[OpaqueTool("openai", custom)])

    assert sent.messages[1]["tool_calls"] == [
        {"id": "c1", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
    ]
    assert sent.body["tools"] == [custom]


def test_annotations_are_no_part_of_a_request(encode: Any) -> None:
    cited = TextContent("x", extras={"openai": {"annotations": [{"type": "url_citation"}]}})

    assert encode([UserMessage("q"), AiMessage(cited), UserMessage("r")]).messages[1] == {
        "role": "assistant",
        "content": "x",
    }


# --- thinking ---


def thought(text: str = "R", **own: Any) -> ThinkingContent:
    return ThinkingContent(text, extras={"openai": own} if own else {})


def test_the_service_itself_never_gets_thinking_back(encode: Any) -> None:
    details = [{"type": "reasoning.text", "text": "R", "index": 0}]
    sent = encode(turn(thought(field="reasoning", reasoning_details=details), ToolCall("c1", "f")))

    assert set(sent.messages[1]) == {"role", "content", "tool_calls"}
    assert sent.told("information", "messages")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_goes_back_under_the_name_under_which_it_came(field: str, encode: Any) -> None:
    sent = encode(turn(thought(field=field), ToolCall("c1", "f")), profile={}, other_fields=[field])

    assert sent.messages[1][field] == "R"
    assert sent.messages[1]["content"] is None
    assert not {"reasoning_content", "reasoning"} - {field} & set(sent.messages[1])


def test_reasoning_details_go_back_unmodified(encode: Any) -> None:
    details = [
        {"type": "reasoning.text", "text": "R", "signature": "Er0B", "format": "x", "index": 0, "id": None},
        {"type": "reasoning.encrypted", "data": "QUJD", "index": 1},
    ]
    part = thought(field="reasoning", reasoning_details=details)
    sent = encode(turn(part, ToolCall("c1", "f")), profile={}, other_fields=["reasoning", "reasoning_details"])

    assert sent.messages[1]["reasoning_details"] == details
    assert sent.messages[1]["reasoning"] == "R"


def test_thinking_beside_a_call_with_the_profile_of_a_thinking_endpoint(encode: Any) -> None:
    sent = encode(turn(thought(), ToolCall("c1", "f")), profile=DEEPSEEK_LIKE, other_fields=["reasoning_content"])

    assert sent.messages[1]["content"] == ""
    assert sent.messages[1]["reasoning_content"] == "R"


def test_the_field_is_there_even_without_thinking_where_the_profile_demands_it(encode: Any) -> None:
    history = [*turn(ToolCall("c1", "f")), AiMessage("done"), UserMessage("next")]
    sent = encode(history, profile=DEEPSEEK_LIKE, other_fields=["reasoning_content"])

    assert sent.messages[1]["reasoning_content"] == ""
    assert "reasoning_content" not in sent.messages[3]


def test_turns_without_calls_go_without_thinking_unless_it_is_always_wanted(encode: Any) -> None:
    history = [UserMessage("q"), AiMessage([thought(), TextContent("a")]), UserMessage("r")]
    without = encode(history, profile=DEEPSEEK_LIKE)
    always = encode(history, profile={"reasoning_echo": "always"}, other_fields=["reasoning_content"])

    assert without.messages[1] == {"role": "assistant", "content": "a"}
    assert without.told("information", "messages")
    assert always.messages[1]["reasoning_content"] == "R"


def test_thinking_that_came_as_a_chunk_of_the_content_goes_back_so() -> None:
    codec = OpenAIChatCodec(ProfileTable(COMPATIBLE))
    part = ThinkingContent("R", "c2ln", extras={"openai": {"field": "content"}})
    history = turn(part, TextContent("a"), ToolCall("c1", "f"))
    body = json.loads(codec.encode(ChatRequest(history, ChatRequestParameters(model="m")), stream=False).http.body)

    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "R"}], "signature": "c2ln"},
        {"type": "text", "text": "a"},
    ]


def test_thinking_and_blocks_of_other_wires_are_left_out_with_a_notice(encode: Any) -> None:
    message = AiMessage(
        [ThinkingContent("R", "sig"), OpaqueContent("anthropic", {"type": "x"}), TextContent("a")], Origin("anthropic")
    )
    sent = encode([UserMessage("q"), message, UserMessage("r")], profile={"reasoning_echo": "always"})

    assert sent.messages[1] == {"role": "assistant", "content": "a"}
    assert [notice.subject for notice in sent.notices if notice.kind == "dropped"] == ["messages[1]", "messages[1]"]


# --- results ---


def test_a_failed_result_is_an_error_envelope(encode: Any) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ToolCall("t1", "f"), ToolCall("t2", "f"), ToolCall("t3", "f")]),
        ToolResultMessage("t1", "f", "timeout", is_error=True),
        ToolResultMessage("t2", "f", error=ToolError("timeout", "too late", True, {"after": 3})),
        ToolResultMessage("t3", "f", is_error=True),
    ]
    contents = [json.loads(message["content"]) for message in encode(history).messages[2:]]

    assert contents[0] == {
        "ok": False,
        "error": {"type": "tool_error", "message": "timeout", "retryable": None, "metadata": {}},
    }
    assert contents[1]["error"] == {
        "type": "timeout", "message": "too late", "retryable": True, "metadata": {"after": 3},
    }  # fmt: skip
    assert contents[2]["error"]["message"]


@pytest.mark.parametrize("contents", [None, "", []])
def test_a_result_without_content_is_an_empty_string(contents: Any, encode: Any) -> None:
    history = [UserMessage("q"), AiMessage(ToolCall("t1", "f")), ToolResultMessage("t1", "f", contents)]

    assert encode(history).messages[2] == {"role": "tool", "tool_call_id": "t1", "content": ""}


def test_a_picture_in_a_result_follows_the_results_in_a_users_message(encode: Any) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ToolCall("t1", "shot"), ToolCall("t2", "f")]),
        ToolResultMessage("t1", "shot", ["shot", ImageContent(data=PNG)]),
        ToolResultMessage("t2", "f", "ok"),
    ]
    sent = encode(history)

    assert [message["role"] for message in sent.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert sent.messages[2]["content"].startswith("shot\n[image 1")
    assert sent.messages[3]["content"] == "ok"
    assert sent.messages[4]["content"][-1] == {"type": "image_url", "image_url": {"url": PNG_URL}}
    assert "iVBOR" not in json.dumps(sent.messages[:4])
    assert sent.told("approximated", "messages[2]")


def test_a_result_may_name_its_tool_and_be_wrapped(encode: Any) -> None:
    sent = encode(
        turn(ToolCall("c1", "f")),
        profile={"quirks": {"tool_message_name": True, "success_envelope": True}},
        other_fields=["name"],
    )

    assert sent.messages[2] == {"role": "tool", "tool_call_id": "c1", "content": '{"ok":true,"data":"r"}', "name": "f"}


# --- tools ---


@pytest.mark.parametrize("parameters", [None, {}, EMPTY_SCHEMA])
def test_a_tool_without_parameters_has_an_empty_object(parameters: Any, encode: Any) -> None:
    made = tool() if parameters is None else tool(parameters=parameters)
    sent = encode("q", tools=[made])

    assert sent.body["tools"] == [{"type": "function", "function": {"name": "f", "parameters": EMPTY_SCHEMA}}]


def test_a_tools_fields(encode: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    sent = encode("q", tools=[tool(description="d", parameters=schema, strict=False)], parallel_tool_calls=False)

    assert sent.body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema, "strict": False}}
    ]
    assert sent.body["parallel_tool_calls"] is False


def test_a_strict_tool_is_lowered_and_its_arguments_are_read_back(encode: Any, read_stream: Any, chunks: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
    sent = encode("q", tools=[tool(parameters=schema, strict=True)])
    [written] = sent.body["tools"]

    assert written["function"]["parameters"]["required"] == ["a", "b"]
    assert written["function"]["parameters"]["additionalProperties"] is False

    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a":"x","b":null}'}}
    response = read_stream(chunks({"tool_calls": [call]}), encoded=sent.encoded, codec=OpenAIChatCodec()).response

    assert response.tool_calls[0].input == {"a": "x"}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ("none", "none"),
        (ToolChoice.tool("f"), {"type": "function", "function": {"name": "f"}}),
        (
            ToolChoice("auto", ("f", "g")),
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [
                {"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]}},
        ),
        (
            ToolChoice("required", ("f", "g")),
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
                {"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]}},
        ),
    ],
)  # fmt: skip
def test_tool_choices(choice: Any, written: Any, encode: Any) -> None:
    assert encode("q", tools=[tool(), tool("g")], tool_choice=choice).body["tool_choice"] == written


def test_a_forced_tool_is_the_only_one_offered_where_none_can_be_named(encode: Any) -> None:
    sent = encode(
        "q",
        tools=[tool(), tool("g")],
        tool_choice=ToolChoice.tool("g"),
        profile={"quirks": {"named_tool_choice": "narrow"}},
    )

    assert sent.body["tool_choice"] == "required"
    assert [each["function"]["name"] for each in sent.body["tools"]] == ["g"]


@pytest.mark.parametrize("tools", [None, []])
def test_nothing_about_tools_is_sent_where_there_are_none(tools: Any, encode: Any) -> None:
    sent = encode(turn(ToolCall("c1", "f")), tools=tools, tool_choice="auto", parallel_tool_calls=True)

    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(sent.body)
    assert sent.messages[1]["tool_calls"]


LONG = "mcp__warehouse_inventory_service__warehouse_inventory_list_open_orders"


def test_tool_names_that_the_wire_does_not_take(encode: Any, read_stream: Any, chunks: Any) -> None:
    names = ["files.read", "files/read", "wetter für", LONG, "fine_name-1"]
    history = turn(ToolCall("c1", "files.read"))
    sent = encode(history, tools=[tool(name) for name in names], tool_choice=ToolChoice.tool("files.read"))
    written = [each["function"]["name"] for each in sent.body["tools"]]

    assert len(set(written)) == len(names)
    assert written[-1] == "fine_name-1"
    assert sent.messages[1]["tool_calls"][0]["function"]["name"] == written[0]
    assert sent.body["tool_choice"]["function"]["name"] == written[0]

    deltas = [
        {"tool_calls": [{"index": n, "id": f"c{n}", "function": {"name": name, "arguments": "{}"}}]}
        for n, name in enumerate(written)
    ]
    response = read_stream(chunks(*deltas), encoded=sent.encoded, codec=OpenAIChatCodec()).response

    assert [call.name for call in response.tool_calls] == names


def test_ids_longer_than_the_service_takes_are_mapped_and_others_are_not(encode: Any) -> None:
    sent = encode(turn(ToolCall("c" * 41, "f"), ToolCall("functions.f:0", "f")))
    first, second = sent.messages[1]["tool_calls"]

    assert len(first["id"]) <= 40
    assert sent.messages[2]["tool_call_id"] == first["id"]
    assert second["id"] == "functions.f:0"


def test_ids_of_a_strict_endpoint(encode: Any) -> None:
    sent = encode(
        turn(ToolCall("call_abc", "f"), ToolCall("D681PevKs", "f")), profile={"tool_id_pattern": "[a-zA-Z0-9]{9}"}
    )
    first, second = sent.messages[1]["tool_calls"]

    assert len(first["id"]) == 9
    assert first["id"].isalnum()
    assert second["id"] == "D681PevKs"
    assert [message["tool_call_id"] for message in sent.messages[2:]] == [first["id"], second["id"]]


# --- parameters ---


def test_sampling_and_the_rest(encode: Any) -> None:
    sent = encode(
        "q", temperature=0.5, top_p=0.9, seed=7, presence_penalty=0.1, frequency_penalty=-0.2, max_tokens=50,
        stop_sequences="END",
    )  # fmt: skip

    assert {key: value for key, value in sent.body.items() if key not in {"model", "messages"}} == {
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "presence_penalty": 0.1, "frequency_penalty": -0.2,
        "max_completion_tokens": 50, "stop": ["END"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "profile", "field"),
    [
        ("gpt-5", None, "max_completion_tokens"),
        ("o3-mini", None, "max_completion_tokens"),
        ("gpt-4o", None, "max_completion_tokens"),
        ("m", {}, "max_tokens"),
    ],
)
def test_the_name_of_the_token_limit(model: str, profile: Any, field: str, encode: Any) -> None:
    body = encode("q", model=model, profile=profile, max_tokens=50).body

    assert body[field] == 50
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


def test_reasoning_models_get_no_sampling_and_that_is_told(encode: Any) -> None:
    sent = encode("q", model="gpt-5-mini", temperature=0.5, top_p=0.5, presence_penalty=1.0, frequency_penalty=1.0)

    assert set(sent.body) == {"model", "messages"}
    assert [notice.subject for notice in sent.notices] == [
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
    ]
    assert encode("q", model="o3", stop_sequences=["END"]).told("dropped", "stop_sequences")
    assert encode("q", model="o3", tools=[tool()], parallel_tool_calls=True).told("dropped", "parallel_tool_calls")


def test_more_stop_sequences_than_the_service_takes_are_refused(encode: Any) -> None:
    assert encode("q", stop_sequences=list("abcd")).body["stop"] == list("abcd")
    with pytest.raises(UnsupportedByModel, match="4"):
        encode("q", stop_sequences=list("abcde"))
    assert encode("q", stop_sequences=list("abcde"), profile={}).body["stop"] == list("abcde")


def test_stream_options(encode: Any) -> None:
    assert encode("q", stream=True).body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in encode("q", stream=False).body
    without = encode("q", stream=True, profile={"stream_usage": False}).body
    assert without["stream"] is True
    assert "stream_options" not in without
    own = encode("q", stream=True, custom_parameters={"stream_options": {"include_obfuscation": False}}).body
    assert own["stream_options"] == {"include_obfuscation": False}


def test_forms_of_answers(encode: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    plain = encode("q", response_format=schema).body["response_format"]
    strict = encode("q", response_format=ResponseFormat("json_schema", schema, "my answer", "d", True)).body
    old = encode("q", model="gpt-4-turbo", response_format=schema)

    assert encode("q", response_format="json").body["response_format"] == {"type": "json_object"}
    assert "response_format" not in encode("q", response_format="text").body
    assert plain == {"type": "json_schema", "json_schema": {"name": "response", "schema": schema}}
    assert strict["response_format"]["json_schema"] == {
        "name": "my_answer", "description": "d", "schema": {**schema, "additionalProperties": False}, "strict": True,
    }  # fmt: skip
    assert old.body["response_format"] == {"type": "json_object"}
    assert old.told("approximated", "response_format")
    assert encode("q", response_format="json", profile={"response_formats": []}).told("dropped", "response_format")


def test_a_typed_answer_is_mapped_back(encode: Any, read_stream: Any, chunks: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]}
    sent = encode("q", response_format=ResponseFormat("json_schema", schema, strict=True))
    body = chunks({"content": '{"a":1,'}, {"content": '"b":null}'})
    response = read_stream(body, encoded=sent.encoded, codec=OpenAIChatCodec(), cut=False).response

    assert json.loads(response.text) == {"a": 1}


# --- thinking, asked for ---


@pytest.mark.parametrize(
    ("form", "asked", "written"),
    [
        ("reasoning_effort", "high", {"reasoning_effort": "high"}),
        ("reasoning_effort", "none", {"reasoning_effort": "none"}),
        ("thinking", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("thinking", "none", {"thinking": {"type": "disabled"}}),
        ("thinking_type", "high", {"thinking": {"type": "enabled"}}),
        ("thinking_budget", 2048, {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("thinking_budget", "low", {"reasoning_effort": "low"}),
        ("enable_thinking", 2048, {"enable_thinking": True, "thinking_budget": 2048}),
        ("enable_thinking", "none", {"enable_thinking": False}),
        ("reasoning", "xhigh", {"reasoning": {"effort": "xhigh"}}),
        ("reasoning", 2048, {"reasoning": {"max_tokens": 2048}}),
        ("reasoning", Reasoning("low", visible=False), {"reasoning": {"effort": "low", "exclude": True}}),
        ("chat_template_kwargs", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        (
            "chat_template_kwargs",
            "high",
            {"chat_template_kwargs": {"enable_thinking": True}, "reasoning_effort": "high"},
        ),
    ],
)
def test_forms_in_which_thinking_is_asked_for(form: str, asked: Any, written: Any, encode: Any) -> None:
    sent = encode(
        "q",
        profile={"reasoning_parameter": form},
        reasoning=asked,
        other_fields=["thinking", "enable_thinking", "thinking_budget", "reasoning", "chat_template_kwargs"],
    )

    assert {key: value for key, value in sent.body.items() if key not in {"model", "messages"}} == written
    assert sent.notices == ()


@pytest.mark.parametrize(
    ("model", "asked", "sent"),
    [
        ("gpt-5", "none", "minimal"),
        ("gpt-5-pro", "low", "high"),
        ("gpt-5.1", "minimal", "low"),
        ("gpt-5.1-codex-max", "max", "xhigh"),
        ("gpt-5.4-mini", "max", "xhigh"),
        ("gpt-5.6-sol", "minimal", "low"),
        ("gpt-5.6-sol", "max", "max"),
        ("gpt-6-luna", "none", "none"),
        ("gpt-6-astra", "none", "low"),
        ("gpt-6.1-sol", "none", "low"),
    ],
)
def test_each_family_gets_the_efforts_that_it_knows(model: str, asked: str, sent: str, encode: Any) -> None:
    written = encode("q", model=model, reasoning=asked)

    assert written.body["reasoning_effort"] == sent
    assert written.told("approximated", "reasoning") is (asked != sent)


def test_efforts_go_to_the_nearest_word_and_budgets_without_a_place_are_told(encode: Any) -> None:
    nearest = encode("q", model="o3", reasoning="max")
    renamed = encode("q", profile={"efforts": ["low", "max"], "effort_names": {"max": "ultra"}}, reasoning="xhigh", other_fields=["reasoning_effort"])  # fmt: skip

    assert nearest.body["reasoning_effort"] == "high"
    assert nearest.told("approximated", "reasoning")
    assert renamed.body["reasoning_effort"] == "ultra"
    assert encode("q", model="gpt-5", reasoning=2000).told("dropped", "reasoning")
    assert encode("q", model="gpt-5", reasoning=Reasoning("low", visible=True)).told("dropped", "reasoning")
    assert encode("q", model="gpt-4.1", reasoning="high").told("dropped", "reasoning")
    assert "reasoning_effort" not in encode("q", model="gpt-4.1", reasoning="high").body
    with pytest.raises(SettingsError, match="did you mean 'reasoning_effort'"):
        encode("q", profile={"reasoning_parameter": "reasoning_efort"}, reasoning="high")


# --- cache marks ---


def test_cache_marks_go_to_models_that_take_them_the_last_four(encode: Any) -> None:
    marked = [UserMessage(TextContent(str(n), CacheMark("30m" if n % 2 else None))) for n in range(6)]
    sent = encode(marked, model="gpt-5.6-terra")
    points = [part[0].get("prompt_cache_breakpoint") if isinstance(part := message["content"], list) else None for message in sent.messages]  # fmt: skip

    plain, timed = {"mode": "explicit"}, {"mode": "explicit", "ttl": "30m"}
    assert points == [None, None, plain, timed, plain, timed]
    assert sent.told("dropped", "cache")


def test_cache_marks_are_left_out_elsewhere_and_that_is_told_every_time(encode: Any) -> None:
    sent = encode([UserMessage(TextContent("a", CacheMark())), UserMessage("b")])

    assert sent.messages[0] == {"role": "user", "content": "a"}
    assert sent.told("dropped", "cache")
    assert encode("q", tools=[tool(cache=CacheMark())]).told("dropped", "tools.f")


# --- parameters of one's own, extras ---


def test_custom_parameters_are_copied_and_win(encode: Any) -> None:
    sent = encode("q", temperature=0.5, custom_parameters={"temperature": 0.7, "logit_bias": {"1": 5}, "user": "u"})

    assert sent.body["temperature"] == 0.7
    assert sent.body["logit_bias"] == {"1": 5}
    assert sent.told("information", "temperature")


def test_extras_of_this_wire_are_written_and_those_of_others_told(encode: Any) -> None:
    sent = encode(
        UserMessage(TextContent("x", extras={"anthropic": {"citations": [1]}}), extras={"gemini": {"a": 1}}),
        extras={"openai": {"user": "u", "as_read": {"stop": "END"}}, "anthropic": {"top_k": 5, "stream": True}},
    )

    assert sent.body["user"] == "u"
    assert "as_read" not in sent.body
    assert sent.told("dropped", "extras")
    assert sent.told("dropped", "messages[0]")


def test_a_request_without_a_model_is_refused() -> None:
    with pytest.raises(BadRequest, match="model"):
        OpenAIChatCodec().encode(ChatRequest("q"), stream=False)


def test_nothing_that_the_caller_gave_is_changed(encode: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    contents = [TextContent("a\ud83d"), ImageContent(data=PNG)]
    history = [*turn(thought(field="reasoning"), ToolCall("c" * 50, "files.read", "[1")), UserMessage(contents)]
    custom = {"logit_bias": {"1": 2}}
    before = copy.deepcopy((schema, history, custom))
    encode(
        history, tools=[ToolSpecification("files.read", parameters=schema, strict=True)], custom_parameters=custom,
        model="gpt-5",
    )  # fmt: skip

    assert (schema, history, custom) == before


def test_profiles_are_told_where_their_facts_come_from() -> None:
    for rule in OPENAI_PROFILES.rules:
        assert rule.source
        assert rule.date
        assert OPENAI_PROFILES.base.changed(rule.changes)
