"""The Messages API as a codec: four pure functions between polywire's values and the vendor's HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.errors import BadRequest, EmptyResponse, ModelError, ProtocolError
from polywire.framing.sse import SseFraming
from polywire.immutable import FrozenDict
from polywire.messages import Origin
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire_anthropic.decode import PLAIN, WIRE, Reading, decode_response
from polywire_anthropic.encode_request import encode_body
from polywire_anthropic.errors import error_from_answer, error_inside, is_error
from polywire_anthropic.metadata import METADATA_HEADERS
from polywire_anthropic.profiles import CURRENT_VERSION, anthropic_profiles
from polywire_anthropic.stream import AnthropicStreamDecoder

__all__ = ["PATH", "AnthropicCodec"]

PATH = "v1/messages"
"""Where requests go, below the base URL."""


class AnthropicCodec:
    """
    The codec of the Messages API.

    Args:
        version: the `anthropic-version` header; the profiles respect what a version removed.
        betas: what the `anthropic-beta` header names.
        profiles: the profiles to use instead of this package's own.
    """

    wire = WIRE

    def __init__(
        self, *, version: str = CURRENT_VERSION, betas: Sequence[str] = (), profiles: ProfileTable | None = None
    ) -> None:
        self.profiles = anthropic_profiles(version) if profiles is None else profiles
        headers = {"content-type": "application/json", "anthropic-version": version}
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        self._headers = FrozenDict(headers)

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        """
        Write a request.

        Raises:
            BadRequest: it names no model.
            UnsupportedByModel: it holds something that the wire cannot carry and that must not be left out.
        """
        model = request.parameters.model
        if model is None:
            msg = "model: the request names no model, and this wire demands one"
            raise BadRequest(msg)
        body = encode_body(request, self.profiles.for_model(model))
        if stream:
            body.json["stream"] = True
        return Encoded(
            HttpRequest(PATH, wire_json.encode(body.json), self._headers),
            tuple(body.notices),
            SseFraming,
            body.reading,
            METADATA_HEADERS,
            Origin(WIRE, None, model),
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        """
        Read a whole answer of status 2xx.

        Raises:
            EmptyResponse: there is no body.
            ProtocolError: the body is not what the wire promises.
            ModelError: the body is an error.
        """
        if not response.body.strip():
            msg = "the answer has no body"
            raise EmptyResponse(msg, request_id=response.headers.get("request-id"))
        try:
            payload: Any = wire_json.decode(response.body)
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            msg = f"the answer is no JSON object: {response.body[:200]!r}"
            raise ProtocolError(msg, request_id=response.headers.get("request-id"))
        if is_error(payload):
            raise error_inside(payload, headers=response.headers, received_at=response.received_at)
        return decode_response(payload, reading=_reading(encoded), origin=encoded.origin)

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status."""
        return error_from_answer(response)

    def stream_decoder(self, encoded: Encoded) -> AnthropicStreamDecoder:
        """Make the decoder for one streamed answer."""
        return AnthropicStreamDecoder(_reading(encoded), encoded.origin)


def _reading(encoded: Encoded) -> Reading:
    return encoded.context if isinstance(encoded.context, Reading) else PLAIN
