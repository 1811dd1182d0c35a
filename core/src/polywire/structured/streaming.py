"""Typed output as it grows: the object so far, again and again, and the validated one at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from polywire.errors import PolywireError
from polywire.events import StreamEvent, TextDelta, ToolCallDelta
from polywire.requests import ChatRequest
from polywire.responses import TypedChatResponse
from polywire.streams import AsyncChatStream, ChatStream
from polywire.structured.asking import TypedConversation
from polywire.structured.json_text import MISSING, partial_json

__all__ = ["AsyncTypedChatStream", "TypedChatStream"]

OutputT = TypeVar("OutputT")


class _Growth:
    """The object so far."""

    def __init__(self, conversation: TypedConversation) -> None:
        self._conversation = conversation
        self._delta: type = ToolCallDelta if conversation.mode == "tool" else TextDelta
        self._text = ""
        self._last: Any = MISSING

    def add(self, event: StreamEvent) -> Any:
        """Take in an event; returns the object so far where it has changed, else `MISSING`."""
        if isinstance(event, ToolCallDelta) and self._delta is ToolCallDelta:
            self._text += event.arguments
        elif isinstance(event, TextDelta) and self._delta is TextDelta:
            self._text += event.text
        else:
            return MISSING
        value = partial_json(self._text)
        if value is MISSING:
            return MISSING
        value = self._conversation.type.unwrapped(self._conversation.lowered.restore(value))
        if value is None or value == self._last:
            return MISSING
        self._last = value
        return value


class _Base(Generic[OutputT]):
    def __init__(self, conversation: TypedConversation) -> None:
        self._conversation = conversation
        self._response: TypedChatResponse[OutputT] | None = None

    @property
    def response(self) -> TypedChatResponse[OutputT]:
        """
        The whole response, once the stream has ended; its `.output` is validated.

        Raises:
            PolywireError: the stream has not been read to its end.
        """
        if self._response is None:
            msg = "the stream has no response yet: read it to its end first"
            raise PolywireError(msg)
        return self._response

    @property
    def output(self) -> OutputT:
        """The validated output, once the stream has ended."""
        return self.response.output


class TypedChatStream(_Base[OutputT]):
    """
    An iterator of the output so far, as plain JSON data, and a context manager.

    Each item is the whole object as far as it has come: strings may still grow, properties may be missing, and nothing is
    validated. At the end the output is validated. A wrong one raises; with `repair_rounds` it is sent back to the model,
    and the object begins to grow anew.
    """

    def __init__(self, conversation: TypedConversation, ask: Callable[[ChatRequest], ChatStream]) -> None:
        super().__init__(conversation)
        self._ask = ask
        self._stream = ask(conversation.request)
        self._partials = self._run()

    def _run(self) -> Iterator[Any]:
        while True:
            growth = _Growth(self._conversation)
            with self._stream as stream:
                for event in stream:
                    if (value := growth.add(event)) is not MISSING:
                        yield value
                self._response = self._conversation.accept(stream.response)
            if self._response is not None:
                return
            self._stream = self._ask(self._conversation.request)

    def __iter__(self) -> Iterator[Any]:
        return self._partials

    def __next__(self) -> Any:
        return next(self._partials)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Break the stream off, if it is still open. Idempotent."""
        self._stream.close()


class AsyncTypedChatStream(_Base[OutputT]):
    """An async iterator of the output so far, and an async context manager. As `TypedChatStream`."""

    def __init__(self, conversation: TypedConversation, ask: Callable[[ChatRequest], AsyncChatStream]) -> None:
        super().__init__(conversation)
        self._ask = ask
        self._stream = ask(conversation.request)
        self._partials = self._run()

    async def _run(self) -> AsyncIterator[Any]:
        while True:
            growth = _Growth(self._conversation)
            async with self._stream as stream:
                async for event in stream:
                    if (value := growth.add(event)) is not MISSING:
                        yield value
                self._response = self._conversation.accept(stream.response)
            if self._response is not None:
                return
            self._stream = self._ask(self._conversation.request)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._partials

    async def __anext__(self) -> Any:
        return await anext(self._partials)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Break the stream off, if it is still open. Idempotent."""
        await self._stream.aclose()
