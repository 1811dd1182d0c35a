"""
Runs the comparison: every case on every side in turn, round after round, and prints medians as ratios to the reference.

    python benchmarks/run.py                   five rounds, as a table
    python benchmarks/run.py --rounds 7 --cases call-2,stream-5000 --sides polywire,polywire-anthropic

The client runs on one core and the server on another where the machine has two. A row `reference again` shows the
noise: identical code differs by a quarter from round to round on a busy machine, so read ratios and medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
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
}
SCALE = {"import": 1e3, "start": 1e3, "memory-200": 1e-3}

BARE = "pass"
IMPORTS = {"reference": "import httpx", "reference-again": "import httpx", "polywire": "import polywire"}
START_REFERENCE = """
import httpx, msgspec
client = httpx.Client(timeout=60)
payload = {{"model": "bench", "messages": [{{"role": "user", "content": "hi"}}]}}
response = client.post("{base}/plain/v1/chat/completions", content=msgspec.json.encode(payload), headers={{"authorization": "Bearer k"}})
assert msgspec.json.decode(response.content)["choices"][0]["message"]["content"]
"""
START_POLYWIRE = """
from polywire import LlmFactory
factory = LlmFactory.from_config({{"default_model": "bench", "providers": {{"openai": {{"api_key": "k", "base_url": "{base}/plain/v1"}}}}, "models": {{"bench": {{"provider": "openai", "model": "bench"}}}}}})
assert factory.chat_model().chat("hi").text
"""


def run(arguments: list[str], cpu: int | None) -> str:
    def pin() -> None:
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    # With bytecode, as installed packages have it: a checkout under PYTHONDONTWRITEBYTECODE compiles itself every time.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        arguments, capture_output=True, text=True, cwd=HERE, preexec_fn=pin, check=False, env=environment
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments[:4])} failed:\n{done.stderr}")
    return done.stdout


def wall(code: str, cpu: int | None) -> float:
    start = time.perf_counter()
    run([sys.executable, "-c", code], cpu)
    return time.perf_counter() - start


def one(side: str, case: str, base: str, cpu: int | None) -> float | None:
    if case == "import":
        return wall(IMPORTS[side], cpu) - wall(BARE, cpu) if side in IMPORTS else None
    if case == "start":
        code = {"reference": START_REFERENCE, "reference-again": START_REFERENCE, "polywire": START_POLYWIRE}.get(side)
        return wall(code.format(base=base), cpu) if code else None
    return float(run([sys.executable, "worker.py", side, case, base], cpu))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sides", default="polywire,polywire-anthropic,polywire-policies")
    parser.add_argument("--json", help="also write every figure to this file")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()

    cores = sorted(os.sched_getaffinity(0))
    client_cpu, server_cpu = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    server = subprocess.Popen(
        [sys.executable, str(HERE / "server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {server_cpu}) if server_cpu is not None else None,
    )  # fmt: skip
    assert server.stdout is not None
    assert server.stdin is not None
    base = f"http://127.0.0.1:{server.stdout.readline().split()[1]}"
    sides = ["reference", "reference-again", *options.sides.split(",")]
    figures: dict[str, dict[str, list[float]]] = {
        case: {side: [] for side in sides} for case in options.cases.split(",")
    }
    try:
        for number in range(options.rounds):
            for case, rows in figures.items():
                for side in sides:
                    value = one(side, case, base, client_cpu)
                    if value is not None:
                        rows[side].append(value)
            print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    finally:
        server.stdin.close()
        server.wait()
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    text = table(figures, sides)
    print(text)
    if options.write:
        page = HERE / "README.md"
        before, _, rest = page.read_text(encoding="utf-8").partition("<!-- table -->")
        _, _, after = rest.partition("<!-- end -->")
        told = f"Python {platform.python_version()}, {options.rounds} rounds, {time.strftime('%Y-%m-%d')}:"
        page.write_text(f"{before}<!-- table -->\n\n{told}\n\n{text}\n\n<!-- end -->{after}", encoding="utf-8")


def table(figures: dict[str, dict[str, list[float]]], sides: list[str]) -> str:
    """The medians as a Markdown table: the reference in its unit (median, minimum), the others as ratios (median, minimum)."""
    others = sides[1:]
    lines = [
        "| work | reference | " + " | ".join(side.replace("-", " ") for side in others) + " |",
        "|---|---|" + "---|" * len(others),
    ]
    for case, rows in figures.items():
        scale = SCALE.get(case, 1e6)
        base = rows["reference"]
        cells = [f"{statistics.median(base) * scale:.4g} ({min(base) * scale:.4g})"]
        for side in others:
            values = rows[side]
            if not values:
                cells.append("-")
                continue
            # Ratios round by round: what slows one round down slows both sides.
            ratios = [mine / theirs for mine, theirs in zip(values, base, strict=True)]
            cells.append(f"{statistics.median(ratios):.2f} ({min(values) / min(base):.2f})")
        lines.append(f"| {CASES[case]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
