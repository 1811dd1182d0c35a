"""The promise: in any window, never more than rate x time + burst; with reservations, charges and refunds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.policy.rates import TICKS_PER_SECOND, Meter, RateLimit


def test_a_full_bucket_goes_at_once_and_then_the_rate_holds() -> None:
    meter = Meter(RateLimit("requests", 60, 5))

    assert [meter.take(0, 1) for _ in range(5)] == [None] * 5
    assert meter.take(0, 1) == TICKS_PER_SECOND
    assert meter.take(TICKS_PER_SECOND, 1) is None
    assert meter.take(TICKS_PER_SECOND, 1) == TICKS_PER_SECOND


def test_a_refund_makes_room_again() -> None:
    meter = Meter(RateLimit("tokens", 6000, 1000))
    assert meter.take(0, 1000) is None
    mark = meter.mark(1000)
    assert meter.take(0, 500) is not None

    meter.settle(0, mark, 400)

    assert meter.take(0, 600) is None
    assert meter.take(0, 1) is not None


def test_a_charge_after_the_fact_is_paid_by_those_who_follow() -> None:
    meter = Meter(RateLimit("tokens", 6000, 1000))  # 100 a second
    assert meter.take(0, 1000) is None

    meter.settle(0, meter.mark(1000), 1500)

    # 500 beyond the burst, and 100 for this one: 6 seconds.
    assert meter.take(0, 100) == 6 * TICKS_PER_SECOND


def test_a_refund_gives_back_only_what_has_not_drained_away() -> None:
    meter = Meter(RateLimit("tokens", 6000, 1000))
    assert meter.take(0, 1000) is None
    mark = meter.mark(1000)
    later = 10 * TICKS_PER_SECOND  # the bucket is full again by time alone
    assert meter.take(later, 1000) is None

    meter.settle(later, mark, 0)

    assert meter.take(later, 1) is not None


@pytest.mark.parametrize("per_minute", [1, 7, 60, 999, 7_000_000, 40_000_000, 123_456_789])
def test_rounding_never_exceeds_a_rate_and_stays_below_one_percent(per_minute: int) -> None:
    limit = RateLimit("tokens", per_minute)

    units_per_minute = 60 * TICKS_PER_SECOND * 1000 / limit.emission

    assert per_minute * 0.99 <= units_per_minute * limit.unit <= per_minute


operations = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 40_000)),
        st.tuples(st.just("take"), st.integers(1, 100)),
        st.tuples(st.just("settle"), st.integers(0, 100), st.integers(0, 20)),
    ),
    max_size=60,
)


@given(operations, st.sampled_from([30, 60, 600, 6000]), st.sampled_from([100, 150]))
@settings(max_examples=200, deadline=None)
def test_the_promise_holds_for_what_was_really_spent(steps: list[Any], per_minute: int, burst: int) -> None:
    """Whatever is reserved and given back: what was spent in any window is at most rate x time + burst."""
    meter = Meter(RateLimit("tokens", per_minute, burst))
    now = 0
    open_marks: list[tuple[int, Any]] = []
    spent: list[list[int]] = []  # [time, amount]
    for step in steps:
        if step[0] == "wait":
            now += step[1]
        elif step[0] == "take":
            if meter.take(now, step[1]) is None:
                spent.append([now, step[1]])
                open_marks.append((len(spent) - 1, meter.mark(step[1])))
        elif open_marks:
            index, mark = open_marks.pop(step[2] % len(open_marks))
            actual = min(step[1], mark.weight)  # the estimate was not too small
            meter.settle(now, mark, actual)
            spent[index][1] = actual

    for first in range(len(spent)):
        total = 0
        for last in range(first, len(spent)):
            total += spent[last][1]
            seconds = (spent[last][0] - spent[first][0]) / TICKS_PER_SECOND
            assert total <= per_minute / 60 * seconds + burst + 1e-6


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_an_undone_take_leaves_no_trace(weights: list[int], extra: int) -> None:
    plain, undone = (Meter(RateLimit("tokens", 600, 50)) for _ in range(2))
    now = 0
    for weight in weights:
        now += 1000
        if undone.take(now, extra) is None:
            undone.undo(now, extra)
        assert plain.take(now, weight) == undone.take(now, weight)
