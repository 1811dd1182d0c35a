"""
This library beside its peers, each in an environment of its own, all against one local server, in one run.

    python benchmarks/peers/run.py --write      makes what environments are missing, measures five rounds, keeps the tables
    python benchmarks/peers/run.py --check      does everything once, small, and looks at the answers; measures nothing
    python benchmarks/peers/run.py --peers polywire,litellm --cases call-2,stream-5000 --rounds 7
    python benchmarks/peers/run.py --rounds 2 --add --write     two rounds more, to those that are kept

Who the peers are stands in `peers.toml`. Environments are made in `.environments/` here, by pip, in a few minutes and
1.5 GB. Nothing but the loopback address is reached: the check before the run refuses every other.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
import tomllib
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import CASES, RESULTS, Figures, cores, keep, put, rounds, run, serving, table, told, wall, work

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENVIRONMENTS = HERE / ".environments"
WIRES = {"openai": "OpenAI", "anthropic": "Anthropic"}
AGAIN = "reference-again"
ALONE = ("import", "start", "memory-200")
STREAMED = tuple(case for case in CASES if "stream" in CASES[case] and case not in ALONE)
GROUPS = (*((case,) for case in ALONE), tuple(case for case in CASES if case not in {*ALONE, *STREAMED}), STREAMED)
"""Which cases one process measures together: to import some peers takes longer than to measure them."""
QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "OTEL_SDK_DISABLED": "true",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "*",
}
"""What keeps the peers from telling anyone anything, and from reading a proxy's address."""


def peers() -> dict[str, dict[str, Any]]:
    """What `peers.toml` says."""
    return tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))


def python_of(peer: str) -> str:
    """The interpreter of a peer's environment."""
    return str(ENVIRONMENTS / peer / "bin" / "python")


def source_stamp(requirements: Sequence[str]) -> list[str]:
    """The requirements, and for the folders of this repository the newest change in each: they are installed as copies."""
    stamp = []
    for each in requirements:
        if each.startswith("./"):
            sources = (ROOT / each.partition("[")[0] / "src").rglob("*.py")
            each = f"{each} {max(path.stat().st_mtime_ns for path in sources)}"
        stamp.append(each)
    return stamp


def make(peer: str, requirements: Sequence[str]) -> None:
    """Make a peer's environment, unless it stands as it is wanted."""
    folder = ENVIRONMENTS / peer
    stamp, wanted = folder / "requirements.json", json.dumps(source_stamp(requirements))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"Making the environment of {peer}", file=sys.stderr, flush=True)
    fresh = not stamp.exists()
    if fresh:
        venv.create(folder, clear=True, with_pip=True)
    pip = [python_of(peer), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not fresh:
        # The same versions from changed folders.
        pip += ["--force-reinstall", "--no-deps"] if any(each.startswith("./") for each in requirements) else []
    subprocess.run([*pip, *requirements], cwd=ROOT, check=True)
    stamp.write_text(wanted, encoding="utf-8")


@functools.cache
def versions(peer: str) -> dict[str, str]:
    """What is installed for a peer, by name."""
    listed = run([python_of(peer), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"], None)
    return {each["name"]: each["version"] for each in json.loads(listed)}


def shown_versions(peer: str, requirements: Sequence[str]) -> str:
    """The distributions that a peer was asked for, and the SDKs and HTTP libraries under them."""
    installed = versions(peer)
    asked = [Path(each.partition("==")[0].partition("[")[0]).name for each in requirements if not each.startswith("./")]
    under = [name for name in ("openai", "anthropic", "httpx", "httpx2", "aiohttp") if name in installed]
    names = dict.fromkeys(["polywire", *asked] if peer == "polywire" else [*asked, *under])
    return f"**{peer}**: " + ", ".join(f"{name} {installed[name]}" for name in names if name in installed)


def environment() -> Mapping[str, str]:
    """The variables of every measured process: without proxies and without anyone's keys."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    return {**kept, **QUIET, **keys, "PYTHONPATH": f"{HERE.parent}:{HERE}"}


class Run:
    """One run: the peers on one wire, the server's address, the client's core."""

    def __init__(self, table: Mapping[str, dict[str, Any]], wire: str, base: str, cpu: int | None) -> None:
        self.table = {peer: row for peer, row in table.items() if wire in row["sides"]}
        self.wire, self.base, self.cpu, self.environment = wire, base, cpu, environment()

    @property
    def sides(self) -> list[str]:
        """The reference, the reference again, and the peers."""
        reference, *others = self.table
        return [reference, AGAIN, *others]

    def check(self) -> None:
        """Let every peer do everything once; end the run at the first that does it wrong."""
        for peer, row in self.table.items():
            program = [python_of(peer), str(HERE / "check.py"), row["sides"][self.wire], self.base]
            has = run(program, None, self.environment).splitlines()[-1]
            self.start(peer)
            print(f"{WIRES[self.wire]}: {peer}: {has}", file=sys.stderr)

    def start(self, peer: str) -> float:
        """Seconds until the shortest program has its answer."""
        code = self.table[peer]["start"][self.wire].replace("{base}", self.base)
        return wall([python_of(peer), "-c", code], self.cpu, self.environment)

    def measure(self, side: str, cases: Sequence[str]) -> Sequence[float | None]:
        """Measure some cases on one side, in one process."""
        peer = side.removesuffix("-again")
        row, python = self.table[peer], python_of(peer)
        if cases[0] == "import":
            bare = wall([python, "-c", "pass"], self.cpu, self.environment)
            return [wall([python, "-c", row["import"]], self.cpu, self.environment) - bare]
        if cases[0] == "start":
            return [self.start(peer)]
        return work(python, row["sides"][self.wire], cases, self.base, self.cpu, environment=self.environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--peers", help="left out: all of peers.toml; the reference always")
    parser.add_argument("--wires", default=",".join(WIRES))
    parser.add_argument("--check", action="store_true", help="look at every peer's answers, and measure nothing")
    parser.add_argument("--write", action="store_true", help="keep the figures, and put the tables into README.md")
    parser.add_argument("--add", action="store_true", help="count the rounds that are kept in")
    options = parser.parse_args()

    listed = peers()
    wanted = ["reference", *options.peers.split(",")] if options.peers else list(listed)
    chosen = {peer: row for peer, row in listed.items() if peer in wanted}
    if unknown := set(wanted) - set(listed):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(listed)}")
    for peer, row in chosen.items():
        make(peer, row["requirements"])

    wires, cases = options.wires.split(","), options.cases.split(",")
    groups = [group for names in GROUPS if (group := [case for case in names if case in cases])]
    kept = RESULTS / "peers.json"
    before: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if options.add and kept.exists() else {}
    figures: dict[str, Figures] = before.get("figures", {})
    client, server = cores()
    with serving(server) as base:
        runs = {wire: Run(chosen, wire, base, client) for wire in wires}
        for each in runs.values():
            each.check()
        if options.check:
            return
        # Both wires in each round, so that one busy minute slows both.
        for _ in range(options.rounds):
            for wire, each in runs.items():
                rounds(1, groups, each.sides, each.measure, figures.setdefault(wire, {}))

    number = max(len(rows["reference"]) for measured in figures.values() for rows in measured.values())
    found = "; ".join(shown_versions(peer, row["requirements"]) for peer, row in chosen.items())
    parts = [f"{told(number)}. {found}."]
    for wire, each in runs.items():
        parts.append(f"On {WIRES[wire]}'s wire:\n\n{table(figures[wire], each.sides, best=True)}")
    text = "\n\n".join(parts)
    print(text)
    if options.write:
        installed = {peer: versions(peer) for peer in chosen}
        keep("peers", {"date": time.strftime("%Y-%m-%d"), "rounds": number, "versions": installed, "figures": figures})
        put("peers", text)


if __name__ == "__main__":
    main()
