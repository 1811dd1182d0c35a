"""Chat Completions as a codec: four pure functions between polywire's values and HTTP."""

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
from polywire_openai.decode import decode_body
from polywire_openai.encode_request import encode_body
from polywire_openai.errors import error_from_answer
from polywire_openai.fields import WIRE
from polywire_openai.profiles import OPENAI_PROFILES
from polywire_openai.reading import Reading
from polywire_openai.reasoning_parameters import without_thinking
from polywire_openai.stream import OpenAIStreamDecoder

__all__ = ["PATH", "OpenAIChatCodec"]

PATH = "chat/completions"
"""Where requests go, below the base URL."""


class OpenAIChatCodec(OpenAICodec):
    """
    The codec of Chat Completions, for OpenAI's service and for every endpoint that speaks the same wire.

    Endpoints differ in their profiles alone: `OPENAI_PROFILES`, `COMPATIBLE_PROFILES`, or a table of one's own.
    """

    wire = WIRE

    def __init__(
        self, profiles: ProfileTable = OPENAI_PROFILES, *, path: str = PATH, headers: Mapping[str, str] = EMPTY
    ) -> None:
        super().__init__(profiles, path, headers)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_answer(response)

    def _write(self, request: ChatRequest, profile: Profile, *, stream: bool) -> Body:
        body = encode_body(request, profile, as_json=True)
        if stream:
            body.json["stream"] = True
            if profile.stream_usage:
                body.json.setdefault("stream_options", {"include_usage": True})
        else:
            body.json.pop("stream", None)
            body.json.pop("stream_options", None)
            if profile.quirks.get("thinking_streams_only"):
                without_thinking(body.json, body.notices)
        return body

    def _read(self, response: HttpResponse, reading: Reading, origin: Origin | None) -> ChatResponse:
        return decode_body(response, reading=reading, origin=origin)

    def _decoder(self, reading: Reading, origin: Origin | None) -> StreamDecoder:
        return OpenAIStreamDecoder(reading, origin)
