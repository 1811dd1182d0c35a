"""Parallel turns for endpoints that know none: one call a turn, in the order made."""

from __future__ import annotations

from collections.abc import Sequence

from polywire.messages import AiMessage, AiPart, Message, ToolCall, ToolResultMessage
from polywire.responses import Notice

__all__ = ["one_call_a_turn"]


def one_call_a_turn(messages: Sequence[Message]) -> tuple[Sequence[Message], list[Notice]]:
    """
    Write each turn of several calls as consecutive turns of one call and its result.

    The first keeps what was said before the calls, the last what was said after them.
    """
    if not any(type(message) is AiMessage and len(message.tool_calls) > 1 for message in messages):
        return messages, []
    notices: list[Notice] = []
    rewritten: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if not isinstance(message, AiMessage) or len(message.tool_calls) < 2:
            rewritten.append(message)
            continue
        results: dict[str, ToolResultMessage] = {}
        start = position
        while position < len(messages):
            result = messages[position]
            if not isinstance(result, ToolResultMessage):
                break
            results.setdefault(result.call_id, result)
            position += 1
        for parts, call in _split(message):
            rewritten.append(AiMessage(parts, message.origin, extras=message.extras))
            if call.id in results:
                rewritten.append(results[call.id])
        notices.append(
            Notice(
                "approximated",
                f"messages[{start - 1}]",
                f"{len(message.tool_calls)} parallel calls are written as turns of one call: this endpoint knows no others",
            )
        )
    return rewritten, notices


def _split(message: AiMessage) -> list[tuple[list[AiPart], ToolCall]]:
    turns: list[tuple[list[AiPart], ToolCall]] = []
    parts: list[AiPart] = []
    for part in message.parts:
        parts.append(part)
        if isinstance(part, ToolCall):
            turns.append((parts, part))
            parts = []
    if parts:
        last, call = turns[-1]
        # What follows the calls in the turn still belongs before the last result.
        turns[-1] = ([*last[:-1], *parts, call], call)
    return turns
