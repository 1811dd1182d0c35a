"""The wire in both directions, for `polywire.convert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.codec import Headers, HttpResponse, Translated
from polywire.framing.sse import SseFraming
from polywire.messages import Message, Origin
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice
from polywire.translation.left_out import tell_left_out
from polywire.translation.names import NameMap
from polywire.translation.prepare import prepare_messages
from polywire_gemini.codec import GeminiCodec
from polywire_gemini.decode import GeminiStreamDecoder, decode_answer
from polywire_gemini.decode_contents import decode_contents
from polywire_gemini.decode_request import decode_request
from polywire_gemini.encode_messages import encode_messages
from polywire_gemini.parts import WIRE
from polywire_gemini.profiles import PROFILES
from polywire_gemini.stream_encoder import GeminiStreamEncoder, answer_body

__all__ = ["GeminiWire"]


class GeminiWire:
    """Reads and writes what `generateContent` takes and gives."""

    name = WIRE

    def __init__(self) -> None:
        self._codec = GeminiCodec()

    def decode_request(self, payload: Mapping[str, Any]) -> Translated[ChatRequest]:
        request, notices = decode_request(payload)
        return Translated(request, tuple(notices))

    def encode_request(self, request: ChatRequest) -> Translated[dict[str, Any]]:
        body, notices, _ = self._codec.encode_body(request)
        return Translated(body, tuple(notices))

    def decode_messages(self, payload: Sequence[Mapping[str, Any]]) -> Translated[tuple[Message, ...]]:
        notices: list[Notice] = []
        return Translated(tuple(decode_contents(payload, notices)), tuple(notices))

    def encode_messages(self, messages: Sequence[Message]) -> Translated[list[dict[str, Any]]]:
        ready, _, notices = prepare_messages(messages, PROFILES.base, wire=WIRE)
        tell_left_out(messages, None, WIRE, notices)
        system, contents = encode_messages(ready, PROFILES.base, notices)
        if system is not None:
            # A bare list has no place for instructions: they stand first, as the user's words.
            notices.append(Notice("approximated", "messages", "instructions are written as the user's first words"))
            contents = [{"role": "user", "parts": system["parts"]}, *contents]
        return Translated(contents, tuple(notices))

    def decode_response(self, payload: Mapping[str, Any]) -> Translated[ChatResponse]:
        response = HttpResponse(200, Headers(), wire_json.encode(payload))
        return Translated(decode_answer(response, NameMap(), {}, Origin(WIRE)))

    def encode_response(self, response: ChatResponse) -> Translated[dict[str, Any]]:
        notices: list[Notice] = []
        return Translated(answer_body(response, notices), tuple(notices))

    def framing(self) -> SseFraming:
        return SseFraming()

    def stream_decoder(self) -> GeminiStreamDecoder:
        return GeminiStreamDecoder(NameMap(), {})

    def stream_encoder(self) -> GeminiStreamEncoder:
        return GeminiStreamEncoder()
