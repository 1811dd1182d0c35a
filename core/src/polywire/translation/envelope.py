"""
The error envelope: how a failed tool result travels on a wire that has no error flag.

    {"ok": false, "error": {"type": …, "message": …, "retryable": …, "metadata": {…}}}

Only exactly this shape is read back as a failure; a tool's own output that merely looks alike stays what it is. A
success is the tool's own content, unless the option is on that wraps it as `{"ok": true, "data": …}`.
"""

from __future__ import annotations

from typing import Any

from polywire import wire_json
from polywire.contents import TextContent
from polywire.messages import ToolError, ToolResultMessage

__all__ = [
    "GENERIC_ERROR_TYPE",
    "error_envelope",
    "read_error_envelope",
    "read_success_envelope",
    "result_text",
    "success_envelope",
]

GENERIC_ERROR_TYPE = "tool_error"
"""The type of a failure of which nothing more is known."""

_ERROR_KEYS = {"type", "message", "retryable", "metadata"}


def result_text(result: ToolResultMessage) -> str:
    """The texts of a result as one, for wires that take one: on lines of their own, for they are pieces of their own."""
    return "\n".join([item.text for item in result.contents if isinstance(item, TextContent)])


def error_envelope(result: ToolResultMessage) -> str:
    """Write a failed result as an envelope. Never empty: a failure without words says that it is one."""
    error = result.error
    message = result.text or (error.message if error is not None else "") or "the tool failed"
    return wire_json.compact(
        {
            "ok": False,
            "error": {
                "type": error.type if error is not None else GENERIC_ERROR_TYPE,
                "message": message,
                "retryable": error.retryable if error is not None else None,
                "metadata": error.metadata if error is not None else {},
            },
        }
    )


def read_error_envelope(text: str) -> tuple[str, ToolError | None] | None:
    """
    Read an envelope back: the original text, and the error where more is known than that it failed.

    Anything but exactly the envelope's shape is `None`.
    """
    if not text.startswith('{"ok":') or '"error"' not in text:
        return None
    value = wire_json.decode_arguments(text)
    if value is None or set(value) != {"ok", "error"} or value["ok"] is not False:
        return None
    error = value["error"]
    if not isinstance(error, dict) or set(error) != _ERROR_KEYS:
        return None
    kind, message, retryable, metadata = error["type"], error["message"], error["retryable"], error["metadata"]
    if not isinstance(kind, str) or not isinstance(message, str) or not isinstance(metadata, dict):
        return None
    if retryable is not None and not isinstance(retryable, bool):
        return None
    if kind == GENERIC_ERROR_TYPE and retryable is None and not metadata:
        return message, None
    return message, ToolError(kind, message, retryable, metadata)


def success_envelope(text: str) -> str:
    """Wrap a success, for those who switch that on: JSON goes in as JSON, anything else as text."""
    try:
        data: Any = wire_json.decode(text)
    except ValueError:
        data = text
    return wire_json.compact({"ok": True, "data": data})


def read_success_envelope(text: str) -> str | None:
    """Unwrap a success; anything but exactly `{"ok": true, "data": …}` is `None`."""
    value = wire_json.decode_arguments(text)
    if value is None or set(value) != {"ok", "data"} or value["ok"] is not True:
        return None
    data = value["data"]
    return data if isinstance(data, str) else wire_json.compact(data)
