"""What comes back: the answer, its cost, why it ended, and what was changed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping, slot_setters
from polywire.messages import AiMessage, ToolCall

__all__ = ["NO_USAGE", "ChatResponse", "FinishReason", "Notice", "TokenUsage", "TypedChatResponse", "total_usage"]

OutputT = TypeVar("OutputT")


class FinishReason(StrEnum):
    """
    Why the model stopped.

    `stop`: it was done, or met a stop sequence. `length`: a token limit. `tool_calls`: it waits for tool results.
    `content_filter`: the vendor's filter cut in. `refusal`: the model declined. `pause`: send the turn back as it is
    and it goes on. `error`: the vendor failed inside the answer. `other`: a word this version does not know; the
    vendor's own is in `metadata["raw_finish_reason"]`.
    """

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Notice:
    """
    Something was dropped, approximated or repaired on the way. Silence would be a bug.

    Attributes:
        kind: what happened.
        subject: what it happened to: a parameter's name, `"messages[3]"`, `"tools.search"`.
        message: for a person to read: what, and why.
    """

    kind: Literal["dropped", "approximated", "repaired", "information"]
    subject: str
    message: str


@dataclass(frozen=True, slots=True, init=False)
class TokenUsage:
    """
    Tokens that one call cost. Unknown is `None`, never 0.

    `cached_tokens` (read from a cache) and `cache_write_tokens` (written to one) are parts of `input_tokens`;
    `reasoning_tokens` is a part of `output_tokens`. `total_tokens` is input plus output where the vendor gives none.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __init__(
        self,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        total_tokens: int | None = None,
        cached_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None,
    ) -> None:
        if total_tokens is None and input_tokens is not None and output_tokens is not None:
            total_tokens = input_tokens + output_tokens
        _set_input(self, input_tokens)
        _set_output(self, output_tokens)
        _set_total(self, total_tokens)
        _set_cached(self, cached_tokens)
        _set_cache_write(self, cache_write_tokens)
        _set_reasoning(self, reasoning_tokens)

    def __add__(self, other: TokenUsage) -> TokenUsage:
        """Add two calls up; a number that neither knows stays unknown."""
        if not isinstance(other, TokenUsage):
            return NotImplemented
        summed: dict[str, int | None] = {}
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            summed[each.name] = theirs if mine is None else mine if theirs is None else mine + theirs
        return TokenUsage(**summed)

    def __bool__(self) -> bool:
        """Whether anything at all is known."""
        return any(getattr(self, each.name) is not None for each in fields(self))


# Some wires count again in every event of a stream.
_set_input, _set_output, _set_total, _set_cached, _set_cache_write, _set_reasoning = slot_setters(
    TokenUsage,
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)

NO_USAGE = TokenUsage()
"""Nothing is known of what a call cost."""


def total_usage(usages: Iterable[TokenUsage | None]) -> TokenUsage:
    """Add up the usage of several calls; those that are unknown are left out."""
    total = TokenUsage()
    for usage in usages:
        if usage is not None:
            total += usage
    return total


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """
    One complete answer, the same for a plain call and a stream.

    Attributes:
        message: what the model said; append it to the history as it is.
        usage: what it cost; its fields are `None` where the vendor did not say.
        finish_reason: why it stopped.
        notices: what was dropped, approximated or repaired on the way, both ways.
        metadata: `id, model, created, type, request_id, raw_finish_reason, stop_sequence`, and what else the vendor
            said. Keys are there only where the vendor gave them.
    """

    message: AiMessage
    usage: TokenUsage = NO_USAGE
    finish_reason: FinishReason = FinishReason.STOP
    notices: tuple[Notice, ...] = ()
    metadata: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if type(self.notices) is not tuple:
            object.__setattr__(self, "notices", tuple(self.notices))
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, name="metadata"))

    @property
    def text(self) -> str | None:
        """The answer's text; `None` where there is none, as in an answer of tool calls only."""
        return self.message.text

    @property
    def thinking(self) -> str | None:
        """The readable thinking; `None` where there is none."""
        return self.message.thinking

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the model wants run, in order."""
        return self.message.tool_calls


@dataclass(frozen=True, slots=True)
class TypedChatResponse(ChatResponse, Generic[OutputT]):
    """A response whose text was asked for, and read, as a value of a given type: `output`."""

    output: OutputT = field(kw_only=True)
