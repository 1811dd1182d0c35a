"""The Messages API as a codec: four pure functions between polywire's values and the vendor's HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse, StreamDecoder
from polywire.errors import BadRequest, EmptyResponse, ModelError, ProtocolError
from polywire.fast_dataclass import dataclass
from polywire.framing.sse import SseFraming
from polywire.immutable import FrozenDict
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.messages import Origin
from polywire.profiles import Profile, ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire_anthropic.decode import WIRE, Reading, decode_response
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
        profile = self.profiles.for_model(model)
        meant, notices = apply_markup_to_request(request, profile)
        body = encode_body(meant, profile, as_json=True)
        if stream:
            body.json["stream"] = True
        return Encoded(
            HttpRequest(PATH, wire_json.encode(body.json), self._headers),
            (*notices, *body.notices),
            SseFraming,
            _Context(body.reading, profile, request),
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
            payload: Any = wire_json.decode_body(response.body)
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            msg = f"the answer is no JSON object: {response.body[:200]!r}"
            raise ProtocolError(msg, request_id=response.headers.get("request-id"))
        if is_error(payload):
            raise error_inside(payload, headers=response.headers, received_at=response.received_at)
        context = _context(encoded)
        answer = decode_response(payload, reading=context.reading, origin=encoded.origin)
        return apply_markup_to_response(answer, context.profile, context.asked, context.reading.names)

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status."""
        return error_from_answer(response)

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        """Make the decoder for one streamed answer."""
        context = _context(encoded)
        decoder = AnthropicStreamDecoder(context.reading, encoded.origin)
        return with_markup(decoder, context.profile, context.asked, context.reading.names)


@dataclass(frozen=True, slots=True)
class _Context:
    """What reading the answer needs of the request."""

    reading: Reading
    profile: Profile
    asked: ChatRequest


def _context(encoded: Encoded) -> _Context:
    assert isinstance(encoded.context, _Context), "the request was encoded by another codec"
    return encoded.context
