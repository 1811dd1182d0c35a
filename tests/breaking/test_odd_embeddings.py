"""Vectors as odd servers send them: never another text's, and never of what is no number."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from polywire.config import LlmFactory
from polywire.embeddings import EmbeddingResponse
from polywire.errors import ProtocolError, RateLimited
from polywire.testing import FakeTransport


def embed(provider: str, *replies: Any, inputs: Any = ("a", "b"), **parameters: Any) -> EmbeddingResponse:
    """Embed, sync and async, which must give the same."""
    answers = []
    for run in (
        lambda model: model.embed(inputs, **parameters),
        lambda model: asyncio.run(model.aembed(inputs, **parameters)),
    ):
        table = {"openai-compatible": {"base_url": "http://127.0.0.1:9/v1"}, "ollama": {}}.get(
            provider, {"api_key": "a-key"}
        )
        settings = {
            "providers": {provider: table},
            "models": {"e": {"provider": provider, "model": "m", "kind": "embedding"}},
        }
        model = LlmFactory.from_config(settings, environ={}, transport=FakeTransport(*replies)).embedding_model("e")
        answers.append(run(model))
    assert answers[0] == answers[1]
    return answers[0]


def of_openai(*vectors: Any, indexes: Any = None) -> dict[str, Any]:
    places = range(len(vectors)) if indexes is None else indexes
    data = [
        {"object": "embedding", "index": place, "embedding": each} for place, each in zip(places, vectors, strict=True)
    ]
    return {"object": "list", "data": [{key: each[key] for key in each if each[key] is not None} for each in data]}


@pytest.mark.parametrize(
    ("indexes", "expected"),
    [
        ((0, 1), (1, 2)),
        ((1, 0), (2, 1)),
        ((2, 1), (2, 1)),
        ((7, 3), (2, 1)),
        ((0, 0), (1, 2)),
        ((None, None), (1, 2)),
        ((None, 0), (1, 2)),
    ],
)
def test_vectors_stand_in_the_order_of_their_indexes(indexes: Any, expected: Any) -> None:
    answer = embed("openai-compatible", of_openai([1.0], [2.0], indexes=indexes))

    assert tuple(vector[0] for vector in answer.vectors) == expected


NO_VECTORS = [[], ["1", "2"], [None], [[1.0]], [{}]]


@pytest.mark.parametrize("vector", NO_VECTORS)
@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
def test_a_vector_of_what_is_no_number_is_refused(provider: str, vector: Any) -> None:
    bodies = {
        "openai": of_openai([1.0], vector),
        "gemini": {"embeddings": [{"values": [1.0]}, {"values": vector}]},
        "ollama": {"embeddings": [[1.0], vector]},
    }

    with pytest.raises(ProtocolError, match="vector 1"):
        embed(provider, bodies[provider])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_vector_with_a_number_that_is_none_is_refused(number: str) -> None:
    with pytest.raises(ProtocolError, match="vector 0"):
        embed("openai-compatible", f'{{"data":[{{"embedding":[0.5,{number}]}}]}}'.encode(), inputs="a")


def test_a_text_in_place_of_a_vector_is_refused() -> None:
    with pytest.raises(ProtocolError, match="vector 0"):
        embed("ollama", {"embeddings": ["ab"]}, inputs="a")


@pytest.mark.parametrize(
    "body", [{"error": {"code": 429, "message": "slow down"}}, [{"error": {"code": 429, "message": "slow down"}}]]
)
def test_an_error_in_place_of_vectors_is_that_error(body: Any) -> None:
    with pytest.raises(RateLimited, match="slow down"):
        embed("gemini", body)
