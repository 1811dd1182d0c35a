"""The codecs for `/images/generations` and `/audio/speech`; the vendor's specification 2.3.0, read 2026-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.contents import AudioContent, ImageContent
from polywire.errors import EmptyResponse, ModelError, ProtocolError, SettingsError
from polywire.immutable import EMPTY
from polywire.media_models import ImageRequest, ImageResponse, SpeechRequest, SpeechResponse
from polywire.media_types import from_base64, sniff_media_type
from polywire.responses import Notice
from polywire.translation.custom import apply_custom_parameters
from polywire_openai.errors import error_from_answer, error_inside, find_error
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.usage import decode_usage

__all__ = ["OpenAIImageCodec", "OpenAISpeechCodec"]

WIRE = "openai"
_DEFAULT_FORMAT = "mp3"
_AUDIO_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


class OpenAIImageCodec:
    """OpenAI's `/images/generations`; stateless."""

    wire = WIRE

    def __init__(self, *, headers: Mapping[str, str] = EMPTY) -> None:
        self._headers = {"content-type": "application/json", **headers}

    def encode(self, request: ImageRequest) -> Encoded:
        body: dict[str, Any] = {"model": request.model, "prompt": request.prompt}
        notices: list[Notice] = []
        if request.count != 1:
            body["n"] = request.count
        if request.size is not None:
            body["size"] = request.size
        apply_custom_parameters(body, request, notices)
        return Encoded(
            HttpRequest("images/generations", wire_json.encode(body), self._headers),
            tuple(notices),
            metadata_headers=METADATA_HEADERS,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> ImageResponse:  # noqa: ARG002 - the contract has it
        body = _body(response)
        data = body.get("data")
        if not isinstance(data, list):
            if (error := find_error(body)) is not None:
                raise error_inside(error, headers=response.headers, received_at=response.received_at)
            msg = "the answer holds no pictures"
            raise ProtocolError(msg, status=response.status)
        if not data:
            msg = "the answer holds no picture"
            raise EmptyResponse(msg, status=response.status)
        usage = body.get("usage")
        metadata = {key: value for key, value in body.items() if key not in {"data", "usage"} and value is not None}
        prompts = [item.get("revised_prompt") for item in data]
        if any(prompts):
            metadata["revised_prompts"] = prompts
        return ImageResponse(
            tuple(_picture(item, body.get("output_format")) for item in data),
            decode_usage(usage if isinstance(usage, Mapping) else None),
            metadata=metadata,
        )

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_answer(response)


def _body(response: HttpResponse) -> Mapping[str, Any]:
    if not response.body.strip():
        msg = "the endpoint sent an empty body"
        raise EmptyResponse(msg, status=response.status)
    body = wire_json.decode_object(response.body)
    if body is None:
        msg = "the answer is no JSON object"
        raise ProtocolError(msg, status=response.status)
    return body


def _picture(item: Mapping[str, Any], output_format: Any) -> ImageContent:
    if item.get("b64_json"):
        data = from_base64(item["b64_json"], what="a picture of the answer")
        # The bytes tell best; older models do not say which format they made.
        return ImageContent(data=data, media_type=sniff_media_type(data) or f"image/{output_format or 'png'}")
    if item.get("url"):
        return ImageContent(url=item["url"])
    msg = "a picture of the answer has neither bytes nor an address"
    raise ProtocolError(msg)


class OpenAISpeechCodec:
    """OpenAI's `/audio/speech`; stateless. The answer is the sound itself."""

    wire = WIRE

    def __init__(self, *, headers: Mapping[str, str] = EMPTY) -> None:
        self._headers = {"content-type": "application/json", **headers}

    def encode(self, request: SpeechRequest) -> Encoded:
        body: dict[str, Any] = {"model": request.model, "input": request.text}
        notices: list[Notice] = []
        if request.voice is not None:
            body["voice"] = request.voice
        if request.format is not None:
            body["response_format"] = request.format
        apply_custom_parameters(body, request, notices)
        if not body.get("voice"):
            msg = "no voice is named: give voice=… with the call, or custom_parameters = { voice = … } in the settings"
            raise SettingsError(msg)
        return Encoded(
            HttpRequest("audio/speech", wire_json.encode(body), self._headers),
            tuple(notices),
            context=str(body.get("response_format") or _DEFAULT_FORMAT),
            metadata_headers=METADATA_HEADERS,
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> SpeechResponse:
        if not response.body:
            msg = "the endpoint sent no sound"
            raise EmptyResponse(msg, status=response.status)
        said = response.headers.get("content-type", "").split(";")[0].strip().lower()
        if said in {"application/json", "text/html", "text/plain"}:
            if (error := find_error(wire_json.decode_object(response.body) or {})) is not None:
                raise error_inside(error, headers=response.headers, received_at=response.received_at)
            msg = f"the answer is {said} instead of sound"
            raise ProtocolError(msg, status=response.status)
        wanted = str(encoded.context)
        media_type = said if said.startswith("audio/") else _AUDIO_TYPES.get(wanted, f"audio/{wanted}")
        return SpeechResponse(AudioContent(data=response.body, media_type=media_type))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_answer(response)
