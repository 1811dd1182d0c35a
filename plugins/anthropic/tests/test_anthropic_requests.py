"""What a request looks like on the wire."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
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
from polywire.errors import BadRequest, UnsupportedByModel
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
from polywire.requests import ChatRequest, OpaqueTool, ToolChoice, ToolSpecification
from polywire_anthropic import AnthropicCodec

Encode = Callable[..., Any]
PNG = b"\x89PNG\r\n\x1a\n"
MARK = CacheMark()
EPHEMERAL = {"type": "ephemeral"}


def turn(*calls: tuple[str, str]) -> list[Any]:
    """One assistant turn with calls of `f`, and their results in the opposite order."""
    made = AiMessage([ToolCall(call_id, "f") for call_id, _ in calls])
    return [made, *(ToolResultMessage(call_id, "f", text) for call_id, text in reversed(calls))]


# --- the least request, and the head ---


def test_a_plain_request(encode: Encode) -> None:
    sent = encode("Hi")

    assert sent.body == {
        "model": "claude-opus-5-5",
        "max_tokens": 16000,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    assert sent.notices == ()
    assert sent.encoded.http.path == "v1/messages"
    assert dict(sent.encoded.http.headers) == {"content-type": "application/json", "anthropic-version": "2026-10-21"}


def test_a_streamed_request_says_so(encode: Encode) -> None:
    assert encode("Hi", stream=True).body["stream"] is True


def test_version_and_betas_go_into_headers(encode: Encode) -> None:
    codec = AnthropicCodec(version="2023-06-01", betas=("a-1", "b-2"))

    headers = encode("Hi", codec=codec).encoded.http.headers

    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["anthropic-beta"] == "a-1,b-2"


def test_a_request_without_a_model_is_refused() -> None:
    with pytest.raises(BadRequest, match="model"):
        AnthropicCodec().encode(ChatRequest("Hi"), stream=False)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("claude-3-opus-20240229", 4096), ("claude-3-5-sonnet-latest", 8192), ("claude-opus-4-1", 16000), ("other", 8192)],
)
def test_max_tokens_is_never_missing(encode: Encode, model: str, expected: int) -> None:
    assert encode("Hi", model=model).body["max_tokens"] == expected
    assert encode("Hi", model=model, max_tokens=50).body["max_tokens"] == 50
    assert encode("Hi", model=model, max_tokens=0).body["max_tokens"] == 0


# --- instructions ---


def test_instructions_are_joined_by_a_blank_line(encode: Encode) -> None:
    sent = encode([SystemMessage("S1"), SystemMessage("S2"), UserMessage("u")])

    assert sent.body["system"] == "S1\n\nS2"
    assert sent.notices == ()


def test_instructions_are_blocks_where_one_is_cached(encode: Encode) -> None:
    sent = encode([SystemMessage("S1"), SystemMessage(TextContent("S2", CacheMark("1h"))), UserMessage("u")])

    assert sent.body["system"] == [
        {"type": "text", "text": "S1"},
        {"type": "text", "text": "S2", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]


def test_instructions_in_mid_conversation_go_to_the_top_with_a_notice(encode: Encode) -> None:
    history = [SystemMessage("S1"), UserMessage("u"), AiMessage("a"), SystemMessage("S2"), UserMessage("v")]

    sent = encode(history)

    assert sent.body["system"] == "S1\n\nS2"
    assert [message["role"] for message in sent.body["messages"]] == ["user", "assistant", "user"]
    assert sent.told("approximated", "messages[3]")


def test_a_profile_may_leave_instructions_in_place_where_the_wire_allows_it(encode: Encode) -> None:
    codec = AnthropicCodec()
    codec.profiles = codec.profiles.overridden({"system_in_place": True})
    s0, s1, s2, s3 = (SystemMessage(text) for text in ("S0", "S1", "S2", "S3"))
    history = [s0, UserMessage("u"), s1, AiMessage("a"), s2, UserMessage("v"), s3]

    sent = encode(history, codec=codec)

    assert sent.body["system"] == "S0\n\nS2"
    assert [message["content"] for message in sent.body["messages"]] == ["u", "S1", "a", "v", "S3"]
    assert [message["role"] for message in sent.body["messages"]] == ["user", "system", "assistant", "user", "system"]


def test_instructions_take_text_only(encode: Encode) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[0\]"):
        encode([SystemMessage(ImageContent(data=PNG)), UserMessage("u")])


def test_instructions_alone_are_no_conversation(encode: Encode) -> None:
    with pytest.raises(UnsupportedByModel, match="user"):
        encode([SystemMessage("S1")])


# --- turns ---


def test_results_of_a_turn_are_gathered_in_call_order_before_text(encode: Encode) -> None:
    history = [UserMessage("q"), *turn(("t1", "1"), ("t2", "2"), ("t3", "3")), UserMessage("and?")]

    last = encode(history).body["messages"][-1]

    assert last == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "1"},
            {"type": "tool_result", "tool_use_id": "t2", "content": "2"},
            {"type": "tool_result", "tool_use_id": "t3", "content": "3"},
            {"type": "text", "text": "and?"},
        ],
    }


def test_neighbours_of_one_role_are_merged_and_nothing_is_lost(encode: Encode) -> None:
    history = [UserMessage("a"), AiMessage("b"), AiMessage("c"), UserMessage("d"), UserMessage("e")]

    assert encode(history).body["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
        {"role": "user", "content": [{"type": "text", "text": "d"}, {"type": "text", "text": "e"}]},
    ]


def test_merged_turns_keep_signed_blocks_as_they_are(encode: Encode) -> None:
    home = Origin("anthropic")
    history = [
        UserMessage("q"),
        AiMessage([ThinkingContent("one", "czE="), TextContent("a")], home),
        AiMessage([ThinkingContent("two", "czI="), ToolCall("t1", "f")], home),
        ToolResultMessage("t1", "f", "r"),
    ]

    assert encode(history).body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "one", "signature": "czE="},
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": "two", "signature": "czI="},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]


def test_a_history_that_begins_with_the_assistant_gets_a_user_turn_and_a_notice(encode: Encode) -> None:
    sent = encode([AiMessage("Hello, I am here."), UserMessage("Hi")])

    assert [message["role"] for message in sent.body["messages"]] == ["user", "assistant", "user"]
    assert sent.told("repaired", "messages[0]")


def test_the_end_of_a_prefilled_answer_is_trimmed_and_nothing_else(encode: Encode) -> None:
    history = [UserMessage("Say hello"), AiMessage("x "), UserMessage("again "), AiMessage("Say: ")]
    before = copy.deepcopy(history)

    sent = encode(history, model="claude-3-5-sonnet-latest")

    assert [message["content"] for message in sent.body["messages"]] == ["Say hello", "x ", "again ", "Say:"]
    assert sent.told("repaired", "messages")
    assert history == before


def test_a_prefilled_answer_of_white_space_is_left_out(encode: Encode) -> None:
    assert encode([UserMessage("q"), AiMessage(" \n")]).body["messages"] == [{"role": "user", "content": "q"}]


def test_text_without_characters_is_never_sent_whatever_is_beside_it(encode: Encode) -> None:
    empty = TextContent("", CacheMark(), {"anthropic": {"citations": [{"type": "x"}]}})

    assert encode([UserMessage(["q", empty]), AiMessage(["a", empty]), UserMessage("r")]).body["messages"] == [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "r"},
    ]


def test_a_model_without_prefill_is_told_of_in_a_notice(encode: Encode) -> None:
    history = [UserMessage("q"), AiMessage("So")]

    assert encode(history, model="claude-opus-4-6").told("information", "messages")
    assert encode(history, model="claude-opus-4-5").notices == ()


def test_a_paused_turn_goes_back_as_it_is(encode: Encode) -> None:
    block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
    history = [UserMessage("q"), AiMessage([TextContent("Looking."), OpaqueContent("anthropic", block)])]

    sent = encode(history)

    assert sent.body["messages"][-1]["content"] == [{"type": "text", "text": "Looking."}, block]
    assert sent.notices == ()


def test_a_users_name_has_no_place(encode: Encode) -> None:
    sent = encode([UserMessage("q", name="ada")])

    assert sent.body["messages"] == [{"role": "user", "content": "q"}]
    assert sent.told("dropped", "messages[0]")


def test_a_custom_message_is_refused(encode: Encode) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[1\]"):
        encode([UserMessage("q"), CustomMessage({"kind": "canvas"})])


# --- text ---


def test_no_empty_text_block_beside_calls(encode: Encode) -> None:
    history = [UserMessage("q"), AiMessage([TextContent(""), ToolCall("t1", "f")]), ToolResultMessage("t1", "f", "r")]

    assert encode(history).body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    ]


def test_no_empty_text_block_beside_a_picture(encode: Encode) -> None:
    sent = encode([UserMessage([TextContent(""), ImageContent(data=PNG)])])

    assert [block["type"] for block in sent.body["messages"][0]["content"]] == ["image"]


def test_text_of_white_space_alone_is_left_out_with_a_notice(encode: Encode) -> None:
    sent = encode([UserMessage([TextContent(" \n"), TextContent("q")])])

    assert sent.body["messages"] == [{"role": "user", "content": "q"}]
    assert sent.told("dropped", "messages[0]")


def test_a_lone_surrogate_is_replaced_and_pairs_are_kept(encode: Encode) -> None:
    assert encode("a\ud83d b").body["messages"][0]["content"] == "a\ufffd b"
    assert encode("a\ud83d\ude00b\U0001f600").body["messages"][0]["content"] == "a\U0001f600b\U0001f600"


# --- calls and results ---


@pytest.mark.parametrize("raw", ['{"city": "Par', "[1,2]", '"abc"', "42", "true"])
def test_arguments_that_are_no_object_are_wrapped(encode: Encode, raw: str) -> None:
    history = [UserMessage("q"), AiMessage(ToolCall("t1", "f", raw)), ToolResultMessage("t1", "f", "bad", True)]

    assert encode(history).body["messages"][1]["content"][0]["input"] == {"INVALID_JSON": raw}


@pytest.mark.parametrize("raw", ["", "  ", "null", "{}"])
def test_no_arguments_are_an_empty_object(encode: Encode, raw: str) -> None:
    history = [UserMessage("q"), AiMessage(ToolCall("t1", "f", raw)), ToolResultMessage("t1", "f", "r")]

    assert encode(history).body["messages"][1]["content"][0]["input"] == {}


def test_a_failed_result_is_flagged(encode: Encode) -> None:
    history = [UserMessage("q"), AiMessage([ToolCall("t1", "f"), ToolCall("t2", "f")])]
    history += [ToolResultMessage("t1", "f", error=ToolError("timeout", "timeout")), ToolResultMessage("t2", "f", "ok")]

    assert encode(history).body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "timeout", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2", "content": "ok"},
    ]


@pytest.mark.parametrize(
    ("contents", "error", "tells"),
    [
        (None, ToolError("timeout", "too late", True), False),
        ("f: too late", ToolError("timeout", "too late", True), False),
        (None, ToolError("timeout", "too late", metadata={"after": 5}), True),
        ("try again", ToolError("timeout", "too late"), True),
        ((), ToolError("timeout", "too late"), True),
    ],
)
def test_what_goes_missing_of_a_tools_error_is_told_at_each_call(
    encode: Encode, contents: Any, error: ToolError, tells: bool
) -> None:
    result = ToolResultMessage("t1", "f", contents, error=error)
    history = [UserMessage("q"), AiMessage(ToolCall("t1", "f")), result]

    for longer in ([], [], [AiMessage("a"), UserMessage("and now?")]):
        sent = encode([*history, *longer])

        assert sent.told("information", "messages[2]") is tells
        assert sent.body["messages"][2]["content"][0]["is_error"] is True


@pytest.mark.parametrize("contents", [(), "", [TextContent("")]])
def test_an_empty_result_is_an_empty_string_and_an_empty_failure_speaks(encode: Encode, contents: Any) -> None:
    history = [UserMessage("q"), AiMessage([ToolCall("t1", "f"), ToolCall("t2", "f")])]
    history += [ToolResultMessage("t1", "f", contents), ToolResultMessage("t2", "f", contents, True)]

    sent = encode(history)

    first, second = sent.body["messages"][2]["content"]
    assert first["content"] == ""
    assert second["content"].strip()
    assert sent.told("repaired", "messages[3]")


def test_pictures_in_results_stay_there(encode: Encode) -> None:
    history = [UserMessage("q"), AiMessage(ToolCall("t1", "f"))]
    history.append(ToolResultMessage("t1", "f", ["shot", ImageContent(data=PNG)]))

    assert encode(history).body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [
                {"type": "text", "text": "shot"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                },
            ],
        }
    ]


@pytest.mark.parametrize("foreign", ["functions.search:0", "a b", "日本", "x" * 3 + "|y"])
def test_foreign_ids_fit_and_pair(encode: Encode, foreign: str) -> None:
    history = [UserMessage("q"), *turn((foreign, "1"), ("toolu_01-A", "2"))]

    first, second = encode(history), encode(history)

    calls = [block["id"] for block in first.body["messages"][1]["content"]]
    assert calls == [block["tool_use_id"] for block in first.body["messages"][2]["content"]]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", call_id) for call_id in calls)
    assert calls[1] == "toolu_01-A"
    assert first.body == second.body
    assert history[1].tool_calls[0].id == foreign


def test_ids_that_begin_again_become_unique(encode: Encode) -> None:
    history = [UserMessage("q"), *turn(("call_0", "A")), UserMessage("r"), *turn(("call_0", "B"))]

    messages = encode(history).body["messages"]

    (first,), (second,) = messages[1]["content"], messages[3]["content"]
    assert first["id"] != second["id"]
    assert messages[2]["content"][0]["tool_use_id"] == first["id"]
    assert messages[4]["content"][0]["tool_use_id"] == second["id"]


@pytest.mark.parametrize(
    "name", ["mcp__warehouse_inventory_service__warehouse_inventory_list_open_orders", "files.read", "wetter für", "日"]
)
def test_foreign_tool_names_fit_everywhere_and_map_back(encode: Encode, name: str) -> None:
    history = [UserMessage("q"), AiMessage(ToolCall("t1", name)), ToolResultMessage("t1", name, "r")]
    tools = [ToolSpecification(name), ToolSpecification("files_read")]

    sent = encode(history, tools=tools, tool_choice=ToolChoice.tool(name), model="claude-opus-5")

    sent_name = sent.body["tools"][0]["name"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", sent_name)
    assert sent.body["tools"][1]["name"] == "files_read" != sent_name
    assert sent.body["messages"][1]["content"][0]["name"] == sent_name
    assert sent.body["tool_choice"] == {"type": "tool", "name": sent_name}
    assert sent.encoded.context.reading.names.from_wire(sent_name) == name


# --- thinking and blocks of one wire ---


def test_thinking_goes_back_untouched_and_in_order(encode: Encode) -> None:
    parts: list[Any] = [
        ThinkingContent("plan", "c2lnMQ=="),
        ThinkingContent(redacted="eHl6"),
        TextContent("ok"),
        ToolCall("t1", "f"),
    ]
    history = [UserMessage("q"), AiMessage(parts, Origin("anthropic")), ToolResultMessage("t1", "f", "r")]

    assert encode(history).body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "plan", "signature": "c2lnMQ=="},
        {"type": "redacted_thinking", "data": "eHl6"},
        {"type": "text", "text": "ok"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]


def test_thinking_whose_text_the_vendor_keeps_goes_back_too(encode: Encode) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ThinkingContent("", "c2ln"), TextContent("a")], Origin("anthropic")),
        UserMessage("r"),
    ]

    assert encode(history).body["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "c2ln",
    }


@pytest.mark.parametrize("origin", [Origin("openai"), Origin("gemini", "google", "g")])
def test_thinking_of_other_wires_is_left_out_with_a_notice(encode: Encode, origin: Origin) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ThinkingContent("plan", "c2ln"), TextContent("a")], origin),
        UserMessage("r"),
    ]

    sent = encode(history)

    assert sent.body["messages"][1]["content"] == "a"
    assert sent.told("dropped", "messages[1]")


def test_thinking_without_a_seal_is_left_out_unless_the_profile_takes_it(encode: Encode) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ThinkingContent("plan"), TextContent("a")], Origin("anthropic")),
        UserMessage("r"),
    ]
    lenient = AnthropicCodec()
    lenient.profiles = lenient.profiles.overridden({"quirks": {"unsigned_thinking": True}})

    sent = encode(history)

    assert sent.body["messages"][1]["content"] == "a"
    assert sent.told("dropped", "messages[1]")
    assert encode(history, codec=lenient).body["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "plan",
        "signature": "",
    }


def test_blocks_of_other_wires_are_left_out_with_a_notice(encode: Encode) -> None:
    sent = encode([UserMessage([TextContent("q"), OpaqueContent("openai", {"type": "input_x"})])])

    assert sent.body["messages"] == [{"role": "user", "content": "q"}]
    assert sent.told("dropped", "messages[0]")


def test_generated_media_has_no_place_in_an_assistants_turn(encode: Encode) -> None:
    parts: list[Any] = [
        TextContent("Here."),
        ImageContent(data=PNG),
        AudioContent(data=b"ID3", media_type="audio/mpeg"),
    ]

    sent = encode([UserMessage("q"), AiMessage(parts, Origin("openai")), UserMessage("r")])

    assert sent.body["messages"][1]["content"] == "Here."
    assert [notice.kind for notice in sent.notices] == ["dropped", "dropped"]


# --- media ---


@pytest.mark.parametrize(
    ("content", "source"),
    [
        (ImageContent(url="data:image/jpg;base64,/9j/4AAQ"), {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQ"}),
        (ImageContent(url="https://example.com/a.png"), {"type": "url", "url": "https://example.com/a.png"}),
        (ImageContent(file_id="file_1"), {"type": "file", "file_id": "file_1"}),
    ],
)  # fmt: skip
def test_pictures(encode: Encode, content: ImageContent, source: dict[str, str]) -> None:
    sent = encode([UserMessage([content])])

    assert sent.body["messages"][0]["content"] == [{"type": "image", "source": source}]


def test_how_closely_to_look_has_no_place(encode: Encode) -> None:
    contents = [ImageContent(data=PNG, detail="low"), ImageContent(data=PNG, detail="auto"), ImageContent(data=PNG)]

    sent = encode([UserMessage(contents)])

    assert [(notice.kind, notice.subject) for notice in sent.notices] == [("dropped", "messages[0]")]


def test_documents(encode: Encode) -> None:
    contents = [
        DocumentContent(data=b"%PDF-1.7", name="Report"),
        DocumentContent(data="é".encode(), media_type="text/plain"),
        DocumentContent(data=b"# a", media_type="text/markdown"),
        DocumentContent(url="https://example.com/a.pdf"),
        DocumentContent(file_id="file_1"),
    ]

    sent = encode([UserMessage(contents)])

    assert sent.body["messages"][0]["content"] == [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="},
            "title": "Report",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "é"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# a"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
    ]
    assert [notice.kind for notice in sent.notices] == ["approximated"]


@pytest.mark.parametrize(
    "content",
    [
        ImageContent(data=b"<svg/>", media_type="image/svg+xml"),
        ImageContent(data=b"BM", media_type="image/bmp"),
        AudioContent(data=b"ID3", media_type="audio/mpeg"),
        AudioContent(url="https://example.com/a.mp3"),
        VideoContent(url="https://example.com/a.mp4"),
        DocumentContent(data=b"\xd0\xcf\x11\xe0\xa1", media_type="application/msword"),
    ],
)
def test_media_that_the_wire_does_not_carry_is_refused_with_its_place(encode: Encode, content: Any) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[1\]"):
        encode([UserMessage("q"), UserMessage([content])])


def test_citations_on_a_users_text_go_only_to_versions_that_take_them(encode: Encode) -> None:
    citation = {
        "type": "char_location", "cited_text": "x", "document_index": 0, "document_title": None,
        "start_char_index": 0, "end_char_index": 1,
    }  # fmt: skip
    text = TextContent("q", extras={"anthropic": {"citations": [citation]}})

    new, old = encode([UserMessage([text])]), encode([UserMessage([text])], version="2023-06-01")

    assert new.body["messages"][0]["content"] == "q"
    assert new.told("dropped", "messages[0]")
    assert old.body["messages"][0]["content"][0]["citations"] == [citation]


# --- tools ---


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object", "properties": {}}])
def test_tools_without_parameters(encode: Encode, parameters: Any) -> None:
    sent = encode("q", tools=[ToolSpecification("f", parameters=parameters)])

    assert sent.body["tools"] == [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]


def test_a_tool_in_full(encode: Encode) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    extras = {"anthropic": {"eager_input_streaming": True, "defer_loading": True, "input_examples": [{"a": "x"}]}}
    tool = ToolSpecification("f", "Does.", schema, strict=False, cache=CacheMark("5m"), extras=extras)

    assert encode("q", tools=[tool]).body["tools"] == [
        {
            "name": "f",
            "description": "Does.",
            "input_schema": schema,
            "strict": False,
            "cache_control": {"type": "ephemeral", "ttl": "5m"},
            "eager_input_streaming": True,
            "defer_loading": True,
            "input_examples": [{"a": "x"}],
        }
    ]


def test_the_root_of_a_schema_has_no_combinators_and_the_caller_keeps_them(encode: Encode) -> None:
    inner = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    schema = {
        "type": "object",
        "properties": {"a": inner, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    tool = ToolSpecification("f", parameters=schema)

    sent = encode("q", tools=[tool])

    written = sent.body["tools"][0]["input_schema"]
    assert not {"anyOf", "oneOf", "allOf"} & written.keys()
    assert written["properties"] == {"a": inner, "b": {"type": "string"}}
    assert sent.told("approximated", "tools.f")
    assert tool.parameters == schema


def test_a_strict_tool_has_a_closed_schema(encode: Encode) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}}

    sent = encode("q", tools=[ToolSpecification("f", parameters=schema, strict=True)])

    assert sent.body["tools"][0]["strict"] is True
    assert sent.body["tools"][0]["input_schema"]["additionalProperties"] is False
    assert "minLength" not in sent.body["tools"][0]["input_schema"]["properties"]["a"]
    assert sent.told("approximated", "tools.f")


def test_the_vendors_own_tools_go_out_as_they_are_and_others_not(encode: Encode) -> None:
    search = {"type": "web_search_20260318", "name": "web_search", "max_uses": 2}

    sent = encode("q", tools=[OpaqueTool("anthropic", search), OpaqueTool("openai", {"type": "file_search"})])

    assert sent.body["tools"] == [search]
    assert sent.told("dropped", "tools")


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("none", None, {"type": "none"}),
        (ToolChoice.tool("f"), None, {"type": "tool", "name": "f"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        (ToolChoice.tool("f"), False, {"type": "tool", "name": "f", "disable_parallel_tool_use": True}),
        ("auto", True, {"type": "auto", "disable_parallel_tool_use": False}),
        ("none", False, {"type": "none"}),
        (None, True, None),
        (None, None, None),
    ],
)
def test_tool_choice_and_the_parallel_switch(encode: Encode, choice: Any, parallel: Any, expected: Any) -> None:
    sent = encode(
        "q", tools=[ToolSpecification("f")], tool_choice=choice, parallel_tool_calls=parallel, model="claude-opus-5"
    )

    assert sent.body.get("tool_choice") == expected


def test_a_choice_of_several_tools_is_approximated(encode: Encode) -> None:
    tools = [ToolSpecification("f"), ToolSpecification("g"), ToolSpecification("h")]

    sent = encode("q", tools=tools, tool_choice=ToolChoice("required", ("f", "g")), model="claude-opus-5")

    assert sent.body["tool_choice"] == {"type": "any"}
    assert sent.told("approximated", "tool_choice")


@pytest.mark.parametrize("tools", [None, []])
def test_no_tools_no_choice(encode: Encode, tools: Any) -> None:
    history = [UserMessage("q"), *turn(("t1", "1"))]

    body = encode(history, tools=tools, tool_choice="auto", parallel_tool_calls=False).body

    assert "tools" not in body
    assert "tool_choice" not in body


# --- other parameters ---


@pytest.mark.parametrize(
    ("stops", "expected"), [(["\n", "END"], ["END"]), ([" \t"], None), (["END"], ["END"]), ("END", ["END"])]
)
def test_blank_stop_sequences_are_left_out(encode: Encode, stops: Any, expected: Any) -> None:
    sent = encode("q", stop_sequences=stops)

    assert sent.body.get("stop_sequences") == expected
    assert sent.told("dropped", "stop_sequences") is (expected != [stops] and expected != stops)


def test_what_the_wire_does_not_have_is_dropped_with_a_notice(encode: Encode) -> None:
    sent = encode("q", seed=1, presence_penalty=0.1, frequency_penalty=0.1, temperature=0.1, top_p=0.9)

    assert sent.body.keys() == {"model", "max_tokens", "messages"}
    for name in ("seed", "presence_penalty", "frequency_penalty", "temperature", "top_p"):
        assert sent.told("dropped", name)


def test_custom_parameters_and_fields_of_this_wire_go_into_the_body(encode: Encode) -> None:
    sent = encode(
        "q",
        max_tokens=5,
        custom_parameters={"service_tier": "auto", "max_tokens": 7},
        extras={"anthropic": {"metadata": {"user_id": "u"}}, "openai": {"user": "u"}},
    )

    assert sent.body["service_tier"] == "auto"
    assert sent.body["max_tokens"] == 7
    assert sent.body["metadata"] == {"user_id": "u"}
    assert "user" not in sent.body
    assert sent.told("information", "max_tokens")


def test_a_typed_answer(encode: Encode) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}

    sent = encode("q", response_format=schema)

    assert sent.body["output_config"] == {
        "format": {"type": "json_schema", "schema": {**schema, "additionalProperties": False}}
    }
    assert "additionalProperties" not in schema


def test_an_answer_of_any_json_does_not_exist_here(encode: Encode) -> None:
    sent = encode("q", response_format="json")

    assert "output_config" not in sent.body
    assert any(notice.subject == "response_format" for notice in sent.notices)


# --- cache marks ---


def test_at_most_four_marks_those_of_tools_and_instructions_and_the_last(encode: Encode) -> None:
    history: list[Any] = [SystemMessage(TextContent("s", MARK))]
    for text in ("a", "b", "c"):
        history += [UserMessage(TextContent(text, MARK)), AiMessage("ok")]
    tools = [ToolSpecification("f", cache=MARK), ToolSpecification("g", cache=MARK)]

    sent = encode([*history, UserMessage("end")], tools=tools)

    body = sent.body
    assert json.dumps(body).count("cache_control") == 4
    assert [tool["cache_control"] for tool in body["tools"]] == [EPHEMERAL, EPHEMERAL]
    assert body["system"][0]["cache_control"] == EPHEMERAL
    assert body["messages"][4]["content"] == [{"type": "text", "text": "c", "cache_control": EPHEMERAL}]
    assert sent.told("dropped", "cache")


def test_marks_of_a_long_conversation_do_not_pile_up(encode: Encode) -> None:
    history: list[Any] = []
    for number in range(9):
        history += [UserMessage(TextContent(str(number), MARK)), AiMessage("ok")]

    body = encode([*history, UserMessage("end")]).body

    marked = [index for index, message in enumerate(body["messages"]) if isinstance(message["content"], list)]
    assert json.dumps(body).count("cache_control") == 4
    assert [index for index in marked if "cache_control" in body["messages"][index]["content"][0]] == [10, 12, 14, 16]


def test_the_conversation_keeps_its_last_mark_however_many_tools_are_marked(encode: Encode) -> None:
    tools = [ToolSpecification(f"t{number}", cache=MARK) for number in range(6)]

    body = encode([UserMessage(TextContent("a", MARK))], tools=tools).body

    assert ["cache_control" in tool for tool in body["tools"]] == [False] * 3 + [True] * 3
    assert body["messages"][0]["content"][0]["cache_control"] == EPHEMERAL


def test_the_automatic_mark_takes_a_place(encode: Encode) -> None:
    history = [UserMessage([TextContent(text, MARK) for text in "abcd"])]

    body = encode(history, custom_parameters={"cache_control": {"type": "ephemeral"}}).body

    assert ["cache_control" in block for block in body["messages"][0]["content"]] == [False, True, True, True]


def test_marks_on_calls_and_results_count(encode: Encode) -> None:
    mark = {"anthropic": {"cache_control": EPHEMERAL}}
    history: list[Any] = [UserMessage("q")]
    for number in range(5):
        history.append(AiMessage(ToolCall(f"t{number}", "f", extras=mark)))
        history.append(ToolResultMessage(f"t{number}", "f", "r", extras=mark))

    body = encode(history).body

    assert json.dumps(body).count("cache_control") == 4
    assert "cache_control" in body["messages"][-1]["content"][0]


# --- purity ---


def test_the_same_history_is_written_the_same_again_whatever_the_profile(encode: Encode) -> None:
    history = [UserMessage(TextContent("q", MARK)), *turn(("t1", "1")), UserMessage(" \n"), AiMessage("end ")]
    codec, older = AnthropicCodec(), AnthropicCodec(version="2023-06-01")
    longer = [*history, *(UserMessage(TextContent(str(number), MARK)) for number in range(4))]

    first, again = encode(history, codec=codec), encode(history, codec=codec)

    assert (first.body, first.notices) == (again.body, again.notices)
    assert encode(history, codec=older).body == first.body
    # Marks and white space that one request leaves out stay where they are for the next.
    assert encode(longer, codec=codec).body == encode(longer, codec=AnthropicCodec()).body
    assert encode(history, codec=codec).body == first.body


def test_nothing_of_the_callers_changes(encode: Encode) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]}
    history = [SystemMessage("s"), UserMessage("q "), *turn(("a.b", "1")), AiMessage("end ")]
    tools = [ToolSpecification("x.y", parameters=schema)]
    before = copy.deepcopy((schema, history, tools))

    encode(history, tools=tools, model="claude-3-5-sonnet-latest")

    assert (schema, history, tools) == before
