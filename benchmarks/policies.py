"""
What policies cost when they have nothing to do: the same work with and without them.

    python benchmarks/policies.py                          instructions, where valgrind is there, and CPU; under 3 minutes
    python benchmarks/policies.py --only instructions      half a minute
    python benchmarks/policies.py --variants retry limits  other columns
    python benchmarks/policies.py --work event             only the work whose title holds this

The figures are ratios to the same work without policies. Each is of the work *alone*: what many times of it cost, less
what a few cost, divided by the difference. For a streamed event that is a stream of 5N events less one of N, so that
opening and ending the stream do not count.

**Instructions** are counted by valgrind's callgrind, in one process: a busy machine does not change them. **CPU** is the
least of many short measurements, which take turns in one process. The column `again` is the same work without policies
once more: how far it is from 1 is how far the others can be trusted.

The source is in the process (all that is counted is this library), or a local server, over HTTP. In bulk a read of the
network brings some twenty events; "one a read" is a model that answers slowly, the worst case for what is done per read.

Targets: 1.05 for a call, and 1.02 for a streamed event in bulk.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import server
from harness import serving
from instructions import Canned, mark, total

from polywire import ChatRequest, LlmFactory
from polywire.transport.streams import HttpStream

RETRY: dict[str, Any] = {"retry": {"attempts": 3}}
LIMITS: dict[str, Any] = {
    "limits": {"requests_per_minute": 10**8, "tokens_per_minute": 10**11, "concurrency": 10**4},
}
DEADLINES: dict[str, Any] = {"deadline": "10m", "first_event": "5m", "between_events": "5m"}
ALL: dict[str, Any] = {**RETRY, **LIMITS, **DEADLINES}
VARIANTS: dict[str, dict[str, Any]] = {
    "again": {},
    "retry": RETRY,
    "limits": LIMITS,
    "deadlines": DEADLINES,
    "all": ALL,
    "all and fallback": {**ALL, "fallback": ["spare"]},
}
REQUEST = ChatRequest("What is a wire format?")
EVENTS = 500
CALLS = 10


class Source(Canned):
    """Answers from memory, async as well."""

    async def asend(self, _request: Any, *, stream: bool, **_: Any) -> Any:
        return HttpStream(200, self.headers, achunks=self.achunks()) if stream else self.response

    async def achunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


@dataclass(frozen=True)
class Work:
    """Something that is done `few` and `many` times, with `asynchronous` calls or not, from some `source`."""

    title: str
    source: str
    asynchronous: bool = False
    few: int = CALLS
    many: int = 5 * CALLS

    @property
    def streams(self) -> bool:
        return self.title.startswith("event")


WORK = [
    Work(f"{title}, {source}{', async' if asynchronous else ''}", source, asynchronous, few, 5 * few)
    for title, few, sources in (
        ("call", CALLS, ("in process", "HTTP")),
        ("event", EVENTS, ("in process", "HTTP", "one a read")),
    )
    for source in sources
    for asynchronous in (False, True)
]


def model(work: Work, kind: str, rules: dict[str, Any], base: str) -> Any:
    """Make a model whose answer is of a `kind` that the server knows."""
    transport = None
    if work.source != "HTTP":
        frames = server.openai_stream(int(kind.removeprefix("stream-"))) if work.streams else [server.openai_answer()]
        transport = Source(b"".join(frames))
        if work.source == "one a read":
            transport.pieces = frames
    spare = {"spare": {"provider": "openai", "model": "bench"}} if "fallback" in rules else {}
    config = {
        "default_model": "bench",
        "providers": {"openai": {"api_key": "k", "base_url": f"{base}/{kind}/v1"}},
        "models": {"bench": {"provider": "openai", "model": "bench", **rules}, **spare},
    }
    return LlmFactory.from_config(config, transport=transport).streaming_chat_model()


def prepare(work: Work, rules: dict[str, Any], base: str, loop: asyncio.AbstractEventLoop) -> Callable[[int], None]:
    """Return a function that does the work so many times: that many calls, or one stream of that many events."""
    if work.streams:
        models = {size: model(work, f"stream-{size}", rules, base) for size in (work.few, work.many)}

        def stream(size: int) -> None:
            for _ in models[size].stream(REQUEST):
                pass

        async def astream(size: int) -> None:
            async for _ in models[size].astream(REQUEST):
                pass

        return (lambda size: loop.run_until_complete(astream(size))) if work.asynchronous else stream
    one = model(work, "plain", rules, base)

    def call(size: int) -> None:
        for _ in range(size):
            one.chat(REQUEST)

    async def acall(size: int) -> None:
        for _ in range(size):
            await one.achat(REQUEST)

    return (lambda size: loop.run_until_complete(acall(size))) if work.asynchronous else call


Figures = dict[str, dict[str, float]]
"""What a piece of work costs, by its title and then by variant."""


def alone(work: Work, few: float, many: float) -> float:
    """What the work costs, without what stands around it."""
    return (many - few) / (work.many - work.few)


def counted(base: str, chosen: list[Work], variants: list[str]) -> Iterator[tuple[str, str, int]]:
    """Do all work once, with a mark before and after; yields what was done between the two."""
    loop = asyncio.new_event_loop()
    for work in chosen:
        for variant in variants:
            do = prepare(work, VARIANTS.get(variant, {}), base, loop)
            do(work.few)
            # How much one read of a socket brings is left to chance: the least of several.
            for _ in range(2 if work.source == "HTTP" else 1):
                for size in (work.few, work.many):
                    gc.collect()
                    mark()
                    do(size)
                    mark()
                    yield work.title, variant, size


def instructions(base: str, chosen: list[Work], variants: list[str]) -> Figures:
    """Count the instructions of one call or event, in a process of its own."""
    program = [
        sys.executable,
        str(Path(__file__).resolve()),
        "--child",
        base,
        json.dumps([each.title for each in chosen]),
    ]
    program += ["--variants", *variants]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--dump-before=getloadavg", "--callgrind-out-file=out", *program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            cwd=folder,
        )
        least: dict[tuple[str, str, int], int] = {}
        for at, line in enumerate(done.stdout.splitlines()):
            title, variant, size = json.loads(line)
            # The first file is what was before the first mark; then each part, and each pause between two.
            count = total(Path(folder) / f"out.{2 * at + 2}")
            least[title, variant, size] = min(count, least.get((title, variant, size), count))
    return {
        work.title: {
            variant: alone(work, least[work.title, variant, work.few], least[work.title, variant, work.many])
            for variant in variants
        }
        for work in chosen
    }


def least_cpu(base: str, work: Work, variants: list[str], seconds: float) -> dict[str, float]:
    """Return the microseconds of CPU of one call or event: the least of many measurements, which take turns."""
    loop = asyncio.new_event_loop()
    made = {variant: prepare(work, VARIANTS.get(variant, {}), base, loop) for variant in variants}
    least = {(variant, size): float("inf") for variant in variants for size in (work.few, work.many)}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for (variant, size), before in least.items():
            start = time.process_time()
            made[variant](size)
            least[variant, size] = min(before, time.process_time() - start)
    loop.close()
    return {variant: alone(work, least[variant, work.few], least[variant, work.many]) * 1e6 for variant in variants}


def row(title: str, unit: str, figures: dict[str, float]) -> None:
    base = figures["none"]
    cells = [f"{figures[name] / base:.3f}" for name in figures if name != "none"]
    print(f"| {title} | {base:,.5g} {unit} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="for the CPU of each piece of work")
    parser.add_argument("--only", choices=("cpu", "instructions"))
    parser.add_argument("--variants", nargs="+", default=["all"], choices=["none", *VARIANTS])
    parser.add_argument("--work", default="", help="only titles that hold this text")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        base, titles = options.child
        gc.disable()
        for part in counted(base, [work for work in WORK if work.title in json.loads(titles)], options.variants):
            print(json.dumps(part))
        return
    chosen = [work for work in WORK if options.work in work.title]
    variants = list(dict.fromkeys(["none", "again", *options.variants]))
    print("| work | none | " + " | ".join(variants[1:]) + " |")
    print("|---|---|" + "---|" * (len(variants) - 1))
    with serving() as base:
        if options.only != "cpu" and shutil.which("valgrind"):
            for title, figures in instructions(base, chosen, variants).items():
                row(title, "instructions", figures)
        if options.only != "instructions":
            for work in chosen:
                row(work.title, "µs", least_cpu(base, work, variants, options.seconds))


if __name__ == "__main__":
    main()
