"""`/embeddings` of the rows: where it is, what it is asked, in which batches, and through the factory."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.codec import Encoded, Headers, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingModel
from polywire.errors import BadRequest, ModelError, RateLimited, SettingsError
from polywire.parameters import ChatRequestParameters
from polywire.plugins import BuildContext
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_compatible import ROWS
from polywire_compatible.provider import polywire_provider
from polywire_openai import OpenAIEmbeddingCodec

OFFERED = {
    # the address, the field for dimensions, and how many texts go at once
    "qwen": ("https://dashscope.aliyuncs.com/compatible-mode/v1/embeddings", "dimensions", 10),
    "openrouter": ("https://openrouter.ai/api/v1/embeddings", "dimensions", 256),
    "vllm": ("http://localhost:8000/v1/embeddings", "dimensions", 256),
    "llama-cpp": ("http://localhost:8080/v1/embeddings", None, 256),
    "lm-studio": ("http://localhost:1234/v1/embeddings", None, 256),
    "ollama-compatible": ("http://localhost:11434/v1/embeddings", "dimensions", 256),
    "mistral": ("https://api.mistral.ai/v1/embeddings", "output_dimension", 256),
    "zhipu": ("https://api.z.ai/api/paas/v4/embeddings", "dimensions", 64),
    "together": ("https://api.together.ai/v1/embeddings", None, 256),
    "fireworks": ("https://api.fireworks.ai/inference/v1/embeddings", "dimensions", 256),
    "azure-openai": ("https://res.openai.azure.com/openai/v1/embeddings", "dimensions", 2048),
    "openai-compatible": ("https://res.openai.azure.com/embeddings", "dimensions", 2048),
}


def answer(count: int, *, first: int = 0, reverse: bool = False) -> bytes:
    """An answer in OpenAI's shape; the vectors tell the number of their text."""
    data = [{"object": "embedding", "index": at, "embedding": [float(first + at), 0.5]} for at in range(count)]
    usage = {"prompt_tokens": count, "total_tokens": count}
    order = list(reversed(data)) if reverse else data
    return json.dumps({"id": "e1", "object": "list", "model": "m", "data": order, "usage": usage}).encode()


def build(name: str, transport: FakeTransport, *, dimensions: int | None = None, **settings: Any) -> EmbeddingModel:
    provider = polywire_provider(name)
    assert provider is not None
    assert provider.build_embedding is not None
    settings = {"api_key": "sk-test", **settings}
    if name in {"azure-openai", "openai-compatible"}:
        settings.setdefault("base_url", "https://res.openai.azure.com")
    context = BuildContext(
        name,
        provider.settings(**settings),
        defaults=ChatRequestParameters(model="m"),
        transport=transport,
        dimensions=dimensions,
    )
    return provider.build_embedding(context)


def bodies(transport: FakeTransport) -> list[dict[str, Any]]:
    return [json.loads(sent.request.body) for sent in transport.requests]


def test_the_rows_that_have_embeddings_are_these() -> None:
    assert {name for name, row in ROWS.items() if row.embeddings is not None} == set(OFFERED)
    assert all(row.embeddings.source for row in ROWS.values() if row.embeddings is not None)


@pytest.mark.parametrize(("name", "address", "field"), [(name, *each[:2]) for name, each in OFFERED.items()])
def test_a_request_goes_where_the_service_has_it_and_says_what_it_takes(
    name: str, address: str, field: str | None
) -> None:
    transport = FakeTransport(Reply(body=answer(2)))

    response = build(name, transport).embed(["a", "b"], dimensions=2)

    sent = transport.requests[0]
    body = bodies(transport)[0]
    encoding = {"qwen": "float", "azure-openai": "base64"}.get(name)
    assert sent.url == address
    assert body == {
        "model": "m",
        "input": ["a", "b"],
        **({field: 2} if field else {}),
        **({"encoding_format": encoding} if encoding else {}),
    }
    headers = {key.lower(): value for key, value in sent.request.headers.items()}
    assert headers.get("api-key" if name == "azure-openai" else "authorization", "").endswith("sk-test")
    assert response.vectors == ((0.0, 0.5), (1.0, 0.5))
    assert response.usage == TokenUsage(2, None, 2)
    assert [notice.subject for notice in response.notices] == ([] if field else ["dimensions"])


@pytest.mark.parametrize(("name", "limit"), [(name, each[2]) for name, each in OFFERED.items()])
@pytest.mark.parametrize("is_async", [False, True])
def test_more_texts_than_the_service_takes_go_in_batches_and_come_back_in_order(
    name: str, limit: int, is_async: bool
) -> None:
    count = limit * 2 + 3
    transport = FakeTransport(
        Reply(body=answer(limit, reverse=True)),
        Reply(body=answer(limit, first=limit)),
        Reply(body=answer(3, first=2 * limit)),
    )
    model = build(name, transport)
    texts = [f"t{number}" for number in range(count)]

    response = asyncio.run(model.aembed(texts)) if is_async else model.embed(texts)

    assert [body["input"] for body in bodies(transport)] == [
        texts[:limit],
        texts[limit : 2 * limit],
        texts[2 * limit :],
    ]
    assert [vector[0] for vector in response.vectors] == [float(number) for number in range(count)]
    assert response.usage == TokenUsage(count, None, count)


def test_mistrals_batches_have_a_length_too() -> None:
    transport = FakeTransport(Reply(body=answer(1)), Reply(body=answer(1, first=1)))

    build("mistral", transport).embed(["a" * 20_000, "b" * 20_000])

    assert [len(body["input"]) for body in bodies(transport)] == [1, 1]


def test_the_settings_may_know_another_limit() -> None:
    transport = FakeTransport(Reply(body=answer(2)), Reply(body=answer(1, first=2)))

    response = build("vllm", transport, max_inputs=2).embed(["a", "b", "c"])

    assert len(response.vectors) == 3


def test_openrouter_is_told_what_vectors_are_for() -> None:
    transport = FakeTransport(Reply(body=answer(1)), Reply(body=answer(1)), Reply(body=answer(1)))
    model = build("openrouter", transport)

    model.embed("a", purpose="query")
    model.embed("a", purpose="document")
    told = model.embed("a", purpose="similarity")

    assert [body.get("input_type") for body in bodies(transport)] == ["search_query", "search_document", None]
    assert [(notice.kind, notice.subject) for notice in told.notices] == [("dropped", "purpose")]


def test_azures_older_address_holds_the_deployment_and_the_version() -> None:
    transport = FakeTransport(Reply(body=answer(1)))

    build("azure-openai", transport, api_version="2024-10-21").embed("a", model="my embeddings")

    assert transport.requests[0].url == (
        "https://res.openai.azure.com/openai/deployments/my%20embeddings/embeddings?api-version=2024-10-21"
    )


def test_azures_entra_token_is_a_bearer_token() -> None:
    transport = FakeTransport(Reply(body=answer(1)))

    build("azure-openai", transport, api_key=None, access_token="eyJ0").embed("a")

    headers = {key.lower(): value for key, value in transport.requests[0].request.headers.items()}
    assert headers["authorization"] == "Bearer eyJ0"
    assert "api-key" not in headers


# Answers as the services give them: the vendors' documentation and SDKs, wire/embeddings.md

ANSWERS: dict[str, tuple[dict[str, Any], tuple[tuple[float, ...], ...], TokenUsage]] = {
    "mistral, which adds an id": (
        {
            "id": "e1", "object": "list", "model": "mistral-embed",
            "data": [{"object": "embedding", "index": 0, "embedding": [-0.5, 0.25]}],
            "usage": {"prompt_tokens": 15, "total_tokens": 15, "completion_tokens": 0},
        },
        ((-0.5, 0.25),),
        TokenUsage(15, 0, 15),
    ),
    "openrouter, with its cost": (
        {
            "object": "list", "model": "openai/text-embedding-3-small",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
            "usage": {"prompt_tokens": 2, "total_tokens": 2, "cost": 4e-08},
        },
        ((0.5,),),
        TokenUsage(2, None, 2),
    ),
    "together, without usage or places": (
        {
            "object": "list", "model": "BAAI/bge-large-en-v1.5",
            "data": [{"object": "embedding", "embedding": [1.0]}, {"object": "embedding", "embedding": [2.0]}],
        },
        ((1.0,), (2.0,)),
        TokenUsage(),
    ),
    "any, as base64": (
        {
            "object": "list", "model": "m",
            "data": [{"object": "embedding", "index": 0, "embedding": base64.b64encode(struct.pack("<2f", 1.5, -2)).decode()}],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        },
        ((1.5, -2.0),),
        TokenUsage(1, None, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read_as_the_service_gives_it(name: str) -> None:
    body, vectors, usage = ANSWERS[name]

    response = OpenAIEmbeddingCodec().decode(
        HttpResponse(200, Headers(), json.dumps(body).encode()), Encoded(HttpRequest("embeddings"))
    )

    assert response.vectors == vectors
    assert response.usage == usage


@pytest.mark.parametrize(
    ("name", "status", "body", "kind"),
    [
        ("qwen", 400, {"error": {"code": "InvalidParameter", "message": "batch size is invalid, it should not be larger than 10.", "type": "InvalidParameter"}}, BadRequest),
        ("zhipu", 429, {"error": {"code": "1302", "message": "too fast"}}, RateLimited),
        ("mistral", 422, {"object": "error", "message": {"detail": [{"msg": "Extra inputs are not permitted"}]}, "type": "invalid_request_error"}, BadRequest),
        ("llama-cpp", 501, {"error": {"code": 501, "message": "This server does not support embeddings. Start it with `--embeddings`", "type": "not_supported_error"}}, ModelError),
    ],
)  # fmt: skip
def test_a_failure_is_the_services_own(name: str, status: int, body: dict[str, Any], kind: type[ModelError]) -> None:
    transport = FakeTransport(Reply(status=status, body=json.dumps(body).encode()))

    with pytest.raises(kind) as raised:
        build(name, transport).embed("a")

    assert raised.value.status == status


# The factory


def test_the_factory_makes_them_of_a_settings_table() -> None:
    transport = FakeTransport(Reply(body=answer(10)), Reply(body=answer(1, first=10)))
    settings = {
        "providers": {"qwen": {"api_key": "sk-test"}},
        "models": {
            "vectors": {"kind": "embedding", "provider": "qwen", "model": "text-embedding-v4", "dimensions": 512}
        },
    }

    with LlmFactory.from_config(settings, transport=transport) as factory:
        response = factory.embedding_model("vectors").embed([f"t{number}" for number in range(11)])

    assert [vector[0] for vector in response.vectors] == [float(number) for number in range(11)]
    assert [body["dimensions"] for body in bodies(transport)] == [512, 512]


@pytest.mark.parametrize("name", ["deepseek", "groq", "moonshot", "xai"])
def test_a_service_without_embeddings_is_told_before_any_network(name: str) -> None:
    settings = {
        "providers": {name: {"api_key": "sk-test"}},
        "models": {"vectors": {"kind": "embedding", "provider": name, "model": "m"}},
    }

    with pytest.raises(SettingsError, match="embedding"), LlmFactory.from_config(settings) as factory:
        factory.embedding_model("vectors")
