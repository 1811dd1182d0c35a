"""The embedding codec for `/api/embed`. The server keeps the order and returns vectors of length one."""

from __future__ import annotations

from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingRequest, EmbeddingResponse
from polywire.errors import ModelError, ProtocolError
from polywire.http_errors import error_from_response
from polywire.responses import Notice, TokenUsage
from polywire.translation.counts import count_of
from polywire.translation.custom import apply_custom_parameters
from polywire_ollama.messages import WIRE

__all__ = ["OllamaEmbeddingCodec"]


class OllamaEmbeddingCodec:
    """Ollama's `/api/embed`; stateless."""

    wire = WIRE
    max_inputs = 512  # the server states no limit; a bound keeps one request's answer to a few megabytes
    max_batch_bytes: int | None = None

    def encode(self, request: EmbeddingRequest) -> Encoded:
        body: dict[str, Any] = {"model": request.model, "input": list(request.inputs)}
        notices: list[Notice] = []
        if request.dimensions is not None:
            body["dimensions"] = request.dimensions
        if request.purpose is not None:
            notices.append(Notice("dropped", "purpose", "this wire makes no difference between purposes"))
        apply_custom_parameters(body, request, notices)
        return Encoded(
            HttpRequest("api/embed", wire_json.encode(body), {"content-type": "application/json"}), tuple(notices)
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:  # noqa: ARG002 - the contract has it
        body = wire_json.decode_object(response.body)
        if body is not None and body.get("error") is not None:
            raise self.decode_error(HttpResponse(500, response.headers, response.body, response.received_at))
        vectors = None if body is None else body.get("embeddings")
        if body is None or not isinstance(vectors, list):
            msg = "the answer holds no embeddings"
            raise ProtocolError(msg, status=response.status)
        count = count_of(body.get("prompt_eval_count"))
        usage = TokenUsage(count, None, count)
        metadata = {key: value for key, value in body.items() if key not in {"embeddings", "prompt_eval_count"}}
        return EmbeddingResponse(tuple(vectors), usage, (), metadata)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)
