"""
What a message costs in histories of 10 to 10,000: `history_growth.py [SIZES...]` prints a table.

Three ways of sending are measured, ledger and encoding together, without the network: a history that nobody has seen
(`fresh`), the same history once more (`again`), and a history sent turn by turn, where each turn adds a call and its
result (`grown`: the cost of the last turns, for each message of the whole history). All of them are microseconds of CPU
for one message, so a flat column means cost in proportion to length. `converted` is one request body from OpenAI's wire
to Anthropic's.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workload import TOOLS, openai_messages, tool_specifications, values

SIZES = (10, 50, 200, 800, 3200, 10_000)
COLUMNS = ("wire", "messages", "fresh", "again", "grown", "converted")
LAST_TURNS = 20


def measure(sizes: Iterable[int] = SIZES, rounds: int = 5) -> list[dict[str, Any]]:
    """One row for each wire and size: `wire`, `messages`, and microseconds a message under the other `COLUMNS`."""
    from polywire_anthropic import AnthropicCodec
    from polywire_openai import OpenAIChatCodec

    rows: list[dict[str, Any]] = []
    for wire, other, codec in (
        ("openai", "anthropic", OpenAIChatCodec()),
        ("anthropic", "openai", AnthropicCodec()),
    ):
        for size in sizes:
            least = [
                min(column) for column in zip(*(_round(codec, wire, other, size) for _ in range(rounds)), strict=True)
            ]
            microseconds = {name: 1e6 * cost / size for name, cost in zip(COLUMNS[2:], least, strict=True)}
            rows.append({"wire": wire, "messages": size, **microseconds})
    return rows


def _round(codec: Any, wire: str, other: str, size: int) -> tuple[float, float, float, float]:
    from polywire import ChatRequest, ChatRequestParameters, convert
    from polywire.history import check_history

    parameters = ChatRequestParameters(model="bench", max_tokens=9, tools=tool_specifications())

    def send(messages: Sequence[Any]) -> None:
        check_history(messages)
        codec.encode(ChatRequest(messages, parameters), stream=False)

    messages = values(size)
    fresh = _cost(lambda: send(messages))
    again = _cost(lambda: send(messages))
    # The last turns of another conversation of this size; what comes before them was sent once, as it would have been.
    messages = values(size)
    turns = [messages[: size - 2 * left] for left in range(min(LAST_TURNS, size // 2 - 1), -1, -1)]
    send(turns[0])
    grown = _cost(lambda: list(map(send, turns[1:]))) / (len(turns) - 1)
    body: Any = {"model": "m", "messages": openai_messages(size), "tools": TOOLS, "max_tokens": 9}
    if wire != "openai":
        body = convert(body, source="openai", target=wire).payload
    converted = _cost(lambda: convert(body, source=wire, target=other))
    return fresh, again, grown, converted


def _cost(work: Callable[[], Any]) -> float:
    """CPU seconds, without those of the garbage collector, which go by the whole process and not by this work."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        cells = [f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in COLUMNS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure([int(size) for size in sys.argv[1:]] or SIZES)))
