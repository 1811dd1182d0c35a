"""Why an answer ended, in the one language; the words are those that endpoints are known to use."""

from __future__ import annotations

from polywire.responses import FinishReason

__all__ = ["finish_reason", "settle_finish_reason"]

_WORDS = {
    FinishReason.STOP: (
        "stop",
        "eos",
        "eos_token",
        "end_turn",
        "stop_sequence",
        "complete",
        "completed",
        "finished",
        "end_of_turn",
    ),
    FinishReason.LENGTH: (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "max_length",
        "context_length",
    ),
    FinishReason.TOOL_CALLS: ("tool_calls", "tool_use", "function_call", "tool_call"),
    FinishReason.CONTENT_FILTER: (
        "content_filter",
        "content_filtered",
        "safety",
        "sensitive",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "image_prohibited_content",
        "image_recitation",
        "model_armor",
        "guardrail_intervened",
    ),
    FinishReason.REFUSAL: ("refusal",),
    FinishReason.PAUSE: ("pause_turn", "compaction", "continuation"),
    FinishReason.ERROR: (
        "error",
        "network_error",
        "insufficient_system_resource",
        "malformed_function_call",
        "unexpected_tool_call",
        "too_many_tool_calls",
        "missing_thought_signature",
        "malformed_response",
        "malformed_model_output",
        "malformed_tool_use",
    ),
}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in words}


def finish_reason(word: object) -> FinishReason | None:
    """
    Read an endpoint's word, whatever its case. No word, or an empty one, means that the answer has not ended: `None`.

    A word that is not known is `other`, never a clean `stop`; keep the word itself in `metadata["raw_finish_reason"]`.
    """
    if word is None or word == "":
        return None
    return _REASONS.get(str(word).strip().lower(), FinishReason.OTHER)


def settle_finish_reason(reason: FinishReason | None, *, has_calls: bool) -> FinishReason:
    """
    Settle what an ended answer's reason is.

    Several endpoints say `stop` beside tool calls, so the calls decide. No reason at all is `other`, and so is the
    announcement of calls that are not there.
    """
    if reason is None:
        return FinishReason.TOOL_CALLS if has_calls else FinishReason.OTHER
    if reason is FinishReason.STOP and has_calls:
        return FinishReason.TOOL_CALLS
    if reason is FinishReason.TOOL_CALLS and not has_calls:
        return FinishReason.OTHER
    return reason
