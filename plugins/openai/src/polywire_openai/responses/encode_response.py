"""An answer, written as the body that the Responses API would have sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.immutable import EMPTY
from polywire.messages import Origin
from polywire.profiles import Profile
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.responses.encode_items import ItemWriter
from polywire_openai.responses.fields import MESSAGE, WIRE, made_id
from polywire_openai.responses.usage import encode_usage

__all__ = ["encode_response", "finished_items", "is_own", "response_body", "response_head"]

_REASONS: Mapping[FinishReason, tuple[str, str | None]] = {
    FinishReason.STOP: ("completed", None),
    FinishReason.TOOL_CALLS: ("completed", None),
    FinishReason.REFUSAL: ("completed", None),
    FinishReason.LENGTH: ("incomplete", "max_output_tokens"),
    FinishReason.CONTENT_FILTER: ("incomplete", "content_filter"),
    FinishReason.PAUSE: ("completed", None),
    FinishReason.ERROR: ("incomplete", "error"),
    FinishReason.OTHER: ("incomplete", "other"),
}
_WITHOUT_WORD = frozenset({FinishReason.PAUSE, FinishReason.ERROR, FinishReason.OTHER})
_OWN_WORDS = frozenset(
    {"completed", "incomplete", "cancelled", "queued", "in_progress", "max_output_tokens", "content_filter",
     "max_messages", "steered"}
)  # fmt: skip
_STATUSES = frozenset({"completed", "cancelled", "queued", "in_progress", "incomplete"})
_NOT_FIELDS = frozenset(METADATA_HEADERS.values()) | {
    "id", "type", "model", "created", "raw_finish_reason", "usage_details", "incomplete_details", "stop_sequence",
}  # fmt: skip
# What every response of this wire repeats of its request; an answer of another wire has none of it.
_DEFAULTS: Mapping[str, Any] = {
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}


def is_own(metadata: Mapping[str, Any], origin: Origin | None) -> bool:
    """Whether an answer came from this wire."""
    if origin is not None:
        return origin.wire == WIRE
    return metadata.get("type") == "response"


def response_head(metadata: Mapping[str, Any], origin: Origin | None) -> dict[str, Any]:
    """Write what identifies an answer, and the further fields of one of this wire."""
    own = is_own(metadata, origin)
    created = metadata.get("created")
    is_number = isinstance(created, (int, float)) and not isinstance(created, bool)
    more = {key: value for key, value in metadata.items() if key not in _NOT_FIELDS} if own else EMPTY
    return {
        "id": str(metadata.get("id") or made_id("resp", sorted(metadata.items(), key=repr))),
        "object": "response",
        "created_at": created if is_number else 0,
        "model": str(metadata.get("model") or "unknown"),
        **_DEFAULTS,
        **more,
    }


def _ending(
    reason: FinishReason, metadata: Mapping[str, Any], notices: list[Notice], *, own: bool
) -> tuple[str, str | None]:
    raw = metadata.get("raw_finish_reason")
    if own and raw in _OWN_WORDS:
        return (raw, None) if raw in _STATUSES else ("incomplete", raw)
    status, word = _REASONS[reason]
    if reason in _WITHOUT_WORD:
        told = word or status
        text = f"this wire has no word for the finish reason {raw or reason.value!r}; written as {told!r}"
        notices.append(Notice("approximated", "finish_reason", text))
        word = None if word is None else "max_messages"
    return status, word


def response_body(
    head: Mapping[str, Any],
    items: list[dict[str, Any]],
    reason: FinishReason,
    usage: TokenUsage,
    metadata: Mapping[str, Any],
    notices: list[Notice],
    *,
    own: bool,
) -> dict[str, Any]:
    """Put a response together."""
    if reason is FinishReason.REFUSAL and not own and not any(_declines(item) for item in items):
        told = "a refusal without words of its own is written as 'content_filter'"
        notices.append(Notice("approximated", "finish_reason", told))
        reason = FinishReason.CONTENT_FILTER
    status, word = _ending(reason, metadata, notices, own=own)
    details = metadata.get("usage_details") or EMPTY
    return {
        **head,
        "status": status,
        "incomplete_details": None if word is None else {"reason": word},
        "output": items,
        "usage": encode_usage(usage, details if own else EMPTY, notices, is_own=own),
    }


def _declines(item: Mapping[str, Any]) -> bool:
    content = item.get("content")
    return isinstance(content, list) and any(part.get("type") == "refusal" for part in content)


def finished_items(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill in what the wire demands of items in an answer: an id and a status."""
    for item in items:
        if item.get("type") in {"function_call", "custom_tool_call"}:
            item.setdefault("id", made_id("fc", item.get("call_id")))
            item.setdefault("status", "completed")
        elif item.get("type") == MESSAGE:
            item.setdefault("status", "completed")
    return items


def encode_response(response: ChatResponse, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    """Write a response body."""
    metadata, message = response.metadata, response.message
    own = is_own(metadata, message.origin)
    writer = ItemWriter(profile, notices, for_input=False, seals=own)
    items = finished_items(writer.answer(message.parts, "message"))
    head = response_head(metadata, message.origin)
    return response_body(head, items, response.finish_reason, response.usage, metadata, notices, own=own)
