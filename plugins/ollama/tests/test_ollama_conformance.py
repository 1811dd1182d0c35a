"""The conformance kit on Ollama's codec."""

from __future__ import annotations

from pathlib import Path

from polywire.testing import CodecConformance, CodecUnderTest, load_recordings
from polywire_ollama import OllamaCodec, OllamaWire


class TestOllamaConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=OllamaCodec(),
        model="qwen3",
        wire=OllamaWire(),
        recordings=load_recordings(Path(__file__).parent / "recordings"),
    )
