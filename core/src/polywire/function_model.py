"""Models made of plain functions, and the bridge that lets a sync stream be read from async code."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from polywire.events import ResponseEnd, StreamEvent, TextDelta
from polywire.models import StreamingChatModel, answer_events, whole_answer
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason
from polywire.streams import AsyncChatStream, ChatStream, EventSource, as_async_source, as_source

__all__ = ["FunctionChatModel", "ThreadedSource"]


class ThreadedSource:
    """A sync source read from async code: each read runs in a thread."""

    def __init__(self, open: Callable[[], EventSource]) -> None:
        self._open = open
        self._source: EventSource | None = None

    def _read(self) -> Sequence[StreamEvent]:
        if self._source is None:
            self._source = self._open()
        return self._source.read()

    async def aread(self) -> Sequence[StreamEvent]:
        return await asyncio.to_thread(self._read)

    async def aclose(self) -> None:
        if self._source is not None:
            await asyncio.to_thread(self._source.close)


class FunctionChatModel(StreamingChatModel):
    """
    A model that is one function of a `ChatRequest`; see `ChatModel.from_function`.

    A generator yields strings (visible text) and stream events; where it does not end with `ResponseEnd`, that is added.
    """

    def __init__(self, function: Callable[[ChatRequest], Any]) -> None:
        self._function = function

    def __repr__(self) -> str:
        return f"FunctionChatModel({getattr(self._function, '__name__', self._function)!r})"

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        result = self._function(request)
        if inspect.isasyncgen(result) or inspect.isawaitable(result):
            return asyncio.run(_awaited(result))
        if isinstance(result, Iterator):
            return ChatStream(lambda: as_source(_told(result))).collect()
        return whole_answer(result)

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        if inspect.iscoroutinefunction(self._function) or inspect.isasyncgenfunction(self._function):
            return await _awaited(self._function(request))
        return await asyncio.to_thread(self.do_chat, request)

    def do_stream(self, request: ChatRequest) -> Iterator[StreamEvent]:
        result = self._function(request)
        if inspect.isasyncgen(result) or inspect.isawaitable(result):
            return answer_events(asyncio.run(_awaited(result)))
        return _told(result) if isinstance(result, Iterator) else answer_events(result)

    def do_astream(self, request: ChatRequest) -> Any:
        if inspect.iscoroutinefunction(self._function) or inspect.isasyncgenfunction(self._function):
            return _atold(self._function(request))
        return super().do_astream(request)


def _event(item: Any) -> StreamEvent:
    return TextDelta(item) if isinstance(item, str) else item


def _told(items: Iterator[Any]) -> Iterator[StreamEvent]:
    event: StreamEvent | None = None
    for item in items:
        if item != "":
            event = _event(item)
            yield event
    if not isinstance(event, ResponseEnd):
        yield ResponseEnd(FinishReason.STOP)


async def _atold(result: Any) -> AsyncIterator[StreamEvent]:
    if inspect.isawaitable(result):
        for event in answer_events(await result):
            yield event
        return
    event_or_none: StreamEvent | None = None
    async for item in result:
        if item != "":
            event_or_none = _event(item)
            yield event_or_none
    if not isinstance(event_or_none, ResponseEnd):
        yield ResponseEnd(FinishReason.STOP)


async def _awaited(result: Any) -> ChatResponse:
    if inspect.isawaitable(result):
        return whole_answer(await result)

    async def open_source() -> Any:
        return as_async_source(_atold(result))

    return await AsyncChatStream(open_source).collect()
