"""
History as plain JSON and back, without loss.

The form is the values' own: each message is an object with its `role`, each content one with its `kind`, bytes are
base64, and fields that hold their default are left out. It is meant for storing; it is no vendor's wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from polywire import wire_json
from polywire.contents import (
    AudioContent,
    CacheMark,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.errors import did_you_mean
from polywire.media_types import from_base64, to_base64
from polywire.messages import (
    AiMessage,
    CustomMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage

__all__ = ["messages_from_json", "messages_to_json", "response_from_json", "response_to_json"]

_MESSAGES: dict[str, type] = {
    "system": SystemMessage,
    "user": UserMessage,
    "assistant": AiMessage,
    "tool": ToolResultMessage,
    "custom": CustomMessage,
}
_CONTENTS: dict[str, type] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "video": VideoContent,
    "document": DocumentContent,
    "thinking": ThinkingContent,
    "opaque": OpaqueContent,
    "tool_call": ToolCall,
}
_NESTED: dict[str, type] = {"cache": CacheMark, "origin": Origin, "error": ToolError}
_TAGS = ("role", "kind")


def messages_to_json(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Write a history as plain JSON values: dicts, lists, strings, numbers, booleans and `None`."""
    return [_to_json(message) for message in messages]


def messages_from_json(data: str | bytes | Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """
    Read a history that `messages_to_json` wrote: the values, or their JSON text.

    Raises:
        ValueError: it is not such a history; the message names the place.
    """
    items = wire_json.decode(data) if isinstance(data, (str, bytes)) else data
    if not isinstance(items, Sequence) or isinstance(items, str):
        msg = f"a stored history must be a list of messages, not {type(items).__name__}"
        raise ValueError(msg)
    return tuple(_read(item, _MESSAGES, "role", f"messages[{index}]") for index, item in enumerate(items))


def response_to_json(response: ChatResponse) -> dict[str, Any]:
    """Write a response as plain JSON values."""
    return {
        "message": _to_json(response.message),
        "usage": {
            each.name: value for each in fields(TokenUsage) if (value := getattr(response.usage, each.name)) is not None
        },
        "finish_reason": str(response.finish_reason),
        "notices": [{each.name: getattr(notice, each.name) for each in fields(Notice)} for notice in response.notices],
        "metadata": _plain(response.metadata),
    }


def response_from_json(data: str | bytes | Mapping[str, Any]) -> ChatResponse:
    """
    Read a response that `response_to_json` wrote.

    Raises:
        ValueError: it is not such a response.
    """
    item = wire_json.decode(data) if isinstance(data, (str, bytes)) else data
    try:
        return ChatResponse(
            _read(item["message"], _MESSAGES, "role", "message"),
            TokenUsage(**item.get("usage", {})),
            FinishReason(item["finish_reason"]),
            tuple(Notice(**notice) for notice in item.get("notices", ())),
            item.get("metadata", {}),
        )
    except (KeyError, TypeError) as error:
        msg = f"this is no stored response: {error!r}"
        raise ValueError(msg) from None


def _to_json(value: Any) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for each in fields(value):
        content = getattr(value, each.name)
        if each.name in _TAGS or each.default is MISSING or content != each.default:
            item[each.name] = _plain(content)
    return item


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, bytes):
        return to_base64(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return _to_json(value)


def _read(item: Any, classes: dict[str, type], tag: str, where: str) -> Any:
    if not isinstance(item, Mapping):
        msg = f"{where} must be an object, not {type(item).__name__}"
        raise ValueError(msg)
    word = item.get(tag)
    cls = classes.get(word) if isinstance(word, str) else None
    if cls is None:
        msg = f"{where}: unknown {tag} {word!r}{did_you_mean(str(word), classes)}"
        raise ValueError(msg)
    return _build(cls, item, where)


def _build(cls: Callable[..., Any], item: Mapping[str, Any], where: str) -> Any:
    known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in item.items():
        if key not in known:
            msg = f"{where}: unknown field {key!r}{did_you_mean(key, known)}"
            raise ValueError(msg)
        if key in {"contents", "parts"}:
            if not isinstance(value, (list, tuple)):
                msg = f"{where}.{key} must be a list, not {type(value).__name__}"
                raise ValueError(msg)
            value = [_read(each, _CONTENTS, "kind", f"{where}.{key}[{index}]") for index, each in enumerate(value)]
        elif key in _NESTED and isinstance(value, Mapping):
            value = _build(_NESTED[key], value, f"{where}.{key}")
        elif key == "data" and isinstance(value, str):
            value = from_base64(value, what=f"{where}.data")
        values[key] = value
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        msg = f"{where}: {error}"
        raise ValueError(msg) from None
