"""`ToolService`: tools in, a closed loop out, the same on every model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, TypeVar, overload

from polywire.errors import did_you_mean
from polywire.messages import Message
from polywire.models import ChatInput, ChatModel, fold_request
from polywire.requests import ChatRequest, ToolSpecification
from polywire.tools.approval import BeforeCall
from polywire.tools.calls import CallDesk
from polywire.tools.definitions import Tool, as_tools
from polywire.tools.failures import ErrorHandler
from polywire.tools.interpreters import arun_loop, run_loop
from polywire.tools.loop import LoopState
from polywire.tools.outcome import ToolChatResult, TypedToolChatResult
from polywire.tools.running import require_no_loop
from polywire.tools.streaming import AsyncToolStream, ToolStream

__all__ = ["ToolService"]

OutputT = TypeVar("OutputT")
_SIDE_BY_SIDE = 32
"""At most so many calls run at once where `parallel` is simply on."""


class ToolService:
    """
    Runs a model and its tools until the model calls nothing more.

    Thread-safe: a service holds no run; each call makes its own.

    Args:
        tools: functions, methods, callable objects, `Tool`s, instances with `@tool` methods, or pairs of a
            `ToolSpecification` and its executor.
        max_round_trips: at most so many calls of the model in one run.
        parallel: run the calls of a turn side by side; a number is how many at once. Results keep the order of calls.
        timeout: seconds one call may take, where the tool sets no limit of its own. An async tool is cancelled; the thread
            of a sync one runs on, and its result is dropped.
        before_call: asked before each call that would run; approves, refuses or changes it. Tools with
            `requires_approval` are refused where there is none.
        on_arguments_error: told of arguments that are no JSON object or do not fit. By default the model is told.
        on_execution_error: told of every other failure (unknown tool, exception, timeout, refusal, a result that is
            not JSON). By default the model is told. `raise_error` makes either raise.
        max_result_characters: longer text of a result is cut, visibly; `None`: sent whole.
        tool_output: how results are treated. `"data"`: one sentence in the system text says that they are data and not
            instructions, and each result is marked so in its `extras`. `"delimited"`: their text is sent between
            `<tool_output>` marks as well. `"trusted"`: neither. This lowers the risk of injected instructions and does
            not remove it: a model may still follow them, so give tools that can do harm `requires_approval`.
        clock: tells seconds; for durations and time limits.

    Raises:
        TypeError, ValueError: something is no tool, or two tools have one name.
    """

    def __init__(
        self,
        tools: Iterable[Any] | Any = (),
        *,
        max_round_trips: int = 100,
        parallel: bool | int = False,
        timeout: float | None = None,
        before_call: BeforeCall | None = None,
        on_arguments_error: ErrorHandler | None = None,
        on_execution_error: ErrorHandler | None = None,
        max_result_characters: int | None = None,
        tool_output: Literal["data", "delimited", "trusted"] = "data",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if isinstance(max_round_trips, bool) or not isinstance(max_round_trips, int) or max_round_trips < 1:
            msg = f"max_round_trips must be an int of at least 1, not {max_round_trips!r}"
            raise ValueError(msg)
        if timeout is not None and timeout <= 0:
            msg = f"timeout must be more than 0 seconds, not {timeout}"
            raise ValueError(msg)
        if tool_output not in {"data", "delimited", "trusted"}:
            msg = f"tool_output {tool_output!r}{did_you_mean(tool_output, ('data', 'delimited', 'trusted'))}"
            raise ValueError(msg)
        if max_result_characters is not None and max_result_characters < 0:
            msg = f"max_result_characters must not be negative, not {max_result_characters}"
            raise ValueError(msg)
        self._tools: dict[str, Tool[..., Any]] = {}
        self._max_round_trips = max_round_trips
        self._parallel = _SIDE_BY_SIDE if parallel is True else max(1, int(parallel))
        self._timeout = timeout
        self._before_call = before_call
        self._on_arguments_error = on_arguments_error
        self._on_execution_error = on_execution_error
        self._max_result_characters = max_result_characters
        self._tool_output = tool_output
        self._clock = clock
        self.add(tools)

    def __repr__(self) -> str:
        return f"ToolService({', '.join(self._tools)})"

    def add(self, *tools: Any) -> None:
        """
        Add tools.

        Raises:
            TypeError: an item is no tool.
            ValueError: there is one of that name already.
        """
        for item in tools:
            for each in as_tools(item):
                name = each.specification.name
                if name in self._tools:
                    msg = f"there are two tools named {name!r}"
                    raise ValueError(msg)
                self._tools[name] = each

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools, in the order they were added."""
        return tuple(self._tools.values())

    @property
    def specifications(self) -> tuple[ToolSpecification, ...]:
        """The tools as the model sees them."""
        return tuple(each.specification for each in self._tools.values())

    @overload
    def chat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: type[OutputT],
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> TypedToolChatResult[OutputT]: ...
    @overload
    def chat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: dict[str, Any],
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> TypedToolChatResult[Any]: ...
    @overload
    def chat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: None = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> ToolChatResult: ...
    def chat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: Any = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> ToolChatResult:
        """
        Run the loop to its end.

        Args:
            model: any model.
            request: what `ChatModel.chat` takes. A forced `tool_choice` holds for the first round.
            output: a type or JSON Schema, as `ChatModel.chat` takes it: the answer that ends the run is asked for and read
                as that, and is in `.output`. A wrong answer is sent back to the model.
            context: handed to tools with a `ToolContext` parameter, as `.value`; the model never sees it.
            transcript: a list that always holds the history so far. It is closed at every moment, so that a run that
                was cancelled or failed can be continued from it.
            **parameters: as for `ChatModel.chat`.

        Raises:
            ModelError: a call of the model failed.
            ToolLoopLimit: the rounds are used up; carries the result so far.
            OutputError: the answer did not become the `output` that was asked for.
            PolywireError: an async tool, or hook, is to be run while an event loop is running in this thread.
        """
        state = self._state(model, request, output, context, transcript, parameters)
        self._require_sync()
        for _ in run_loop(model, state, streamed=False):
            pass
        return state.outcome

    @overload
    async def achat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: type[OutputT],
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> TypedToolChatResult[OutputT]: ...
    @overload
    async def achat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: dict[str, Any],
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> TypedToolChatResult[Any]: ...
    @overload
    async def achat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: None = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> ToolChatResult: ...
    async def achat(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: Any = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> ToolChatResult:
        """Run the loop to its end. As `chat`; sync tools run in threads, with the caller's context variables."""
        state = self._state(model, request, output, context, transcript, parameters)
        async for _ in arun_loop(model, state, streamed=False):
            pass
        return state.outcome

    def stream(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: Any = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> ToolStream:
        """
        Run the loop as a stream of the model's events and the tools'.

        Takes what `chat` takes. A model that cannot stream gives the events of its whole answers. `.result` is there once
        the stream has ended.
        """
        state = self._state(model, request, output, context, transcript, parameters)
        self._require_sync()
        return ToolStream(state, run_loop(model, state, streamed=True))

    def astream(
        self,
        model: ChatModel,
        request: ChatInput,
        /,
        *,
        output: Any = None,
        context: Any = None,
        transcript: list[Message] | None = None,
        **parameters: Any,
    ) -> AsyncToolStream:
        """Run the loop as an async stream. As `stream`; no `await` needed."""
        state = self._state(model, request, output, context, transcript, parameters)
        return AsyncToolStream(state, arun_loop(model, state, streamed=True))

    def _state(
        self,
        model: ChatModel,
        request: ChatInput,
        output: Any,
        context: Any,
        transcript: list[Message] | None,
        parameters: dict[str, Any],
    ) -> LoopState:
        folded = self._with_tools(fold_request(request, **parameters))
        typed = None
        if output is not None:
            from polywire.structured import REPAIR_ROUNDS
            from polywire.structured.asking import TypedConversation

            typed = TypedConversation(model, folded, output, None, REPAIR_ROUNDS)
        desk = CallDesk(
            dict(self._tools),
            context,
            self._before_call,
            self._on_arguments_error,
            self._on_execution_error,
            self._timeout,
            self._max_result_characters,
            self._tool_output != "trusted",
            self._clock,
        )
        return LoopState(folded, desk, self._max_round_trips, self._parallel, self._tool_output, transcript, typed)

    def _with_tools(self, request: ChatRequest) -> ChatRequest:
        own = self.specifications
        others = []
        for tool in request.parameters.tools or ():
            if not isinstance(tool, ToolSpecification):
                others.append(tool)
            elif tool.name not in self._tools:
                msg = f"the request offers the tool {tool.name!r}, which this service cannot run; add it with its function"
                raise ValueError(msg)
        if not own and not others:
            return request
        return request.with_parameters(replace(request.parameters, tools=(*own, *others)))

    def _require_sync(self) -> None:
        for each in self._tools.values():
            if each.is_async:
                require_no_loop(f"the tool {each.name!r}")
