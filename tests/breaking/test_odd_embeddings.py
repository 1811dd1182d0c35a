"""Vectors as odd servers send them: never another text's, and never of what is no number."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from polywire.config import LlmFactory
from polywire.config.problems import InvalidSettings
from polywire.embeddings import EmbeddingRequest, EmbeddingResponse
from polywire.errors import ProtocolError, RateLimited
from polywire.media_models import ImageRequest, SpeechRequest
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
        name = "gemini" if provider == "vertex" else provider
        if provider == "vertex":
            table = {"base_url": "https://aiplatform.googleapis.com/v1", "access_token": "a-token"}
        settings = {
            "providers": {name: table},
            "models": {"e": {"provider": name, "model": "m", "kind": "embedding"}},
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


@pytest.mark.parametrize("error", [None])
def test_an_error_that_is_none_is_no_error(error: Any) -> None:
    assert embed("gemini", {"embeddings": [{"values": [1.0]}], "error": error}, inputs="a").vector == (1.0,)
    assert embed("ollama", {"embeddings": [[1.0]], "error": error}, inputs="a").vector == (1.0,)
    assert embed("openai", of_openai([1.0]) | {"error": error}, inputs="a").vector == (1.0,)


@pytest.mark.parametrize("count", [-1, True, "7", None, 1.5, {}])
def test_a_count_that_is_none_costs_nobody_the_vectors(count: Any) -> None:
    answer = embed("ollama", {"embeddings": [[1.0]], "prompt_eval_count": count}, inputs="a")

    assert answer.usage.input_tokens == (1 if count == 1.5 else None)
    vertex = {"predictions": [{"embeddings": {"values": [1.0], "statistics": {"token_count": count}}}]}
    assert embed("vertex", vertex, inputs="a").vector == (1.0,)
    assert embed("vertex", {"predictions": [{"embeddings": {"values": [1.0], "statistics": count}}]}, inputs="a")


@pytest.mark.parametrize("vectors", [[None], ["ab"], [[1.0]], [{"values": "ab"}], [{"values": None}], [{}]])
def test_no_vector_of_gemini_is_one_of_nothing(vectors: Any) -> None:
    with pytest.raises(ProtocolError, match="vector 0"):
        embed("gemini", {"embeddings": vectors}, inputs="a")


def test_a_text_that_was_cut_is_told_by_its_own_place() -> None:
    def answer(truncated: bool) -> dict[str, Any]:
        return {"predictions": [{"embeddings": {"values": [1.0], "statistics": {"truncated": truncated}}}]}

    notices = embed("vertex", answer(False), answer(True), answer(True), inputs=("a", "b", "c")).notices

    assert [notice.subject for notice in notices] == ["inputs[1]", "inputs[2]"]


@pytest.mark.parametrize("provider", ["ollama", "openai-compatible", "gemini"])
def test_vectors_of_another_length_than_was_asked_for_are_told(provider: str) -> None:
    bodies = {
        "openai-compatible": of_openai([1.0, 0.0]),
        "gemini": {"embeddings": [{"values": [1.0, 0.0]}]},
        "ollama": {"embeddings": [[1.0, 0.0]]},
    }
    notices = embed(provider, bodies[provider], inputs="a", dimensions=1).notices

    assert [(notice.kind, notice.subject) for notice in notices] == [("approximated", "dimensions")]
    assert not embed(provider, bodies[provider], inputs="a", dimensions=2).notices


@pytest.mark.parametrize("inputs", [None, b"a", {"a": 1}, {"a"}, frozenset("a"), 5, [b"a"], [None]])
def test_what_is_no_texts_in_an_order_is_refused(inputs: Any) -> None:
    with pytest.raises(TypeError, match="inputs"):
        EmbeddingRequest(inputs)


@pytest.mark.parametrize(
    ("request_type", "first", "field", "value"),
    [
        *((kind, "a", "model", 5) for kind in (EmbeddingRequest, ImageRequest, SpeechRequest)),
        *((kind, "a", "options", 5) for kind in (EmbeddingRequest, ImageRequest, SpeechRequest)),
        (ImageRequest, "a", "size", 5),
        (SpeechRequest, "a", "voice", 5),
        (SpeechRequest, "a", "format", []),
    ],
)
def test_a_field_of_the_wrong_type_is_named(request_type: Any, first: str, field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{field} must be"):
        request_type(first, **{field: value})


@pytest.mark.parametrize("request_type", [EmbeddingRequest, ImageRequest, SpeechRequest])
def test_a_model_without_a_name_is_refused(request_type: Any) -> None:
    with pytest.raises(ValueError, match="model must be a non-empty str"):
        request_type("a", model=" ")


@pytest.mark.parametrize(
    ("key", "value"), [("profile", {"max_images": 1}), ("history", "repair"), ("first_event", "5s")]
)
def test_settings_without_an_effect_on_vectors_are_told(key: str, value: Any) -> None:
    models = {"e": {"provider": "ollama", "model": "m", "kind": "embedding", key: value}}

    with pytest.raises(InvalidSettings, match=f"{key}: has no effect"):
        LlmFactory.from_config({"models": models}, environ={}).embedding_model("e")
