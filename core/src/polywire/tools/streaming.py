"""A run of the tool loop as a stream: the model's events and the tools' in one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, Self, cast

from polywire.events import TextDelta
from polywire.messages import Message
from polywire.tools.loop import LoopState
from polywire.tools.outcome import ToolChatResult, ToolEvent

__all__ = ["AsyncToolStream", "ToolStream"]


class _Base:
    def __init__(self, state: LoopState, events: Any) -> None:
        self._state = state
        self._events = events

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history so far; closed at every moment, also after the stream was broken off or failed."""
        return tuple(self._state.messages)

    @property
    def result(self) -> ToolChatResult:
        """
        The whole run, once the stream has ended.

        Raises:
            PolywireError: it has not been read to its end.
        """
        return self._state.outcome


class ToolStream(_Base):
    """An iterator of the model's events and of `ToolExecutionStart` and `ToolExecutionEnd`, and a context manager."""

    def __iter__(self) -> Iterator[ToolEvent]:
        return cast("Iterator[ToolEvent]", self._events)

    def __next__(self) -> ToolEvent:
        return cast("ToolEvent", next(self._events))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def text_stream(self) -> Iterator[str]:
        """Iterate over the visible text alone."""
        for event in self:
            if type(event) is TextDelta:
                yield event.text

    def collect(self) -> ToolChatResult:
        """Read what is left and return the result."""
        for _ in self._events:
            pass
        return self.result

    def close(self) -> None:
        """Break the run off, if it still goes on. Idempotent."""
        self._events.close()


class AsyncToolStream(_Base):
    """An async iterator of the model's events and of the tools', and an async context manager."""

    def __aiter__(self) -> AsyncIterator[ToolEvent]:
        return cast("AsyncIterator[ToolEvent]", self._events)

    async def __anext__(self) -> ToolEvent:
        return cast("ToolEvent", await anext(self._events))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def text_stream(self) -> AsyncIterator[str]:
        """Iterate over the visible text alone."""
        async for event in self:
            if type(event) is TextDelta:
                yield event.text

    async def collect(self) -> ToolChatResult:
        """Read what is left and return the result."""
        async for _ in self._events:
            pass
        return self.result

    async def aclose(self) -> None:
        """Break the run off, if it still goes on. Idempotent."""
        await self._events.aclose()
