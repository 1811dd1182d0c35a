"""The conformance kit on the codec of the Responses API."""

from __future__ import annotations

from pathlib import Path

from polywire.testing import CodecConformance, CodecUnderTest, load_recordings
from polywire_openai.responses import OpenAIResponsesCodec, OpenAIResponsesWire


class TestOpenAIResponsesConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=OpenAIResponsesCodec(),
        model="gpt-5.5",
        wire=OpenAIResponsesWire(),
        recordings=load_recordings(Path(__file__).parent / "recordings" / "responses"),
    )
