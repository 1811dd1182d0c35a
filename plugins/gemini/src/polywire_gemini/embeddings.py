"""
The embedding codecs: `batchEmbedContents`, where every option stands in each request of the batch, and Vertex AI's `predict`.
"""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingRequest, EmbeddingResponse, Vector
from polywire.errors import ModelError, ProtocolError
from polywire.responses import Notice, TokenUsage
from polywire.translation.counts import count_of
from polywire.translation.custom import apply_custom_parameters
from polywire_gemini.decode import usage_of
from polywire_gemini.errors import decode_error
from polywire_gemini.parts import WIRE
from polywire_gemini.profiles import model_path

__all__ = ["GeminiEmbeddingCodec", "VertexEmbeddingCodec"]

_PURPOSES = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
}


class GeminiEmbeddingCodec:
    """Google Gemini's `batchEmbedContents`; stateless. `path` is what stands before the models, below the base URL."""

    wire = WIRE
    max_inputs = 100
    max_batch_bytes: int | None = None

    def __init__(self, *, path: str = "") -> None:
        self._path = path

    def encode(self, request: EmbeddingRequest) -> Encoded:
        model = model_path(request.model)
        options: dict[str, Any] = {}
        if request.purpose is not None:
            options["taskType"] = _PURPOSES[request.purpose]
        if request.dimensions is not None:
            options["outputDimensionality"] = request.dimensions
        notices: list[Notice] = []
        apply_custom_parameters(options, request, notices)
        requests = [
            {"model": unquote(model), "content": {"parts": [{"text": text}]}, **options} for text in request.inputs
        ]
        return Encoded(
            HttpRequest(
                f"{self._path}{model}:batchEmbedContents",
                wire_json.encode({"requests": requests}),
                {"content-type": "application/json"},
            ),
            tuple(notices),
            context=request.dimensions,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        body = _body(response)
        embeddings = body.get("embeddings")
        if not isinstance(embeddings, list):
            msg = "the answer holds no embeddings"
            raise ProtocolError(msg, status=response.status)
        vectors = [_values(item) for item in embeddings]
        if encoded.context is not None:
            # Only vectors of the full length come normalised.
            vectors = [_normalised(vector) for vector in vectors]
        usage = body.get("usageMetadata")
        metadata = {key: value for key, value in body.items() if key not in {"embeddings", "usageMetadata"}}
        return EmbeddingResponse(
            tuple(vectors), usage_of(usage) if isinstance(usage, dict) else TokenUsage(), (), metadata
        )

    def decode_error(self, response: HttpResponse) -> ModelError:
        return decode_error(response)


class VertexEmbeddingCodec:
    """Vertex AI's `predict` for embedding models; stateless. Its Gemini models take one text in a request."""

    wire = WIRE
    max_inputs = 1
    max_batch_bytes: int | None = None

    def encode(self, request: EmbeddingRequest) -> Encoded:
        model = model_path(request.model)
        purpose = {} if request.purpose is None else {"task_type": _PURPOSES[request.purpose]}
        body: dict[str, Any] = {"instances": [{"content": text, **purpose} for text in request.inputs]}
        if request.dimensions is not None:
            body["parameters"] = {"outputDimensionality": request.dimensions}
        notices: list[Notice] = []
        apply_custom_parameters(body, request, notices)
        return Encoded(
            HttpRequest(
                f"{model}:predict",
                wire_json.encode(body),
                {"content-type": "application/json"},
            ),
            tuple(notices),
            context=request.dimensions,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        body = _body(response)
        found: list[dict[str, Any]] = [
            item["embeddings"]
            for item in body.get("predictions") or ()
            if isinstance(item, dict) and isinstance(item.get("embeddings"), dict)
        ]
        if not found or not all(isinstance(each.get("values"), list) for each in found):
            msg = "the answer holds no embeddings"
            raise ProtocolError(msg, status=response.status)
        vectors = [tuple(each["values"]) for each in found]
        if encoded.context is not None:
            vectors = [_normalised(vector) for vector in vectors]
        told = [each.get("statistics") for each in found]
        statistics: list[dict[str, Any]] = [each if isinstance(each, dict) else {} for each in told]
        counts = [count for each in statistics if (count := count_of(each.get("token_count"))) is not None]
        total = sum(counts) if len(counts) == len(found) else None
        notices = [
            Notice("information", f"inputs[{index}]", "the text was too long and was cut by the service")
            for index, each in enumerate(statistics)
            if each.get("truncated")
        ]
        metadata = {key: value for key, value in body.items() if key != "predictions"}
        return EmbeddingResponse(tuple(vectors), TokenUsage(total, None, total), tuple(notices), metadata)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return decode_error(response)


def _body(response: HttpResponse) -> dict[str, Any]:
    try:
        body = wire_json.decode(response.body)
    except ValueError:
        return {}
    if isinstance(body, list) and len(body) == 1:  # errors come wrapped in a list now and then
        [body] = body
    if not isinstance(body, dict):
        return {}
    if body.get("error") is not None:
        told = body["error"].get("code") if isinstance(body["error"], dict) else None
        status = told if isinstance(told, int) and 400 <= told <= 599 else 500
        raise decode_error(HttpResponse(status, response.headers, wire_json.encode(body), response.received_at))
    return body


def _values(item: Any) -> Vector:
    """The numbers of one vector; what holds none is a vector of nothing, which no text has."""
    values = item.get("values") if isinstance(item, dict) else None
    return tuple(values) if isinstance(values, list) else ()


def _normalised(vector: Vector) -> Vector:
    length = math.sqrt(math.fsum(value * value for value in vector))
    return tuple(value / length for value in vector) if length else vector
