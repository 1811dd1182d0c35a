"""Pictures and speech: requests against the vendor's own types, answers read, and the factory."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from openai.types import ImagesResponse
from openai.types.audio import SpeechCreateParams
from openai.types.image_generate_params import ImageGenerateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, with_config

from polywire import LlmFactory
from polywire.codec import Headers, HttpResponse
from polywire.errors import EmptyResponse, ModelError, ProtocolError, SettingsError
from polywire.media_models import ImageRequest, SpeechRequest
from polywire.responses import TokenUsage
from polywire.testing.transport import FakeTransport, Reply
from polywire_openai import OpenAIImageCodec, OpenAISpeechCodec

PNG = b"\x89PNG\r\n\x1a\n and so on"
WEBP = b"RIFF\x00\x00\x00\x00WEBP and so on"
with_config(ConfigDict(extra="forbid"))(ImageGenerateParamsNonStreaming)
with_config(ConfigDict(extra="forbid"))(SpeechCreateParams)
IMAGE_PARAMETERS: TypeAdapter[Any] = TypeAdapter(ImageGenerateParamsNonStreaming)
SPEECH_PARAMETERS: TypeAdapter[Any] = TypeAdapter(SpeechCreateParams)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def pictures(body: Any) -> Any:
    codec = OpenAIImageCodec()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return codec.decode(HttpResponse(200, Headers(), data), codec.encode(ImageRequest("a cat", "gpt-image-1")))


def test_a_request_for_pictures_has_what_the_vendors_own_type_has() -> None:
    request = ImageRequest("a cat", "gpt-image-1", 2, "1024x1024", {"quality": "low", "output_format": "webp"})

    body = json.loads(OpenAIImageCodec().encode(request).http.body)

    assert body == {
        "model": "gpt-image-1",
        "prompt": "a cat",
        "n": 2,
        "size": "1024x1024",
        "quality": "low",
        "output_format": "webp",
    }
    IMAGE_PARAMETERS.validate_python(body)
    with pytest.raises(ValueError, match="count"):
        IMAGE_PARAMETERS.validate_python({**body, "count": 2})


def test_pictures_come_as_bytes_whose_type_is_told_by_themselves() -> None:
    body = {
        "created": 1713833628,
        "data": [{"b64_json": b64(WEBP)}, {"b64_json": b64(PNG)}],
        "output_format": "webp",
        "usage": {
            "total_tokens": 100,
            "input_tokens": 50,
            "output_tokens": 50,
            "input_tokens_details": {"text_tokens": 10, "image_tokens": 40},
        },
    }
    ImagesResponse.model_validate(body)

    response = pictures(body)

    assert [image.media_type for image in response.images] == ["image/webp", "image/png"]
    assert response.images[1].data == PNG
    assert response.usage == TokenUsage(50, 50, 100)
    assert response.metadata == {"created": 1713833628, "output_format": "webp"}


def test_pictures_come_as_addresses_with_the_prompt_that_was_used() -> None:
    response = pictures({"created": 1, "data": [{"url": "https://img.test/1.png", "revised_prompt": "A grey cat"}]})

    assert response.images[0].url == "https://img.test/1.png"
    assert response.metadata["revised_prompts"] == ["A grey cat"]
    assert response.usage == TokenUsage()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", EmptyResponse),
        (b"oops", ProtocolError),
        ({"data": []}, EmptyResponse),
        ({"created": 1}, ProtocolError),
        ({"data": [{}]}, ProtocolError),
        ({"error": {"message": "no", "type": "server_error"}}, ModelError),
    ],
)
def test_an_answer_without_pictures_is_named(body: Any, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        pictures(body)


def test_a_request_for_speech_has_what_the_vendors_own_type_has() -> None:
    request = SpeechRequest("Hello", "gpt-4o-mini-tts", "coral", "wav", {"instructions": "Cheerful."})

    body = json.loads(OpenAISpeechCodec().encode(request).http.body)

    assert body == {
        "model": "gpt-4o-mini-tts",
        "input": "Hello",
        "voice": "coral",
        "response_format": "wav",
        "instructions": "Cheerful.",
    }
    SPEECH_PARAMETERS.validate_python(body)


def test_speech_without_a_voice_is_refused_before_the_network() -> None:
    with pytest.raises(SettingsError, match="no voice is named"):
        OpenAISpeechCodec().encode(SpeechRequest("Hello", "tts-1"))


@pytest.mark.parametrize(
    ("wanted", "said", "media_type"),
    [
        (None, "audio/mpeg", "audio/mpeg"),
        (None, "application/octet-stream", "audio/mpeg"),
        ("opus", "", "audio/ogg"),
        ("pcm", "", "audio/pcm"),
        ("wav", "audio/x-wav; codecs=1", "audio/wav"),
    ],
)
def test_the_answer_is_the_sound_itself(wanted: str | None, said: str, media_type: str) -> None:
    codec = OpenAISpeechCodec()
    encoded = codec.encode(SpeechRequest("Hello", "tts-1", "alloy", wanted))

    response = codec.decode(HttpResponse(200, Headers({"content-type": said}), b"\x00\x01"), encoded)

    assert response.audio.data == b"\x00\x01"
    assert response.audio.media_type == media_type


@pytest.mark.parametrize(
    ("said", "body", "kind"),
    [
        ("audio/mpeg", b"", EmptyResponse),
        ("text/html", b"<html>a gateway</html>", ProtocolError),
        ("application/json", b'{"error": {"message": "no", "type": "server_error"}}', ModelError),
        ("application/json", b"{}", ProtocolError),
    ],
)
def test_an_answer_without_sound_is_named(said: str, body: bytes, kind: type[ModelError]) -> None:
    codec = OpenAISpeechCodec()
    encoded = codec.encode(SpeechRequest("Hello", "tts-1", "alloy"))

    with pytest.raises(kind):
        codec.decode(HttpResponse(200, Headers({"content-type": said}), body), encoded)


def test_the_factory_makes_both_work_from_end_to_end() -> None:
    waits: list[float] = []
    transport = FakeTransport(
        Reply(status=503, body={"error": {"message": "busy"}}),
        Reply(body={"created": 1, "data": [{"b64_json": b64(PNG)}]}),
        Reply(body=b"sound", headers={"content-type": "audio/mpeg", "x-request-id": "req_7"}),
    )
    table = {
        "providers": {"openai": {"api_key": "sk-test-key-1", "retry": {"attempts": 2}}},
        "models": {
            "painter": {"provider": "openai", "model": "gpt-image-1", "kind": "image"},
            "voice": {
                "provider": "openai",
                "model": "tts-1",
                "kind": "speech",
                "custom_parameters": {"voice": "alloy"},
            },
        },
    }
    with LlmFactory.from_config(table, environ={}, transport=transport, sleep=waits.append) as factory:
        assert factory.image_model().generate("a cat").images[0].data == PNG
        response = asyncio.run(factory.speech_model("voice").aspeak("Hello"))

    assert len(waits) == 1
    assert transport.requests[1].url == "https://api.openai.com/v1/images/generations"
    assert transport.last.url == "https://api.openai.com/v1/audio/speech"
    assert transport.last.json == {"model": "tts-1", "input": "Hello", "voice": "alloy"}
    assert response.metadata == {"request_id": "req_7"}
