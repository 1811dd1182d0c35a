"""Who does what the loop asks for: one interpreter for sync code, and its twin for async code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from typing import Any

from polywire.events import events_of
from polywire.models import ChatModel, StreamingChatModel
from polywire.tools.loop import Answered, AskModel, LoopState, RunCalls, tool_loop
from polywire.tools.outcome import ToolEvent, ToolExecutionEnd, ToolExecutionStart
from polywire.tools.running import arun_calls, run_awaitable, run_calls

__all__ = ["arun_loop", "run_loop"]


def run_loop(model: ChatModel, state: LoopState, *, streamed: bool) -> Iterator[ToolEvent]:
    """
    Do what the loop asks for; at the end `state.outcome` is there.

    Where nothing is `streamed`, whole answers are asked for, and only tools are told of.
    """
    steps = tool_loop(state)
    answer: Any = None
    try:
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                state.finish(end.value)
                return
            answer = None
            if isinstance(step, AskModel):
                if streamed and isinstance(model, StreamingChatModel):
                    with model.stream(step.request) as stream:
                        yield from stream
                        answer = stream.response
                else:
                    answer = model.chat(step.request)
                    if streamed:
                        yield from events_of(answer)
            elif isinstance(step, RunCalls):
                for ready in step.calls:
                    yield ToolExecutionStart(ready.call, state.round)
                with closing(run_calls(state.desk, step.calls, state.parallel)) as executions:
                    for execution in executions:
                        state.answer(execution)
                        yield ToolExecutionEnd(execution)
            elif isinstance(step, Answered):
                yield ToolExecutionEnd(step.execution)
            else:
                answer = run_awaitable(step, "the hook before_call")
    except BaseException:
        state.abandon()
        raise


async def arun_loop(model: ChatModel, state: LoopState, *, streamed: bool) -> AsyncIterator[ToolEvent]:
    """Do what the loop asks for. As `run_loop`."""
    steps = tool_loop(state)
    answer: Any = None
    try:
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                state.finish(end.value)
                return
            answer = None
            if isinstance(step, AskModel):
                if streamed and isinstance(model, StreamingChatModel):
                    async with model.astream(step.request) as stream:
                        async for event in stream:
                            yield event
                        answer = stream.response
                else:
                    answer = await model.achat(step.request)
                    if streamed:
                        for event in events_of(answer):
                            yield event
            elif isinstance(step, RunCalls):
                for ready in step.calls:
                    yield ToolExecutionStart(ready.call, state.round)
                async with aclosing(arun_calls(state.desk, step.calls, state.parallel)) as executions:
                    async for execution in executions:
                        state.answer(execution)
                        yield ToolExecutionEnd(execution)
            elif isinstance(step, Answered):
                yield ToolExecutionEnd(step.execution)
            else:
                answer = await step
    except BaseException:
        state.abandon()
        raise
