"""One call: what is asked, and how this side shall wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolResultMessage, UserMessage
from polywire.parameters import (
    NO_PARAMETERS,
    PARAMETER_NAMES,
    ChatRequestParameters,
    Effort,
    Reasoning,
    ResponseFormat,
    ToolChoice,
    check_number,
)
from polywire.tool_specifications import EMPTY_PARAMETERS_SCHEMA, OpaqueTool, ToolSpecification

__all__ = [
    "EMPTY_PARAMETERS_SCHEMA",
    "NO_OPTIONS",
    "NO_PARAMETERS",
    "PARAMETER_NAMES",
    "CallOptions",
    "ChatRequest",
    "ChatRequestParameters",
    "Effort",
    "OpaqueTool",
    "Reasoning",
    "ResponseFormat",
    "ToolChoice",
    "ToolSpecification",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """
    How this side shall treat the call. Never sent to the vendor.

    Attributes:
        deadline: seconds for the whole call, all retries, waits and fallbacks included.
        first_event: seconds until the first content of a stream.
        between_events: seconds between two pieces of content.
        tags: for observers: copied to log lines and traces.
    """

    deadline: float | None = None
    first_event: float | None = None
    between_events: float | None = None
    tags: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        for name in ("deadline", "first_event", "between_events"):
            value = getattr(self, name)
            if isinstance(value, timedelta):
                value = value.total_seconds()
                object.__setattr__(self, name, value)
            check_number(name, value)
            if isinstance(value, (int, float)) and value <= 0:
                msg = f"{name} must be more than 0 seconds, not {value}"
                raise ValueError(msg)
        object.__setattr__(self, "tags", freeze_mapping(self.tags, name="tags"))


NO_OPTIONS = CallOptions()
_MESSAGE_TYPES = (SystemMessage, UserMessage, AiMessage, ToolResultMessage, CustomMessage)


@dataclass(frozen=True, slots=True, init=False)
class ChatRequest:
    """
    One call: at least one message, the parameters, and the options of this side.

    Raises:
        ValueError: there is no message.
        TypeError: something is not a message, parameters or options.
    """

    messages: tuple[Message, ...]
    parameters: ChatRequestParameters
    options: CallOptions

    def __init__(
        self,
        messages: str | Message | Iterable[Message | str],
        parameters: ChatRequestParameters | None = None,
        options: CallOptions | None = None,
    ) -> None:
        parameters = NO_PARAMETERS if parameters is None else parameters
        options = NO_OPTIONS if options is None else options
        if not isinstance(parameters, ChatRequestParameters):
            msg = f"parameters must be ChatRequestParameters, not {type(parameters).__name__}"
            raise TypeError(msg)
        if not isinstance(options, CallOptions):
            msg = f"options must be CallOptions, not {type(options).__name__}"
            raise TypeError(msg)
        object.__setattr__(self, "messages", _messages(messages))
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "options", options)

    def with_parameters(self, parameters: ChatRequestParameters) -> ChatRequest:
        """Return the same request with other parameters."""
        return self if parameters is self.parameters else ChatRequest(self.messages, parameters, self.options)

    def with_messages(self, messages: Iterable[Message]) -> ChatRequest:
        """Return the same request with other messages."""
        return ChatRequest(messages, self.parameters, self.options)


def _hint(value: Any) -> str:
    """What was probably meant by something that is no message."""
    if isinstance(getattr(value, "message", None), AiMessage):
        return ": use response.message"
    if isinstance(value, Mapping):
        return " (a wire's own dicts are read by polywire.convert or messages_from_json)"
    return ""


def _messages(value: Any) -> tuple[Message, ...]:
    if isinstance(value, str):
        return (UserMessage(value),)
    if isinstance(value, _MESSAGE_TYPES):
        return (value,)
    if value is None or isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        msg = f"messages must be a str, a message or an iterable of messages, not {type(value).__name__}{_hint(value)}"
        raise TypeError(msg)
    items = tuple(value)
    for index, item in enumerate(items):
        if type(item) not in _MESSAGE_TYPES:
            if isinstance(item, str):
                return _messages([UserMessage(each) if isinstance(each, str) else each for each in items])
            msg = f"messages[{index}] must be a message, not {type(item).__name__}{_hint(item)}"
            raise TypeError(msg)
    if not items:
        msg = "a chat request needs at least one message"
        raise ValueError(msg)
    return items
