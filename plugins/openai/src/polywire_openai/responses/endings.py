"""Why an answer ended: read off its status, its reason and what it holds."""

from __future__ import annotations

from collections.abc import Sequence

from polywire.contents import OpaqueContent, TextContent
from polywire.messages import AiPart, ToolCall
from polywire.responses import FinishReason
from polywire.translation.finish import settle_finish_reason
from polywire_openai.refusals import is_refusal
from polywire_openai.responses.fields import own_extras

__all__ = ["ending_of"]

_INCOMPLETE = {
    "max_output_tokens": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_STATUSES = {
    "completed": FinishReason.STOP,
    "queued": FinishReason.PAUSE,
    "in_progress": FinishReason.PAUSE,
}


def ending_of(status: str | None, reason: str | None, parts: Sequence[AiPart]) -> FinishReason:
    """Return why an answer of this status ended; `reason` is why it is incomplete, `parts` are what it holds."""
    if reason is not None:
        return _INCOMPLETE.get(reason, FinishReason.OTHER)
    ending = _STATUSES.get(status or "completed", FinishReason.OTHER)
    if ending is not FinishReason.STOP:
        return ending
    if any(type(part) is ToolCall for part in parts):
        return settle_finish_reason(FinishReason.STOP, has_calls=True)
    if any(type(part) is OpaqueContent and part.data.get("type") == "mcp_approval_request" for part in parts):
        return FinishReason.PAUSE
    last = next((part for part in reversed(parts) if type(part) is TextContent), None)
    if last is None:
        return FinishReason.STOP
    # A refusal is a part of the last message, whose parts share its id.
    identity = own_extras(last.extras).get("id")
    declined = is_refusal(last) or any(
        is_refusal(part) and identity is not None and own_extras(part.extras).get("id") == identity  # type: ignore[union-attr]
        for part in parts
    )
    return FinishReason.REFUSAL if declined else FinishReason.STOP
