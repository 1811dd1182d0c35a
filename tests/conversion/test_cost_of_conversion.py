"""A conversion costs in proportion to the history's length: nothing in it looks at every message for every message."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from polywire import convert

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from workload import TOOLS, openai_messages


def cost(body: dict[str, Any], source: str, target: str) -> float:
    """CPU seconds of one conversion: the least of several, which noise cannot make smaller."""
    least = float("inf")
    for _ in range(7):
        started = time.process_time()
        convert(body, source=source, target=target)
        least = min(least, time.process_time() - started)
    return least


@pytest.mark.parametrize(("source", "target"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_ten_times_the_history_costs_about_ten_times_as_much(source: str, target: str) -> None:
    bodies = {}
    for count in (200, 2000):
        body: Any = {"model": "m", "messages": openai_messages(count), "tools": TOOLS, "max_tokens": 9}
        bodies[count] = body if source == "openai" else convert(body, source="openai", target="anthropic").payload

    short, long = (cost(bodies[count], source, target) for count in (200, 2000))

    assert long < short * 10 * 2
    # 2 ms on a quiet machine of the usual kind; the factor is for one that is neither.
    assert short < 0.002 * 10
