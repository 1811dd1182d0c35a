"""Gemini's requests, held against the vendor's own types, which know every field and forbid all others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import types

from polywire.codec import Encoded, Headers, HttpRequest, HttpResponse
from polywire.contents import AudioContent, DocumentContent, ImageContent, TextContent, ThinkingContent, VideoContent
from polywire.errors import UnsupportedByModel
from polywire.messages import (
    AiMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.requests import (
    ChatRequest,
    ChatRequestParameters,
    OpaqueTool,
    Reasoning,
    ResponseFormat,
    ToolChoice,
    ToolSpecification,
)
from polywire.responses import ChatResponse
from polywire.serialization import messages_from_json, messages_to_json
from polywire_gemini import GeminiCodec

PNG = b"\x89PNG\r\n\x1a\n"
OLD, NEW = "gemini-2.5-flash", "gemini-3-flash"
_SECTIONS: dict[str, tuple[Any, bool]] = {
    "contents": (types.Content, True),
    "systemInstruction": (types.Content, False),
    "tools": (types.Tool, True),
    "toolConfig": (types.ToolConfig, False),
    "generationConfig": (types.GenerationConfig, False),
    "safetySettings": (types.SafetySetting, True),
    "cachedContent": (None, False),
}


def encoded(request: ChatRequest | list[Message], model: str = OLD, stream: bool = False, **parameters: Any) -> Encoded:
    if not isinstance(request, ChatRequest):
        request = ChatRequest(request, ChatRequestParameters(model=model, **parameters))
    return GeminiCodec().encode(request, stream=stream)


def body_of(request: ChatRequest | list[Message], model: str = OLD, **parameters: Any) -> dict[str, Any]:
    """Write a request and hold it against the vendor's types."""
    body: dict[str, Any] = json.loads(encoded(request, model, **parameters).http.body)
    check(body)
    return body


def check(body: dict[str, Any]) -> None:
    for name, value in body.items():
        type_, several = _SECTIONS[name]
        for item in value if several else [value]:
            if type_ is not None:
                type_.model_validate(item, by_alias=True, by_name=False)
    assert not [key for key in keys_of(body) if "_" in key], "the wire's names are in camel case"
    for content in body["contents"]:
        assert content["role"] in {"user", "model"}
        assert content["parts"], "a content without parts is refused"
        for part in content["parts"]:
            kinds = {"text", "inlineData", "fileData", "functionCall", "functionResponse"} & part.keys()
            assert len(kinds) == 1, "a part is exactly one of its kinds"


def keys_of(value: Any) -> list[str]:
    """Every key that is the wire's own, at any depth: not those of arguments, results and properties."""
    if isinstance(value, list):
        return [key for item in value for key in keys_of(item)]
    if not isinstance(value, dict):
        return []
    inner = [
        key for name, item in value.items() if name not in {"args", "response", "properties"} for key in keys_of(item)
    ]
    return [*value, *inner]


def decoded(body: Any, model: str = OLD) -> ChatResponse:
    answer = HttpResponse(200, Headers(), json.dumps(body).encode())
    made = Encoded(HttpRequest(""), origin=Origin("gemini", "gemini", model))
    return GeminiCodec().decode(answer, made)


def answer_of(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}]}


WEATHER = ToolSpecification(
    "w", "The weather.", {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}
)


def test_the_checks_can_fail() -> None:
    with pytest.raises(ValueError, match="Extra inputs"):
        check({"contents": [{"role": "user", "parts": [{"text": "a", "functionCalls": {}}]}]})
    with pytest.raises(AssertionError, match="camel case"):
        check({"contents": [{"role": "user", "parts": [{"text": "a", "thought_signature": "QQ=="}]}]})
    with pytest.raises(ValueError, match="Extra inputs"):
        check({"contents": [], "generationConfig": {"max_tokens": 3}})


def test_the_model_stands_in_the_address_and_the_stream_asks_for_events() -> None:
    plain, stream = encoded([UserMessage("a")]), encoded([UserMessage("a")], stream=True)
    assert plain.http.path == "models/gemini-2.5-flash:generateContent"
    assert stream.http.path == "models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert plain.http.body == stream.http.body
    assert encoded([UserMessage("a")], "models/m/../x").http.path == "models/m%2F..%2Fx:generateContent"


def test_instructions_stand_apart_and_every_option_under_its_name() -> None:
    body = body_of(
        [SystemMessage("Be brief."), UserMessage("Hello")],
        temperature=0.5,
        top_p=0.9,
        max_tokens=50,
        stop_sequences=("END",),
        seed=7,
        presence_penalty=0.1,
        frequency_penalty=-0.1,
    )

    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "maxOutputTokens": 50,
            "stopSequences": ["END"],
            "seed": 7,
            "presencePenalty": 0.1,
            "frequencyPenalty": -0.1,
        },
    }


def test_more_than_five_stop_sequences_are_refused_with_the_limit() -> None:
    with pytest.raises(UnsupportedByModel, match="5"):
        encoded([UserMessage("a")], stop_sequences=tuple("abcdef"))


@pytest.mark.parametrize(
    ("model", "reasoning", "config"),
    [
        (OLD, Reasoning(budget_tokens=2000, visible=True), {"includeThoughts": True, "thinkingBudget": 2000}),
        (OLD, Reasoning("none"), {"thinkingBudget": 0}),
        (OLD, Reasoning("high"), {"thinkingBudget": 24576}),
        (NEW, Reasoning("low", visible=True), {"includeThoughts": True, "thinkingLevel": "LOW"}),
        (NEW, Reasoning(budget_tokens=9000), {"thinkingLevel": "MEDIUM"}),
    ],
)
def test_thinking_is_a_level_or_a_budget_and_never_both(model: str, reasoning: Reasoning, config: Any) -> None:
    assert body_of([UserMessage("a")], model, reasoning=reasoning)["generationConfig"]["thinkingConfig"] == config


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (ToolChoice("auto"), {"mode": "AUTO"}),
        (ToolChoice("required"), {"mode": "ANY"}),
        (ToolChoice("none"), {"mode": "NONE"}),
        (ToolChoice("required", ("w",)), {"mode": "ANY", "allowedFunctionNames": ["w"]}),
    ],
)
def test_tools_are_declared_in_one_object_and_the_choice_in_its_words(choice: ToolChoice, config: Any) -> None:
    other = ToolSpecification("now", None, {})
    body = body_of([UserMessage("a")], tools=(WEATHER, other), tool_choice=choice)

    [tool] = body["tools"]
    assert [each["name"] for each in tool["functionDeclarations"]] == ["w", "now"]
    assert tool["functionDeclarations"][0]["parameters"]["properties"] == {"c": {"type": "string"}}
    assert "parameters" not in tool["functionDeclarations"][1]
    assert body["toolConfig"] == {"functionCallingConfig": config}


def test_a_built_in_tool_stands_beside_the_declarations() -> None:
    body = body_of([UserMessage("a")], tools=(WEATHER, OpaqueTool("gemini", {"googleSearch": {}})))

    assert body["tools"][1] == {"googleSearch": {}}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (
            {
                "type": "object",
                "properties": {"job": {"$ref": "#/$defs/Job"}},
                "required": ["job"],
                "$defs": {"Job": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}},
            },
            {"job": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}},
        ),
        (
            {"type": "object", "properties": {"s": {"type": ["string", "null"], "description": "d"}}},
            {"s": {"type": "string", "nullable": True, "description": "d"}},
        ),
        (
            {"type": "object", "properties": {"h": {"type": "object"}, "l": {"type": "array", "items": {"$ref": "#/properties/h"}}}},
            {"h": {"type": "object"}, "l": {"type": "array", "items": {"type": "object"}}},
        ),
    ],
)  # fmt: skip
def test_schemas_are_in_the_vendors_subset_and_the_callers_stays_as_it_was(given: Any, sent: Any) -> None:
    before = json.dumps(given)

    body = body_of([UserMessage("a")], tools=(ToolSpecification("t", None, given),))

    assert body["tools"][0]["functionDeclarations"][0]["parameters"]["properties"] == sent
    assert json.dumps(given) == before


def test_an_array_never_lacks_its_items() -> None:
    schema = {"type": "object", "properties": {"tags": {"type": "array"}, "more": {"type": ["array", "null"]}}}

    body = body_of([UserMessage("a")], tools=(ToolSpecification("t", None, schema),))

    properties = body["tools"][0]["functionDeclarations"][0]["parameters"]["properties"]
    assert properties["tags"]["items"]
    assert properties["more"]["items"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_a_number_that_had_to_be_sent_as_text_comes_back_as_a_number(streamed: bool, inside: bool) -> None:
    level: dict[str, Any] = {"type": "integer", "enum": [0, 1, 2]}
    properties = {"levels": {"type": "array", "items": level}} if inside else {"level": level}
    tool = ToolSpecification("set.it", None, {"type": "object", "properties": properties})
    sent = encoded([UserMessage("a")], tools=(tool,))
    declared = json.loads(sent.http.body)["tools"][0]["functionDeclarations"][0]
    check(json.loads(sent.http.body))
    schema = (
        declared["parameters"]["properties"]["levels"]["items" if inside else ""]
        if inside
        else (declared["parameters"]["properties"]["level"])
    )
    assert (schema["type"], schema["enum"]) == ("string", ["0", "1", "2"])
    arguments = {"levels": ["2", "0"]} if inside else {"level": "1"}
    body = json.dumps(answer_of({"functionCall": {"name": declared["name"], "args": arguments}})).encode()

    if streamed:
        from polywire.codec import Frame
        from polywire.events import ResponseCollector

        decoder, collector = GeminiCodec().stream_decoder(sent), ResponseCollector()
        collector.add_all(decoder.feed(Frame(body)))
        collector.add_all(decoder.finish())
        call = collector.response().tool_calls[0]
    else:
        call = GeminiCodec().decode(HttpResponse(200, Headers(), body), sent).tool_calls[0]

    assert call.name == "set.it"
    assert call.input == ({"levels": [2, 0]} if inside else {"level": 1})


def test_a_typed_answer_is_asked_for_with_its_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    body = body_of([UserMessage("a")], response_format=ResponseFormat("json_schema", schema, name="answer"))

    assert body["generationConfig"]["responseMimeType"] == "application/json"
    assert body["generationConfig"]["responseJsonSchema"]["properties"] == {"n": {"type": "integer"}}
    assert body_of([UserMessage("a")], response_format=ResponseFormat("json"))["generationConfig"] == {
        "responseMimeType": "application/json"
    }


@pytest.mark.parametrize("through_json", [False, True])
@pytest.mark.parametrize(
    "parts",
    [
        [{"functionCall": {"name": "ls", "args": {"d": "/"}}, "thoughtSignature": "U0lH"}],
        [{"functionCall": {"id": "f1", "name": "ls", "args": {"d": "/"}}, "thoughtSignature": "U0lH"},
         {"functionCall": {"id": "f2", "name": "ls", "args": {"d": "/b"}}}],
        [{"text": "Let me see.", "thought": True, "thoughtSignature": "QQ=="},
         {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "U0lH"}],
        [{"text": "I look.", "thoughtSignature": "Qg=="}, {"text": "And again.", "thoughtSignature": "Qw=="},
         {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "U0lH"}],
    ],
)  # fmt: skip
def test_a_signature_goes_back_on_the_very_part_that_it_came_on(parts: Any, through_json: bool) -> None:
    response = decoded(answer_of(*parts), NEW)
    messages: list[Message] = [UserMessage("a"), response.message]
    messages += [ToolResultMessage(call.id, call.name, "out") for call in response.tool_calls]
    if through_json:
        messages = list(messages_from_json(json.loads(json.dumps(messages_to_json(messages)))))

    sent = body_of(messages, NEW)

    assert sent["contents"][1] == {"role": "model", "parts": parts}


def test_two_calls_of_one_tool_without_ids_are_told_apart_and_no_id_is_made_up() -> None:
    response = decoded(answer_of(*({"functionCall": {"name": "w", "args": {"c": city}}} for city in "AB")))
    first, second = response.tool_calls
    assert first.id != second.id

    body = body_of(
        [
            UserMessage("a"),
            response.message,
            ToolResultMessage(second.id, "w", "2"),
            ToolResultMessage(first.id, "w", "1"),
        ]
    )

    assert body["contents"][2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "w", "response": {"output": "1"}}},
            {"functionResponse": {"name": "w", "response": {"output": "2"}}},
        ],
    }
    assert all("id" not in part["functionCall"] for part in body["contents"][1]["parts"])


@pytest.mark.parametrize("count", [1, 3, 5])
def test_the_results_of_a_turn_stand_together_right_after_it(count: int) -> None:
    calls = [ToolCall(f"f{number}", "w", "{}", "gemini") for number in range(count)]
    results = [ToolResultMessage(call.id, "w", call.id) for call in calls]

    body = body_of([UserMessage("a"), AiMessage(calls), *results, UserMessage("thanks")])

    kinds = [(content["role"], [next(iter(part)) for part in content["parts"]]) for content in body["contents"]]
    assert kinds == [
        ("user", ["text"]),
        ("model", ["functionCall"] * count),
        ("user", ["functionResponse"] * count),
        ("user", ["text"]),
    ]
    assert [part["functionResponse"]["id"] for part in body["contents"][2]["parts"]] == [call.id for call in calls]


@pytest.mark.parametrize("text", ["", "null", "[]", "plain", '{"a": 1}'])
def test_a_result_is_an_object_whatever_the_tool_said(text: str) -> None:
    history: list[Message] = [
        UserMessage("a"),
        AiMessage(ToolCall("f1", "w", "{}", "gemini")),
        ToolResultMessage("f1", "w", text),
    ]

    [part] = body_of(history)["contents"][2]["parts"]

    assert part["functionResponse"]["response"] == {"output": text}


def test_a_failed_result_says_so_under_error() -> None:
    failed = ToolResultMessage("f1", "w", "clock offline", True, ToolError("timeout", "clock offline", True))
    body = body_of([UserMessage("a"), AiMessage(ToolCall("f1", "w", "{}", "gemini")), failed])

    response = body["contents"][2]["parts"][0]["functionResponse"]["response"]
    assert response == {"error": "clock offline", "type": "timeout", "retryable": True}


def test_a_call_of_another_model_carries_the_placeholder_where_signatures_are_demanded() -> None:
    calls = [ToolCall("c1", "w", '{"c":"A"}', "openai"), ToolCall("c2", "w", '{"c":"B"}', "openai")]
    history: list[Message] = [
        UserMessage("a"),
        AiMessage([ThinkingContent("hm", "sealed"), *calls], Origin("openai", "openai", "gpt")),
        ToolResultMessage("c1", "w", "1"),
        ToolResultMessage("c2", "w", "2"),
    ]

    made = encoded(history, NEW)
    body = json.loads(made.http.body)
    check(body)

    first, second = body["contents"][1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert any("placeholder" in notice.message for notice in made.notices)
    assert any("think" in notice.message for notice in made.notices)
    assert all("thoughtSignature" not in part for part in body_of(history, OLD)["contents"][1]["parts"])


def test_media_goes_in_as_bytes_address_or_file() -> None:
    body = body_of(
        [
            UserMessage(
                [
                    TextContent("see"),
                    ImageContent(data=PNG),
                    AudioContent(data=b"ID3x"),
                    DocumentContent(data=b"%PDF-1.7"),
                    VideoContent(url="https://youtu.be/x"),
                    ImageContent(file_id="https://h.test/v1beta/files/abc", media_type="image/png"),
                ]
            )
        ]
    )

    parts = body["contents"][0]["parts"]
    assert parts[1] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert [part["inlineData"]["mimeType"] for part in parts[2:4]] == ["audio/mpeg", "application/pdf"]
    assert parts[4] == {"fileData": {"fileUri": "https://youtu.be/x"}}
    assert parts[5] == {"fileData": {"fileUri": "https://h.test/v1beta/files/abc", "mimeType": "image/png"}}


def test_media_that_the_vendor_does_not_take_is_refused_with_its_place() -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[0\].contents\[1\].*image/gif"):
        encoded([UserMessage([TextContent("see"), ImageContent(data=b"GIF89a")])])
    with pytest.raises(UnsupportedByModel, match="bytes, and this model takes at most"):
        encoded([UserMessage([ImageContent(data=PNG + bytes(21 * 1024 * 1024))])])


@pytest.mark.parametrize("model", [OLD, NEW])
def test_a_picture_in_a_result_stands_in_it_or_right_after_the_results(model: str) -> None:
    history: list[Message] = [
        UserMessage("a"),
        AiMessage([ToolCall("f1", "shot", "{}", "gemini"), ToolCall("f2", "w", "{}", "gemini")]),
        ToolResultMessage("f1", "shot", [TextContent("done"), ImageContent(data=PNG)]),
        ToolResultMessage("f2", "w", "ok"),
    ]

    contents = body_of(history, model)["contents"]

    inline = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    assert [next(iter(part)) for part in contents[2]["parts"]] == ["functionResponse", "functionResponse"]
    if model == NEW:
        assert contents[2]["parts"][0]["functionResponse"]["parts"] == [inline]
        assert len(contents) == 3
    else:
        assert contents[3]["role"] == "user"
        assert inline in contents[3]["parts"]
    assert "iVBORw0KGgo" not in json.dumps([part["functionResponse"]["response"] for part in contents[2]["parts"]])


def test_what_only_this_vendor_has_is_copied_as_it_is() -> None:
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    body = body_of(
        [UserMessage("a")], custom_parameters={"safetySettings": safety, "cachedContent": "cachedContents/1"}
    )

    assert body["safetySettings"] == safety
    assert body["cachedContent"] == "cachedContents/1"
