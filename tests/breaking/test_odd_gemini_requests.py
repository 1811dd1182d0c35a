"""
Gemini's requests in every spelling that its API takes, and what becomes of them on this wire and on others.

Facts of the wire: google-genai 3.6.1 (types, _transformers) and the vendor's documentation: JSON of protocol buffers, so
snake_case is taken as camelCase is, and default values may be left out; a schema's types are in capitals.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import model_of

from polywire import convert
from polywire.contents import ImageContent
from polywire.errors import ProtocolError
from polywire.messages import AiMessage, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import Reasoning

PNG = "iVBORw0KGgo="
HELLO = {"role": "user", "parts": [{"text": "q"}]}
ANSWER = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}


def request(*contents: Any, **fields: Any) -> dict[str, Any]:
    return {"contents": [HELLO, *contents], **fields}


def elsewhere(payload: Any, target: str = "openai") -> dict[str, Any]:
    body: dict[str, Any] = convert(payload, source="gemini", target=target).payload
    return body


CAMEL = {
    "systemInstruction": {"parts": [{"text": "S"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "q"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f_g", "args": {"a_b": 1}}, "thoughtSignature": "U0lH"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f_g", "response": {"output": {"c_d": 2}}}}]},
    ],
    "generationConfig": {
        "maxOutputTokens": 5,
        "stopSequences": ["a_b"],
        "topP": 0.5,
        "topK": 3,
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING", "minLength": 1}}},
        "thinkingConfig": {"thinkingBudget": 5, "includeThoughts": True},
    },
    "tools": [
        {
            "functionDeclarations": [
                {"name": "f_g", "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "INTEGER"}}}}
            ]
        },
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f_g"]}},
    "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
}
SNAKE = json.loads(
    json.dumps(CAMEL)
    .replace("systemInstruction", "system_instruction")
    .replace("inlineData", "inline_data")
    .replace("mimeType", "mime_type")
    .replace("functionCallingConfig", "function_calling_config")
    .replace("functionCall", "function_call")
    .replace("functionResponse", "function_response")
    .replace("functionDeclarations", "function_declarations")
    .replace("thoughtSignature", "thought_signature")
    .replace("generationConfig", "generation_config")
    .replace("maxOutputTokens", "max_output_tokens")
    .replace("stopSequences", "stop_sequences")
    .replace("topP", "top_p")
    .replace("topK", "top_k")
    .replace("responseMimeType", "response_mime_type")
    .replace("responseSchema", "response_schema")
    .replace("minLength", "min_length")
    .replace("thinkingConfig", "thinking_config")
    .replace("thinkingBudget", "thinking_budget")
    .replace("includeThoughts", "include_thoughts")
    .replace("googleSearch", "google_search")
    .replace("toolConfig", "tool_config")
    .replace("allowedFunctionNames", "allowed_function_names")
    .replace("safetySettings", "safety_settings")
)


@pytest.mark.parametrize("target", ["gemini", "openai", "openai-responses", "anthropic", "ollama"])
def test_snake_case_is_read_as_camel_case_is(target: str) -> None:
    assert convert(SNAKE, source="gemini", target=target) == convert(CAMEL, source="gemini", target=target)


def test_what_is_not_the_wires_own_keeps_its_spelling() -> None:
    body = elsewhere(SNAKE)

    assert body["tools"][0]["function"]["parameters"]["properties"] == {"a_b": {"type": "integer"}}
    assert body["stop"] == ["a_b"]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "f_g", "arguments": '{"a_b":1}'}
    assert body["messages"][3]["content"] == '{"c_d":2}'


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"contents": "q"}, "contents"),
        ({"contents": HELLO}, "contents"),
        ({"contents": ["q"]}, r"contents\[0\]"),
        ({"contents": [{"role": "user", "parts": {"text": "q"}}]}, r"messages\[0\]\.parts"),
        ({"contents": [{"role": "user", "parts": ["q"]}]}, r"messages\[0\]\.parts\[0\]"),
        ({"contents": [{"role": "system", "parts": [{"text": "S"}]}, HELLO]}, r"messages\[0\].*'system'"),
        ({"contents": [HELLO], "generationConfig": []}, "generationConfig"),
        (
            {"contents": [HELLO], "tools": [{"functionDeclarations": [{"description": "d"}]}]},
            r"tools\[0\].*\[0\].*name",
        ),
        (
            {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "@"}}]}]},
            r"messages\[0\]\.parts\[0\].*base64",
        ),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(payload: Any, place: str) -> None:
    with pytest.raises(ProtocolError, match=place) as caught:
        convert(payload, source="gemini", target="openai", kind="request")
    assert "Error:" not in str(caught.value)


# Results


def results(*responses: Any, ids: tuple[str | None, str | None] = (None, None)) -> dict[str, Any]:
    calls = [
        {"functionCall": {"name": "f", "args": {"n": n}, **({"id": each} if each else {})}}
        for n, each in enumerate(ids)
    ]
    return request(
        {"role": "model", "parts": calls}, {"role": "user", "parts": [{"functionResponse": r} for r in responses]}
    )


def told(payload: dict[str, Any]) -> list[str]:
    """The results' texts in the order of the calls that they answer."""
    messages = elsewhere(payload)["messages"]
    by_id = {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}
    return [by_id[call["id"]] for call in messages[1]["tool_calls"]]


def test_results_find_their_calls_by_id_or_by_order() -> None:
    first, second = {"name": "f", "response": {"output": "1"}}, {"name": "f", "response": {"output": "2"}}

    assert told(results(first, second)) == ["1", "2"]
    assert told(results({**second, "id": "b"}, {**first, "id": "a"}, ids=("a", "b"))) == ["1", "2"]
    assert told(results(first, second, ids=("a", "b"))) == ["1", "2"]
    # Ids of the client's own, for calls that came without any.
    assert told(results({**first, "id": "x"}, {**second, "id": "y"})) == ["1", "2"]


@pytest.mark.parametrize(
    ("response", "text", "failed"),
    [
        ({"output": "x"}, "x", False),
        ({"result": [1]}, "[1]", False),
        ({"output": "x", "logs": "y"}, '{"output":"x","logs":"y"}', False),
        ({"error": None, "output": "fine"}, "fine", False),
        ({"error": "no"}, "no", True),
        ({"error": {"code": 1}}, '{"code":1}', True),
        ({"error": "no", "output": "half"}, '{"error":"no","output":"half"}', True),
        ("bare", "bare", False),
        ({"a": 1}, '{"a":1}', False),
    ],
)
def test_nothing_of_what_a_tool_said_is_lost(response: Any, text: str, failed: bool) -> None:
    payload = results({"name": "f", "response": response}, {"name": "f", "response": {"output": "2"}})
    block = elsewhere(payload, "anthropic")["messages"][2]["content"][0]

    assert (block["content"], bool(block.get("is_error"))) == (text, failed)


def test_what_only_this_wire_knows_of_a_result_goes_back() -> None:
    response = {"name": "f", "response": {"output": "x"}, "scheduling": "WHEN_IDLE", "willContinue": True}
    body = elsewhere(results(response, {"name": "f", "response": {"output": "2"}}), "gemini")

    assert body["contents"][2]["parts"][0]["functionResponse"] == response


# Choices, tools and schemas


@pytest.mark.parametrize(
    ("mode", "choice"), [("ANY", "required"), ("any", "required"), ("auto", "auto"), ("NONE", "none"), (None, None)]
)
def test_a_mode_is_read_in_any_case(mode: str | None, choice: str | None) -> None:
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    body = elsewhere(request(tools=tools, toolConfig={"functionCallingConfig": {"mode": mode} if mode else {}}))

    assert body.get("tool_choice") == choice


@pytest.mark.parametrize("mode", ["VALIDATED", "BRAND_NEW"])
def test_a_mode_that_only_this_wire_knows_goes_back_and_is_told_to_others(mode: str) -> None:
    config = {"functionCallingConfig": {"mode": mode}}
    given = request(tools=[{"functionDeclarations": [{"name": "f"}]}], toolConfig=config)

    assert elsewhere(given, "gemini")["toolConfig"] == config
    assert any("toolConfig" in notice.message for notice in convert(given, source="gemini", target="openai").notices)


def test_what_only_this_wire_knows_of_a_function_goes_back_and_is_told_to_others() -> None:
    function = {"name": "f", "behavior": "NON_BLOCKING", "response": {"type": "STRING"}}
    given = request(tools=[{"functionDeclarations": [function]}])

    assert elsewhere(given, "gemini")["tools"] == given["tools"]
    assert "tools.f" in [notice.subject for notice in convert(given, source="gemini", target="openai").notices]


def test_a_tool_of_the_vendors_own_is_told_by_its_name() -> None:
    notices = convert(request(tools=[{"googleSearch": {}}]), source="gemini", target="openai").notices

    assert any("'googleSearch'" in notice.message for notice in notices)


@pytest.mark.parametrize(
    ("native", "plain"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "STRING", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        ({"type": "INTEGER", "enum": ["1", "2"]}, {"type": "integer", "enum": [1, 2]}),
        (
            {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1"},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
        ),
        ({"type": "TYPE_UNSPECIFIED", "description": "d"}, {"description": "d"}),
        (
            {"type": "STRING", "enum": ["TYPE"], "default": "STRING"},
            {"type": "string", "enum": ["TYPE"], "default": "STRING"},
        ),
        (
            {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}},
            {"type": "object", "properties": {"type": {"type": "string"}}},
        ),
    ],
)
def test_a_schema_of_this_wire_is_json_schema_elsewhere(native: Any, plain: Any) -> None:
    parameters = {"type": "OBJECT", "properties": {"p": native}}
    body = elsewhere(request(tools=[{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]))

    assert body["tools"][0]["function"]["parameters"]["properties"] == {"p": plain}


def test_an_answer_that_shall_be_one_of_some_words_keeps_its_schema() -> None:
    config = {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a", "b"]}}
    given = request(generationConfig=config)

    assert elsewhere(given, "gemini")["generationConfig"] == config
    assert any(
        "generationConfig" in notice.message for notice in convert(given, source="gemini", target="openai").notices
    )


def test_a_content_that_says_nothing_is_told() -> None:
    notices = convert(request({"role": "user", "parts": [{"text": ""}]}), source="gemini", target="openai").notices

    assert [notice.subject for notice in notices] == ["messages[1]"]


@pytest.mark.parametrize(
    ("held", "kind"), [({"data": PNG}, "image/png"), ({"data": "aGk="}, "application/octet-stream")]
)
def test_media_without_a_type_is_known_by_its_bytes(held: Any, kind: str) -> None:
    body = elsewhere({"contents": [{"role": "user", "parts": [{"inlineData": held}]}]}, "gemini")

    assert body["contents"][0]["parts"][0]["inlineData"]["mimeType"] == kind


# Models by their names


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-pro", "models/gemini-3-pro"),
        ("models/gemini-3-pro", "models/gemini-3-pro"),
        ("publishers/google/models/gemini-3-pro", "models/gemini-3-pro"),
        ("tunedModels/mine-1", "tunedModels/mine-1"),
    ],
)
def test_a_model_is_found_where_its_name_says(model: str, path: str) -> None:
    chat, transport = model_of("gemini", ANSWER, model=model)
    chat.chat("q")

    assert transport.last.url.endswith(f"/{path}:generateContent")


@pytest.mark.parametrize("model", ["gemini-3-pro", "models/gemini-3-pro", "publishers/google/models/gemini-3-pro"])
def test_a_models_rules_hold_wherever_its_name_says_it_stands(model: str) -> None:
    chat, transport = model_of("gemini", ANSWER, model=model)
    call = ToolCall("c", "shot", "{}", "openai")
    shot = ToolResultMessage("c", "shot", [ImageContent.from_base64(PNG)])
    chat.chat([UserMessage("q"), AiMessage(call, Origin("openai")), shot], reasoning=Reasoning("high"))

    body = transport.last.json
    assert body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "HIGH"}
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == "skip_thought_signature_validator"
    assert body["contents"][2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["data"] == PNG


@pytest.mark.parametrize("switch", ["yes", 1, [], {}])
@pytest.mark.parametrize("target", ["anthropic", "ollama", "openai", "gemini"])
def test_a_switch_for_thoughts_that_is_none_is_refused(switch: Any, target: str) -> None:
    given = {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": switch}},
    }

    with pytest.raises(ProtocolError, match=r"reasoning\.visible must be a bool"):
        convert(given, source="gemini", target=target)
