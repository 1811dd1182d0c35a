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
import sys
from pathlib import Path

from harness import CASES, Figures, cores, put, rounds, serving, table, told, wall, work

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
STARTS = {"reference": START_REFERENCE, "reference-again": START_REFERENCE, "polywire": START_POLYWIRE}


def one(side: str, case: str, base: str, cpu: int | None) -> float | None:
    python = [sys.executable, "-c"]
    if case == "import":
        return wall([*python, IMPORTS[side]], cpu) - wall([*python, BARE], cpu) if side in IMPORTS else None
    if case == "start":
        return wall([*python, STARTS[side].format(base=base)], cpu) if side in STARTS else None
    return work(sys.executable, side, [case], base, cpu)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sides", default="polywire,polywire-anthropic,polywire-policies,polywire-aiohttp")
    parser.add_argument("--json", help="also write every figure to this file")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()

    client, server = cores()
    sides = ["reference", "reference-again", *options.sides.split(",")]
    figures: Figures = {}
    with serving(server) as base:
        rounds(
            options.rounds,
            [[case] for case in options.cases.split(",")],
            sides,
            lambda side, group: [one(side, group[0], base, client)],
            figures,
        )
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    text = table(figures, sides)
    print(text)
    if options.write:
        put("table", f"{told(options.rounds)}:\n\n{text}")


if __name__ == "__main__":
    main()
