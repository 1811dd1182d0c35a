"""The rules as tests: one for each, for pytest to find in a subclass."""

from __future__ import annotations

from typing import ClassVar

import pytest

from polywire.testing.conformance import (  # noqa: F401 - importing them registers the rules
    decoding_rules,
    driving_rules,
    encoding_rules,
    streaming_rules,
    wire_rules,
)
from polywire.testing.conformance.rules import RULES, check_rule
from polywire.testing.conformance.subject import CodecUnderTest

__all__ = ["CodecConformance"]


class CodecConformance:
    """
    Subclass it in a test file, name it `Test…`, and set `subject`.

    Every rule of the kit becomes a test. A rule in `subject.exceptions` is skipped with its reason, and a name there
    that is no rule fails.
    """

    subject: ClassVar[CodecUnderTest]

    @pytest.mark.parametrize("name", list(RULES))
    def test_rule(self, name: str) -> None:
        """The codec keeps the rule."""
        if (reason := self.subject.exceptions.get(name)) is not None:
            pytest.skip(f"exception of this provider: {reason}")
        check_rule(name, self.subject)

    def test_exceptions_are_rules(self) -> None:
        """Every exception names a rule, and says why."""
        for name, reason in self.subject.exceptions.items():
            assert name in RULES, f"{name!r} is no rule of the kit"
            assert len(reason) > 10, f"say why the rule {name!r} is not kept"
