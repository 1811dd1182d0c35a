"""
What a rule is, and the list of them.

A rule is a function of a `CodecUnderTest` that yields what is wrong, one sentence each, naming the place. It has a name,
a statement, and a reason; all three are in every failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from polywire.testing.conformance.subject import CodecUnderTest

__all__ = ["RULES", "Rule", "Violation", "check_rule", "rule"]

Check = Callable[[CodecUnderTest], Iterable[str]]


class Violation(AssertionError):
    """A codec breaks a rule of the kit."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One rule.

    Attributes:
        name: short, for the command line and `CodecUnderTest.exceptions`.
        statement: what must hold.
        reason: what goes wrong where it does not.
        check: yields what is wrong.
    """

    name: str
    statement: str
    reason: str
    check: Check


RULES: dict[str, Rule] = {}
"""Every rule of the kit, by name, in the order in which they are best read."""


def rule(name: str, statement: str, reason: str) -> Callable[[Check], Check]:
    """Make a rule of a function."""

    def register(check: Check) -> Check:
        if name in RULES:
            msg = f"there are two rules named {name!r}"
            raise ValueError(msg)
        RULES[name] = Rule(name, statement, reason, check)
        return check

    return register


def check_rule(name: str, subject: CodecUnderTest) -> None:
    """
    Hold a codec against one rule.

    Raises:
        Violation: it breaks the rule; the message has the rule, the reason and the places.
    """
    found = RULES[name]
    problems = []
    try:
        for problem in found.check(subject):
            problems.append(problem)
            if len(problems) == 5:
                break
    except Violation:
        raise
    except Exception as error:
        problems.append(f"the codec raised {type(error).__name__}: {error}")
        raise Violation(_message(found, problems)) from error
    if problems:
        raise Violation(_message(found, problems))


def _message(found: Rule, problems: list[str]) -> str:
    places = "\n".join(f"  - {problem}" for problem in problems)
    return f"rule {found.name!r}: {found.statement}\nwhy: {found.reason}\nwhere:\n{places}"
