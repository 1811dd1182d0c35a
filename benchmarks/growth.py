"""
How the cost grows: with the history, the stream, the settings file, the installed plugins and the streams open at once.

    python benchmarks/growth.py                prints a table
    python benchmarks/growth.py --write        and keeps it: README.md, growth.svg, results/growth.json
    python benchmarks/growth.py --only stream,history --write     the others stay as they are kept

Figures are CPU of one process, the least of several. "Grows as n^x" is how the cost follows the size over the last tenfold:
1 is in proportion, 0 is not at all; 2 would mean that something looks at everything for everything. Small costs are mostly
what does not depend on the size, so that x may be well below 1.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from growth_plot import Panel, draw
from harness import RESULTS, cores, keep, pinned, put, serving, told
from instructions import Canned
from workload import tool_specifications, values

HERE = Path(__file__).parent
Series = dict[str, list[tuple[int, float]]]
"""By what was done: sizes, and seconds (or bytes) for all of it."""


def least(work: Callable[[], Any], budget: float = 0.6, most: int = 25) -> float:
    """Seconds of CPU for one run: the least of as many as the budget allows, three at least."""
    found, spent = math.inf, 0.0
    for number in range(most):
        if number >= 3 and spent > budget:
            break
        gc.collect()
        start = time.process_time()
        work()
        took = time.process_time() - start
        found, spent = min(found, took), spent + took
    return found


def model(provider: str, body: bytes) -> Any:
    from polywire import LlmFactory

    config = {
        "default_model": "bench",
        "providers": {provider: {"api_key": "k"}},
        "models": {"bench": {"provider": provider, "model": "bench", "max_tokens": 1024}},
    }
    return LlmFactory.from_config(config, transport=Canned(body)).streaming_chat_model()


def history() -> Series:
    """A call with a history that is new, and one with a history of which all but the last two messages were sent before."""
    import server

    from polywire import ChatRequest, ChatRequestParameters

    found: Series = {}
    parameters = ChatRequestParameters(tools=tool_specifications())
    for provider, title, answer in (
        ("openai", "OpenAI", server.openai_answer()),
        ("anthropic", "Anthropic", server.anthropic_answer()),
    ):
        one = model(provider, answer)

        def each_once(messages: list[Any], one: Any = one) -> float:
            requests = iter([ChatRequest(each, parameters) for each in messages])
            return least(lambda: one.chat(next(requests)), math.inf, len(messages))

        for size in (10, 30, 100, 300, 1000, 3000, 10_000):
            repeats = 3 if size > 1000 else 7
            took = each_once([values(size) for _ in range(repeats)])
            found.setdefault(f"{title}, new", []).append((size, took))
            sent = values(size)
            one.chat(ChatRequest(sent, parameters))
            took = each_once([(*sent, *values(size + 2)[-2:]) for _ in range(repeats)])
            found.setdefault(f"{title}, one turn more", []).append((size, took))
    return found


def stream() -> Series:
    """A stream that is read to its end."""
    import server

    found: Series = {}
    for size in (100, 300, 1000, 3000, 10_000, 30_000, 100_000):
        for provider, title, frames in (
            ("openai", "OpenAI", server.openai_stream),
            ("anthropic", "Anthropic", server.anthropic_stream),
        ):
            one = model(provider, b"".join(frames(size)))
            took = least(lambda one=one: sum(1 for _ in one.stream("hi")))  # type: ignore[misc]
            found.setdefault(title, []).append((size, took))
    return found


def models() -> Series:
    """A factory from a settings file of so many models, and one call with one of them."""
    import server

    from polywire import LlmFactory

    found: Series = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, 3, 10, 30, 100, 300, 1000):
            path = Path(folder) / f"settings-{size}.toml"
            text = 'default_model = "model-0"\n[providers.openai]\napi_key = "k"\n'
            rules = 'provider = "openai"\nmodel = "bench"\ntemperature = 0.2\nretry = { attempts = 3 }\n'
            path.write_text(text + "".join(f"[models.model-{at}]\n{rules}" for at in range(size)), encoding="utf-8")

            def work(path: Path = path) -> None:
                LlmFactory.from_config(path, transport=Canned(server.openai_answer())).chat_model().chat("hi")

            found.setdefault("settings read, first call", []).append((size, least(work)))
    return found


START = """
import time
start = time.process_time()
from polywire import LlmFactory
LlmFactory.from_config({"default_model": "m", "providers": {"openai": {"api_key": "k"}}, "models": {"m": {"provider": "openai", "model": "m"}}}).chat_model()
print(time.process_time() - start)
"""


def plugins() -> Series:
    """From `import polywire` to a model, in a fresh process, with so many other plugins installed."""
    found: Series = {}
    with tempfile.TemporaryDirectory() as folder:
        made = 0
        for size in (0, 10, 20, 50, 100):
            for at in range(made, size):
                info = Path(folder) / f"polywire_fake{at}-1.0.dist-info"
                info.mkdir()
                metadata = f"Metadata-Version: 2.1\nName: polywire-fake{at}\nVersion: 1.0\n"
                (info / "METADATA").write_text(metadata, encoding="utf-8")
                entry = f"[polywire]\nfake{at} = polywire_fake{at}:provider\n"
                (info / "entry_points.txt").write_text(entry, encoding="utf-8")
            made = size
            environment = {"PATH": os.environ["PATH"], "PYTHONPATH": folder}
            took = min(
                float(subprocess.check_output([sys.executable, "-c", START], env=environment, text=True))
                for _ in range(7)
            )
            found.setdefault("`import` to a model", []).append((size, took))
    return found


def streams() -> Series:
    """So many streams of one model, opened at once, each read to its first event, and closed."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(limit, 16_384), most), most))
    client, other = cores()
    found: Series = {}
    with serving(other) as base:
        pinned(client)()
        for size in (1, 10, 100, 500, 1000, 2000, 5000):
            program = [sys.executable, str(Path(__file__)), "--hold", base, str(size)]
            took, held = min(
                tuple(map(float, subprocess.check_output(program, text=True).split()))
                for _ in range(3 if size <= 1000 else 1)
            )
            found.setdefault("CPU to open and close", []).append((size, took))
            found.setdefault("memory held", []).append((size, held))
        os.sched_setaffinity(0, {cpu for cpu in (client, other) if cpu is not None} or os.sched_getaffinity(0))
    return found


async def hold(base: str, size: int) -> None:
    """Open so many streams, and print seconds of CPU and bytes."""
    from polywire_side import Polywire, settings
    from worker import resident

    from polywire import LlmFactory

    class Wide(Polywire):
        """More connections than the 1,000 that a transport opens unless it is told otherwise."""

        def _model(self, kind: str) -> Any:
            config = settings(self.base, kind)
            config["providers"]["openai"] |= {"max_connections": 10_000, "timeouts": "5m"}
            return LlmFactory.from_config(config).streaming_chat_model()

    one = Wide(base)
    warm = await one.hold(1)
    gc.collect()
    before, start = resident(), time.process_time()
    opened = await one.hold(size)
    memory = resident() - before
    for each in (warm, opened):
        for held in each[1]:
            await held.aclose()
    print(time.process_time() - start, max(0, memory))


KINDS: dict[str, tuple[Callable[[], Series], str, str]] = {
    "history": (history, "messages in the history", "message"),
    "stream": (stream, "events of a stream", "event"),
    "models": (models, "models in the settings file", "model"),
    "plugins": (plugins, "plugins installed", ""),
    "streams": (streams, "streams open at once", "stream"),
}
"""What grows: how it is measured, what is counted, and by what the plot divides (nothing: the whole cost is shown)."""


def unit(title: str) -> tuple[float, str]:
    """How a figure is shown."""
    return (1e-3, "kB") if "memory" in title else (1e6, "µs")


def exponent(points: Iterable[tuple[int, float]]) -> float:
    """How the cost follows the size, over the last tenfold or what there is of it."""
    known = [(size, cost) for size, cost in points if size and cost]
    last, most = known[-1]
    first, least_of = next((size, cost) for size, cost in known if size >= last / 10)
    return math.log(most / least_of) / math.log(last / first)


def table(found: dict[str, Series]) -> str:
    """The figures as a Markdown table."""
    lines = ["| what grows | what is measured | smallest | largest | grows as |", "|---|---|---|---|---|"]
    for kind, series in found.items():
        for title, points in series.items():
            scale, name = unit(title)
            ends = [f"{size:,}: {shown(cost * scale)} {name}" for size, cost in (points[0], points[-1])]
            lines.append(f"| {KINDS[kind][1]} | {title} | {ends[0]} | {ends[1]} | n^{exponent(points):.2f} |")
    return "\n".join(lines)


def shown(number: float) -> str:
    """Three figures that matter."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def panels(found: dict[str, Series]) -> list[Panel]:
    """The plot: cost by unit, so that what grows in proportion is a level line."""
    made = []
    for kind, series in found.items():
        _, counted, part = KINDS[kind]
        for name in dict.fromkeys(unit(title)[1] for title in series):
            lines = {
                title: [(size, cost * unit(title)[0] / (size if part else 1)) for size, cost in points]
                for title, points in series.items()
                if unit(title)[1] == name
            }
            made.append(Panel(counted, f"{name} per {part}" if part else name, lines))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--write", action="store_true", help="keep the table, the plot and the figures")
    parser.add_argument("--hold", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hold:
        asyncio.run(hold(options.hold[0], int(options.hold[1])))
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for kind in options.only.split(","):
        found = {kind: KINDS[kind][0]()}
        print(table(found), flush=True)
        if options.write:
            write(found)


def write(found: dict[str, Series]) -> None:
    """Keep what was measured beside what is kept of other kinds; each kind when it is done."""
    before = RESULTS / "growth.json"
    known = json.loads(before.read_text(encoding="utf-8")) if before.exists() else {}
    known = {kind: {**known, **found}[kind] for kind in KINDS if kind in {**known, **found}}
    picture = "![Cost by unit: what grows in proportion is a level line](growth.svg)"
    put("growth", f"{told('the least of several')}:\n\n{table(known)}\n\n{picture}")
    keep("growth", known)
    (HERE / "growth.svg").write_text(draw(panels(known)), encoding="utf-8")


if __name__ == "__main__":
    main()
