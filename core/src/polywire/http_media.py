"""Runs any codec for pictures or speech over any transport."""

from __future__ import annotations

from polywire.http_tasks import HttpTaskModel
from polywire.media_models import (
    ImageModel,
    ImageRequest,
    ImageResponse,
    SpeechModel,
    SpeechRequest,
    SpeechResponse,
)

__all__ = ["HttpImageModel", "HttpSpeechModel"]


class HttpImageModel(HttpTaskModel, ImageModel):
    """A model behind HTTP that makes pictures; `HttpTaskModel` tells its arguments."""

    _request_type = ImageRequest

    def do_generate(self, request: ImageRequest) -> ImageResponse:
        """Answer one request."""
        response: ImageResponse = self._run(request)
        return response

    async def do_agenerate(self, request: ImageRequest) -> ImageResponse:
        """Answer one request, from async code."""
        response: ImageResponse = await self._arun(request)
        return response


class HttpSpeechModel(HttpTaskModel, SpeechModel):
    """A model behind HTTP that speaks; `HttpTaskModel` tells its arguments."""

    _request_type = SpeechRequest

    def do_speak(self, request: SpeechRequest) -> SpeechResponse:
        """Answer one request."""
        response: SpeechResponse = self._run(request)
        return response

    async def do_aspeak(self, request: SpeechRequest) -> SpeechResponse:
        """Answer one request, from async code."""
        response: SpeechResponse = await self._arun(request)
        return response
