"""The Responses API in both directions, for conversion between wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.codec import Translated
from polywire.framing.sse import SseFraming
from polywire.messages import Message
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice
from polywire.translation.parameters import asked_to_stream
from polywire.translation.prepare import prepare_messages
from polywire_openai.responses.decode import decode_response
from polywire_openai.responses.decode_request import decode_items, decode_request
from polywire_openai.responses.encode_items import encode_items
from polywire_openai.responses.encode_request import encode_body
from polywire_openai.responses.encode_response import encode_response
from polywire_openai.responses.fields import WIRE
from polywire_openai.responses.profiles import RESPONSES_PROFILES
from polywire_openai.responses.stream import OpenAIResponsesStreamDecoder
from polywire_openai.responses.stream_encoder import OpenAIResponsesStreamEncoder

__all__ = ["OpenAIResponsesWire"]


class OpenAIResponsesWire:
    """
    Reads and writes payloads of the Responses API.

    Args:
        profiles: whose rules hold for what comes from other wires.
    """

    name = WIRE

    def __init__(self, profiles: ProfileTable = RESPONSES_PROFILES) -> None:
        self._profiles = profiles

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        """Read a request body."""
        notices: list[Notice] = []
        return Translated(decode_request(payload, notices), tuple(notices))

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        """Write a request body."""
        body = encode_body(request, self._profiles.for_model(request.parameters.model))
        if (stream := asked_to_stream(request.parameters)) is not None:
            body.json["stream"] = stream
        return Translated(body.json, tuple(body.notices))

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        """Read a list of items."""
        notices: list[Notice] = []
        return Translated(tuple(decode_items(payload, notices)), tuple(notices))

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        """Write messages as a list of items. Whether the service keeps state is not known here: nothing is left out for it."""
        profile = self._profiles.for_model(None)
        prepared, _, notices = prepare_messages(messages, profile, wire=WIRE)
        return Translated(encode_items(prepared, profile, notices, stateless=False), tuple(notices))

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        """
        Read a response body.

        Raises:
            ModelError: it is an error, or not what the wire promises.
        """
        return Translated(decode_response(payload))

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        """Write a response body."""
        notices: list[Notice] = []
        return Translated(encode_response(response, self._profiles.for_model(None), notices), tuple(notices))

    def framing(self) -> SseFraming:
        """Make the framing of this wire's streams."""
        return SseFraming()

    def stream_decoder(self) -> OpenAIResponsesStreamDecoder:
        """Make a decoder for one stream."""
        return OpenAIResponsesStreamDecoder()

    def stream_encoder(self) -> OpenAIResponsesStreamEncoder:
        """Make an encoder for one stream."""
        return OpenAIResponsesStreamEncoder(self._profiles.for_model(None))
