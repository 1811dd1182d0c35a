"""
Functions as tools, and the loop that runs them on any model.

    @tool
    def weather(city: Annotated[str, "the city's name"]) -> str:
        "Returns the weather for a city."
        return f"Weather in {city}: 22 °C, sunny"

    service = ToolService([weather])
    print(service.chat(model, "How is the weather in Paris?").text)

Whatever goes wrong with a call (an unknown tool, broken JSON, wrong arguments, an exception, a timeout, a refusal) is
by default an error result that the model can act on; `on_arguments_error` and `on_execution_error` change that. A call
that was cut short is never run. The history is closed at every moment: every call is answered, also after a cancellation.
"""

from __future__ import annotations

from polywire.tools.approval import Approval, BeforeCall, Refusal
from polywire.tools.context import ToolContext
from polywire.tools.definitions import ReturnBehavior, Tool, as_tools, tool
from polywire.tools.failures import ErrorHandler, ToolLoopLimit, ToolRefused, ToolTimeout, raise_error
from polywire.tools.functions import specification_of
from polywire.tools.loop import DATA_RULE
from polywire.tools.outcome import (
    ToolChatResult,
    ToolEvent,
    ToolExecution,
    ToolExecutionEnd,
    ToolExecutionStart,
    TypedToolChatResult,
)
from polywire.tools.service import ToolService
from polywire.tools.streaming import AsyncToolStream, ToolStream

__all__ = [
    "DATA_RULE",
    "Approval",
    "AsyncToolStream",
    "BeforeCall",
    "ErrorHandler",
    "Refusal",
    "ReturnBehavior",
    "Tool",
    "ToolChatResult",
    "ToolContext",
    "ToolEvent",
    "ToolExecution",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolLoopLimit",
    "ToolRefused",
    "ToolService",
    "ToolStream",
    "ToolTimeout",
    "TypedToolChatResult",
    "as_tools",
    "raise_error",
    "specification_of",
    "tool",
]
