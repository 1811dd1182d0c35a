"""What a run of the tool loop gives back, and the events that a streamed run adds to the model's own."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from polywire.events import StreamEvent
from polywire.fast_dataclass import dataclass
from polywire.messages import Message, ToolCall, ToolResultMessage
from polywire.responses import ChatResponse, Notice, TokenUsage, total_usage

__all__ = [
    "ToolChatResult",
    "ToolEvent",
    "ToolExecution",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "TypedToolChatResult",
]

OutputT = TypeVar("OutputT")


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """
    One call, answered.

    Attributes:
        call: what the model asked for.
        result: what it was told.
        duration: seconds from the start of the tool to its end; 0.0 where it was not run.
        value: what the function returned, before it became text; `None` where it failed or was not run.
        arguments: the arguments it was run with; differ from the call's where the hook changed them.
        round: the round of the loop, from 1.
    """

    call: ToolCall
    result: ToolResultMessage
    duration: float = 0.0
    value: Any = None
    arguments: dict[str, Any] | None = None
    round: int = 1

    @property
    def failed(self) -> bool:
        """Whether the model was told of a failure."""
        return self.result.is_error


@dataclass(frozen=True, slots=True)
class ToolChatResult:
    """
    A run of the loop.

    Attributes:
        messages: the whole history: what was asked, every turn and result, and the last answer. It is closed, and can be
            continued.
        responses: every answer of the model, in order; at least one.
        executions: every call that was answered, in order.
        stopped: why the run ended: the model gave an `"answer"` without calls; a tool's return behaviour asked for it
            (`"immediate"`); the answer ended in a way after which nothing is run (`"interrupted"`); or the rounds were
            used up (`"limit"`, only in `ToolLoopLimit.result`).
        output: the last answer as a value of the type that was asked for; `None` where none was, or where the run did not
            end with an answer.
    """

    messages: tuple[Message, ...]
    responses: tuple[ChatResponse, ...]
    executions: tuple[ToolExecution, ...]
    stopped: Literal["answer", "immediate", "interrupted", "limit"]
    output: Any = None

    @property
    def final_response(self) -> ChatResponse:
        """The model's last answer."""
        return self.responses[-1]

    @property
    def text(self) -> str | None:
        """The last answer's text; after an immediate return, the text of the results that ended the run."""
        if self.stopped == "immediate":
            last = self.executions[-1].round
            return "\n".join(each.result.text for each in self.executions if each.round == last)
        return self.final_response.text

    @property
    def usage(self) -> TokenUsage:
        """What all calls of the model cost together."""
        return total_usage(response.usage for response in self.responses)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The notices of all answers, each once."""
        seen: dict[Notice, None] = {}
        for response in self.responses:
            seen.update(dict.fromkeys(response.notices))
        return tuple(seen)


@dataclass(frozen=True, slots=True)
class TypedToolChatResult(ToolChatResult, Generic[OutputT]):
    """A run whose last answer was asked for, and read, as a value of a given type: `output`."""

    output: OutputT = field(kw_only=True)


class ToolExecutionStart(msgspec.Struct, frozen=True):
    """A tool is about to run; not told of calls that are answered without running."""

    call: ToolCall
    round: int


class ToolExecutionEnd(msgspec.Struct, frozen=True):
    """A call is answered."""

    execution: ToolExecution


ToolEvent: TypeAlias = StreamEvent | ToolExecutionStart | ToolExecutionEnd
"""What a streamed run is made of."""
