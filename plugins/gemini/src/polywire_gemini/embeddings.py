"""The embedding codec for `batchEmbedContents`: every option stands in each request of the batch."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingRequest, EmbeddingResponse, Vector
from polywire.errors import ModelError, ProtocolError
from polywire.responses import Notice, TokenUsage
from polywire.translation.custom import apply_custom_parameters
from polywire_gemini.decode import usage_of
from polywire_gemini.errors import decode_error
from polywire_gemini.parts import WIRE

__all__ = ["GeminiEmbeddingCodec"]

_PURPOSES = {
    "query": "RETRIEVAL_QUERY",
    "document": "RETRIEVAL_DOCUMENT",
    "similarity": "SEMANTIC_SIMILARITY",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
}


class GeminiEmbeddingCodec:
    """Google Gemini's `batchEmbedContents`; stateless."""

    wire = WIRE
    max_inputs = 100
    max_batch_bytes: int | None = None

    def encode(self, request: EmbeddingRequest) -> Encoded:
        model = (request.model or "").removeprefix("models/")
        options: dict[str, Any] = {}
        if request.purpose is not None:
            options["taskType"] = _PURPOSES[request.purpose]
        if request.dimensions is not None:
            options["outputDimensionality"] = request.dimensions
        notices: list[Notice] = []
        apply_custom_parameters(options, request, notices)
        requests = [
            {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, **options} for text in request.inputs
        ]
        return Encoded(
            HttpRequest(
                f"models/{quote(model, safe='')}:batchEmbedContents",
                wire_json.encode({"requests": requests}),
                {"content-type": "application/json"},
            ),
            tuple(notices),
            context=request.dimensions,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        body = wire_json.decode_object(response.body)
        if body is not None and "error" in body:
            raise decode_error(HttpResponse(500, response.headers, response.body, response.received_at))
        embeddings = None if body is None else body.get("embeddings")
        if body is None or not isinstance(embeddings, list):
            msg = "the answer holds no embeddings"
            raise ProtocolError(msg, status=response.status)
        vectors = [tuple(item.get("values") or ()) for item in embeddings]
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


def _normalised(vector: Vector) -> Vector:
    length = math.sqrt(math.fsum(value * value for value in vector))
    return tuple(value / length for value in vector) if length else vector
