"""An answer, written as the body that the Messages API would have sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polywire.contents import OpaqueContent, TextContent, ThinkingContent
from polywire.messages import AiPart, Origin, ToolCall
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.translation.calls import generate_call_id
from polywire.translation.finish import finish_reason
from polywire_anthropic.decode import WIRE
from polywire_anthropic.encode_blocks import Block, BlockWriter
from polywire_anthropic.metadata import METADATA_HEADERS
from polywire_anthropic.profiles import anthropic_profiles
from polywire_anthropic.usage import encode_usage

__all__ = [
    "STOP_REASONS",
    "AnswerWriter",
    "encode_response",
    "is_own",
    "message_head",
    "own_fields",
    "stop_fields",
    "usage_of",
]

STOP_REASONS: Mapping[FinishReason, str] = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALLS: "tool_use",
    FinishReason.CONTENT_FILTER: "refusal",
    FinishReason.REFUSAL: "refusal",
    FinishReason.PAUSE: "pause_turn",
    FinishReason.ERROR: "end_turn",
    FinishReason.OTHER: "end_turn",
}
"""The wire's word for each reason; `error` and `other` have none, and are told in a notice."""

_OWN_WORDS = frozenset(
    {
        "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal",
        "model_context_window_exceeded", "compaction",
    }
)  # fmt: skip

_HEADERS = frozenset(METADATA_HEADERS.values())
_NOT_FIELDS = _HEADERS | {"id", "type", "model", "raw_finish_reason", "stop_sequence", "usage_details"}
_ID = re.compile(r"[A-Za-z0-9_-]+")


class AnswerWriter:
    """
    Writes an answer's parts as blocks and gathers the notices.

    Args:
        is_own: whether the answer came from this wire, so that seals and fields of its own may go back out.
    """

    def __init__(self, notices: list[Notice], *, is_own: bool) -> None:
        self._writer = BlockWriter(anthropic_profiles().base.changed({"quirks": {"as_read": True}}), notices)
        self._ids: dict[str, int] = {}
        self.notices = notices
        self.is_own = is_own

    def call_id(self, call_id: str, where: str) -> str:
        """Return the id to write: unchanged where it fits the wire and is the only one of its kind in the answer."""
        count = self._ids.get(call_id, 0)
        self._ids[call_id] = count + 1
        if count == 0 and _ID.fullmatch(call_id):
            return call_id
        mapped = generate_call_id(call_id, count, "")
        message = f"the call id {call_id!r} does not fit this wire; written as {mapped!r}"
        self.notices.append(Notice("approximated", where, message))
        return mapped

    def part(self, part: AiPart, where: str) -> Block | None:
        """Write a whole part; `None` for what this wire has no block for, which is told."""
        if isinstance(part, TextContent):
            if not self.is_own and part.extras:
                part = TextContent(part.text)
            return self._writer.text(part, where)
        if isinstance(part, ToolCall):
            return {**self._writer.call(part), "id": self.call_id(part.id, where)}
        if isinstance(part, ThinkingContent):
            return self.thinking(part, where)
        if isinstance(part, OpaqueContent) and part.wire == WIRE:
            return dict(part.data)
        what = f"block of the wire {part.wire!r}" if isinstance(part, OpaqueContent) else part.kind
        self.notices.append(Notice("dropped", where, f"this wire's answers hold no {what}; it is left out"))
        return None

    def thinking(self, part: ThinkingContent, where: str) -> Block | None:
        """Write thinking. The wire demands a signature; thinking of another maker has an empty one."""
        if not self.is_own:
            if not part.text:
                if part.redacted or part.signature:
                    message = "sealed thinking of another wire is left out: no other can read it"
                    self.notices.append(Notice("dropped", where, message))
                return None
            return {"type": "thinking", "thinking": part.text, "signature": ""}
        if part.redacted is not None:
            return {"type": "redacted_thinking", "data": part.redacted, **part.extras.get(WIRE, {})}
        block = {"type": "thinking", "thinking": part.text, "signature": part.signature or ""}
        return {**block, **part.extras.get(WIRE, {})}


def is_own(metadata: Mapping[str, Any], origin: Origin | None) -> bool:
    """Whether an answer came from this wire."""
    return origin.wire == WIRE if origin is not None else metadata.get("type") == "message"


def encode_response(response: ChatResponse, notices: list[Notice]) -> dict[str, Any]:
    """Write a response body."""
    metadata = response.metadata
    own = is_own(metadata, response.message.origin)
    writer = AnswerWriter(notices, is_own=own)
    content = [
        block
        for index, part in enumerate(response.message.parts)
        if (block := writer.part(part, f"message.parts[{index}]")) is not None
    ]
    return {
        **message_head(metadata),
        "content": content,
        **stop_fields(response.finish_reason, metadata, notices, own=own),
        **(own_fields(metadata) if own else {}),
        "usage": usage_of(response.usage, metadata, notices, own=own),
    }


def message_head(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Write what identifies an answer; the wire demands an id and a model."""
    return {
        "id": str(metadata.get("id") or "msg_" + generate_call_id(repr(sorted(metadata.items())), 0, "")[5:]),
        "type": "message",
        "role": "assistant",
        "model": str(metadata.get("model") or "unknown"),
    }


def own_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further fields of an answer of this wire, which its metadata holds under their own names."""
    return {key: value for key, value in metadata.items() if key not in _NOT_FIELDS}


def stop_fields(
    reason: FinishReason, metadata: Mapping[str, Any], notices: list[Notice], *, own: bool
) -> dict[str, Any]:
    """Write why the answer ended, in the vendor's own word where that says the same."""
    raw, matched = metadata.get("raw_finish_reason"), metadata.get("stop_sequence")
    if isinstance(raw, str) and (raw in _OWN_WORDS or own) and finish_reason(raw) is reason:
        word = raw
    elif reason is FinishReason.STOP and isinstance(matched, str):
        word = "stop_sequence"
    else:
        word = STOP_REASONS[reason]
        if reason in {FinishReason.ERROR, FinishReason.OTHER}:
            message = f"this wire has no word for the finish reason {raw or reason.value!r}; written as {word!r}"
            notices.append(Notice("approximated", "finish_reason", message))
    return {"stop_reason": word, "stop_sequence": matched}


def usage_of(usage: TokenUsage, metadata: Mapping[str, Any], notices: list[Notice], *, own: bool) -> dict[str, Any]:
    """Write the usage, which the wire demands."""
    if usage.input_tokens is None or usage.output_tokens is None:
        message = "the wire demands token counts; unknown ones are written as 0"
        notices.append(Notice("information", "usage", message))
    return encode_usage(usage, metadata.get("usage_details") if own else None)
