"""
The conformance kit: is this codec right, before it ever calls a live endpoint?

Offline, and the same for every provider. In a test file of your own:

    from polywire.testing import CodecConformance, CodecUnderTest, load_recordings

    class TestAcme(CodecConformance):
        subject = CodecUnderTest(
            codec=AcmeCodec(),
            model="acme-1",
            recordings=load_recordings(Path(__file__).parent / "recordings"),
        )

Each rule is one test. A failure says what the rule is, why it stands, and where the codec breaks it. A rule that a
provider must not keep is named in `CodecUnderTest.exceptions`, with the reason.
"""

from __future__ import annotations

from polywire.testing.conformance.rules import RULES, Rule, Violation, check_rule
from polywire.testing.conformance.subject import CodecUnderTest
from polywire.testing.conformance.suite import CodecConformance

__all__ = ["RULES", "CodecConformance", "CodecUnderTest", "Rule", "Violation", "check_rule"]
