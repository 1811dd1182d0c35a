"""
The two contracts: `ChatModel`, and `StreamingChatModel`, which can also tell its answer as it comes.

A caller uses `chat`, `achat`, `stream`, `astream`. They take every form (a string, a message, messages, a whole
`ChatRequest`, keyword parameters) and fold it into one `ChatRequest`. An author overrides `do_chat`, and where there is
more to offer `do_achat`, `do_stream`, `do_astream`; wrappers call only those.
"""

from __future__ import annotations

import abc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from polywire.errors import PolywireError, UnknownParameter, did_you_mean
from polywire.events import StreamEvent, events_of
from polywire.messages import AiMessage, Message
from polywire.requests import (
    NO_OPTIONS,
    NO_PARAMETERS,
    PARAMETER_NAMES,
    CallOptions,
    ChatRequest,
    ChatRequestParameters,
)
from polywire.responses import ChatResponse, TypedChatResponse
from polywire.streams import (
    AsyncChatStream,
    AsyncEventSource,
    ChatStream,
    EventSource,
    as_async_source,
    as_source,
)

if TYPE_CHECKING:
    from polywire.profiles import Profile

__all__ = ["ChatInput", "ChatModel", "ModelInformation", "StreamingChatModel", "fold_request"]

OutputT = TypeVar("OutputT")
ChatInput = str | Message | Iterable[Message | str] | ChatRequest
"""Everything that `chat` and its sisters take."""

_OPTION_NAMES = ("deadline", "first_event", "between_events", "tags")
_SYSTEM = "; instructions are a message: [SystemMessage(…), UserMessage(…)]"
_HINTS = {
    "system": _SYSTEM,
    "system_prompt": _SYSTEM,
    "instructions": _SYSTEM,
    "timeout": "; did you mean 'deadline', the seconds for the whole call?",
}
"""Words that other libraries have for what is said in another way here."""


def fold_request(request: ChatInput, /, **keywords: Any) -> ChatRequest:
    """
    Fold every form into one `ChatRequest`.

    `keywords` are the fields of `ChatRequestParameters` and `CallOptions`, or whole values as `parameters` and
    `options`. They win over what the request already holds.

    Raises:
        UnknownParameter: a keyword is none of these; the message names the nearest one.
        ValueError, TypeError: there is no message, or something is of the wrong type.
    """
    if not keywords:
        return request if isinstance(request, ChatRequest) else ChatRequest(request)
    parameters = keywords.pop("parameters", None)
    options = keywords.pop("options", None)
    option_values = {name: keywords.pop(name) for name in _OPTION_NAMES if name in keywords}
    for name in keywords:
        if name not in PARAMETER_NAMES:
            known = {*PARAMETER_NAMES, *_OPTION_NAMES, "parameters", "options", "output"}
            hint = _HINTS.get(name) or did_you_mean(name, known)
            msg = f"unknown parameter {name!r}{hint} (what only one vendor has goes into custom_parameters)"
            raise UnknownParameter(msg)
    if not isinstance(request, ChatRequest):
        request = ChatRequest(request)
    merged = request.parameters.merge(parameters)
    if keywords:
        merged = merged.merge(ChatRequestParameters(**keywords))
    merged_options = merge_options(request.options, options)
    if option_values:
        merged_options = merge_options(merged_options, CallOptions(**option_values))
    return ChatRequest(request.messages, merged, merged_options)


def merge_options(base: CallOptions, over: CallOptions | None) -> CallOptions:
    """Lay `over` on `base`: what is not `None` there wins; tags merge by key."""
    if over is None or over is NO_OPTIONS:
        return base
    return CallOptions(
        deadline=base.deadline if over.deadline is None else over.deadline,
        first_event=base.first_event if over.first_event is None else over.first_event,
        between_events=base.between_events if over.between_events is None else over.between_events,
        tags={**base.tags, **over.tags},
    )


class ModelInformation:
    """
    What a model tells of itself.

    Attributes:
        provider: the connection's name in the settings, or the plugin's.
        defaults: the parameters that a request is laid over.
        profile: tells what the endpoint can do, for a model id; `None` where the model has no profiles.
    """

    __slots__ = ("defaults", "profile", "provider", "wire")

    def __init__(
        self,
        provider: str | None = None,
        defaults: ChatRequestParameters = NO_PARAMETERS,
        profile: Callable[[str | None], Profile] | None = None,
        wire: str | None = None,
    ) -> None:
        self.provider = provider
        self.defaults = defaults
        self.profile = profile
        self.wire = wire

    @property
    def model(self) -> str | None:
        """The default model id."""
        return self.defaults.model


NO_INFORMATION = ModelInformation()


class ChatModel(abc.ABC):
    """
    A model that answers.

    Thread-safe, and usable from any number of event loops, unless a subclass says otherwise.
    """

    information: ModelInformation = NO_INFORMATION
    """What the model tells of itself; wrappers pass it on."""

    @overload
    def chat(
        self, request: ChatInput, /, *, output: type[OutputT], **parameters: Any
    ) -> TypedChatResponse[OutputT]: ...
    @overload
    def chat(self, request: ChatInput, /, *, output: dict[str, Any], **parameters: Any) -> TypedChatResponse[Any]: ...
    @overload
    def chat(self, request: ChatInput, /, *, output: None = None, **parameters: Any) -> ChatResponse: ...
    def chat(self, request: ChatInput, /, *, output: Any = None, **parameters: Any) -> ChatResponse:
        """
        Ask, and wait for the whole answer.

        Args:
            request: a string (the user's words), a message, messages, or a `ChatRequest`.
            output: a type (pydantic model, dataclass, TypedDict, any annotation) or JSON Schema; the answer is then
                asked for and read as that, and is in `.output`.
            **parameters: fields of `ChatRequestParameters` and `CallOptions`, for this call.

        Raises:
            ModelError: the call failed.
            ValueError, TypeError: the request is wrong; raised before any network.
        """
        folded = fold_request(request, **parameters)
        if output is None:
            return self.do_chat(folded)
        from polywire.structured import chat_typed

        return chat_typed(self, folded, output)

    @overload
    async def achat(
        self, request: ChatInput, /, *, output: type[OutputT], **parameters: Any
    ) -> TypedChatResponse[OutputT]: ...
    @overload
    async def achat(
        self, request: ChatInput, /, *, output: dict[str, Any], **parameters: Any
    ) -> TypedChatResponse[Any]: ...
    @overload
    async def achat(self, request: ChatInput, /, *, output: None = None, **parameters: Any) -> ChatResponse: ...
    async def achat(self, request: ChatInput, /, *, output: Any = None, **parameters: Any) -> ChatResponse:
        """Ask, and await the whole answer. As `chat`."""
        folded = fold_request(request, **parameters)
        if output is None:
            return await self.do_achat(folded)
        from polywire.structured import achat_typed

        return await achat_typed(self, folded, output)

    @abc.abstractmethod
    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request. For authors and wrappers; callers use `chat`."""

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request; runs `do_chat` in a thread unless overridden."""
        import asyncio

        return await asyncio.to_thread(self.do_chat, request)

    def close(self) -> None:
        """Give back what the model holds. Idempotent."""

    async def aclose(self) -> None:
        """Give back what the model holds, from async code. Idempotent."""
        self.close()

    @staticmethod
    def from_function(function: Callable[[ChatRequest], Any]) -> StreamingChatModel:
        """
        Make a model of a function of one `ChatRequest`, sync or async.

        It returns a string, an `AiMessage` or a `ChatResponse`; or it is a generator of strings and stream events.
        """
        from polywire.function_model import FunctionChatModel

        return FunctionChatModel(function)


class StreamingChatModel(ChatModel):
    """A model that can also tell its answer as it comes."""

    supports_streaming: ClassVar[bool] = True

    def stream(self, request: ChatInput, /, **parameters: Any) -> ChatStream:
        """
        Ask, and return the answer as a stream that opens on its first read.

        Takes what `chat` takes. A wrong request is refused here, before any network.
        """
        folded = fold_request(request, **parameters)
        return ChatStream(lambda: as_source(self.do_stream(folded)))

    def astream(self, request: ChatInput, /, **parameters: Any) -> AsyncChatStream:
        """Ask, and return the answer as an async stream that opens on its first read. No `await` needed."""
        folded = fold_request(request, **parameters)

        async def open_source() -> AsyncEventSource:
            events = self.do_astream(folded)
            return as_async_source(await events if isinstance(events, Awaitable) else events)

        return AsyncChatStream(open_source)

    @abc.abstractmethod
    def do_stream(self, request: ChatRequest) -> EventSource | Iterable[StreamEvent]:
        """
        Answer one request as a stream: a generator of events, or an `EventSource`, which hands them over in batches.

        The last event is `ResponseEnd`. For authors and wrappers; callers use `stream`.
        """

    def do_astream(
        self, request: ChatRequest
    ) -> AsyncEventSource | AsyncIterator[StreamEvent] | Awaitable[AsyncEventSource]:
        """Answer one request as an async stream; runs `do_stream` in a thread unless overridden."""
        from polywire.function_model import ThreadedSource

        return ThreadedSource(lambda: as_source(self.do_stream(request)))

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request; reads `do_stream` to its end unless overridden."""
        return ChatStream(lambda: as_source(self.do_stream(request))).collect()


def require_streaming(model: ChatModel, name: str) -> StreamingChatModel:
    """
    Return `model` as one that streams.

    Raises:
        PolywireError: it cannot.
    """
    if isinstance(model, StreamingChatModel):
        return model
    msg = f"the model {name!r} cannot stream; use chat, or chat_model(name)"
    raise PolywireError(msg)


def whole_answer(value: Any) -> ChatResponse:
    """Read what a simple author returned: a string, an `AiMessage` or a `ChatResponse`."""
    if isinstance(value, ChatResponse):
        return value
    if isinstance(value, (str, AiMessage)):
        message = AiMessage(value) if isinstance(value, str) else value
        from polywire.responses import FinishReason

        return ChatResponse(message, finish_reason=FinishReason.TOOL_CALLS if message.tool_calls else FinishReason.STOP)
    msg = f"a model must answer with a str, an AiMessage or a ChatResponse, not {type(value).__name__}"
    raise TypeError(msg)


def answer_events(value: Any) -> Iterator[StreamEvent]:
    """Tell a whole answer as a stream."""
    yield from events_of(whole_answer(value))
