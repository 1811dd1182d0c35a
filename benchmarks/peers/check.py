"""
Does one side of everything once, small, and looks at what came: `check.py SIDE BASE`. Prints the cases that it has.

Every address but the loopback one is refused meanwhile, so that what a peer sends home is seen before it is measured.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from worker import METHODS, memory, side


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Let nothing out of this machine."""
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and address[0] not in {"127.0.0.1", "::1", "localhost"}:
            sys.exit(f"it tried to reach {address}")
    elif event == "socket.getaddrinfo" and arguments[0] not in {"127.0.0.1", "::1", "localhost", None}:
        sys.exit(f"it looked up {arguments[0]!r}")


TEXT = "A wire format is how data travels."


def looks(one: Any, runner: asyncio.Runner) -> dict[str, Callable[[], bool]]:
    """By the method it looks at: whether a side does what was asked. One loop for all: some keep one client for every model."""

    def twice(work: Callable[[], Any], check: Callable[[Any], bool]) -> bool:
        return check(work()) and check(work())

    def atwice(work: Callable[[], Any], check: Callable[[Any], bool]) -> bool:
        async def main() -> bool:
            return check(await work()) and check(await work())

        return runner.run(main())

    def same(found: Any) -> bool:
        return bool(found == TEXT)

    def thirty(found: Any) -> bool:
        # Some count the events around the text as well.
        return 30 <= int(found) < 40

    return {
        "call": lambda: twice(one.call(2), same) and twice(one.call(6), same),
        "acall": lambda: atwice(one.acall(2), same) and atwice(one.acall(6), same),
        "stream": lambda: twice(one.stream(30), thirty),
        "astream": lambda: atwice(one.astream(30), thirty),
        "hold": lambda: runner.run(memory(one, 3)) >= 0,
        "tool_loop": lambda: twice(one.tool_loop(3), lambda done: bool(done == 3)),
        "convert": lambda: twice(one.convert(6), bool),
    }


def main(name: str, base: str) -> None:
    sys.addaudithook(refuse)
    one, has = side(name, base), []
    with asyncio.Runner() as runner:
        for method, look in looks(one, runner).items():
            if not hasattr(one, method):
                continue
            if not look():
                sys.exit(f"{name}: {method} gave something else than was asked for")
            has.append(method)
    print(" ".join(kind for kind, method in METHODS.items() if method in has))


if __name__ == "__main__":
    main(*sys.argv[1:3])
