"""
The names of the conventions that are used here, and the values that calls give them.

From the semantic conventions for generative AI (opentelemetry-semantic-conventions 0.66b2, `gen_ai`), whose Python
constants are still marked as incubating; so the names stand here.
"""

from __future__ import annotations

import json
from typing import Any

from polywire.errors import ModelError
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire.serialization import messages_to_json

__all__ = ["OPERATION", "PROVIDER", "REQUEST_MODEL", "error_type", "request_attributes", "response_attributes"]

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


def request_attributes(request: ChatRequest, *, content: bool) -> dict[str, Any]:
    """Return what a request tells; the conversation only where `content` is asked for."""
    found = {
        theirs: value for ours, theirs in _REQUEST.items() if (value := getattr(request.parameters, ours)) is not None
    }
    if content:
        found["gen_ai.input.messages"] = json.dumps(messages_to_json(request.messages), ensure_ascii=False)
    return found


def response_attributes(response: ChatResponse, *, content: bool) -> dict[str, Any]:
    """Return what a response tells."""
    found: dict[str, Any] = {"gen_ai.response.finish_reasons": [str(response.finish_reason)]}
    if "id" in response.metadata:
        found["gen_ai.response.id"] = str(response.metadata["id"])
    if "model" in response.metadata:
        found["gen_ai.response.model"] = str(response.metadata["model"])
    if content:
        found["gen_ai.output.messages"] = json.dumps(messages_to_json([response.message]), ensure_ascii=False)
    return found


def error_type(error: BaseException) -> str:
    """Return the low-cardinality word for an error: its kind, else its class."""
    return error.kind if isinstance(error, ModelError) else type(error).__qualname__
