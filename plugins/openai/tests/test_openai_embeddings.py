"""Embeddings over `/embeddings`: the request against the vendor's own type, answers in either form, and the factory."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st
from openai.types import CreateEmbeddingResponse, EmbeddingCreateParams
from pydantic import ConfigDict, TypeAdapter, with_config

from polywire import LlmFactory
from polywire.codec import Encoded, Headers, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingRequest
from polywire.errors import BadRequest, EmptyResponse, ModelError, ProtocolError, RateLimited, SettingsError
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_openai import OpenAIEmbeddingCodec

# Answers as the vendor's documentation shows them.
DOCUMENTED = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.0023064255, -0.009327292]}],
    "model": "text-embedding-3-small",
    "usage": {"prompt_tokens": 8, "total_tokens": 8},
}
with_config(ConfigDict(extra="forbid"))(EmbeddingCreateParams)
PARAMETERS: TypeAdapter[Any] = TypeAdapter(EmbeddingCreateParams)


def packed(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def decoded(body: Any) -> Any:
    codec = OpenAIEmbeddingCodec()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return codec.decode(HttpResponse(200, Headers(), data), Encoded(HttpRequest("embeddings")))


def test_a_request_has_what_the_vendors_own_type_has() -> None:
    request = EmbeddingRequest(["a", "b"], "text-embedding-3-small", 256, custom_parameters={"user": "u1"})

    encoded = OpenAIEmbeddingCodec().encode(request)

    body = json.loads(encoded.http.body)
    assert body == {
        "model": "text-embedding-3-small",
        "input": ["a", "b"],
        "dimensions": 256,
        "encoding_format": "base64",
        "user": "u1",
    }
    PARAMETERS.validate_python(body)
    with pytest.raises(ValueError, match="purpose"):
        PARAMETERS.validate_python({**body, "purpose": "query"})
    assert encoded.http.path == "embeddings"
    assert encoded.notices == ()


def test_a_purpose_is_left_out_with_a_notice_and_a_custom_key_wins_with_one() -> None:
    request = EmbeddingRequest("a", "m", purpose="query", custom_parameters={"encoding_format": "float"})

    encoded = OpenAIEmbeddingCodec().encode(request)

    assert json.loads(encoded.http.body) == {"model": "m", "input": ["a"], "encoding_format": "float"}
    assert [(notice.kind, notice.subject) for notice in encoded.notices] == [
        ("dropped", "purpose"),
        ("information", "encoding_format"),
    ]


def test_the_documented_answer_is_read() -> None:
    CreateEmbeddingResponse.model_validate(DOCUMENTED)

    response = decoded(DOCUMENTED)

    assert response.vector == (0.0023064255, -0.009327292)
    assert response.usage == TokenUsage(8, None, 8)
    assert response.metadata == {"model": "text-embedding-3-small"}


def test_base64_is_32_bit_floats_with_the_lowest_byte_first() -> None:
    # 1.0 is 0x3f800000: on the wire 00 00 80 3f.
    response = decoded({"data": [{"index": 0, "embedding": "AACAPwAAAMA="}]})

    assert response.vector == (1.0, -2.0)
    assert response.usage == TokenUsage()


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_any_vector_comes_through_base64_unchanged(values: list[float]) -> None:
    assert decoded({"data": [{"index": 0, "embedding": packed(*values)}]}).vector == tuple(values)


@given(st.permutations(range(5)))
def test_vectors_are_put_in_order_by_their_index(order: list[int]) -> None:
    data = [{"index": place, "embedding": [float(place)] if place % 2 else packed(float(place))} for place in order]

    assert decoded({"data": data}).vectors == tuple((float(place),) for place in range(5))


@pytest.mark.parametrize("indexes", [[None, None], [0, 0], [None, 0]])
def test_without_an_index_for_each_the_answers_order_counts(indexes: list[int | None]) -> None:
    data = [{"index": index, "embedding": [float(at)]} for at, index in enumerate(indexes)]

    assert decoded({"data": data}).vectors == ((0.0,), (1.0,))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", EmptyResponse),
        (b"[]", ProtocolError),
        (b"not json", ProtocolError),
        ({"object": "list"}, ProtocolError),
        ({"data": ["x"]}, ProtocolError),
        ({"data": [{"index": 0}]}, ProtocolError),
        ({"data": [{"index": 0, "embedding": "AACA"}]}, ProtocolError),
        ({"data": [{"index": 0, "embedding": "not base64!"}]}, ProtocolError),
        ({"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}, RateLimited),
    ],
)
def test_an_answer_that_is_none_is_named(body: Any, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        decoded(body)


def settings(**provider: Any) -> dict[str, Any]:
    return {
        "providers": {"openai": {"api_key": "sk-test-key-1", **provider}},
        "models": {
            "vectors": {"provider": "openai", "model": "text-embedding-3-small", "kind": "embedding", "dimensions": 2}
        },
    }


def echo(request: HttpRequest) -> Reply:
    texts = json.loads(request.body)["input"]
    data = [{"index": at, "embedding": packed(float(len(text)), 0.5)} for at, text in enumerate(texts)]
    return Reply(
        body={"data": data[::-1], "model": "m", "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)}},
        headers={"x-request-id": "req_1"},
    )


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_factory_makes_it_work_from_end_to_end(asynchronous: bool) -> None:
    transport = FakeTransport(Reply(status=429, body={"error": {"message": "slow"}}), echo, repeat=True)
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    table = settings(organization="org-1", retry={"attempts": 2})
    with LlmFactory.from_config(table, environ={}, transport=transport, sleep=waits.append, asleep=asleep) as factory:
        model = factory.embedding_model("vectors")
        texts = ["x" * (number % 7 + 1) for number in range(2050)]
        response = asyncio.run(model.aembed(texts)) if asynchronous else model.embed(texts)

        assert factory.embedding_model() is model

    assert [vector[0] for vector in response.vectors] == [len(text) for text in texts]
    assert response.usage == TokenUsage(2050, None, 2050)
    assert [len(each.json["input"]) for each in transport.requests] == [2048, 2048, 2]
    assert len(waits) == 1
    assert transport.last.url == "https://api.openai.com/v1/embeddings"
    assert transport.last.headers["authorization"] == "Bearer sk-test-key-1"
    assert transport.last.headers["openai-organization"] == "org-1"
    assert transport.last.json["dimensions"] == 2
    assert response.metadata["request_id"] == "req_1"


def test_an_endpoint_of_another_house_is_not_asked_for_base64() -> None:
    transport = FakeTransport(echo)
    with LlmFactory.from_config(settings(base_url="http://127.0.0.1:8000/v1"), environ={}, transport=transport) as made:
        made.embedding_model("vectors").embed("hello")

    assert "encoding_format" not in transport.last.json
    assert transport.last.url == "http://127.0.0.1:8000/v1/embeddings"


def test_long_texts_are_sent_in_requests_below_the_vendors_token_limit() -> None:
    transport = FakeTransport(echo, repeat=True)
    with LlmFactory.from_config(settings(), environ={}, transport=transport) as factory:
        factory.embedding_model("vectors").embed(["y" * 250_000] * 5)

    assert [len(each.json["input"]) for each in transport.requests] == [2, 2, 1]


def test_an_error_names_provider_and_model_and_not_the_key() -> None:
    body = {"error": {"message": "maximum context length is 8192 tokens", "type": "invalid_request_error"}}
    transport = FakeTransport(Reply(status=400, body=body))
    factory = LlmFactory.from_config(settings(), environ={}, transport=transport)
    with factory, pytest.raises(ModelError, match="8192") as caught:
        factory.embedding_model("vectors").embed("hello")

    assert (caught.value.provider, caught.value.model) == ("openai", "text-embedding-3-small")
    assert isinstance(caught.value, BadRequest) or caught.value.kind == "context_length"
    assert "sk-test" not in repr(caught.value)


def test_a_model_without_a_table_and_a_model_of_another_kind() -> None:
    transport = FakeTransport(echo)
    with LlmFactory.from_config(settings(), environ={}, transport=transport) as factory:
        assert factory.embedding_model("openai:text-embedding-3-large").embed("abc").vector == (3.0, 0.5)
        with pytest.raises(SettingsError, match="embedding model"):
            factory.chat_model("vectors")


def test_an_embedding_model_has_no_fallback() -> None:
    table = settings()
    table["models"]["vectors"]["fallback"] = ["other"]
    table["models"]["other"] = {"provider": "openai", "model": "text-embedding-3-large", "kind": "embedding"}
    with pytest.raises(SettingsError, match="fallback"):
        LlmFactory.from_config(table, environ={}, transport=FakeTransport()).embedding_model("vectors")
