"""The Messages API in both directions, for conversion between wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.codec import Translated
from polywire.framing.sse import SseFraming
from polywire.messages import Message
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice
from polywire.translation.parameters import asked_to_stream
from polywire.translation.prepare import prepare_messages
from polywire_anthropic.cache_marks import limit_cache_marks
from polywire_anthropic.decode import WIRE, decode_response
from polywire_anthropic.decode_request import decode_messages, decode_request
from polywire_anthropic.encode_messages import encode_list
from polywire_anthropic.encode_request import encode_body
from polywire_anthropic.encode_response import encode_response
from polywire_anthropic.errors import error_inside, is_error
from polywire_anthropic.profiles import CURRENT_VERSION, anthropic_profiles
from polywire_anthropic.stream import AnthropicStreamDecoder
from polywire_anthropic.stream_encoder import AnthropicStreamEncoder

__all__ = ["AnthropicWire"]


class AnthropicWire:
    """
    Reads and writes payloads of the Messages API.

    What was read from this wire goes back to it exactly, up to the normal form of `polywire_anthropic.decode`: adjacent
    roles are merged, results stand in call order before text, and white space at the very end of an assistant's last
    message goes.

    Args:
        version: the API version whose rules hold for what comes from other wires.
    """

    name = WIRE

    def __init__(self, *, version: str = CURRENT_VERSION) -> None:
        self._profiles = anthropic_profiles(version).overridden({"quirks": {"as_read": True}})

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
        """Read a message list."""
        notices: list[Notice] = []
        return Translated(tuple(decode_messages(payload, notices)), tuple(notices))

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        """Write a message list; instructions, for which a list has no field, are written as user text."""
        profile = self._profiles.for_model(None)
        prepared, _, notices = prepare_messages(messages, profile, wire=WIRE)
        turns = encode_list(prepared, profile, notices)
        limit_cache_marks({"messages": turns}, profile.cache_marks, notices)
        return Translated(turns, tuple(notices))

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        """
        Read a response body.

        Raises:
            ModelError: it is an error, or not what the wire promises.
        """
        if is_error(payload):
            raise error_inside(payload)
        return Translated(decode_response(payload))

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        """Write a response body."""
        notices: list[Notice] = []
        return Translated(encode_response(response, notices), tuple(notices))

    def framing(self) -> SseFraming:
        """Make the framing of this wire's streams."""
        return SseFraming()

    def stream_decoder(self) -> AnthropicStreamDecoder:
        """Make a decoder for one stream."""
        return AnthropicStreamDecoder()

    def stream_encoder(self) -> AnthropicStreamEncoder:
        """Make an encoder for one stream."""
        return AnthropicStreamEncoder()
