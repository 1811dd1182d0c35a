"""Ten thousand tasks at one limiter: served in the order they came, at a bounded cost each."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from polywire.models import ChatModel
from polywire.policy import LimitPolicy, PolicyModel

WAITERS = 10_000


def test_ten_thousand_tasks_are_served_in_order_at_a_bounded_cost() -> None:
    policy = LimitPolicy(concurrency=16)
    served: list[int] = []

    async def answer(request: Any) -> str:
        await asyncio.sleep(0)
        served.append(int(request.messages[0].text))
        return "ok"

    model = PolicyModel(ChatModel.from_function(answer), [policy])

    async def main(count: int) -> float:
        served.clear()
        started = time.process_time()
        await asyncio.gather(*(model.achat(str(number)) for number in range(count)))
        return (time.process_time() - started) / count

    few = min(asyncio.run(main(1_000)) for _ in range(3))
    many = min(asyncio.run(main(WAITERS)) for _ in range(2))

    assert sorted(served) == list(range(WAITERS))
    # In turn: nobody is served more than the width of the limit away from their place.
    assert all(abs(place - number) <= 16 for place, number in enumerate(served))
    # The cost of a wait does not grow with the queue: one that did would be ten times as high. The least of several is
    # taken, and the factor leaves room, for a noisy machine.
    assert many < few * 6
    assert many < 0.001
