"""One call's way to its result: looked up, read, approved, run, written down. Shared by sync and async runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from inspect import isawaitable
from typing import Any

from polywire.errors import (
    InvalidToolArguments,
    PolywireError,
    ToolCallError,
    ToolExecutionFailed,
    UnknownTool,
    did_you_mean,
)
from polywire.fast_dataclass import dataclass
from polywire.immutable import FrozenDict
from polywire.messages import Message, ToolCall, ToolError, ToolResultMessage
from polywire.tools.approval import BeforeCall, Refusal, read_decision
from polywire.tools.context import ToolContext
from polywire.tools.definitions import Tool
from polywire.tools.failures import ErrorHandler, ToolRefused, ToolTimeout
from polywire.tools.outcome import ToolExecution
from polywire.tools.results import error_of, failed_result, message_of, result_contents, shortened

__all__ = ["CallDesk", "Ready"]

UNTRUSTED = FrozenDict({"polywire": FrozenDict({"trust": "tool_output"})})
"""The mark on results, for programs: what is in there came from a tool."""


@dataclass(slots=True)
class Ready:
    """A call that may run."""

    call: ToolCall
    tool: Tool[..., Any]
    round: int
    arguments: dict[str, Any]
    positional: list[Any]
    keywords: dict[str, Any]
    timeout: float | None

    def invoke(self) -> Any:
        """Run the function; may give an awaitable."""
        return self.tool.function(*self.positional, **self.keywords)


@dataclass(slots=True)
class CallDesk:
    """
    Everything that turns calls into results, for one run.

    Attributes:
        tools: the tools by name.
        context: what tools get as `ToolContext.value`.
        mark: whether results are marked as data.
    """

    tools: dict[str, Tool[..., Any]]
    context: Any
    before_call: BeforeCall | None
    on_arguments_error: ErrorHandler | None
    on_execution_error: ErrorHandler | None
    timeout: float | None
    max_result_characters: int | None
    mark: bool
    clock: Callable[[], float] = time.perf_counter

    def admit(
        self, call: ToolCall, round: int, messages: Sequence[Message], *, cut: bool
    ) -> Generator[Any, Any, Ready | ToolExecution]:
        """
        Look a call up, read its arguments and ask the hook; yields what the hook returned where it must be awaited.

        Returns:
            the call, ready to run; or its answer, where it is not to run.
        """
        try:
            tool = self._tool(call)
            if cut or call.incomplete:
                msg = "the answer was cut off by the length limit inside this call, so it was not run; make it shorter"
                raise InvalidToolArguments(msg, tool_name=call.name, call_id=call.id)
            arguments = call.input
            context = ToolContext(self.context, call, messages)
            positional, keywords = tool.bind(arguments, context)
            if self.before_call is not None:
                decision = self.before_call(call, tool)
                if isawaitable(decision):
                    decision = yield decision
                verdict = read_decision(decision, tool)
            else:
                verdict = read_decision(None, tool)
            if isinstance(verdict, Refusal):
                raise ToolRefused(verdict.reason, tool_name=call.name, call_id=call.id)
            if verdict.arguments is not None:
                arguments = dict(verdict.arguments)
                positional, keywords = tool.bind(arguments, context)
        except ToolCallError as error:
            return self.failed(call, error, round)
        timeout = self.timeout if tool.timeout is None else tool.timeout
        return Ready(call, tool, round, arguments, positional, keywords, timeout)

    def _tool(self, call: ToolCall) -> Tool[..., Any]:
        tool = self.tools.get(call.name)
        if tool is None:
            available = ", ".join(sorted(self.tools)) or "none"
            near = did_you_mean(call.name, self.tools) if self.tools else ""
            near = near if "did you mean" in near else ""
            msg = f"there is no tool named {call.name!r}{near}; available tools: {available}"
            raise UnknownTool(msg, tool_name=call.name, call_id=call.id)
        return tool

    def succeeded(self, ready: Ready, value: Any, started: float) -> ToolExecution:
        """Answer a call with what the tool returned."""
        duration = self.clock() - started
        call = ready.call
        if isinstance(value, ToolError):
            return self._execution(ready, failed_result(call, value), duration, None)
        try:
            contents = result_contents(value)
        except TypeError as problem:
            error = ToolExecutionFailed(str(problem), tool_name=call.name, call_id=call.id)
            return self.failed(call, error, ready.round, ready=ready, duration=duration)
        limit = ready.tool.max_result_characters
        contents = shortened(contents, self.max_result_characters if limit is None else limit)
        return self._execution(ready, ToolResultMessage(call.id, call.name, contents), duration, value)

    def raised(self, ready: Ready, exception: Exception, started: float) -> ToolExecution:
        """Answer a call with what the tool raised."""
        duration = self.clock() - started
        call = ready.call
        if isinstance(exception, ToolCallError):
            error: ToolCallError = exception
        else:
            error = ToolExecutionFailed(message_of(exception), tool_name=call.name, call_id=call.id)
            error.__cause__ = exception
        return self.failed(call, error, ready.round, ready=ready, duration=duration)

    def timed_out(self, ready: Ready, started: float) -> ToolExecution:
        """Answer a call whose time is up."""
        msg = f"the tool {ready.tool.name!r} did not finish within {ready.timeout:g} s"
        error = ToolTimeout(msg, tool_name=ready.call.name, call_id=ready.call.id)
        return self.failed(ready.call, error, ready.round, ready=ready, duration=self.clock() - started)

    def failed(
        self, call: ToolCall, error: ToolCallError, round: int, *, ready: Ready | None = None, duration: float = 0.0
    ) -> ToolExecution:
        """
        Answer a call with a failure, in the words of the handler where there is one.

        Raises:
            Exception: whatever the handler raises.
        """
        error.tool_name = error.tool_name or call.name
        error.call_id = error.call_id or call.id
        handler = self.on_arguments_error if isinstance(error, InvalidToolArguments) else self.on_execution_error
        answer = handler(error, call) if handler is not None else None
        usual = error_of(error)
        if isinstance(answer, str):
            usual = ToolError(usual.type, answer, usual.retryable, usual.metadata)
        elif isinstance(answer, ToolError):
            usual = answer
        elif answer is not None:
            msg = f"an error handler must return a str, a ToolError or None, not {type(answer).__name__}"
            raise PolywireError(msg) from error
        limit = self.max_result_characters
        if limit is not None and len(usual.message) > limit:
            text = "".join(getattr(part, "text", "") for part in shortened(result_contents(usual.message), limit))
            usual = ToolError(usual.type, text, usual.retryable, usual.metadata)
        return self._execution(ready or (call, round), failed_result(call, usual), duration, None)

    def _execution(
        self, ready: Ready | tuple[ToolCall, int], result: ToolResultMessage, duration: float, value: Any
    ) -> ToolExecution:
        if self.mark:
            result = ToolResultMessage(
                result.call_id, result.tool_name, result.contents, result.is_error, result.error, extras=UNTRUSTED
            )
        if isinstance(ready, Ready):
            return ToolExecution(ready.call, result, duration, value, ready.arguments, ready.round)
        return ToolExecution(ready[0], result, duration, None, None, ready[1])
