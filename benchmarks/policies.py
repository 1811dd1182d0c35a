"""
What policies cost when they have nothing to do: the same calls with and without them, in one process and one run.

    python benchmarks/policies.py              a table of medians; a few minutes
    python benchmarks/policies.py --rounds 40

Every round measures each variant in turn, and each figure is a ratio to the same round's calls without policies, so that a
busy machine slows both. Targets: at most 1.15 for a plain call and 1.05 for a streamed event.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polywire import ChatRequest, LlmFactory

RETRY: dict[str, Any] = {"retry": {"attempts": 3}}
LIMITS: dict[str, Any] = {
    "limits": {"requests_per_minute": 10**8, "tokens_per_minute": 10**11, "concurrency": 10**4},
}
DEADLINES: dict[str, Any] = {"deadline": "10m", "first_event": "5m", "between_events": "5m"}
VARIANTS: dict[str, dict[str, Any]] = {
    "none": {},
    "retry": RETRY,
    "limits": LIMITS,
    "deadlines": DEADLINES,
    "all": {**RETRY, **LIMITS, **DEADLINES, "fallback": ["spare"]},
}
EVENTS = 2000
REQUEST = ChatRequest("What is a wire format?")


def model(base: str, kind: str, rules: dict[str, Any]) -> Any:
    spare = {"spare": {"provider": "openai", "model": "bench"}} if "fallback" in rules else {}
    return LlmFactory.from_config(
        {
            "default_model": "bench",
            "providers": {"openai": {"api_key": "k", "base_url": f"{base}/{kind}/v1"}},
            "models": {"bench": {"provider": "openai", "model": "bench", **rules}, **spare},
        }
    ).streaming_chat_model()


def works(base: str, loop: asyncio.AbstractEventLoop) -> dict[str, tuple[Callable[[dict[str, Any]], Any], int, int]]:
    """The kinds of work: how to make one with some rules, how often a round does it, and into how many parts it falls."""

    def plain(rules: dict[str, Any]) -> Any:
        one = model(base, "plain", rules)
        return lambda: one.chat(REQUEST)

    def aplain(rules: dict[str, Any]) -> Any:
        one = model(base, "plain", rules)
        return lambda: loop.run_until_complete(one.achat(REQUEST))

    def stream(rules: dict[str, Any]) -> Any:
        one = model(base, f"stream-{EVENTS}", rules)
        return lambda: sum(1 for _ in one.stream(REQUEST))

    def astream(rules: dict[str, Any]) -> Any:
        one = model(base, f"stream-{EVENTS}", rules)

        async def read() -> None:
            async for _ in one.astream(REQUEST):
                pass

        return lambda: loop.run_until_complete(read())

    return {
        "plain call": (plain, 30, 1),
        "plain call, async": (aplain, 30, 1),
        "streamed event": (stream, 2, EVENTS),
        "streamed event, async": (astream, 2, EVENTS),
    }


def cpu(work: Callable[[], Any], times: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    program = Path(__file__).with_name("server.py")
    server = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdin is not None
    base = f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    loop = asyncio.new_event_loop()
    print("| work | none, µs CPU | " + " | ".join(f"{name}, ratio" for name in VARIANTS if name != "none") + " |")
    print("|---|---|" + "---|" * (len(VARIANTS) - 1))
    try:
        for title, (make, times, parts) in works(base, loop).items():
            made = {name: make(rules) for name, rules in VARIANTS.items()}
            figures: dict[str, list[float]] = {name: [] for name in made}
            for work in made.values():
                work()
            for _ in range(rounds):
                for name, work in made.items():
                    figures[name].append(cpu(work, times) / parts)
            base_line = figures.pop("none")
            ratios = [
                statistics.median(mine / theirs for mine, theirs in zip(values, base_line, strict=True))
                for values in figures.values()
            ]
            cells = [f"{statistics.median(base_line) * 1e6:.4g}", *(f"{ratio:.3f}" for ratio in ratios)]
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
