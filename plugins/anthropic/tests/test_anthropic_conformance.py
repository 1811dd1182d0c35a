"""The conformance kit on the Anthropic codec and wire."""

from __future__ import annotations

from pathlib import Path

from polywire.auth import HeaderAuth
from polywire.testing import CodecConformance, CodecUnderTest, load_recordings
from polywire_anthropic import AnthropicCodec, AnthropicWire


class TestAnthropicConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=AnthropicCodec(),
        model="claude-opus-5-5",
        wire=AnthropicWire(),
        recordings=load_recordings(Path(__file__).parent / "recordings"),
        auth=lambda key: HeaderAuth("x-api-key", key),
    )
