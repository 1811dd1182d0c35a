"""
What is sent to a service, held against the types of the service's own SDK: no field unknown, none missing, none ill-typed.

Services without an SDK of their own are reached with OpenAI's, so that their bodies are held against its types, and the
fields that each service documents besides are named here.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from polywire.contents import AudioContent, DocumentContent, ImageContent, TextContent, ThinkingContent, VideoContent
from polywire.embeddings import EmbeddingRequest
from polywire.messages import AiMessage, Origin, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat, ToolChoice
from polywire.requests import ChatRequest
from polywire.tool_calls import ToolError
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS, Row
from polywire_openai import OpenAIChatCodec, OpenAIEmbeddingCodec

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))

from support.strict_types import check

Rename = Mapping[tuple[str, str], str]
PNG = b"\x89PNG\r\n\x1a\n"
SCHEMA = {"type": "object", "properties": {"tz": {"type": "string"}}, "required": ["tz"], "additionalProperties": False}
TOOLS = (ToolSpecification("get_time", "Tells the time.", SCHEMA), ToolSpecification("now"))
MODELS = {
    "deepseek": "deepseek-chat", "qwen": "qwen-plus", "openrouter": "anthropic/claude-sonnet-4.5", "vllm": "m",
    "llama-cpp": "m", "lm-studio": "m", "ollama-compatible": "qwen3", "mistral": "magistral-medium-latest",
    "groq": "openai/gpt-oss-20b", "xai": "grok-3-mini", "moonshot": "kimi-k2.6", "zhipu": "glm-4.6",
    "together": "deepseek-ai/DeepSeek-V3.1", "fireworks": "accounts/fireworks/models/kimi-k2-thinking",
    "azure-openai": "gpt-5.1", "openai-compatible": "m",
}  # fmt: skip

# The type of a body, by the service's SDK; and the names under which that SDK's types know a field of the wire.
TYPES: dict[str, tuple[str, str, Rename]] = {
    "mistral": (
        "mistralai.client.models",
        "ChatCompletionRequestTypedDict",
        {("json_schema", "schema"): "schema_definition"},
    ),
    "groq": ("groq.types.chat.completion_create_params", "CompletionCreateParams", {}),
    "together": ("together.types.chat.completion_create_params", "CompletionCreateParams", {}),
    "fireworks": ("fireworks.types.chat.completion_create_params", "CompletionCreateParams", {}),
    "openrouter": (
        "openrouter.components.chatrequest",
        "ChatRequestTypedDict",
        {("input_audio", "format"): "format_", ("json_schema", "schema"): "schema_"},
    ),
}
EMBEDDING_TYPES: dict[str, tuple[str, str, Rename]] = {
    "mistral": ("mistralai.client.models", "EmbeddingRequestTypedDict", {("", "input"): "inputs"}),
    "openrouter": ("openrouter.operations.createembeddings", "CreateEmbeddingsRequestBodyTypedDict", {}),
    "together": ("together.types.embedding_create_params", "EmbeddingCreateParams", {}),
}
# Fields that are documented, and that the SDK's types do not have; each with where it is from.
DOCUMENTED: dict[str, set[str]] = {
    # wire/compat-vendors.md section 3
    "groq": {"stream_options"},
    "together": {"stream_options"},
    "openrouter": {"max_tokens", "exclude", "enabled"},
    "deepseek": {"reasoning_content", "thinking"},
    "qwen": {"reasoning_content", "enable_thinking", "thinking_budget", "video_url"},
    "vllm": {"reasoning", "include_reasoning", "video_url", "audio_url"},
    "llama-cpp": {"reasoning_content"},
    "lm-studio": {"reasoning_content"},
    "ollama-compatible": {"reasoning"},
    "xai": set(),
    "moonshot": {"reasoning_content", "thinking", "video_url"},
    "azure-openai": set(),
    "openai-compatible": {"reasoning_content", "video_url"},
}


@cache
def type_of(module: str, name: str) -> Any:
    return getattr(pytest.importorskip(module), name)


def renamed(value: Any, names: Rename, parent: str = "") -> Any:
    if isinstance(value, Mapping):
        return {names.get((parent, key), key): renamed(item, names, key) for key, item in value.items()}
    return [renamed(item, names, parent) for item in value] if isinstance(value, list) else value


def without(value: Any, fields: set[str]) -> Any:
    """Return a body without the fields, and without the parts, that only this service documents."""
    if isinstance(value, Mapping):
        return {key: without(item, fields) for key, item in value.items() if key not in fields}
    if isinstance(value, list):
        kept = [item for item in value if not (isinstance(item, Mapping) and item.get("type") in fields)]
        return [without(item, fields) for item in kept]
    return value


def parts(row: Row, model: str) -> Iterator[Any]:
    """Return one of each kind of media, from each source that the row takes."""
    profile = row.profiles().for_model(model)
    made: dict[str, tuple[Callable[..., Any], bytes, str]] = {
        "image": (ImageContent, PNG, "https://example.com/a.png"),
        "audio": (AudioContent, b"RIFF\x04\0\0\0WAVE", "https://example.com/a.wav"),
        "document": (DocumentContent, b"%PDF-1.4", "https://example.com/a.pdf"),
        "video": (VideoContent, b"\0\0\0\x18ftypmp42", "https://example.com/a.mp4"),
    }
    for name, (kind, data, url) in made.items():
        # What is not documented has no type to be held against.
        sources = () if name in profile.quirks.get("undocumented", ()) else getattr(profile, f"{name}_sources")
        if "data" in sources:
            yield kind(data=data)
        if "url" in sources:
            yield kind(url=url)
        if "file_id" in sources:
            yield kind(file_id="file-1")


def requests(name: str) -> Iterator[ChatRequest]:
    """Return requests with everything that a row takes."""
    row, model = ROWS[name], MODELS[name]
    profile = row.profiles().for_model(model)
    asked = ChatRequestParameters(model=model)

    def parameters(**values: Any) -> ChatRequestParameters:
        return ChatRequestParameters(model=model, **values)

    system = SystemMessage([TextContent("Be brief."), TextContent("Be kind.")])
    sampling = {
        "temperature": 0.5, "top_p": 0.9, "max_tokens": 99, "seed": 7, "presence_penalty": 0.1,
        "frequency_penalty": 0.1, "stop_sequences": ("END",),
    }  # fmt: skip
    yield ChatRequest([system, UserMessage("q", name="ann")], parameters(**sampling))
    for media in parts(row, model):
        yield ChatRequest([UserMessage(["What is this?", media])], asked)
    field = profile.reasoning_field
    thought = ThinkingContent("Both clocks.", extras={"openai": {"field": field}} if field else {})
    calls = [ToolCall("call_a", "get_time", {"tz": "UTC"}), ToolCall("call_b", "now", {})]
    history = [
        UserMessage("q"),
        AiMessage([thought, "I look.", *calls], Origin("openai")),
        ToolResultMessage("call_a", "get_time", [TextContent("noon"), TextContent("UTC")]),
        ToolResultMessage("call_b", "now", [], True, ToolError("offline", "the clock is offline")),
        AiMessage([thought, "Noon."], Origin("openai")),
        UserMessage("and the picture?"),
        AiMessage([ToolCall("call_c", "now", {})], Origin("openai")),
        ToolResultMessage("call_c", "now", ["here", ImageContent(data=PNG)]),
        *([] if not profile.prefill else [UserMessage("go on")]),
    ]
    if "image" in profile.quirks.get("undocumented", ()):
        history = [message for message in history if "call_c" not in str(message)]
    yield ChatRequest(history, parameters(tools=TOOLS))
    for choice in (ToolChoice("auto"), ToolChoice("none"), ToolChoice("required"), ToolChoice.tool("now")):
        yield ChatRequest("q", parameters(tools=TOOLS, tool_choice=choice, parallel_tool_calls=True))
    yield ChatRequest("q", parameters(tools=(ToolSpecification("now", None, SCHEMA, strict=True),)))
    yield ChatRequest("q", parameters(response_format="json"))
    yield ChatRequest("q", parameters(response_format=ResponseFormat("json_schema", SCHEMA, strict=True)))
    for reasoning in (
        Reasoning("none"), Reasoning("low"), Reasoning("max"), Reasoning(budget_tokens=512), Reasoning("high", visible=False)
    ):  # fmt: skip
        yield ChatRequest("q", parameters(reasoning=reasoning))


def bodies(name: str, *, stream: bool) -> Iterator[dict[str, Any]]:
    codec = OpenAIChatCodec(ROWS[name].profiles())
    for request in requests(name):
        yield json.loads(codec.encode(request, stream=stream).http.body)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", TYPES)
def test_a_body_is_one_of_the_services_own_type(name: str, stream: bool) -> None:
    module, type_name, names = TYPES[name]
    kind = type_of(module, type_name)

    for body in bodies(name, stream=stream):
        sent = renamed(without(_adapted(name, body), DOCUMENTED.get(name, set())), names)
        assert check(sent, kind) == [], body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", [name for name in DOCUMENTED if name not in TYPES])
def test_a_body_is_openais_but_for_what_the_service_documents(name: str, stream: bool) -> None:
    kind = type_of(
        "openai.types.chat.completion_create_params",
        "CompletionCreateParamsStreaming" if stream else "CompletionCreateParamsNonStreaming",
    )

    for body in bodies(name, stream=stream):
        assert check(without(_adapted(name, body), DOCUMENTED[name]), kind) == [], body


def _adapted(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body with what a type demands and no service does; else as it is."""
    adapted: dict[str, Any] = json.loads(json.dumps(body))
    for message in adapted["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if name == "qwen" and part["type"] == "input_audio":
                # Of sound at an address there is no format to be told, and none is asked for.
                part["input_audio"].setdefault("format", "wav")
        if name == "together":
            # Its one type for calls is that of an answer.
            for index, call in enumerate(message.get("tool_calls", ())):
                call["index"] = index
    if name == "together" and isinstance(adapted.get("tool_choice"), dict):
        adapted["tool_choice"] |= {"id": "", "index": 0}
        adapted["tool_choice"]["function"]["arguments"] = ""
    return adapted


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_for_zhipu_has_the_parameters_of_its_own_client(stream: bool) -> None:
    create = pytest.importorskip("zai.api_resource.chat.completions").Completions.create
    hints = {key: kind for key, kind in get_type_hints(create).items() if key != "return"}
    own = set(inspect.signature(create).parameters) - {"self", "extra_headers", "extra_body", "timeout"}

    for body in bodies("zhipu", stream=stream):
        # The usage of a stream comes with its last chunk; asking for it is documented too.
        sent = without(body, {"stream_options"})
        assert set(sent) <= own
        for key, value in sent.items():
            assert check(value, hints[key]) == [], key


@pytest.mark.parametrize("name", EMBEDDING_TYPES)
def test_a_body_for_embeddings_is_one_of_the_services_own_type(name: str) -> None:
    module, type_name, names = EMBEDDING_TYPES[name]
    kind = type_of(module, type_name)
    offered = ROWS[name].embeddings
    assert offered is not None
    codec = OpenAIEmbeddingCodec(
        encoding=offered.encoding, dimensions_field=offered.dimensions_field, purposes=offered.purposes
    )

    encoded = codec.encode(EmbeddingRequest(["a", "b"], "m", 256, "query"))

    assert check(renamed(json.loads(encoded.http.body), names), kind) == []


@pytest.mark.parametrize("name", TYPES)
def test_the_check_finds_what_the_service_would_refuse(name: str) -> None:
    module, type_name, names = TYPES[name]
    kind = type_of(module, type_name)
    body = renamed(without(next(iter(bodies(name, stream=False))), DOCUMENTED.get(name, set())), names)

    assert check({**body, "max_output_tokens": 9}, kind)
    assert check({**body, "temperature": "hot"}, kind)
    assert check({key: value for key, value in body.items() if key != "messages"}, kind)
    assert check({**body, "messages": [{"role": "user", "content": [{"type": "text", "words": "a"}]}]}, kind)


def test_every_row_is_held_against_types() -> None:
    assert {*TYPES, *DOCUMENTED, "zhipu"} == set(ROWS)
    assert importlib.import_module("openai").__version__
