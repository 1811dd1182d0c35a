"""
What can go wrong between a call and its result, and who decides what becomes of it.

    ToolCallError                   polywire.errors
    ├── InvalidToolArguments        → on_arguments_error: no JSON, no object, missing, wrong, unknown, cut short
    ├── UnknownTool                 → on_execution_error, as all below
    └── ToolExecutionFailed             it raised, or its result cannot be written as JSON
        ├── ToolTimeout
        └── ToolRefused

By default each becomes an error result that the model can act on. A handler may return other words, or raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from polywire.errors import PolywireError, ToolCallError, ToolExecutionFailed
from polywire.messages import ToolCall, ToolError

if TYPE_CHECKING:
    from polywire.tools.outcome import ToolChatResult

__all__ = ["ErrorHandler", "ToolLoopLimit", "ToolRefused", "ToolTimeout", "raise_error"]

ErrorHandler: TypeAlias = Callable[[ToolCallError, ToolCall], "str | ToolError | None"]
"""
Told of a failure; returns what the model is told instead (`None`: the usual words), or raises to end the run.
"""


class ToolTimeout(ToolExecutionFailed, TimeoutError):
    """The tool took longer than its time limit."""


class ToolRefused(ToolExecutionFailed, PermissionError):
    """The call was not approved."""


class ToolLoopLimit(PolywireError):
    """
    The model still called tools when its last round was used up.

    Attributes:
        result: everything up to there: history (closed: every call is answered), responses, executions, usage.
    """

    def __init__(self, message: str, result: ToolChatResult) -> None:
        super().__init__(message)
        self.result = result


def raise_error(error: ToolCallError, _: ToolCall) -> NoReturn:
    """Be the handler that makes failures raise: `ToolService(…, on_execution_error=raise_error)`."""
    raise error
