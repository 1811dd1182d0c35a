"""What is done most often costs no more instructions than are stored; see `benchmarks/instructions.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import instructions

CASES = sorted(set(instructions.stored().get(instructions.key(), {}).get("figures", ())) - {instructions.YARDSTICK})


@pytest.fixture(scope="module")
def counted() -> dict[str, int]:
    """All cases, counted once; skipped where they cannot be, with the reason."""
    if reason := instructions.missing():
        pytest.skip(reason)
    found = instructions.count()
    if reason := instructions.incomparable(found, instructions.stored()[instructions.key()]["figures"]):
        pytest.skip(reason)
    return found


@pytest.mark.instructions
@pytest.mark.skipif(not CASES, reason=f"no figures are stored for {instructions.key()}")
@pytest.mark.parametrize("case", CASES)
def test_it_costs_no_more_than_is_stored(case: str, counted: dict[str, int]) -> None:
    before = instructions.stored()[instructions.key()]

    told = instructions.slower(case, counted, before["figures"])

    assert told is None, (
        f"{told}. If that is meant: python benchmarks/instructions.py --write. "
        f"Stored under {before['versions']}, now {instructions.versions()}"
    )


def test_what_is_measured_and_what_is_stored_are_the_same_cases() -> None:
    measured = [name for name, _, _ in instructions.cases()]

    for figures in instructions.stored().values():
        assert sorted(figures["figures"]) == sorted([*instructions.ONCE, *measured])


@pytest.mark.parametrize(
    ("name", "now", "told"),
    [
        ("call", 1049, None),
        ("call", 500, None),
        ("call", 1051, "call: 1,051 instructions, 1,000 are stored: +5.1%, and 5% is allowed"),
        ("start", 1099, None),
        ("start", 1101, "start: 1,101 instructions, 1,000 are stored: +10.1%, and 10% is allowed"),
    ],
)
def test_a_case_may_be_faster_and_by_a_little_slower(name: str, now: int, told: str | None) -> None:
    assert instructions.slower(name, {name: now}, {name: 1000}) == told


@pytest.mark.parametrize(("yardstick", "same"), [(981, True), (1000, True), (1019, True), (979, False), (1021, False)])
def test_figures_of_another_build_are_not_compared(yardstick: int, same: bool) -> None:
    told = instructions.incomparable({instructions.YARDSTICK: yardstick}, {instructions.YARDSTICK: 1000})

    assert (told is None) is same
