"""The Responses API as a codec: four pure functions between polywire's values and HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from polywire.codec import HttpResponse, StreamDecoder
from polywire.errors import ModelError
from polywire.immutable import EMPTY
from polywire.messages import Origin
from polywire.profiles import Profile, ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire_openai.base_codec import OpenAICodec
from polywire_openai.bodies import Body
from polywire_openai.reading import Reading
from polywire_openai.responses.decode import decode_body
from polywire_openai.responses.encode_request import encode_body
from polywire_openai.responses.errors import error_from_answer
from polywire_openai.responses.fields import WIRE
from polywire_openai.responses.profiles import RESPONSES_PROFILES
from polywire_openai.responses.stream import OpenAIResponsesStreamDecoder

__all__ = ["PATH", "OpenAIResponsesCodec"]

PATH = "responses"
"""Where requests go, below the base URL."""


class OpenAIResponsesCodec(OpenAICodec):
    """
    The codec of the Responses API.

    The service keeps nothing: the history carries sealed reasoning from turn to turn.
    """

    wire = WIRE

    def __init__(
        self, profiles: ProfileTable = RESPONSES_PROFILES, *, path: str = PATH, headers: Mapping[str, str] = EMPTY
    ) -> None:
        super().__init__(profiles, path, headers)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_answer(response)

    def _write(self, request: ChatRequest, profile: Profile, *, stream: bool) -> Body:
        body = encode_body(request, profile)
        if stream:
            body.json["stream"] = True
        else:
            body.json.pop("stream", None)
            body.json.pop("stream_options", None)
        return body

    def _read(self, response: HttpResponse, reading: Reading, origin: Origin | None) -> ChatResponse:
        return decode_body(response, reading=reading, origin=origin)

    def _decoder(self, reading: Reading, origin: Origin | None) -> StreamDecoder:
        return OpenAIResponsesStreamDecoder(reading, origin)
