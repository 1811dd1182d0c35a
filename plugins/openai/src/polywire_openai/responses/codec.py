"""The Responses API as a codec: four pure functions between polywire's values and HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse, StreamDecoder
from polywire.errors import BadRequest, ModelError
from polywire.framing.sse import SseFraming
from polywire.immutable import EMPTY, FrozenDict
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.messages import Origin
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.reading import PLAIN, Reading
from polywire_openai.responses.decode import decode_body
from polywire_openai.responses.encode_request import encode_body
from polywire_openai.responses.errors import error_from_answer
from polywire_openai.responses.fields import WIRE
from polywire_openai.responses.profiles import RESPONSES_PROFILES
from polywire_openai.responses.stream import OpenAIResponsesStreamDecoder

__all__ = ["PATH", "OpenAIResponsesCodec"]

PATH = "responses"
"""Where requests go, below the base URL."""


class OpenAIResponsesCodec:
    """
    The codec of the Responses API.

    The service keeps nothing: the history carries sealed reasoning from turn to turn.

    Args:
        profiles: what the models can do.
        path: where requests go, below the base URL.
        headers: sent with every request; no secrets, those are for the connection's `Auth`.
    """

    wire = WIRE

    def __init__(
        self, profiles: ProfileTable = RESPONSES_PROFILES, *, path: str = PATH, headers: Mapping[str, str] = EMPTY
    ) -> None:
        self.profiles = profiles
        self._path = path
        self._headers = FrozenDict({"content-type": "application/json", **headers})

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        """
        Write a request.

        Raises:
            BadRequest: it names no model.
            UnsupportedByModel: it holds something that the model cannot be given and must not go without.
        """
        model = request.parameters.model
        if model is None:
            msg = "model: the request names no model, and this wire demands one"
            raise BadRequest(msg)
        profile = self.profiles.for_model(model)
        meant, told = apply_markup_to_request(request, profile)
        body = encode_body(meant, profile)
        if stream:
            body.json["stream"] = True
        else:
            body.json.pop("stream", None)
            body.json.pop("stream_options", None)
        reading = body.reading
        if meant is not request:
            reading = Reading(reading.names, reading.schemas, reading.answer_schema, None, profile, request)
        return Encoded(
            HttpRequest(self._path, wire_json.encode(body.json), self._headers),
            (*told, *body.notices),
            SseFraming,
            reading,
            METADATA_HEADERS,
            Origin(WIRE, None, model),
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        """
        Read a whole answer of status 2xx.

        Raises:
            EmptyResponse: there is nothing in it.
            ProtocolError: it is not what the wire promises.
            ModelError: it is an error.
        """
        reading = _reading(encoded)
        answer = decode_body(response, reading=reading, origin=encoded.origin)
        return apply_markup_to_response(answer, reading.profile, reading.request, reading.names)

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status."""
        return error_from_answer(response)

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        """Make the decoder for one streamed answer."""
        reading = _reading(encoded)
        decoder = OpenAIResponsesStreamDecoder(reading, encoded.origin)
        return with_markup(decoder, reading.profile, reading.request, reading.names)


def _reading(encoded: Encoded) -> Reading:
    return encoded.context if isinstance(encoded.context, Reading) else PLAIN
