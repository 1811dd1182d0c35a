"""Chat Completions as a codec: four pure functions between polywire's values and HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

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
from polywire_openai.decode import decode_body
from polywire_openai.encode_request import encode_body
from polywire_openai.errors import error_from_answer
from polywire_openai.fields import WIRE
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.profiles import OPENAI_PROFILES
from polywire_openai.reading import PLAIN, Reading
from polywire_openai.reasoning_parameters import without_thinking
from polywire_openai.stream import OpenAIStreamDecoder

__all__ = ["PATH", "OpenAIChatCodec"]

PATH = "chat/completions"
"""Where requests go, below the base URL."""


class OpenAIChatCodec:
    """
    The codec of Chat Completions, for OpenAI's service and for every endpoint that speaks the same wire.

    Endpoints differ in their profiles alone.

    Args:
        profiles: what the models can do: `OPENAI_PROFILES`, `COMPATIBLE_PROFILES`, or a table of one's own.
        path: where requests go, below the base URL; `{model}` in it stands for the request's model.
        headers: sent with every request; no secrets, those are for the connection's `Auth`.
    """

    wire = WIRE

    def __init__(
        self, profiles: ProfileTable = OPENAI_PROFILES, *, path: str = PATH, headers: Mapping[str, str] = EMPTY
    ) -> None:
        self.profiles = profiles
        self._path = path
        self._headers = FrozenDict({"content-type": "application/json", **headers})

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        """
        Write a request.

        Raises:
            BadRequest: it names no model.
            UnsupportedByModel: it holds something that the endpoint cannot be given and must not go without.
        """
        model = request.parameters.model
        if model is None:
            msg = "model: the request names no model, and this wire demands one"
            raise BadRequest(msg)
        profile = self.profiles.for_model(model)
        meant, told = apply_markup_to_request(request, profile)
        body = encode_body(meant, profile, as_json=True)
        if stream:
            body.json["stream"] = True
            if profile.stream_usage:
                body.json.setdefault("stream_options", {"include_usage": True})
        else:
            body.json.pop("stream", None)
            body.json.pop("stream_options", None)
            if profile.quirks.get("thinking_streams_only"):
                without_thinking(body.json, body.notices)
        reading = body.reading
        if meant is not request:
            reading = Reading(
                reading.names, reading.schemas, reading.answer_schema, reading.audio_type, profile, request
            )
        return Encoded(
            HttpRequest(
                self._path.replace("{model}", quote(model, safe="")), wire_json.encode(body.json), self._headers
            ),
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
        decoder = OpenAIStreamDecoder(reading, encoded.origin)
        return with_markup(decoder, reading.profile, reading.request, reading.names)


def _reading(encoded: Encoded) -> Reading:
    return encoded.context if isinstance(encoded.context, Reading) else PLAIN
