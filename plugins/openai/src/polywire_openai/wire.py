"""Chat Completions in both directions, for conversion between wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.codec import Translated
from polywire.framing.sse import SseFraming
from polywire.immutable import EMPTY
from polywire.messages import Message
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice
from polywire.translation.parameters import asked_to_stream
from polywire.translation.prepare import prepare_messages
from polywire_openai.decode import decode_response
from polywire_openai.decode_messages import MessageReader
from polywire_openai.decode_request import FIELDS_OF, decode_parameters, decode_request
from polywire_openai.encode_history import encode_history
from polywire_openai.encode_messages import MessageWriter
from polywire_openai.encode_request import AS_READ, encode_body
from polywire_openai.encode_response import encode_response
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.profiles import OPENAI_PROFILES
from polywire_openai.stream import OpenAIStreamDecoder
from polywire_openai.stream_encoder import OpenAIStreamEncoder

__all__ = ["OpenAIWire"]

_AS_READ: Mapping[str, Any] = {"tool_id_pattern": None, "quirks": {"as_read": True}}


class OpenAIWire:
    """
    Reads and writes payloads of Chat Completions.

    What was read from this wire goes back to it exactly, up to the normal form of `polywire_openai.decode_messages`.

    Args:
        profiles: whose rules hold for what comes from other wires.
        success_envelopes: wrap the results of tools that succeeded as `{"ok": true, "data": …}`, and unwrap them.
    """

    name = WIRE

    def __init__(self, profiles: ProfileTable = OPENAI_PROFILES, *, success_envelopes: bool = False) -> None:
        quirks = {**_AS_READ["quirks"], "success_envelope": success_envelopes}
        self._profiles = profiles.overridden({**_AS_READ, "quirks": quirks})
        self._success_envelopes = success_envelopes

    def _reader(self, notices: list[Notice]) -> MessageReader:
        return MessageReader(notices, success_envelopes=self._success_envelopes)

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        """Read a request body."""
        notices: list[Notice] = []
        request = decode_request(payload, notices, self._reader(notices), self._profiles)
        return Translated(request, tuple(notices))

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        """Write a request body."""
        body = encode_body(request, self._profiles.for_model(request.parameters.model))
        read = own_extras(request.parameters.extras).get(AS_READ)
        if read:
            _write_as_read(body.json, request, read, body.notices)
        if (stream := asked_to_stream(request.parameters)) is not None:
            body.json["stream"] = stream
        return Translated(body.json, tuple(body.notices))

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        """Read a message list."""
        notices: list[Notice] = []
        return Translated(tuple(self._reader(notices).read(payload)), tuple(notices))

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        """Write a message list."""
        profile = self._profiles.for_model(None)
        prepared, _, notices = prepare_messages(messages, profile, wire=WIRE)
        return Translated(encode_history(prepared, profile, notices), tuple(notices))

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
        writer = MessageWriter(self._profiles.for_model(None), notices)
        return Translated(encode_response(response, writer, notices), tuple(notices))

    def framing(self) -> SseFraming:
        """Make the framing of this wire's streams."""
        return SseFraming()

    def stream_decoder(self) -> OpenAIStreamDecoder:
        """Make a decoder for one stream."""
        return OpenAIStreamDecoder()

    def stream_encoder(self) -> OpenAIStreamEncoder:
        """Make an encoder for one stream."""
        return OpenAIStreamEncoder(self._profiles.base.reasoning_field)


def _write_as_read(body: dict[str, Any], request: ChatRequest, read: Mapping[str, Any], notices: list[Notice]) -> None:
    """Put fields back as they were read, where the values still say what was read."""
    parameters, again = request.parameters, decode_parameters(read, EMPTY)
    told: set[str] = set()
    for name, fields in FIELDS_OF.items():
        if not any(field in read for field in fields) or getattr(parameters, name) != getattr(again, name):
            continue
        told.add(name)
        for field in fields:
            body.pop(field, None)
        body.update({field: read[field] for field in fields if field in read})
    notices[:] = [notice for notice in notices if notice.subject not in told]
