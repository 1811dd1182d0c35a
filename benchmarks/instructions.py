"""
Counts the instructions of what is done most often, and compares them with stored figures: a slow-down shows at once.

    python benchmarks/instructions.py            count, and compare with what is stored
    python benchmarks/instructions.py --write    store what was counted, for this version of Python on this platform

Seconds differ by a quarter from run to run; instructions, counted by valgrind, by less than a hundredth. One process does
everything in turn, some number of times and then twice as often; the difference of the two is what it costs. Between them
it calls `os.getloadavg`, at which valgrind writes down its count (`--dump-before`).

A yardstick, which holds nothing of this library, is counted as well: where it is off, the interpreter is built in another
way, and figures cannot be compared.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STORED = HERE / "instructions.json"
YARDSTICK = "yardstick"
TOLERANCE = 0.05
"""A case may cost so much more than is stored."""
ONCE_TOLERANCE = 0.10
"""The same for what happens once in a process, which depends on where things are installed."""
SAME_BUILD = 0.02
"""How far the yardstick may be off for the interpreter to count as the same."""
EVENTS = 2000
ONCE = ("import", "start")
DEPENDENCIES = ("httpx", "msgspec", "pluggy", "pydantic", "pydantic-settings", "pyrate-limiter", "tenacity")

mark = os.getloadavg


def key() -> str:
    """Under which name figures are stored: they hold for one minor version on one platform."""
    return f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}, {sys.platform} {platform.machine()}"


# What is counted


class Canned:
    """A transport that answers at once, always the same."""

    def __init__(self, body: bytes) -> None:
        from polywire.codec import Headers, HttpResponse

        self.headers = Headers({"content-type": "text/event-stream"})
        self.pieces = [body[start : start + 4096] for start in range(0, len(body), 4096)]
        self.response = HttpResponse(200, Headers({"content-type": "application/json"}), body, 1.0)

    def send(self, _request: Any, *, stream: bool, **_: Any) -> Any:
        from polywire.transport.streams import HttpStream

        return HttpStream(200, self.headers, chunks=iter(self.pieces)) if stream else self.response

    async def asend(self, request: Any, **given: Any) -> Any:
        return self.send(request, **given)

    def close(self) -> None:
        """There is nothing to close."""


def model(provider: str, body: bytes, **rules: Any) -> Any:
    """A model of an application, whose answers are known."""
    from polywire import LlmFactory

    config = {
        "default_model": "bench",
        "providers": {provider: {"api_key": "k"}},
        "models": {"bench": {"provider": provider, "model": "bench", "max_tokens": 1024, **rules}},
    }
    return LlmFactory.from_config(config, transport=Canned(body), clock=lambda: 1.0).streaming_chat_model()


def cases() -> Iterator[tuple[str, int, Callable[[int], Callable[[], Any]]]]:
    """Of each case: its name, how often it is done, and what makes ready so many times of it."""
    import asyncio

    import server
    from workload import TOOLS, openai_messages, tool_specifications, values

    from polywire import ChatRequest, ChatRequestParameters, convert

    policies = {
        "retry": {"attempts": 3},
        "limits": {"requests_per_minute": 10**8, "tokens_per_minute": 10**11, "concurrency": 10**4},
    }
    answers = {"openai": server.openai_answer(), "anthropic": server.anthropic_answer()}
    streams = {
        "openai": b"".join(server.openai_stream(EVENTS)),
        "anthropic": b"".join(server.anthropic_stream(EVENTS)),
    }

    def request(messages: int) -> Any:
        return ChatRequest(values(messages), ChatRequestParameters(tools=tool_specifications()))

    def yardstick(times: int) -> Callable[[], Any]:
        payload = {"messages": openai_messages(200)}

        def work() -> None:
            for _ in range(times):
                text = json.dumps(payload)
                sum(len(word) for word in json.loads(text)["messages"][-1]["content"].split() * 200)

        return work

    def calls(one: Any, *, fresh: bool, messages: int) -> Callable[[int], Callable[[], Any]]:
        shared = request(messages)

        def prepare(times: int) -> Callable[[], Any]:
            requests = [request(messages) if fresh else shared for _ in range(times)]

            def work() -> None:
                for each in requests:
                    one.chat(each)

            return work

        return prepare

    def acalls(one: Any) -> Callable[[int], Callable[[], Any]]:
        shared = request(2)

        def prepare(times: int) -> Callable[[], Any]:
            async def work() -> None:
                for _ in range(times):
                    await one.achat(shared)

            return lambda: runner.run(work())

        return prepare

    def reads(one: Any) -> Callable[[int], Callable[[], Any]]:
        shared = request(2)

        def prepare(times: int) -> Callable[[], Any]:
            def work() -> None:
                for _ in range(times):
                    for _event in one.stream(shared):
                        pass

            return work

        return prepare

    def conversions(payload: Any, source: str, target: str) -> Callable[[int], Callable[[], Any]]:
        def prepare(times: int) -> Callable[[], Any]:
            def work() -> None:
                for _ in range(times):
                    convert(payload, source=source, target=target)

            return work

        return prepare

    yield YARDSTICK, 1, yardstick
    yield "call", 10, calls(model("openai", answers["openai"]), fresh=False, messages=2)
    yield "call with policies", 10, calls(model("openai", answers["openai"], **policies), fresh=False, messages=2)
    with asyncio.Runner() as runner:
        yield "async call", 10, acalls(model("openai", answers["openai"]))
    for provider, answer in answers.items():
        one = model(provider, answer)
        yield f"{provider}: new history of 200", 1, calls(one, fresh=True, messages=200)
        yield f"{provider}: history of 200 sent again", 2, calls(one, fresh=False, messages=200)
        yield f"{provider}: stream of {EVENTS}", 1, reads(model(provider, streams[provider]))
    body: Any = {"model": "bench", "max_tokens": 1024, "messages": openai_messages(200), "tools": TOOLS}
    yield "openai to anthropic, 200 messages", 1, conversions(body, "openai", "anthropic")
    other = convert(body, source="openai", target="anthropic").payload
    yield "anthropic to openai, 200 messages", 1, conversions(other, "anthropic", "openai")


def child() -> None:
    """What runs under valgrind: it marks what is to be counted, and prints the name and number of times of each part."""
    gc.disable()
    mark()
    import polywire

    mark()
    print(json.dumps(["import", 1]))
    assert polywire.__name__ in sys.modules
    body = b'{"id":"1","object":"chat.completion","created":1,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}'
    mark()
    assert model("openai", body).chat("hi").text == "yes"
    mark()
    print(json.dumps(["start", 1]))
    for name, times, prepare in cases():
        prepare(1)()
        prepare(2)()
        for number in (times, 2 * times):
            work = prepare(number)
            gc.collect()
            mark()
            work()
            mark()
            print(json.dumps([name, number]))


# Counting and comparing


def missing() -> str | None:
    """Say why nothing can be counted here, if so."""
    return (
        None if shutil.which("valgrind") else "valgrind is not installed (on Debian and Ubuntu: apt install valgrind)"
    )


def count() -> dict[str, int]:
    """Count; instructions by case, each done once."""
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "LANG": "C.UTF-8"}
    program = [sys.executable, str(Path(__file__).resolve()), "--child"]
    with tempfile.TemporaryDirectory() as folder:
        # Once without being counted: whatever was changed is compiled now.
        subprocess.run(program, check=True, capture_output=True, env=environment, cwd=folder)
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--dump-before=getloadavg", "--callgrind-out-file=out"]
        done = subprocess.run(
            [*valgrind, *program], check=True, capture_output=True, text=True, env=environment, cwd=folder
        )
        parts = [json.loads(line) for line in done.stdout.splitlines()]
        found: dict[str, list[tuple[int, int]]] = {}
        for at, (name, times) in enumerate(parts):
            # The first file is what was before the first mark; then each part, and each pause between two.
            found.setdefault(name, []).append((times, total(Path(folder) / f"out.{2 * at + 2}")))
    return {
        name: seen[0][1] if name in ONCE else (seen[1][1] - seen[0][1]) // (seen[1][0] - seen[0][0])
        for name, seen in found.items()
    }


def total(path: Path) -> int:
    """The instructions of one file of callgrind's."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("totals:"):
            return int(line.split()[1])
    msg = f"{path.name} holds no count"
    raise ValueError(msg)


def stored() -> dict[str, Any]:
    """What is stored for all versions and platforms."""
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}  # type: ignore[no-any-return]


def versions() -> dict[str, str]:
    """The versions of what is counted along."""
    return {name: importlib.metadata.version(name) for name in DEPENDENCIES}


def incomparable(counted: Mapping[str, int], before: Mapping[str, int]) -> str | None:
    """Say why two counts cannot be compared, if so."""
    off = counted[YARDSTICK] / before[YARDSTICK] - 1
    if abs(off) <= SAME_BUILD:
        return None
    return f"this interpreter is built in another way than the one whose figures are stored: the yardstick is off by {off:+.1%}"


def slower(name: str, counted: Mapping[str, int], before: Mapping[str, int]) -> str | None:
    """Say by how much a case costs more than it may, if so."""
    more = counted[name] / before[name] - 1
    allowed = ONCE_TOLERANCE if name in ONCE else TOLERANCE
    if more <= allowed:
        return None
    return f"{name}: {counted[name]:,} instructions, {before[name]:,} are stored: {more:+.1%}, and {allowed:.0%} is allowed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store what was counted")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child()
        return
    if reason := missing():
        sys.exit(reason)
    counted, known = count(), stored()
    before = known.get(key(), {}).get("figures", {})
    for name, number in counted.items():
        change = f"{number / before[name] - 1:+8.1%}" if name in before else "     new"
        print(f"{number:>14,}  {change}  {name}")
    if options.write:
        known[key()] = {"python": platform.python_version(), "versions": versions(), "figures": counted}
        STORED.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    elif before:
        told = incomparable(counted, before)
        wrong = (
            [told] if told else [each for name in counted if name in before and (each := slower(name, counted, before))]
        )
        sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
