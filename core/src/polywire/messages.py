"""
The messages a conversation is made of.

A history is any sequence of these values. They never change: a conversation grows by making a longer sequence. Every
class carries a literal `role`, and its constructor takes `str | Content | Iterable` and stores a tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
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
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping, slot_setters
from polywire.memo import NOTHING, Remembering
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
_CONTENTS = frozenset(_CONTENT_TYPES)
_AI_PARTS = frozenset(_AI_PART_TYPES)

(_set_memo,) = slot_setters(Remembering, "_memo")


def _tuple_of(value: Any, known: frozenset[type], allowed: tuple[type, ...], where: str) -> tuple[Any, ...]:
    """Return what a message is given as a tuple. `known` and `allowed` are the same types; the set answers sooner."""
    kind = type(value)
    if kind is str:
        return (TextContent(value),)
    if kind in known:
        return (value,)
    if (kind is tuple or kind is list) and known.issuperset(map(type, value)):
        return tuple(value)
    if isinstance(value, allowed):
        return (value,)
    if value is None or isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
        names = ", ".join(each.__name__ for each in allowed)
        msg = f"{where} must be a str, one of {names}, or an iterable of them, not {type(value).__name__}"
        raise TypeError(msg)
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
        if role != "system":
            _check_role(role, "system")
        if name is not None:
            _check_name(name, "SystemMessage.name")
        _set_system_contents(self, _contents_of(contents, "SystemMessage"))
        _set_system_name(self, name)
        _set_system_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_system_role(self, "system")
        _set_memo(self, NOTHING)

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
        if role != "user":
            _check_role(role, "user")
        if name is not None:
            _check_name(name, "UserMessage.name")
        _set_user_contents(self, _contents_of(contents, "UserMessage"))
        _set_user_name(self, name)
        _set_user_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_user_role(self, "user")
        _set_memo(self, NOTHING)

    @property
    def text(self) -> str | None:
        """The text contents, joined; `None` where there is none."""
        return _joined_text(self.contents)


_set_system_contents, _set_system_name, _set_system_extras, _set_system_role = slot_setters(
    SystemMessage, "contents", "name", "extras", "role"
)
_set_user_contents, _set_user_name, _set_user_extras, _set_user_role = slot_setters(
    UserMessage, "contents", "name", "extras", "role"
)


def _contents_of(contents: Any, where: str) -> tuple[Any, ...]:
    if type(contents) is str and contents:
        return (TextContent(contents),)
    parts = _tuple_of(contents, _CONTENTS, _CONTENT_TYPES, where)
    _require_content(parts, where)
    return parts


def _check_name(name: object, where: str) -> None:
    if not isinstance(name, str):
        msg = f"{where} must be a str, not {type(name).__name__}"
        raise TypeError(msg)


def _check_call_id(call_id: object) -> None:
    if not isinstance(call_id, str) or not call_id:
        msg = f"ToolResultMessage.call_id must be a non-empty str, not {call_id!r}"
        raise TypeError(msg) if not isinstance(call_id, str) else ValueError(msg)


_NO_TOOL_NAME = frozenset('{}[]"')


def _check_no_result(tool_name: str) -> None:
    """Without contents, what stands in the place of the tool's name may be the result."""
    if not _NO_TOOL_NAME.isdisjoint(tool_name) or any(map(str.isspace, tool_name)):
        msg = (
            "ToolResultMessage has no contents, and its tool_name is no name of a tool: the tool's name comes before its"
            " result, ToolResultMessage(call.id, call.name, result)"
        )
        raise ValueError(msg)


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
        if role != "assistant":
            _check_role(role, "assistant")
        if origin is not None and not isinstance(origin, Origin):
            msg = f"AiMessage.origin must be an Origin, not {type(origin).__name__}"
            raise TypeError(msg)
        _set_ai_parts(self, _tuple_of(parts, _AI_PARTS, _AI_PART_TYPES, "AiMessage"))
        _set_ai_origin(self, origin)
        _set_ai_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_ai_role(self, "assistant")
        _set_memo(self, NOTHING)

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


_set_ai_parts, _set_ai_origin, _set_ai_extras, _set_ai_role = slot_setters(
    AiMessage, "parts", "origin", "extras", "role"
)


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
        if role != "tool":
            _check_role(role, "tool")
        if type(call_id) is not str or not call_id:
            _check_call_id(call_id)
        if tool_name is not None:
            _check_name(tool_name, "ToolResultMessage.tool_name")
        if error is not None and not isinstance(error, ToolError):
            msg = f"ToolResultMessage.error must be a ToolError, not {type(error).__name__}"
            raise TypeError(msg)
        if contents is None:
            if error is None and tool_name is not None:
                _check_no_result(tool_name)
            contents = error.message if error is not None else ()
        _set_result_call_id(self, call_id)
        _set_result_tool_name(self, tool_name)
        _set_result_contents(
            self,
            (TextContent(contents),)
            if type(contents) is str
            else _tuple_of(contents, _CONTENTS, _CONTENT_TYPES, "ToolResultMessage"),
        )
        _set_result_is_error(self, bool(is_error) or error is not None)
        _set_result_error(self, error)
        _set_result_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_result_role(self, "tool")
        _set_memo(self, NOTHING)

    @property
    def text(self) -> str:
        """The text contents, joined; `""` where there is none."""
        return _joined_text(self.contents) or ""


(
    _set_result_call_id,
    _set_result_tool_name,
    _set_result_contents,
    _set_result_is_error,
    _set_result_error,
    _set_result_extras,
    _set_result_role,
) = slot_setters(ToolResultMessage, "call_id", "tool_name", "contents", "is_error", "error", "extras", "role")


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
