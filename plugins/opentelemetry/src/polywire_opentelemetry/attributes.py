"""
The names of the conventions that are used here, and the values that calls give them.

From the semantic conventions for generative AI (opentelemetry-semantic-conventions 0.66b2, `gen_ai`), whose Python
constants are still marked as incubating; so the names stand here.
"""

from __future__ import annotations

import json
from typing import Any

from polywire.embeddings import EmbeddingRequest
from polywire.errors import ModelError
from polywire.policy.observers import CallEnded
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, TokenUsage
from polywire.serialization import messages_to_json

__all__ = [
    "OPERATION",
    "PROVIDER",
    "REQUEST_MODEL",
    "answer_attributes",
    "content_of_answer",
    "error_type",
    "operation_of",
    "request_attributes",
    "usage_attributes",
]

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"

_REQUEST = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "max_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "stop_sequences": "gen_ai.request.stop_sequences",
}


def operation_of(request: Any) -> str:
    """Return the conventions' word for what is asked; pictures and speech are `generate_content`."""
    match request:
        case ChatRequest():
            return "chat"
        case EmbeddingRequest():
            return "embeddings"
        case _:
            return "generate_content"


def request_attributes(request: Any, *, streaming: bool, content: bool) -> dict[str, Any]:
    """Return what a request tells; the conversation only where `content` is asked for."""
    if not isinstance(request, ChatRequest):
        return {}
    found: dict[str, Any] = {
        theirs: value for ours, theirs in _REQUEST.items() if (value := getattr(request.parameters, ours)) is not None
    }
    if streaming:
        found["gen_ai.request.stream"] = True
    if content:
        found["gen_ai.input.messages"] = json.dumps(messages_to_json(request.messages), ensure_ascii=False)
    return found


def answer_attributes(event: CallEnded) -> dict[str, Any]:
    """Return what the answer tells of itself, plain or streamed."""
    found: dict[str, Any] = {}
    if event.finish_reason is not None and operation_of(event.call.request) == "chat":
        found["gen_ai.response.finish_reasons"] = [str(event.finish_reason)]
    for ours, theirs in (("id", "gen_ai.response.id"), ("model", "gen_ai.response.model")):
        if ours in event.metadata:
            found[theirs] = str(event.metadata[ours])
    return found


def content_of_answer(event: CallEnded) -> dict[str, Any]:
    """Return the answer itself; of a stream it is not kept."""
    if not isinstance(event.response, ChatResponse):
        return {}
    return {"gen_ai.output.messages": json.dumps(messages_to_json([event.response.message]), ensure_ascii=False)}


def usage_attributes(usage: TokenUsage) -> dict[str, int]:
    """Return what the call cost, as far as it is known."""
    counts = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def error_type(error: BaseException) -> str:
    """Return the low-cardinality word for an error: its kind, else its class."""
    return error.kind if isinstance(error, ModelError) else type(error).__qualname__
