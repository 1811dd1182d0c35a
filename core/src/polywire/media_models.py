"""
The contracts for models that make pictures and speech, written like the others: a request value, a response value, a
plain and an async method for callers, `do_…` for authors, and a codec for those who speak HTTP.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, Protocol

from polywire.codec import Encoded, HttpResponse
from polywire.contents import AudioContent, ImageContent
from polywire.errors import ModelError
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping
from polywire.models import NO_INFORMATION, ModelInformation
from polywire.requests import NO_OPTIONS, CallOptions
from polywire.responses import NO_USAGE, Notice, TokenUsage
from polywire.task_requests import check_fields, fold_task_request

__all__ = [
    "ImageCodec",
    "ImageModel",
    "ImageRequest",
    "ImageResponse",
    "SpeechCodec",
    "SpeechModel",
    "SpeechRequest",
    "SpeechResponse",
]


def _require_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        msg = f"{name} must be a str, not {type(value).__name__}"
        raise TypeError(msg)
    if not value.strip():
        msg = f"{name} is empty"
        raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """
    A picture to be made.

    Attributes:
        prompt: what it shall show.
        model: the model's id; `None` takes the default.
        count: how many.
        size: `"1024x1024"` and the like, in the vendor's words.
        custom_parameters: what only one vendor has, copied into the request body as it is.
    """

    prompt: str
    model: str | None = None
    count: int = 1
    size: str | None = None
    custom_parameters: Mapping[str, Any] = EMPTY
    options: CallOptions = NO_OPTIONS

    def __post_init__(self) -> None:
        _require_text(self.prompt, "prompt")
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            msg = f"count must be an int of at least 1, not {self.count!r}"
            raise ValueError(msg)
        check_fields(self, "size")
        object.__setattr__(self, "custom_parameters", freeze_mapping(self.custom_parameters, name="custom_parameters"))


@dataclass(frozen=True, slots=True)
class ImageResponse:
    """The pictures, and what is known of how they were made."""

    images: tuple[ImageContent, ...]
    usage: TokenUsage = NO_USAGE
    notices: tuple[Notice, ...] = ()
    metadata: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, name="metadata"))


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """
    Words to be spoken.

    Attributes:
        text: the words.
        model: the model's id; `None` takes the default.
        voice: one of the vendor's voices.
        format: the audio format, `"mp3"`, `"wav"` and the like.
        custom_parameters: what only one vendor has, copied into the request body as it is.
    """

    text: str
    model: str | None = None
    voice: str | None = None
    format: str | None = None
    custom_parameters: Mapping[str, Any] = EMPTY
    options: CallOptions = NO_OPTIONS

    def __post_init__(self) -> None:
        _require_text(self.text, "text")
        check_fields(self, "voice", "format")
        object.__setattr__(self, "custom_parameters", freeze_mapping(self.custom_parameters, name="custom_parameters"))


@dataclass(frozen=True, slots=True)
class SpeechResponse:
    """The sound, and what is known of how it was made."""

    audio: AudioContent
    usage: TokenUsage = NO_USAGE
    notices: tuple[Notice, ...] = ()
    metadata: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, name="metadata"))


class ImageModel(abc.ABC):
    """A model that makes pictures. Thread-safe, and usable from any number of event loops."""

    information: ModelInformation = NO_INFORMATION

    def generate(self, prompt: str | ImageRequest, /, **parameters: Any) -> ImageResponse:
        """Make pictures; `parameters` are the fields of `ImageRequest`, and `deadline` and `tags`."""
        return self.do_generate(fold_task_request(ImageRequest, prompt, parameters))

    async def agenerate(self, prompt: str | ImageRequest, /, **parameters: Any) -> ImageResponse:
        """Make pictures. As `generate`."""
        return await self.do_agenerate(fold_task_request(ImageRequest, prompt, parameters))

    @abc.abstractmethod
    def do_generate(self, request: ImageRequest) -> ImageResponse:
        """Answer one request. For authors and wrappers; callers use `generate`."""

    async def do_agenerate(self, request: ImageRequest) -> ImageResponse:
        """Answer one request; runs `do_generate` in a thread unless overridden."""
        import asyncio

        return await asyncio.to_thread(self.do_generate, request)

    def close(self) -> None:
        """Give back what the model holds. Idempotent."""

    async def aclose(self) -> None:
        """Give back what the model holds, from async code. Idempotent."""
        self.close()


class SpeechModel(abc.ABC):
    """A model that speaks. Thread-safe, and usable from any number of event loops."""

    information: ModelInformation = NO_INFORMATION

    def speak(self, text: str | SpeechRequest, /, **parameters: Any) -> SpeechResponse:
        """Speak; `parameters` are the fields of `SpeechRequest`, and `deadline` and `tags`."""
        return self.do_speak(fold_task_request(SpeechRequest, text, parameters))

    async def aspeak(self, text: str | SpeechRequest, /, **parameters: Any) -> SpeechResponse:
        """Speak. As `speak`."""
        return await self.do_aspeak(fold_task_request(SpeechRequest, text, parameters))

    @abc.abstractmethod
    def do_speak(self, request: SpeechRequest) -> SpeechResponse:
        """Answer one request. For authors and wrappers; callers use `speak`."""

    async def do_aspeak(self, request: SpeechRequest) -> SpeechResponse:
        """Answer one request; runs `do_speak` in a thread unless overridden."""
        import asyncio

        return await asyncio.to_thread(self.do_speak, request)

    def close(self) -> None:
        """Give back what the model holds. Idempotent."""

    async def aclose(self) -> None:
        """Give back what the model holds, from async code. Idempotent."""
        self.close()


class ImageCodec(Protocol):
    """Three pure functions between polywire's values and one vendor's endpoint for pictures."""

    wire: str

    def encode(self, request: ImageRequest) -> Encoded:
        """Write one request."""

    def decode(self, response: HttpResponse, encoded: Encoded) -> ImageResponse:
        """Read the answer."""

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any status but 2xx. Never raises."""


class SpeechCodec(Protocol):
    """Three pure functions between polywire's values and one vendor's endpoint for speech."""

    wire: str

    def encode(self, request: SpeechRequest) -> Encoded:
        """Write one request."""

    def decode(self, response: HttpResponse, encoded: Encoded) -> SpeechResponse:
        """Read the answer."""

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any status but 2xx. Never raises."""
