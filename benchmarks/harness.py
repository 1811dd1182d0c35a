"""What every comparison shares: the server, a core for each side, fresh processes, rounds in turn, tables, the README."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
"""What runs keep, to compare with later."""
CASES = {
    "import": "`import` over a bare interpreter, ms",
    "start": "process start to the first answer, ms",
    "call-2": "plain call, 2 messages, µs CPU",
    "acall-2": "plain call, 2 messages, async, µs CPU",
    "acall-2-x50": "plain call, 2 messages, 50 at once, µs CPU",
    "call-200": "plain call, 200 messages with 99 tool calls, µs CPU",
    "stream-5000": "streamed event, one stream of 5,000, µs CPU",
    "astream-5000": "streamed event, async, one stream of 5,000, µs CPU",
    "astream-100-x50": "streamed event, 50 streams of 100 at once, µs CPU",
    "memory-200": "memory of one of 200 open streams, kB",
    "tools-20": "tool loop of 20 rounds, ms CPU",
    "convert-200": "conversion of 200 messages, OpenAI to Anthropic, µs CPU",
}
"""What is measured, and in which unit it is shown."""
SCALE = {"import": 1e3, "start": 1e3, "memory-200": 1e-3, "tools-20": 1e3}
"""From seconds or bytes to the unit shown; left out: microseconds."""

Figures = dict[str, dict[str, list[float]]]
"""By case and side: one figure of every round."""


def cores() -> tuple[int | None, int | None]:
    """The core of the client and that of the server, where the machine has two."""
    free = sorted(os.sched_getaffinity(0))
    return (free[0], free[1]) if len(free) > 1 else (None, None)


def pinned(cpu: int | None) -> Callable[[], None]:
    """What a child process does first to stay on one core."""
    return lambda: os.sched_setaffinity(0, {cpu}) if cpu is not None else None


def run(arguments: Sequence[str], cpu: int | None, environment: Mapping[str, str] = os.environ) -> str:
    """Run a program on a core and return what it printed; end this one if it failed."""
    # With bytecode, as installed packages have it: a checkout under PYTHONDONTWRITEBYTECODE compiles itself every time.
    clean = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        arguments, capture_output=True, text=True, cwd=HERE, preexec_fn=pinned(cpu), check=False, env=clean
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments[:4])} failed:\n{done.stderr}")
    return done.stdout


def work(python: str, side: str, cases: Sequence[str], base: str, cpu: int | None, **given: Any) -> list[float | None]:
    """What `worker.py` measures of a side."""
    printed = run([python, "worker.py", side, ",".join(cases), base], cpu, **given).split()[-len(cases) :]
    return [None if each == "-" else float(each) for each in printed]


def wall(arguments: Sequence[str], cpu: int | None, environment: Mapping[str, str] = os.environ) -> float:
    """Seconds from the start of a process to its end."""
    start = time.perf_counter()
    run(arguments, cpu, environment)
    return time.perf_counter() - start


@contextmanager
def serving(cpu: int | None = None) -> Iterator[str]:
    """A benchmark server on a core, and its address."""
    program = [sys.executable, str(HERE / "server.py")]
    server = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=pinned(cpu))
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    finally:
        server.stdin.close()
        server.wait()


def rounds(
    number: int,
    groups: Iterable[Sequence[str]],
    sides: Iterable[str],
    measure: Callable[[str, Sequence[str]], Sequence[float | None]],
    figures: Figures,
) -> None:
    """
    Measure every side of every case in turn, round after round, into `figures`.

    The cases of a group are measured together, by one process of a side. `None` is a side that has no such case.
    """
    groups, sides = tuple(groups), tuple(sides)
    for case in (case for group in groups for case in group):
        figures.setdefault(case, {}).update({side: [] for side in sides if side not in figures.get(case, {})})
    for at in range(number):
        for group in groups:
            for side in sides:
                for case, value in zip(group, measure(side, group), strict=True):
                    if value is not None:
                        figures[case][side].append(value)
        print(f"round {at + 1} of {number} done", file=sys.stderr, flush=True)


def table(figures: Figures, sides: Sequence[str], titles: Mapping[str, str] = CASES, *, best: bool = False) -> str:
    """
    The figures as a Markdown table.

    The first side is the reference, in its unit: the median, and the minimum in brackets. The others are ratios to it: the
    median of the rounds' ratios, and in brackets the ratio of the minima. `best` sets the least ratio of a row in bold,
    and all that are within 2 % of it; the reference again does not count.
    """
    reference, *others = sides
    lines = [
        f"| work | {reference} | " + " | ".join(side.replace("-", " ") for side in others) + " |",
        "|---|---|" + "---|" * len(others),
    ]
    for case, rows in figures.items():
        scale = SCALE.get(case, 1e6)
        base = rows[reference]
        medians = {
            # Ratios round by round: what slows one round down slows both sides.
            side: statistics.median(mine / theirs for mine, theirs in zip(rows[side], base, strict=True))
            for side in others
            if rows.get(side)
        }
        least = min((ratio for side, ratio in medians.items() if not side.startswith(reference)), default=0)
        cells = [f"{statistics.median(base) * scale:.4g} ({min(base) * scale:.4g})"]
        for side in others:
            if side not in medians:
                cells.append("-")
                continue
            shown = f"{medians[side]:.2f}"
            if best and not side.startswith(reference) and medians[side] <= least * 1.02:
                shown = f"**{shown}**"
            cells.append(f"{shown} ({min(rows[side]) / min(base):.2f})")
        lines.append(f"| {titles[case]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def told(measured: int | str) -> str:
    """When and under what a table was made, and of how many rounds, or of what else."""
    rounds = measured if isinstance(measured, str) else f"{measured} rounds"
    return f"Python {platform.python_version()}, {rounds}, {time.strftime('%Y-%m-%d')}"


def put(name: str, text: str) -> None:
    """Put a text into README.md, between the marks of that name."""
    page = HERE / "README.md"
    before, mark, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->")
    _, end, after = rest.partition(f"<!-- end {name} -->")
    if not mark or not end:
        sys.exit(f"README.md has no <!-- {name} --> … <!-- end {name} -->")
    page.write_text(f"{before}{mark}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def keep(name: str, kept: Mapping[str, Any]) -> None:
    """Write what was measured to results/."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
