"""Ollama's requests, held against the SDK's own types; what these do not know yet is listed, with the server's source."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import ollama._types as sdk
import pytest

from polywire import LlmFactory
from polywire.codec import Encoded, Headers, HttpRequest, HttpResponse
from polywire.contents import AudioContent, DocumentContent, ImageContent, TextContent, ThinkingContent
from polywire.errors import ModelError, UnsupportedByModel
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
    Reasoning,
    ResponseFormat,
    ToolChoice,
    ToolSpecification,
)
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_ollama import OllamaCodec, OllamaWire

PNG = b"\x89PNG\r\n\x1a\n"
# The SDK lags behind the server: api/types.go, ToolCall and Message, has these besides.
NEWER_THAN_THE_SDK = {"tool_call_id", "tool_calls.id", "tool_calls.function.index"}


def encoded(messages: list[Message], model: str = "qwen3", stream: bool = False, **parameters: Any) -> Encoded:
    return OllamaCodec().encode(ChatRequest(messages, ChatRequestParameters(model=model, **parameters)), stream=stream)


def lost(given: Any, kept: Any, path: str = "") -> set[str]:
    """What of `given` the SDK's types do not know: the places, without the numbers of lists."""
    if isinstance(given, dict) and isinstance(kept, dict):
        places = {f"{path}.{key}".lstrip(".") for key in given if key not in kept}
        return places.union(*(lost(given[key], kept[key], f"{path}.{key}") for key in given if key in kept), set())
    if isinstance(given, list) and isinstance(kept, (list, tuple)):
        return set().union(*(lost(one, other, path) for one, other in zip(given, kept, strict=True)), set())
    return set() if given == kept else {f"{path}: {kept!r}"}


def check(body: dict[str, Any]) -> None:
    """Hold a body against the SDK's types: nothing unknown, nothing of another type."""
    for message in body["messages"]:
        assert isinstance(message["content"], str), "content is always one string"
        # Its own image type reads files, so pictures are looked at here.
        plain = {key: value for key, value in message.items() if key != "images"}
        kept = sdk.Message.model_validate(plain, strict=True).model_dump(exclude_unset=True)
        assert lost(plain, kept) <= NEWER_THAN_THE_SDK
        assert all(isinstance(image, str) and "," not in image for image in message.get("images", ()))
    rest = {key: value for key, value in body.items() if key not in {"messages", "options"}}
    kept = sdk.ChatRequest.model_validate({**rest, "messages": []}).model_dump(exclude_unset=True, by_alias=True)
    assert lost(rest, kept) == set()
    options = body.get("options", {})
    assert lost(options, sdk.Options.model_validate(options, strict=True).model_dump(exclude_unset=True)) == set()


def body_of(messages: list[Message], model: str = "qwen3", **parameters: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encoded(messages, model, **parameters).http.body)
    check(body)
    return body


WEATHER = ToolSpecification(
    "w", "The weather.", {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}
)
NOW = ToolSpecification("now", None, {})


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": [{"role": "user", "content": "a", "name": "x"}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "w", "arguments": "{}"}}]}]},
        {"messages": [], "options": {"max_tokens": 3}},
        {"messages": [], "tool_choice": "auto"},
    ],
)  # fmt: skip
def test_the_checks_can_fail(wrong: dict[str, Any]) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check({"model": "m", **wrong})


def test_options_stand_under_their_names_in_their_own_object() -> None:
    body = body_of(
        [SystemMessage("Be brief."), UserMessage("Hello")],
        temperature=0.5,
        top_p=0.9,
        max_tokens=50,
        stop_sequences=("END", "STOP"),
        seed=7,
        presence_penalty=0.1,
        frequency_penalty=0.2,
    )

    assert body == {
        "model": "qwen3",
        "stream": False,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "options": {
            "temperature": 0.5,
            "top_p": 0.9,
            "num_predict": 50,
            "stop": ["END", "STOP"],
            "seed": 7,
            "presence_penalty": 0.1,
            "frequency_penalty": 0.2,
        },
    }


def test_a_stream_must_be_said_and_so_must_none() -> None:
    assert json.loads(encoded([UserMessage("a")], stream=True).http.body)["stream"] is True
    assert json.loads(encoded([UserMessage("a")]).http.body)["stream"] is False
    assert encoded([UserMessage("a")]).http.path == "api/chat"


@pytest.mark.parametrize(
    ("model", "reasoning", "think"),
    [
        ("qwen3", Reasoning("none"), False),
        ("qwen3", Reasoning(visible=True), True),
        ("qwen3", Reasoning("low"), "low"),
        ("gpt-oss:20b", Reasoning("max"), "high"),
    ],
)
def test_thinking_is_switched_or_graded(model: str, reasoning: Reasoning, think: Any) -> None:
    assert body_of([UserMessage("a")], model, reasoning=reasoning)["think"] == think


def test_thinking_is_left_to_the_server_where_nobody_asked() -> None:
    assert "think" not in body_of([UserMessage("a")])


def test_a_budget_for_thinking_is_left_out_with_a_notice() -> None:
    made = encoded([UserMessage("a")], reasoning=Reasoning(budget_tokens=100))

    assert "think" not in json.loads(made.http.body)
    assert [notice.subject for notice in made.notices] == ["reasoning"]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_is_an_object_without_properties(parameters: Any) -> None:
    [tool] = body_of([UserMessage("a")], tools=(ToolSpecification("now", None, parameters),))["tools"]

    assert tool == {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}


def test_a_schema_keeps_what_the_server_keeps_and_references_are_inlined() -> None:
    schema = {
        "type": "object",
        "properties": {
            "job": {"$ref": "#/$defs/Job"},
            "n": {"type": "integer", "enum": [0, 1], "default": 0, "minimum": 0},
            "s": {"type": ["string", "null"]},
        },
        "required": ["job"],
        "$defs": {"Job": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}},
    }
    made = encoded([UserMessage("a")], tools=(ToolSpecification("t", None, schema),))
    parameters = json.loads(made.http.body)["tools"][0]["function"]["parameters"]

    assert parameters["properties"]["job"]["properties"] == {"label": {"type": "string"}}
    assert parameters["properties"]["n"]["enum"] == [0, 1]
    assert parameters["properties"]["s"]["type"] == ["string", "null"]
    assert "$ref" not in json.dumps(parameters)
    assert "minimum" not in parameters["properties"]["n"]
    assert any("minimum" in notice.message for notice in made.notices)


@pytest.mark.parametrize(
    ("choice", "names"),
    [(ToolChoice("auto"), ["w", "now"]), (ToolChoice("none"), None), (ToolChoice("auto", ("now",)), ["now"])],
)
def test_without_a_tool_choice_the_tools_themselves_say_it(choice: ToolChoice, names: Any) -> None:
    body = body_of([UserMessage("a")], tools=(WEATHER, NOW), tool_choice=choice)

    assert "tool_choice" not in body
    sent = [tool["function"]["name"] for tool in body["tools"]] if "tools" in body else None
    assert sent == names


def test_a_choice_that_cannot_be_enforced_is_told() -> None:
    made = encoded([UserMessage("a")], tools=(WEATHER,), tool_choice=ToolChoice("required"))

    assert any(notice.subject == "tool_choice" for notice in made.notices)


def test_a_typed_answer_is_a_schema_under_format() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert body_of([UserMessage("a")], response_format=ResponseFormat("json_schema", schema))["format"] == schema
    assert body_of([UserMessage("a")], response_format=ResponseFormat("json"))["format"] == "json"


def test_pictures_are_raw_base64_beside_the_text() -> None:
    made = body_of([UserMessage([TextContent("see"), ImageContent(data=PNG), ImageContent(data=b"\xff\xd8\xff\xe0")])])

    assert made["messages"] == [{"role": "user", "content": "see", "images": ["iVBORw0KGgo=", "/9j/4A=="]}]


@pytest.mark.parametrize(
    "content",
    [
        ImageContent(url="https://example.com/a.png"),
        ImageContent(url="http://127.0.0.1/a.png"),
        ImageContent(file_id="file_1"),
        ImageContent(data=b"GIF89a"),
        AudioContent(data=b"ID3x"),
        DocumentContent(data=b"%PDF-1.7"),
    ],
)
def test_what_the_server_does_not_take_is_refused_with_its_place_and_never_sent_as_text(content: Any) -> None:
    with pytest.raises(UnsupportedByModel, match=r"messages\[1\].contents\[1\]"):
        encoded([SystemMessage("s"), UserMessage([TextContent("see"), content])])


def test_arguments_are_objects_and_results_name_tool_and_call_in_the_order_of_the_calls() -> None:
    calls = [ToolCall("call_a", "w", '{"c": "A"}', "openai"), ToolCall("call_b", "w", '{"c": "B"}', "openai")]
    body = body_of(
        [
            UserMessage("a"),
            AiMessage(calls),
            ToolResultMessage("call_b", "w", "2"),
            ToolResultMessage("call_a", "w", "1"),
        ]
    )

    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "call_a", "function": {"index": 0, "name": "w", "arguments": {"c": "A"}}},
                {"id": "call_b", "function": {"index": 1, "name": "w", "arguments": {"c": "B"}}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "tool_name": "w", "content": "1"},
        {"role": "tool", "tool_call_id": "call_b", "tool_name": "w", "content": "2"},
    ]


def test_a_failed_result_says_so_in_its_text() -> None:
    failed = ToolResultMessage("c", "w", "clock offline", True, ToolError("timeout", "clock offline", True))
    body = body_of([UserMessage("a"), AiMessage(ToolCall("c", "w", "{}")), failed])

    content = body["messages"][2]["content"]
    assert "clock offline" in content
    assert content != "clock offline"
    # And it can be told from a result again.
    [*_, back] = OllamaWire().decode_messages(body["messages"]).value
    assert isinstance(back, ToolResultMessage)
    assert (back.is_error, back.text, back.error and back.error.type) == (True, "clock offline", "timeout")


def test_thinking_goes_back_with_the_calls_that_it_led_to() -> None:
    own = AiMessage(
        [ThinkingContent("Need the time."), ToolCall("c", "now", "{}")], Origin("ollama", "ollama", "qwen3")
    )
    foreign = AiMessage([ThinkingContent("Hm.", "sealed"), ToolCall("c", "now", "{}")], Origin("anthropic"))
    result = ToolResultMessage("c", "now", "12:00")

    assert body_of([UserMessage("a"), own, result])["messages"][1]["thinking"] == "Need the time."
    made = encoded([UserMessage("a"), foreign, result])
    assert "thinking" not in json.loads(made.http.body)["messages"][1]
    assert any("think" in notice.message for notice in made.notices)


def test_a_picture_in_a_result_follows_in_a_message_of_the_user() -> None:
    body = body_of(
        [
            UserMessage("a"),
            AiMessage([ToolCall("c1", "shot", "{}"), ToolCall("c2", "w", "{}")]),
            ToolResultMessage("c1", "shot", [TextContent("done"), ImageContent(data=PNG)]),
            ToolResultMessage("c2", "w", "ok"),
        ]
    )

    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert body["messages"][-1]["images"] == ["iVBORw0KGgo="]
    assert "iVBORw0KGgo" not in json.dumps(body["messages"][:-1])


def test_what_only_this_server_has_is_copied_as_it_is() -> None:
    assert body_of([UserMessage("a")], custom_parameters={"keep_alive": "5m"})["keep_alive"] == "5m"


# Embeddings


def settings(**provider: Any) -> dict[str, Any]:
    return {
        "providers": {"ollama": provider},
        "models": {"vectors": {"provider": "ollama", "model": "nomic-embed-text", "kind": "embedding"}},
    }


def test_embeddings_work_from_end_to_end() -> None:
    def echo(request: HttpRequest) -> Reply:
        body = json.loads(request.body)
        sdk.EmbedRequest.model_validate(body, extra="forbid")
        vectors = [[float(len(text))] for text in body["input"]]
        return Reply(body={"model": body["model"], "embeddings": vectors, "prompt_eval_count": len(vectors)})

    transport = FakeTransport(Reply(status=503, body={"error": "server busy, please try again."}), echo, repeat=True)
    waits: list[float] = []
    table = settings(retry={"attempts": 2})
    with LlmFactory.from_config(table, environ={}, transport=transport, sleep=waits.append) as factory:
        model = factory.embedding_model("vectors")
        texts = ["x" * (number % 9 + 1) for number in range(600)]
        response = model.embed(texts, purpose="query", custom_parameters={"truncate": False})
        short = asyncio.run(model.aembed("abc", dimensions=64))

    assert [vector[0] for vector in response.vectors] == [len(text) for text in texts]
    assert response.usage == TokenUsage(600, None, 600)
    assert [notice.subject for notice in response.notices] == ["purpose"]
    assert len(waits) == 1
    assert short.vector == (3.0,)
    assert transport.last.url == "http://localhost:11434/api/embed"
    assert transport.last.json == {"model": "nomic-embed-text", "input": ["abc"], "dimensions": 64}
    assert transport.requests[1].json["truncate"] is False
    assert "authorization" not in transport.last.headers


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"embeddings": 3}', b'{"error": "runner stopped"}'])
def test_an_answer_without_embeddings_is_an_error(body: bytes) -> None:
    factory = LlmFactory.from_config(settings(), environ={}, transport=FakeTransport(Reply(body=body)))
    with factory, pytest.raises(ModelError):
        factory.embedding_model("vectors").embed("hello")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        ("https://ollama.com", "https://ollama.com"),
        ("ollama.com", "https://ollama.com"),
        (":8080", "http://127.0.0.1:8080"),
        ("box:", "http://box:11434"),
        ('"box"', "http://box:11434"),
        ("box/ollama", "http://box:11434/ollama"),
        ("box:8080/ollama/", "http://box:8080/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:8080", "http://[::1]:8080"),
    ],
)
def test_the_servers_address_is_completed_as_the_server_reads_it(host: str, address: str) -> None:
    transport = FakeTransport(Reply(body={"embeddings": [[1.0]]}))
    with LlmFactory.from_config(settings(), environ={"OLLAMA_HOST": host}, transport=transport) as factory:
        factory.embedding_model("vectors").embed("hello")

    assert transport.last.url == f"{address}/api/embed"


@pytest.mark.parametrize("host", ["0.0.0.0", "0.0.0.0:8080", "[::]:11434", "http://0.0.0.0:11434"])
def test_the_usual_key_goes_to_a_server_that_listens_everywhere(host: str) -> None:
    transport = FakeTransport(Reply(body={"embeddings": [[1.0]]}))
    environ = {"OLLAMA_HOST": host, "OLLAMA_API_KEY": "a-key"}
    with LlmFactory.from_config(settings(), environ=environ, transport=transport) as factory:
        factory.embedding_model("vectors").embed("hello")

    assert transport.last.headers["authorization"] == "Bearer a-key"


def test_an_error_of_the_server_is_read_from_its_bare_text() -> None:
    answer = HttpResponse(404, Headers(), b'{"error": "model \\"x\\" not found, try pulling it first"}')

    error = OllamaCodec().decode_error(answer)

    assert error.kind == "not_found"
    assert "try pulling it first" in str(error)
