"""What a conversion returns is the caller's: plain dicts and lists, down to the last one, that may be changed and dumped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from polywire import convert

WIRES = ("openai", "openai-responses", "anthropic", "gemini", "ollama", "mistral", "deepseek", "openrouter")
PLAIN = {dict, list, str, int, float, bool, type(None)}

SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}, "required": ["a"]}
REQUEST = {
    "model": "m",
    "stop": ["END"],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    "messages": [
        {"role": "system", "content": "S"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "q"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ],
        },
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":"x"}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ],
}
ANSWER = {
    "id": "a",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "x",
                "annotations": [{"type": "url_citation", "url_citation": {}}],
            },
            "logprobs": {"content": [{"token": "x", "logprob": -1, "top_logprobs": []}]},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 1,
        "total_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 0},
    },
}


def others(value: Any, place: str = "$") -> Iterator[str]:
    if type(value) not in PLAIN:
        yield f"{place}: {type(value).__name__}"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        yield from others(item, f"{place}.{key}")


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_a_converted_payload_is_plain_at_every_depth(source: str, target: str) -> None:
    for given, kind in ((REQUEST, "request"), (ANSWER, "response"), (REQUEST["messages"], "messages")):
        first = convert(given, source="openai", target=source, kind=kind).payload  # type: ignore[arg-type]
        payload = convert(first, source=source, target=target, kind=kind).payload  # type: ignore[arg-type]

        assert list(others(payload)) == []
        assert json.loads(json.dumps(payload)) == payload


RICH = {
    "openai": [
        {"role": "user", "content": [{"type": "text", "text": "q", "x": {"y": [1]}}], "z": {"a": []}},
        {"role": "assistant", "content": "x", "annotations": [{"type": "t"}], "audio": {"id": "a"}},
    ],
    "openai-responses": [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "E"},
        {"type": "shiny", "x": {"y": []}},
    ],
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "q", "cache_control": {"type": "ephemeral"}},
                {"type": "shiny", "x": {"y": []}},
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "q", "videoMetadata": {"fps": 1}}, {"shiny": {"x": []}}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "s", "partMetadata": {"a": {}}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"error": "e", "type": "t", "metadata": {"a": []}}}}
            ],
        },
    ],
    "ollama": [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": [{}]}}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": '{"ok":false,"error":{"type":"t","message":"m","retryable":null,"metadata":{"a":[{}]}}}',
        },
    ],
}


@pytest.mark.parametrize("source", RICH)
@pytest.mark.parametrize("target", RICH)
def test_what_a_message_holds_as_it_came_is_plain_too(source: str, target: str) -> None:
    key = {"openai-responses": "input", "gemini": "contents"}.get(source, "messages")
    given = RICH[source]

    for payload, kind in ((given, "messages"), ({"model": "m", "max_tokens": 5, key: given}, "request")):
        if kind == "request" and source in {"gemini", "openai-responses"}:
            del payload["max_tokens"]  # type: ignore[call-overload]
        assert list(others(convert(payload, source=source, target=target, kind=kind).payload)) == []  # type: ignore[arg-type]


def test_a_number_of_any_size_stays_as_it_is() -> None:
    given = {"model": "m", "messages": [{"role": "user", "content": "q"}], "metadata": {"n": 2**70}, "seed": 2**63}

    payload = convert(given, source="openai", target="openai").payload

    assert payload["metadata"] == {"n": 2**70}
    assert payload["seed"] == 2**63
    assert list(others(payload)) == []
