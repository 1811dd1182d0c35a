"""What the codecs of both APIs do alike: only how a body is written and read differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse, StreamDecoder
from polywire.errors import BadRequest, ModelError
from polywire.framing.sse import SseFraming
from polywire.immutable import FrozenDict
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.messages import Origin
from polywire.profiles import Profile, ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire_openai.bodies import Body
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.reading import PLAIN, Reading

__all__ = ["OpenAICodec"]


class OpenAICodec(ABC):
    """
    A codec of one of the APIs.

    Args:
        profiles: what the models can do.
        path: where requests go, below the base URL; `{model}` in it stands for the request's model.
        headers: sent with every request; no secrets, those are for the connection's `Auth`.
    """

    wire: str

    def __init__(self, profiles: ProfileTable, path: str, headers: Mapping[str, str]) -> None:
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
        body = self._write(meant, profile, stream=stream)
        reading = body.reading
        if meant is not request:
            reading = replace(reading, profile=profile, request=request)
        path = self._path.replace("{model}", quote(model, safe=""))
        return Encoded(
            HttpRequest(path, wire_json.encode(body.json), self._headers),
            (*told, *body.notices),
            SseFraming,
            reading,
            METADATA_HEADERS,
            Origin(self.wire, None, model),
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
        answer = self._read(response, reading, encoded.origin)
        return apply_markup_to_response(answer, reading.profile, reading.request, reading.names)

    @abstractmethod
    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status."""

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        """Make the decoder for one streamed answer."""
        reading = _reading(encoded)
        decoder = self._decoder(reading, encoded.origin)
        return with_markup(decoder, reading.profile, reading.request, reading.names)

    @abstractmethod
    def _write(self, request: ChatRequest, profile: Profile, *, stream: bool) -> Body:
        """Write the body of a request."""

    @abstractmethod
    def _read(self, response: HttpResponse, reading: Reading, origin: Origin | None) -> ChatResponse:
        """Read the body of a whole answer."""

    @abstractmethod
    def _decoder(self, reading: Reading, origin: Origin | None) -> StreamDecoder:
        """Make what reads a streamed answer."""


def _reading(encoded: Encoded) -> Reading:
    return encoded.context if isinstance(encoded.context, Reading) else PLAIN
