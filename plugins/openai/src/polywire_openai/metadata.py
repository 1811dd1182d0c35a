"""What an endpoint says about an answer beside the answer itself, the same for a body and for the chunks of a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.immutable import FrozenDict
from polywire_openai.fields import merged

__all__ = ["METADATA_HEADERS", "absorb_choice", "absorb_top"]

METADATA_HEADERS = FrozenDict(
    {
        # Where an endpoint has several ids for a call, the last one here counts.
        "x-ds-trace-id": "request_id",
        "msh-request-id": "request_id",
        "mistral-correlation-id": "request_id",
        "x-ms-request-id": "request_id",
        "apim-request-id": "request_id",
        "request-id": "request_id",
        "x-request-id": "request_id",
        "openai-processing-ms": "processing_ms",
        "openai-organization": "organization",
        "openai-project": "project",
        "openai-version": "api_version",
        "x-ratelimit-*": "rate_limits",
        "x-tokenlimit-*": "token_limits",
        "fireworks-*": "timings",
    }
)
"""The response headers that go into `ChatResponse.metadata`, and their names there."""

_NOT_METADATA = frozenset({"choices", "usage", "error", "obfuscation"})
_NOT_CHOICE = frozenset({"index", "delta", "message", "finish_reason", "usage", "text", "error"})


def absorb_top(metadata: dict[str, Any], payload: Mapping[str, Any]) -> None:
    """
    Take in what stands at the top of a body or chunk; the latest value counts.

    `object` is the metadata's `type`, without the `.chunk` by which a stream differs. Empty ids and names and a time of
    0, which some endpoints send before the real ones, say nothing.
    """
    for key, value in payload.items():
        if value is None or value == "" or key in _NOT_METADATA:
            continue
        if key == "object":
            if isinstance(value, str):
                metadata["type"] = value.removesuffix(".chunk")
        elif key == "created":
            if value:
                metadata[key] = value
        elif key == "x_groq" and isinstance(value, Mapping):
            if rest := {name: item for name, item in value.items() if name not in {"usage", "error"}}:
                metadata[key] = merged(metadata.get(key), rest)
        elif type(value) is dict:
            metadata[key] = merged(metadata.get(key), value)
        else:
            metadata[key] = value


def absorb_choice(metadata: dict[str, Any], choice: Mapping[str, Any]) -> bool:
    """
    Take in what stands in a choice: log probabilities, which add up, under `logprobs`; all else under `choice`.

    Returns:
        whether something added up, so that the same chunk again would not say the same.
    """
    if choice.keys() <= _NOT_CHOICE:
        return False
    added = False
    for key, value in choice.items():
        if value is None or key in _NOT_CHOICE:
            continue
        if key == "logprobs":
            added = True
            metadata[key] = _longer(metadata.get(key), value)
            continue
        metadata["choice"] = merged(metadata.get("choice") or {}, {key: value})
        if key == "stop_reason" and isinstance(value, str):
            metadata["stop_sequence"] = value
    return added


def _longer(old: Any, new: Any) -> Any:
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        grown = {**old}
        for key, value in new.items():
            if value is not None:
                grown[key] = _longer(old.get(key), value)
        return grown
    return new
