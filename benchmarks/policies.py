"""
What policies cost when they have nothing to do: the same calls with and without them.

    python benchmarks/policies.py                  instructions, where valgrind is there, and CPU; a few minutes
    python benchmarks/policies.py --only cpu       a minute
    python benchmarks/policies.py --variants all   fewer columns

Both figures are ratios to the same calls without policies. **Instructions** are counted by valgrind's callgrind: a busy
machine does not change them. They are those of `N + n` calls less those of `n`, over HTTP, from a server of its own.
**CPU** is the least of many short measurements, in turn with those of the others, in one process.

Targets: 1.05 for a plain call, and 1.02 for a streamed event.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
PARTS = {"plain call": 1, "plain call, async": 1, "streamed event": EVENTS, "streamed event, async": EVENTS}
REPEATED = {
    "plain call": (20, 120),
    "plain call, async": (20, 120),
    "streamed event": (2, 8),
    "streamed event, async": (2, 8),
}
"""How often the calls are made in the two counts of instructions."""


def model(base: str, kind: str, rules: dict[str, Any]) -> Any:
    spare = {"spare": {"provider": "openai", "model": "bench"}} if "fallback" in rules else {}
    return LlmFactory.from_config(
        {
            "default_model": "bench",
            "providers": {"openai": {"api_key": "k", "base_url": f"{base}/{kind}/v1"}},
            "models": {"bench": {"provider": "openai", "model": "bench", **rules}, **spare},
        }
    ).streaming_chat_model()


def work(base: str, title: str, variant: str, loop: asyncio.AbstractEventLoop) -> Callable[[int], None]:
    """Return a function that does a kind of work so many times."""
    kind = "plain" if title.startswith("plain") else f"stream-{EVENTS}"
    one = model(base, kind, VARIANTS[variant])

    def plain(times: int) -> None:
        for _ in range(times):
            one.chat(REQUEST)

    async def aplain(times: int) -> None:
        for _ in range(times):
            await one.achat(REQUEST)

    def stream(times: int) -> None:
        for _ in range(times):
            for _ in one.stream(REQUEST):
                pass

    async def astream(times: int) -> None:
        for _ in range(times):
            async for _ in one.astream(REQUEST):
                pass

    if title.endswith("async"):
        function = aplain if kind == "plain" else astream
        return lambda times: loop.run_until_complete(function(times))
    return plain if kind == "plain" else stream


@contextmanager
def local_server() -> Iterator[str]:
    program = Path(__file__).with_name("server.py")
    server = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    finally:
        server.stdin.close()
        server.wait()


def count_instructions(base: str, title: str, variant: str) -> float:
    """Return the instructions of one call or event."""
    counts = []
    for times in REPEATED[title]:
        command = [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__),
            *("--do", title, variant, str(times), base),
        ]
        run = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        found = re.search(r"Collected : (\d+)", run.stderr)
        assert found is not None, run.stderr
        counts.append(int(found[1]))
    few, many = REPEATED[title]
    return (counts[1] - counts[0]) / (many - few) / PARTS[title]


def least_cpu(base: str, title: str, variants: list[str], rounds: int) -> dict[str, float]:
    """Return the seconds of CPU of one call or event, the least of `rounds` measurements that take turns."""
    loop = asyncio.new_event_loop()
    made = {name: work(base, title, name, loop) for name in variants}
    times = 20 if PARTS[title] == 1 else 1
    least = dict.fromkeys(made, float("inf"))
    for each in made.values():
        each(times)
    for _ in range(rounds):
        for name, each in made.items():
            gc.collect()
            start = time.process_time()
            each(times)
            least[name] = min(least[name], (time.process_time() - start) / times / PARTS[title])
    loop.close()
    return least


def row(title: str, unit: str, figures: dict[str, float]) -> None:
    base = figures["none"]
    cells = [f"{figures[name] / base:.3f}" for name in figures if name != "none"]
    print(f"| {title}, {unit} | {base:.5g} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--only", choices=("cpu", "instructions"))
    parser.add_argument(
        "--variants", nargs="+", default=["retry", "limits", "deadlines", "all"], choices=list(VARIANTS)
    )
    parser.add_argument("--do", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.do:
        title, variant, times, base = arguments.do
        do = work(base, title, variant, asyncio.new_event_loop())
        gc.disable()
        do(int(times))
        return
    variants = ["none", *(name for name in arguments.variants if name != "none")]
    print("| work | none | " + " | ".join(variants[1:]) + " |")
    print("|---|---|" + "---|" * (len(variants) - 1))
    with local_server() as base:
        for title in PARTS:
            if arguments.only != "cpu" and shutil.which("valgrind"):
                row(title, "instructions", {name: count_instructions(base, title, name) for name in variants})
            if arguments.only != "instructions":
                least = least_cpu(base, title, variants, arguments.rounds)
                row(title, "µs CPU", {name: value * 1e6 for name, value in least.items()})


if __name__ == "__main__":
    main()
