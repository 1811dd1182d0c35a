"""
The codec: four pure functions between polywire's values and Acme's HTTP. What differs by vendor is in `wire.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire import wire_json
from polywire.codec import Encoded, Frame, HttpRequest, HttpResponse
from polywire.errors import EmptyResponse, ModelError, ProtocolError, StreamInterrupted
from polywire.events import ResponseEnd, ResponseStart, StreamEvent
from polywire.framing.sse import SseFraming
from polywire.http_errors import error_from_payload, error_from_response
from polywire.messages import AiMessage
from polywire.profiles import ProfileTable
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.finish import settle_finish_reason
from polywire.translation.names import NameMap
from polywire.translation.prepare import prepare

from polywire_acme import wire
from polywire_acme.profiles import PROFILES

__all__ = ["AcmeCodec"]


class AcmeCodec:
    """Acme's chat endpoint; stateless, shared by threads."""

    wire = wire.WIRE

    def __init__(self, profiles: ProfileTable = PROFILES) -> None:
        self._profiles = profiles

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        """Write a request."""
        profile = self._profiles.for_model(request.parameters.model)
        prepared = prepare(request, profile, wire=wire.WIRE)
        body = wire.encode_parameters(prepared.parameters, prepared.notices)
        body["messages"] = wire.encode_messages(prepared.messages, profile, prepared.notices)
        if stream:
            body["stream"] = True
        body.update(prepared.parameters.extras.get(wire.WIRE, {}))
        apply_custom_parameters(body, prepared.parameters, prepared.notices)
        return Encoded(
            HttpRequest(wire.PATH, wire_json.encode(body), {"content-type": "application/json"}),
            tuple(prepared.notices),
            SseFraming,
            prepared.names,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        """Read a whole answer of status 2xx."""
        if not response.body.strip():
            msg = "the server sent an empty body"
            raise EmptyResponse(msg, status=response.status)
        body = wire_json.decode_object(response.body)
        if body is None:
            msg = "the answer is no JSON object"
            raise ProtocolError(msg, status=response.status)
        if "error" in body:
            raise error_from_payload(body, kinds=wire.ERROR_KINDS, headers=response.headers)
        reason = wire.read_finish_reason(body)
        parts = wire.read_parts(body, _names(encoded), cut=_is_cut(reason))
        message = AiMessage(parts, encoded.origin)
        return ChatResponse(
            message,
            wire.read_usage(body),
            settle_finish_reason(reason, has_calls=bool(message.tool_calls)),
            metadata=wire.read_metadata(body),
        )

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any other status. The shared classification knows most words and every status."""
        return error_from_response(response, kinds=wire.ERROR_KINDS)

    def stream_decoder(self, encoded: Encoded) -> AcmeStreamDecoder:
        """Make the decoder for one streamed answer."""
        return AcmeStreamDecoder(_names(encoded))


class AcmeStreamDecoder:
    """Reads one stream: `wire.StreamReader` knows the vendor's events, this class how a stream begins and ends."""

    def __init__(self, names: NameMap) -> None:
        self._reader = wire.StreamReader(names)
        self._started = False
        self.ended = False

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame."""
        body = wire_json.decode_object(frame.data)
        if body is None:
            msg = "an event of the stream is no JSON object"
            raise ProtocolError(msg)
        if "error" in body:
            raise error_from_payload(body, kinds=wire.ERROR_KINDS)
        events = list(self._reader.read(frame.event, body))
        self.ended = self._reader.ended
        if not self._started:
            self._started = True
            events.insert(0, ResponseStart(self._reader.metadata))
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """The bytes are over."""
        if not self._started:
            msg = "the stream ended before its first event"
            raise EmptyResponse(msg)
        if self._reader.reason is None and not self.ended:
            msg = "the stream ended before its end was told"
            raise StreamInterrupted(msg)
        calls = self._reader.close_calls(cut=_is_cut(self._reader.reason))
        reason = settle_finish_reason(self._reader.reason, has_calls=bool(calls))
        return [*calls, ResponseEnd(reason, self._reader.metadata)]


def _names(encoded: Encoded) -> NameMap:
    return encoded.context if isinstance(encoded.context, NameMap) else NameMap()


def _is_cut(reason: FinishReason | None) -> bool:
    return reason not in (FinishReason.STOP, FinishReason.TOOL_CALLS)
