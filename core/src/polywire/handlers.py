"""Callbacks for those who would rather be told than ask."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from polywire.events import PartialToolCall, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallStart
from polywire.responses import ChatResponse

__all__ = ["StreamingChatResponseHandler", "settle", "tell"]


class StreamingChatResponseHandler:
    """
    Callbacks for a stream; override what you need, all do nothing by default.

    `on_complete_response` comes exactly once for a stream that succeeds, `on_error` at most once for one that fails;
    never both. An exception that a handler itself raises is not caught: it ends the stream and passes through. With
    an async stream the methods may be coroutines.
    """

    def on_partial_response(self, text: str) -> Any:
        """More visible text."""

    def on_partial_thinking(self, text: str) -> Any:
        """More thinking."""

    def on_partial_tool_call(self, call: PartialToolCall) -> Any:
        """A fragment of a tool call's arguments, or, with empty `arguments`, its start."""

    def on_complete_response(self, response: ChatResponse) -> Any:
        """The whole answer."""

    def on_error(self, error: Exception) -> Any:
        """The stream failed; `error.partial` holds what had arrived."""


async def settle(result: Any) -> None:
    """Await what a handler returned, where it is awaitable."""
    if isawaitable(result):
        await result


def tell(handler: StreamingChatResponseHandler, event: StreamEvent, calls: dict[int, ToolCallStart]) -> Any:
    """Tell a handler of one event; `calls` remembers the calls that have begun."""
    match event:
        case TextDelta():
            return handler.on_partial_response(event.text)
        case ThinkingDelta():
            return handler.on_partial_thinking(event.text)
        case ToolCallStart():
            calls[event.part] = event
            return handler.on_partial_tool_call(PartialToolCall(event.id, event.name, "", event.part))
        case ToolCallDelta():
            call = calls[event.part]
            return handler.on_partial_tool_call(PartialToolCall(call.id, call.name, event.arguments, event.part))
        case _:
            return None
