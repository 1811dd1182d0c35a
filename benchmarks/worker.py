"""
Measurements in one fresh process: `worker.py SIDE CASE,… BASE`. Prints a number for each case, "-" where a side has none.

CPU seconds are those of this process for one piece of work (a call, an event); memory is bytes for one open stream. A
side is one of this folder's by name, or `module:class` of any module that can be imported.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def side(name: str, base: str) -> Any:
    """Make one side by name; `reference-again` is the reference under another name, to show the noise."""
    if name.startswith("reference"):
        from reference import Reference

        return Reference(base)
    if ":" in name:
        module, _, attribute = name.partition(":")
        return getattr(importlib.import_module(module), attribute)(base)
    import polywire_side

    match name:
        case "polywire":
            return polywire_side.Polywire(base)
        case "polywire-anthropic":
            return polywire_side.PolywireAnthropic(base)
        case "polywire-aiohttp":
            return polywire_side.PolywireAiohttp(base)
        case "polywire-policies":
            return polywire_side.Polywire(
                base,
                retry={"attempts": 3},
                limits={
                    "requests_per_minute": 100_000_000,
                    "tokens_per_minute": 100_000_000_000,
                    "concurrency": 10_000,
                },
                deadline="10m",
                first_event="5m",
                between_events="5m",
            )
        case _:
            msg = f"unknown side {name!r}"
            raise SystemExit(msg)


BUDGET = 0.4
"""Seconds of CPU that one measurement may take: a side so slow that `times` runs need more is measured by fewer."""


def within_budget(times: int, first: float) -> int:
    """How often to run what took `first` seconds when it was warm."""
    return max(2, min(times, int(BUDGET / first))) if first > 0 else times


RUNNER = asyncio.Runner()
"""One event loop for all: some sides keep one client for every model."""


def per(work: Callable[[], Any], times: int, pieces: int = 1) -> float:
    """CPU seconds for one of the `pieces` of one of `times` runs, after a warm-up."""
    work()
    start = time.process_time()
    work()
    times = within_budget(times, time.process_time() - start)
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times / pieces


def aper(work: Callable[[], Any], times: int, *, at_once: int = 1, pieces: int = 1) -> float:
    """The same for async work, some of it at once."""

    async def main() -> float:
        await work()
        await asyncio.gather(*(work() for _ in range(at_once)))
        start = time.process_time()
        await asyncio.gather(*(work() for _ in range(at_once)))
        often = within_budget(times, time.process_time() - start)
        gc.collect()
        start = time.process_time()
        for _ in range(often):
            if at_once == 1:
                await work()
            else:
                await asyncio.gather(*(work() for _ in range(at_once)))
        return (time.process_time() - start) / often / at_once / pieces

    return RUNNER.run(main())


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


async def memory(one: Any, streams: int) -> float:
    """Bytes that one open stream holds, of `streams` open at once."""
    # A first few warm the pools, so that only what a stream costs is counted.
    warm = await one.hold(2)
    gc.collect()
    before = resident()
    held = await one.hold(streams)
    gc.collect()
    cost = (resident() - before) / streams
    for each in (warm, held):
        for stream in each[1]:
            await (stream[0].aclose() if isinstance(stream, tuple) else stream.aclose())
    return cost


METHODS = {
    "call": "call",
    "acall": "acall",
    "stream": "stream",
    "astream": "astream",
    "memory": "hold",
    "tools": "tool_loop",
    "convert": "convert",
}
"""The method of a side that each kind of case needs."""


def measure(name: str, case: str, base: str) -> float | None:
    one = side(name, base)
    if not hasattr(one, METHODS.get(case.partition("-")[0], "")):
        return None
    match case:
        case "call-2":
            return per(one.call(2), 300)
        case "call-200":
            return per(one.call(200), 100)
        case "acall-2":
            return aper(one.acall(2), 300)
        case "acall-2-x50":
            return aper(one.acall(2), 8, at_once=50)
        case "stream-5000":
            return per(one.stream(5000), 4, pieces=5000)
        case "astream-5000":
            return aper(one.astream(5000), 4, pieces=5000)
        case "astream-100-x50":
            return aper(one.astream(100), 3, at_once=50, pieces=100)
        case "memory-200":
            return RUNNER.run(memory(one, 200))
        case "tools-20":
            return per(one.tool_loop(20), 20)
        case "convert-200":
            return per(one.convert(200), 200)
        case _:
            msg = f"unknown case {case!r}"
            raise SystemExit(msg)


if __name__ == "__main__":
    with RUNNER:
        for each in sys.argv[2].split(","):
            measured = measure(sys.argv[1], each, sys.argv[3])
            print("-" if measured is None else measured)
