"""Answers written as this wire gives them, whole or as a stream: each chunk holds only what is new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polywire import wire_json
from polywire.contents import OpaqueContent, TextContent, ThinkingContent
from polywire.errors import ModelError
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEnd,
    UsageUpdate,
)
from polywire.messages import AiMessage, AiPart, Origin
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire_gemini.encode_messages import encode_answer_parts
from polywire_gemini.parts import WIRE
from polywire_gemini.profiles import PROFILES

__all__ = ["GeminiStreamEncoder", "answer_body"]

_REASONS = {
    FinishReason.STOP: "STOP",
    FinishReason.TOOL_CALLS: "STOP",
    FinishReason.LENGTH: "MAX_TOKENS",
    FinishReason.CONTENT_FILTER: "SAFETY",
    FinishReason.REFUSAL: "SAFETY",
}
_ANSWERS = replace(PROFILES.base, image_types=frozenset(), audio_types=frozenset(), max_media_bytes=None)
"""Media of an answer is for the caller: what a model takes does not bound it."""


def answer_body(response: ChatResponse, notices: list[Notice]) -> dict[str, Any]:
    """Write a whole answer."""
    origin = response.message.origin
    own = [kept for part in response.message.parts if (kept := _without_seals(part, origin, notices)) is not None]
    parts = encode_answer_parts(AiMessage(own, origin), _ANSWERS, "message", notices)
    return _body(parts, response.metadata, _reason(response.finish_reason, notices), response.usage)


def _reason(reason: FinishReason, notices: list[Notice]) -> str:
    word = _REASONS.get(reason, "OTHER")
    if reason in {FinishReason.PAUSE, FinishReason.ERROR}:
        told = f"this wire has no word for the finish reason {reason.value!r}; written as {word!r}"
        notices.append(Notice("approximated", "finish_reason", told))
    return word


def _without_seals(part: AiPart, origin: Origin | None, notices: list[Notice]) -> AiPart | None:
    """What another wire made for itself alone has no meaning here: its blocks are left out, its thinking loses the seal."""
    if isinstance(part, OpaqueContent):
        if part.wire == WIRE:
            return part
        notices.append(Notice("dropped", "message", f"a block made for the wire {part.wire!r} is left out"))
        return None
    foreign = origin is not None and origin.wire != WIRE
    if foreign and isinstance(part, ThinkingContent) and (part.signature is not None or part.redacted is not None):
        told = "the seal on thinking of another wire is left out: this wire has no place for it"
        notices.append(Notice("dropped", "message", told))
        return ThinkingContent(part.text) if part.redacted is None else None
    return part


def _body(parts: list[dict[str, Any]], metadata: Any, reason: str | None, usage: TokenUsage | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if reason is not None:
        candidate["finishReason"] = reason
    body: dict[str, Any] = {"candidates": [candidate]}
    if usage:
        body["usageMetadata"] = _counts(usage)
    named = {"modelVersion": metadata.get("model"), "responseId": metadata.get("id")}
    return body | {key: value for key, value in named.items() if value}


def _counts(usage: TokenUsage) -> dict[str, int]:
    thoughts = usage.reasoning_tokens or 0
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": None if usage.output_tokens is None else usage.output_tokens - thoughts,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return {key: value for key, value in counts.items() if value is not None}


class GeminiStreamEncoder:
    """Writes a stream; a call goes out whole, when it is complete."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._metadata: dict[str, Any] = {}
        self._usage = TokenUsage()
        self._reason = "OTHER"
        self._origin: Origin | None = None

    def feed(self, event: StreamEvent) -> bytes:
        match event:
            case ResponseStart():
                self._metadata |= event.metadata
                self._origin = event.origin or self._origin
            case TextDelta():
                return self._chunk([{"text": event.text}])
            case ThinkingDelta():
                return self._chunk([{"text": event.text, "thought": True}])
            case ToolCallEnd():
                return self._part(event.call)
            case PartEnd():
                return self._end(event.content)
            case UsageUpdate():
                self._usage = event.usage
            case NoticeAdded():
                self.notices.append(event.notice)
            case ResponseEnd():
                self._metadata |= event.metadata
                self._reason = _reason(event.finish_reason, self.notices)
            case _:
                pass
        return b""

    def _end(self, content: AiPart) -> bytes:
        # The text itself has gone out with its deltas; what is left is the seal, on an empty part of its own.
        if isinstance(content, TextContent):
            return self._part(TextContent("", extras=content.extras)) if content.extras else b""
        if isinstance(content, ThinkingContent):
            sealed = content.signature and content.redacted is None
            return self._part(ThinkingContent("", content.signature)) if sealed else b""
        return self._part(content)

    def _part(self, part: AiPart) -> bytes:
        kept = _without_seals(part, self._origin, self.notices)
        if kept is None or (isinstance(part, ThinkingContent) and kept is not part):
            return b""  # the text of thinking has gone out with its deltas
        parts = encode_answer_parts(AiMessage(part), _ANSWERS, "stream", self.notices)
        return self._chunk(parts) if parts else b""

    def _chunk(self, parts: list[dict[str, Any]], reason: str | None = None, usage: TokenUsage | None = None) -> bytes:
        return b"data: " + wire_json.encode(_body(parts, self._metadata, reason, usage)) + b"\n\n"

    def finish(self) -> bytes:
        return self._chunk([], self._reason, self._usage)

    def error(self, error: ModelError) -> bytes:
        body = {"error": {"code": error.status or 500, "message": error.message, "status": error.code or "INTERNAL"}}
        return b"data: " + wire_json.encode(body) + b"\n\n"
