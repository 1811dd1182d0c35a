"""The Gemini API, Vertex AI and gateways: where requests go, with which key, and what differs there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.errors import BadRequest, ProtocolError, SettingsError
from polywire.parameters import ChatRequestParameters, Reasoning
from polywire.requests import ChatRequest
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire.tool_specifications import ToolSpecification
from polywire_gemini import GeminiCodec
from polywire_gemini.provider import PROVIDER, is_vertex

ANSWER = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}
EXPRESS = "https://aiplatform.googleapis.com/v1/publishers/google"
PROJECT = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google"
HOST = "https://generativelanguage.googleapis.com"
GATEWAY = "https://llm.example.internal/gemini/v1beta"


def factory_for(transport: FakeTransport, **settings: Any) -> LlmFactory:
    return LlmFactory.from_config(
        {
            "default_model": "chat",
            "providers": {"here": {"plugin": "gemini", **settings}},
            "models": {
                "chat": {"provider": "here", "model": "gemini-flash-latest"},
                "vectors": {"kind": "embedding", "provider": "here", "model": "gemini-embedding-001"},
            },
        },
        transport=transport,
    )


def headers_of(transport: FakeTransport) -> dict[str, str]:
    return {name.lower(): value for name, value in transport.requests[0].request.headers.items()}


@pytest.mark.parametrize(
    ("settings", "start", "key"),
    [
        ({"api_key": "k"}, "https://generativelanguage.googleapis.com/v1beta", ("x-goog-api-key", "k")),
        ({"api_key": "k", "base_url": EXPRESS}, EXPRESS, ("x-goog-api-key", "k")),
        ({"access_token": "t", "base_url": PROJECT}, PROJECT, ("authorization", "Bearer t")),
        ({"access_token": "t", "api_key": "k", "base_url": PROJECT}, PROJECT, ("authorization", "Bearer t")),
        ({"access_token": "t", "base_url": GATEWAY + "/"}, GATEWAY, ("authorization", "Bearer t")),
        ({"api_key": "k", "base_url": GATEWAY}, GATEWAY, ("x-goog-api-key", "k")),
        # The vendor's SDK takes an address without the version, and adds it.
        ({"api_key": "k", "base_url": HOST}, f"{HOST}/v1beta", ("x-goog-api-key", "k")),
        ({"api_key": "k", "base_url": f"{HOST}/"}, f"{HOST}/v1beta", ("x-goog-api-key", "k")),
        ({"api_key": "k", "base_url": f"{HOST}/v1"}, f"{HOST}/v1", ("x-goog-api-key", "k")),
        ({"api_key": "k", "base_url": "http://box:8080"}, "http://box:8080/v1beta", ("x-goog-api-key", "k")),
    ],
)
def test_a_call_goes_to_the_settings_address_with_the_key_in_one_header(
    settings: dict[str, Any], start: str, key: tuple[str, str]
) -> None:
    transport = FakeTransport(Reply(body=json.dumps(ANSWER).encode()))

    with factory_for(transport, **settings) as factory:
        assert factory.chat_model().chat("q").text == "Hi"

    assert transport.requests[0].url == f"{start}/models/gemini-flash-latest:generateContent"
    headers = headers_of(transport)
    assert {name: headers[name] for name in ("x-goog-api-key", "authorization") if name in headers} == dict([key])


@pytest.mark.parametrize("base_url", [EXPRESS, GATEWAY])
def test_a_stream_goes_there_too(base_url: str) -> None:
    transport = FakeTransport(Reply(body=b"data: " + json.dumps(ANSWER).encode() + b"\n\n"))

    with factory_for(transport, api_key="k", base_url=base_url) as factory:
        assert "".join(factory.chat_model().stream("q").text_stream()) == "Hi"

    assert transport.requests[0].url == f"{base_url}/models/gemini-flash-latest:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("settings", "vertex"),
    [
        ({}, False),
        ({"base_url": EXPRESS}, True),
        ({"base_url": PROJECT}, True),
        ({"base_url": GATEWAY}, False),
        ({"base_url": GATEWAY, "endpoint": "vertex"}, True),
        ({"base_url": EXPRESS, "endpoint": "gemini"}, False),
        ({"base_url": "https://aiplatform.googleapis.com.example.com"}, False),
        ({"base_url": "https://myaiplatform.googleapis.com"}, False),
    ],
)
def test_whose_rules_hold(settings: dict[str, Any], vertex: bool) -> None:
    assert is_vertex(PROVIDER.settings.model_validate(settings)) is vertex


def test_a_key_is_needed_unless_there_is_a_token_or_another_address() -> None:
    def needs(**settings: Any) -> bool:
        return PROVIDER.needs_key(PROVIDER.settings(**settings))

    assert needs()
    assert not needs(access_token="t")
    assert not needs(base_url=GATEWAY)
    with pytest.raises(SettingsError, match="api_key"), factory_for(FakeTransport()) as factory:
        factory.chat_model()


# Vertex AI's embeddings, as its reference has them: publishers.models.predict


def predicted(*vectors: list[float], truncated: bool = False) -> bytes:
    statistics = {"truncated": truncated, "token_count": 3}
    return json.dumps(
        {"predictions": [{"embeddings": {"values": each, "statistics": statistics}} for each in vectors]}
    ).encode()


@pytest.mark.parametrize("is_async", [False, True])
def test_vertex_takes_one_text_at_once_and_keeps_their_order(is_async: bool) -> None:
    transport = FakeTransport(Reply(body=predicted([1.0, 0.0])), Reply(body=predicted([0.0, 2.0])))

    with factory_for(transport, api_key="k", base_url=EXPRESS) as factory:
        model = factory.embedding_model("vectors")
        asked: dict[str, Any] = {"purpose": "query"}
        response = asyncio.run(model.aembed(["a", "b"], **asked)) if is_async else model.embed(["a", "b"], **asked)

    assert transport.requests[0].url == f"{EXPRESS}/models/gemini-embedding-001:predict"
    assert [json.loads(sent.request.body) for sent in transport.requests] == [
        {"instances": [{"content": text, "task_type": "RETRIEVAL_QUERY"}]} for text in ("a", "b")
    ]
    assert response.vectors == ((1.0, 0.0), (0.0, 2.0))
    assert response.usage == TokenUsage(6, None, 6)
    assert not response.notices


def test_shortened_vectors_are_brought_to_length_one_and_a_cut_text_is_told() -> None:
    transport = FakeTransport(Reply(body=predicted([3.0, 4.0], truncated=True)))

    with factory_for(transport, api_key="k", base_url=EXPRESS) as factory:
        response = factory.embedding_model("vectors").embed("a", dimensions=2)

    assert json.loads(transport.requests[0].request.body)["parameters"] == {"outputDimensionality": 2}
    assert response.vectors == ((0.6, 0.8),)
    assert [(notice.kind, notice.subject) for notice in response.notices] == [("information", "inputs[0]")]


@pytest.mark.parametrize("body", [b"{}", b'{"predictions":[]}', b'{"predictions":[{"embeddings":{}}]}', b"[]", b"no"])
def test_an_answer_without_vectors_is_an_error(body: bytes) -> None:
    with (
        factory_for(FakeTransport(Reply(body=body)), api_key="k", base_url=EXPRESS) as factory,
        pytest.raises(ProtocolError),
    ):
        factory.embedding_model("vectors").embed("a")


def test_too_many_texts_are_what_the_vendor_says_they_are() -> None:
    # Captured: github.com/vercel/ai (Apache-2.0), issue-16101-google-batch-embed-150-error.json
    body = {
        "error": {
            "code": 400,
            "message": "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
            "status": "INVALID_ARGUMENT",
        }
    }
    transport = FakeTransport(Reply(status=400, body=json.dumps(body).encode()))

    with factory_for(transport, api_key="k") as factory, pytest.raises(BadRequest, match="at most 100"):
        factory.embedding_model("vectors").embed("a")


def test_texts_beyond_the_vendors_hundred_go_in_another_request() -> None:
    def vectors(first: int, count: int) -> bytes:
        return json.dumps({"embeddings": [{"values": [float(first + at)]} for at in range(count)]}).encode()

    transport = FakeTransport(Reply(body=vectors(0, 100)), Reply(body=vectors(100, 50)))

    with factory_for(transport, api_key="k") as factory:
        response = factory.embedding_model("vectors").embed([f"t{number}" for number in range(150)])

    assert [vector[0] for vector in response.vectors] == [float(number) for number in range(150)]
    assert [len(json.loads(sent.request.body)["requests"]) for sent in transport.requests] == [100, 50]


# What single models take


def body_of(model: str, **parameters: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    encoded = GeminiCodec().encode(ChatRequest("q", ChatRequestParameters(model=model, **parameters)), stream=False)
    return json.loads(encoded.http.body), [(notice.kind, notice.subject) for notice in encoded.notices]


@pytest.mark.parametrize(
    ("model", "reasoning", "config", "told"),
    [
        ("gemini-2.5-flash", Reasoning("none"), {"thinkingBudget": 0}, False),
        ("gemini-2.5-pro", Reasoning("none"), {"thinkingBudget": 128}, True),
        ("gemini-2.5-pro", Reasoning("high"), {"thinkingBudget": 32768}, True),
        ("gemini-3-pro-preview", Reasoning("medium"), {"thinkingLevel": "LOW"}, True),
        ("gemini-3-flash", Reasoning("xhigh"), {"thinkingLevel": "HIGH"}, True),
        ("gemini-3.8-flash", Reasoning("xhigh"), {"thinkingLevel": "HIGH"}, True),
        ("gemini-3.8-flash", Reasoning("minimal"), {"thinkingLevel": "LOW"}, True),
        ("gemini-3.7-flash", Reasoning("minimal"), {"thinkingLevel": "LOW"}, True),
        ("gemini-3.5-flash-lite", Reasoning("minimal"), {"thinkingLevel": "MINIMAL"}, False),
        ("gemini-3.1-pro-preview", Reasoning("medium"), {"thinkingLevel": "MEDIUM"}, False),
        ("gemini-3.1-pro-preview", Reasoning("minimal"), {"thinkingLevel": "LOW"}, True),
        ("gemini-4-pro", Reasoning("xhigh"), {"thinkingLevel": "XHIGH"}, False),
        ("gemini-3-flash", Reasoning("minimal"), {"thinkingLevel": "MINIMAL"}, False),
        ("gemini-3-flash", Reasoning("none"), {"thinkingLevel": "MINIMAL"}, True),
        ("gemini-2.0-flash", Reasoning("high"), None, True),
        ("gemini-2.0-flash", Reasoning("none"), None, False),
        ("gemma-3-27b-it", Reasoning(budget_tokens=100), None, True),
    ],
)
def test_thinking_is_asked_for_as_the_model_takes_it(
    model: str, reasoning: Reasoning, config: dict[str, Any] | None, told: bool
) -> None:
    body, notices = body_of(model, reasoning=reasoning)

    assert body.get("generationConfig", {}).get("thinkingConfig") == config
    assert any(subject == "reasoning" for _, subject in notices) is told


def test_beside_cached_content_stands_nothing_that_the_cache_holds() -> None:
    parameters = ChatRequestParameters(
        model="gemini-2.5-flash",
        tools=(ToolSpecification("now"),),
        custom_parameters={"cachedContent": "cachedContents/c1"},
    )
    from polywire.messages import SystemMessage, UserMessage

    encoded = GeminiCodec().encode(
        ChatRequest([SystemMessage("Be brief."), UserMessage("q")], parameters), stream=False
    )

    body = json.loads(encoded.http.body)
    assert body["cachedContent"] == "cachedContents/c1"
    assert {"systemInstruction", "tools", "toolConfig"}.isdisjoint(body)
    assert {notice.subject for notice in encoded.notices if notice.kind == "dropped"} == {"systemInstruction", "tools"}


def test_options_of_the_vendors_own_stand_beside_the_typed_ones() -> None:
    custom = {"generationConfig": {"topK": 5, "temperature": 0.9}}

    body, notices = body_of("gemini-2.5-flash", temperature=0.2, seed=1, custom_parameters=custom)

    assert body["generationConfig"] == {"temperature": 0.9, "seed": 1, "topK": 5}
    assert notices == [("information", "generationConfig.temperature")]
