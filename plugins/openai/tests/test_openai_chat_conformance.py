"""The conformance kit on the codec of Chat Completions."""

from __future__ import annotations

from pathlib import Path

from polywire.testing import CodecConformance, CodecUnderTest, load_recordings
from polywire_openai import OpenAIChatCodec, OpenAIWire


class TestOpenAIChatConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=OpenAIChatCodec(),
        model="gpt-5.5",
        wire=OpenAIWire(),
        recordings=load_recordings(Path(__file__).parent / "recordings" / "chat"),
    )
