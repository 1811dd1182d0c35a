"""The embedding codec for `/embeddings`; wire/embeddings of the vendor, specification 2.3.0, read 2026-12."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.embeddings import EmbeddingRequest, EmbeddingResponse, Vector
from polywire.errors import EmptyResponse, ModelError, ProtocolError
from polywire.immutable import EMPTY
from polywire.responses import Notice
from polywire.translation.custom import apply_custom_parameters
from polywire_openai.errors import error_from_answer, error_inside, find_error
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.usage import decode_usage

__all__ = ["OpenAIEmbeddingCodec"]

WIRE = "openai"
_FLOAT_BYTES = 4


class OpenAIEmbeddingCodec:
    """
    OpenAI's `/embeddings`, and that of any endpoint that speaks like it; stateless.

    Args:
        encoding: ask for vectors as `"base64"`, which is a quarter of the bytes; `None` asks for nothing. Either form
            is read whatever was asked for.
        max_inputs: the vendor takes 2,048 texts in one request.
        max_batch_bytes: the vendor takes 300,000 tokens in one request; a token is at least two bytes of nearly any text.
        dimensions_field: where the length of the vectors is asked for; `None`: the endpoint has no such field.
        purposes: the endpoint's words for what vectors are for, and the field they stand in: `("input_type", {...})`.
        path: where requests go, below the base URL; `{model}` in it stands for the request's model.
        headers: sent with every request.
    """

    wire = WIRE

    def __init__(
        self,
        *,
        encoding: Literal["base64", "float"] | None = "base64",
        max_inputs: int = 2048,
        max_batch_bytes: int | None = 600_000,
        dimensions_field: str | None = "dimensions",
        purposes: tuple[str, Mapping[str, str]] = ("", EMPTY),
        path: str = "embeddings",
        headers: Mapping[str, str] = EMPTY,
    ) -> None:
        self.max_inputs = max_inputs
        self.max_batch_bytes = max_batch_bytes
        self._encoding = encoding
        self._dimensions_field = dimensions_field
        self._purpose_field, self._purposes = purposes
        self._path = path
        self._headers = {"content-type": "application/json", **headers}

    def encode(self, request: EmbeddingRequest) -> Encoded:
        body: dict[str, Any] = {"model": request.model, "input": list(request.inputs)}
        notices: list[Notice] = []
        if request.dimensions is not None:
            if self._dimensions_field is None:
                notices.append(Notice("dropped", "dimensions", "this endpoint has no choice of dimensions"))
            else:
                body[self._dimensions_field] = request.dimensions
        if self._encoding is not None:
            body["encoding_format"] = self._encoding
        if request.purpose is not None:
            if (word := self._purposes.get(request.purpose)) is not None:
                body[self._purpose_field] = word
            else:
                notices.append(Notice("dropped", "purpose", "this wire makes no difference between purposes"))
        apply_custom_parameters(body, request, notices)
        return Encoded(
            HttpRequest(
                self._path.replace("{model}", quote(request.model or "", safe="")),
                wire_json.encode(body),
                self._headers,
            ),
            tuple(notices),
            metadata_headers=METADATA_HEADERS,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:  # noqa: ARG002 - the contract has it
        if not response.body.strip():
            msg = "the endpoint sent an empty body"
            raise EmptyResponse(msg, status=response.status)
        body = wire_json.decode_object(response.body)
        if body is None:
            msg = "the answer is no JSON object"
            raise ProtocolError(msg, status=response.status)
        data = body.get("data")
        if not isinstance(data, list):
            if (error := find_error(body)) is not None:
                raise error_inside(error, headers=response.headers, received_at=response.received_at)
            msg = "the answer holds no embeddings"
            raise ProtocolError(msg, status=response.status)
        usage = body.get("usage")
        metadata = {key: value for key, value in body.items() if key not in {"data", "usage", "object"}}
        return EmbeddingResponse(
            tuple(_vector(item) for item in _in_order(data)),
            decode_usage(usage if isinstance(usage, Mapping) else None),
            metadata=metadata,
        )

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_answer(response)


def _in_order(data: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
    """Sort by `index` where every vector has one of its own; else the answer's order counts."""
    items = [item for item in data if isinstance(item, Mapping)]
    if len(items) != len(data):
        msg = "a vector of the answer is no JSON object"
        raise ProtocolError(msg)
    places = [item.get("index") for item in items]
    if any(type(place) is not int for place in places) or len(set(places)) < len(places):
        return items
    return sorted(items, key=lambda item: int(item["index"]))


def _vector(item: Mapping[str, Any]) -> Vector:
    """Read a vector: a list of numbers, or base64 of 32-bit floats, the lowest byte first."""
    value = item.get("embedding")
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str):
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            data = b"?"
        if len(data) % _FLOAT_BYTES == 0:
            return struct.unpack(f"<{len(data) // _FLOAT_BYTES}f", data)
    msg = "a vector of the answer is neither a list of numbers nor base64 of 32-bit floats"
    raise ProtocolError(msg)
