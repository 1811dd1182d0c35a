"""
The messages a conversation is made of.

A history is any sequence of these values. They never change: a conversation grows by making a longer sequence. Every
class carries a literal `role`, and its constructor takes `str | Content | Iterable` and stores a tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from polywire.contents import (
    AudioContent,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.immutable import EMPTY, freeze_mapping
from polywire.memo import Remembering
from polywire.tool_calls import ToolCall, ToolError

__all__ = [
    "AiMessage",
    "AiPart",
    "CustomMessage",
    "Message",
    "Origin",
    "SystemMessage",
    "ToolCall",
    "ToolError",
    "ToolResultMessage",
    "UserMessage",
]


AiPart: TypeAlias = (
    TextContent
    | ThinkingContent
    | ToolCall
    | ImageContent
    | AudioContent
    | VideoContent
    | DocumentContent
    | OpaqueContent
)
"""What a model's message may hold."""

_CONTENT_TYPES = (TextContent, ImageContent, AudioContent, VideoContent, DocumentContent, OpaqueContent)
_AI_PART_TYPES = (*_CONTENT_TYPES, ThinkingContent, ToolCall)


_KNOWN_TYPES = frozenset(_AI_PART_TYPES)
_CONTENT_SET = frozenset(_CONTENT_TYPES)


def _tuple_of(value: Any, allowed: tuple[type, ...], where: str) -> tuple[Any, ...]:
    kind = type(value)
    if kind is str:
        return (TextContent(value),)
    if kind is not tuple and kind is not list and isinstance(value, allowed):
        return (value,)
    if value is None or isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        names = ", ".join(each.__name__ for each in allowed)
        msg = f"{where} must be a str, one of {names}, or an iterable of them, not {type(value).__name__}"
        raise TypeError(msg)
    if type(value) is not tuple:
        value = tuple(value)
    if _KNOWN_TYPES.issuperset(map(type, value)) and (
        allowed is _AI_PART_TYPES or _CONTENT_SET.issuperset(map(type, value))
    ):
        return value  # type: ignore[no-any-return]
    parts: list[Any] = []
    for index, item in enumerate(value):
        if type(item) is str:
            parts.append(TextContent(item))
        elif isinstance(item, allowed):
            parts.append(item)
        else:
            names = ", ".join(each.__name__ for each in allowed)
            msg = f"{where}[{index}] must be a str or one of {names}, not {type(item).__name__}"
            raise TypeError(msg)
    return tuple(parts)


def _require_content(contents: tuple[Any, ...], where: str) -> None:
    if not any(not isinstance(item, TextContent) or item.text for item in contents):
        msg = f"{where} needs content: " + ("its text is empty" if contents else "none is given")
        raise ValueError(msg)


def _joined_text(contents: tuple[Any, ...]) -> str | None:
    texts = [item.text for item in contents if isinstance(item, TextContent)]
    return "".join(texts) if texts else None


@dataclass(frozen=True, slots=True, init=False)
class SystemMessage(Remembering):
    """Instructions from the application. `name` is passed on where the wire has a place for it."""

    contents: tuple[Content, ...]
    name: str | None = None
    extras: Mapping[str, Any] = EMPTY
    role: Literal["system"] = "system"

    def __init__(
        self,
        contents: str | Content | Iterable[str | Content],
        name: str | None = None,
        *,
        extras: Mapping[str, Any] = EMPTY,
        role: Literal["system"] = "system",
    ) -> None:
        _init_message(self, contents, name, extras, role, "system")

    @property
    def text(self) -> str | None:
        """The text contents, joined; `None` where there is none."""
        return _joined_text(self.contents)


@dataclass(frozen=True, slots=True, init=False)
class UserMessage(Remembering):
    """What the user says: text, media, or several of them."""

    contents: tuple[Content, ...]
    name: str | None = None
    extras: Mapping[str, Any] = EMPTY
    role: Literal["user"] = "user"

    def __init__(
        self,
        contents: str | Content | Iterable[str | Content],
        name: str | None = None,
        *,
        extras: Mapping[str, Any] = EMPTY,
        role: Literal["user"] = "user",
    ) -> None:
        _init_message(self, contents, name, extras, role, "user")

    @property
    def text(self) -> str | None:
        """The text contents, joined; `None` where there is none."""
        return _joined_text(self.contents)


def _init_message(
    message: SystemMessage | UserMessage,
    contents: Any,
    name: str | None,
    extras: Mapping[str, Any],
    role: str,
    expected: str,
) -> None:
    where = type(message).__name__
    if type(contents) is str and contents:
        parts: tuple[Any, ...] = (TextContent(contents),)
    else:
        parts = _tuple_of(contents, _CONTENT_TYPES, where)
        _require_content(parts, where)
    _check_role(role, expected)
    if name is not None and not isinstance(name, str):
        msg = f"{where}.name must be a str, not {type(name).__name__}"
        raise TypeError(msg)
    object.__setattr__(message, "contents", parts)
    object.__setattr__(message, "name", name)
    object.__setattr__(message, "extras", freeze_mapping(extras, name="extras"))
    object.__setattr__(message, "role", expected)


def _check_role(role: str, expected: str) -> None:
    if role != expected:
        msg = f"role must be {expected!r}, not {role!r}"
        raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which wire, provider and model made a message; sealed thinking goes back only there."""

    wire: str
    provider: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, init=False)
class AiMessage(Remembering):
    """
    What the model said, in the order it said it: text, thinking, tool calls, media, unknown blocks.

    `.text`, `.thinking` and `.tool_calls` are views. A message may hold calls and no text: `.text` is then `None`, not
    `""`. A model may also answer nothing at all, so `parts` may be empty.
    """

    parts: tuple[AiPart, ...]
    origin: Origin | None = None
    extras: Mapping[str, Any] = EMPTY
    role: Literal["assistant"] = "assistant"

    def __init__(
        self,
        parts: str | AiPart | Iterable[str | AiPart],
        origin: Origin | None = None,
        *,
        extras: Mapping[str, Any] = EMPTY,
        role: Literal["assistant"] = "assistant",
    ) -> None:
        _check_role(role, "assistant")
        if origin is not None and not isinstance(origin, Origin):
            msg = f"AiMessage.origin must be an Origin, not {type(origin).__name__}"
            raise TypeError(msg)
        object.__setattr__(self, "parts", _tuple_of(parts, _AI_PART_TYPES, "AiMessage"))
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "extras", freeze_mapping(extras, name="extras"))
        object.__setattr__(self, "role", "assistant")

    @property
    def text(self) -> str | None:
        """The text parts, joined; `None` where there is none."""
        return _joined_text(self.parts)

    @property
    def thinking(self) -> str | None:
        """The readable thinking, joined; `None` where there is none."""
        texts = [part.text for part in self.parts if isinstance(part, ThinkingContent)]
        return "".join(texts) if texts else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order made."""
        return tuple([part for part in self.parts if type(part) is ToolCall])


@dataclass(frozen=True, slots=True, init=False)
class ToolResultMessage(Remembering):
    """
    What one tool call gave back.

    Attributes:
        call_id: the `ToolCall.id` that this answers.
        tool_name: the tool's name; wires that link by name need it, so give it where you know it.
        contents: what the tool said. May be empty: a codec then writes an empty text where its wire demands one.
        is_error: the call failed; true by itself where `error` is given.
        error: why, in full. Where `contents` is left out, `error.message` is the content.
    """

    call_id: str
    tool_name: str | None = None
    contents: tuple[Content, ...] = ()
    is_error: bool = False
    error: ToolError | None = None
    extras: Mapping[str, Any] = EMPTY
    role: Literal["tool"] = "tool"

    def __init__(
        self,
        call_id: str,
        tool_name: str | None = None,
        contents: str | Content | Iterable[str | Content] | None = None,
        is_error: bool | None = None,
        error: ToolError | None = None,
        *,
        extras: Mapping[str, Any] = EMPTY,
        role: Literal["tool"] = "tool",
    ) -> None:
        _check_role(role, "tool")
        if not isinstance(call_id, str) or not call_id:
            msg = f"ToolResultMessage.call_id must be a non-empty str, not {call_id!r}"
            raise TypeError(msg) if not isinstance(call_id, str) else ValueError(msg)
        if tool_name is not None and not isinstance(tool_name, str):
            msg = f"ToolResultMessage.tool_name must be a str, not {type(tool_name).__name__}"
            raise TypeError(msg)
        if error is not None and not isinstance(error, ToolError):
            msg = f"ToolResultMessage.error must be a ToolError, not {type(error).__name__}"
            raise TypeError(msg)
        if contents is None:
            contents = error.message if error is not None else ()
        object.__setattr__(self, "call_id", call_id)
        object.__setattr__(self, "tool_name", tool_name)
        object.__setattr__(self, "contents", _tuple_of(contents, _CONTENT_TYPES, "ToolResultMessage"))
        object.__setattr__(self, "is_error", bool(is_error) or error is not None)
        object.__setattr__(self, "error", error)
        object.__setattr__(self, "extras", freeze_mapping(extras, name="extras"))
        object.__setattr__(self, "role", "tool")

    @property
    def text(self) -> str:
        """The text contents, joined; `""` where there is none."""
        return _joined_text(self.contents) or ""


@dataclass(frozen=True, slots=True)
class CustomMessage:
    """
    A message in a form that only one provider knows.

    A codec that does not know it refuses it; it is never sent as something else.
    """

    attributes: Mapping[str, Any]
    role: Literal["custom"] = field(default="custom", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", freeze_mapping(self.attributes, name="attributes"))
        _check_role(self.role, "custom")


Message: TypeAlias = SystemMessage | UserMessage | AiMessage | ToolResultMessage | CustomMessage
"""One message of a history."""
