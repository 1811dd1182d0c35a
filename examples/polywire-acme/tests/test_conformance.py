"""The conformance kit: each of its rules is one test, offline, on recorded bytes."""

from __future__ import annotations

from pathlib import Path

from polywire.testing import CodecConformance, CodecUnderTest, load_recordings

from polywire_acme import AcmeCodec


class TestConformance(CodecConformance):
    subject = CodecUnderTest(
        codec=AcmeCodec(),
        model="acme-1",
        recordings=load_recordings(Path(__file__).parent / "recordings"),
        # A rule that this provider must not keep, and why:
        # exceptions={"call-ids": "the wire links results to calls by their order"},
    )
