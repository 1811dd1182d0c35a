"""The conformance kit on Gemini's codec."""

from __future__ import annotations

from pathlib import Path

from polywire.auth import HeaderAuth
from polywire.testing import CodecConformance, CodecUnderTest, load_recordings
from polywire_gemini import GeminiCodec, GeminiWire


class TestGeminiConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=GeminiCodec(),
        model="gemini-flash-latest",
        wire=GeminiWire(),
        recordings=load_recordings(Path(__file__).parent / "recordings"),
        auth=lambda key: HeaderAuth("x-goog-api-key", key),
        # The vendor links results by name and order; ids are sent back only where it gave them.
        links_by_name=True,
    )
