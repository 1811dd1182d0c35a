"""What a tool gives back, as a message: text as it is, nothing as a word, anything else as JSON; failures as errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from polywire import wire_json
from polywire.contents import (
    AudioContent,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    VideoContent,
)
from polywire.errors import InvalidToolArguments, ToolCallError, UnknownTool
from polywire.messages import ToolCall, ToolError, ToolResultMessage
from polywire.tools.failures import ToolRefused, ToolTimeout

__all__ = ["SUCCESS", "error_of", "failed_result", "message_of", "result_contents", "shortened"]

SUCCESS = "Success"
"""What the model is told where a tool returns `None`."""

_CONTENTS = (TextContent, ImageContent, AudioContent, VideoContent, DocumentContent, OpaqueContent)
_BROKEN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")


def result_contents(value: Any) -> tuple[Content, ...]:
    """
    Turn what a tool returned into a result's contents.

    Raises:
        TypeError: it cannot be written as JSON.
    """
    if isinstance(value, str):
        return (TextContent(value),)
    if value is None:
        return (TextContent(SUCCESS),)
    if isinstance(value, _CONTENTS):
        return (value,)
    if isinstance(value, (list, tuple)) and value and any(isinstance(item, _CONTENTS) for item in value):
        return tuple(content for item in value for content in result_contents(item))
    return (TextContent(_json_text(value)),)


def _json_text(value: Any) -> str:
    try:
        text = wire_json.compact(value)
    except (TypeError, ValueError, RecursionError):
        pass
    else:
        _require_numbers(value)
        return text
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        plain = to_jsonable_python(value, inf_nan_mode="constants")
        text = wire_json.compact(plain)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        msg = f"the result, of type {type(value).__name__}, cannot be written as JSON: {reason}"
        raise TypeError(msg) from None
    _require_numbers(plain)
    return text


def _require_numbers(value: Any) -> None:
    try:
        wire_json.require_numbers(value, "the result")
    except ValueError as error:
        raise TypeError(str(error)) from None


def shortened(contents: Iterable[Content], limit: int | None) -> tuple[Content, ...]:
    """
    Cut text that is longer than `limit` characters, visibly: a note tells how long it was.

    Never inside a JSON escape or a pair of surrogates.
    """
    contents = tuple(contents)
    if limit is None:
        return contents
    left = limit
    result: list[Content] = []
    for content in contents:
        if not isinstance(content, TextContent):
            result.append(content)
            continue
        length = len(content.text)
        if length <= left:
            left -= length
            result.append(content)
            continue
        text = content.text[:left]
        if text and "\ud800" <= text[-1] <= "\udbff":
            text = text[:-1]
        broken = _BROKEN_ESCAPE.search(text[-16:])
        if broken is not None:
            text = text[: len(text) - len(broken.group(1))]
        result.append(TextContent(f"{text}\n[cut: the first {len(text)} of {length} characters]"))
        left = 0
    return tuple(result)


def error_of(error: ToolCallError) -> ToolError:
    """Say a failure in a form that a model and a program can act on; no traceback, no local values."""
    if isinstance(error, UnknownTool):
        return ToolError("unknown_tool", str(error), retryable=False)
    if isinstance(error, InvalidToolArguments):
        return ToolError("invalid_arguments", str(error), retryable=False)
    if isinstance(error, ToolTimeout):
        return ToolError("timeout", str(error), retryable=True)
    if isinstance(error, ToolRefused):
        return ToolError("permission_denied", str(error), retryable=False)
    cause = error.__cause__
    kind = type(cause).__name__ if cause is not None else "tool_error"
    return ToolError(kind, str(error) or type(error).__name__)


def failed_result(call: ToolCall, error: ToolError) -> ToolResultMessage:
    """Answer a call with a failure."""
    return ToolResultMessage(call.id, call.name, error=error)


def message_of(exception: BaseException) -> str:
    """Return what an exception says, and its name; never empty."""
    name = type(exception).__name__
    try:
        text = str(exception)
    except Exception:  # an exception that cannot even say what it is still ends as a result
        text = ""
    return f"{name}: {text}" if text else name
