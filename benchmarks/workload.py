"""The conversations that both sides send: the same words, as plain JSON and as polywire's values."""

from __future__ import annotations

import json
from typing import Any

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Search the archive.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        },
    }
]


MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}
"""A name that every library knows, for each wire: some work more for a name they have never heard of."""


def search(query: str) -> str:
    """Search the archive."""
    return f"Nothing of interest was found for {query!r}."


def openai_messages(count: int) -> list[dict[str, Any]]:
    """Two messages, or a history of `count` in which every other one calls a tool."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "What is a wire format?"},
    ]
    number = 0
    while len(messages) < count:
        arguments = f'{{"query":"page {number} of the archive, please"}}'
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "search", "arguments": arguments}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": f"Result {number}: nothing of interest was found.",
            }
        )
        number += 1
    return messages


def openai_to_anthropic(payload: dict[str, Any]) -> dict[str, Any]:
    """A request body of OpenAI's wire in Anthropic's terms: only what this workload holds."""
    system, messages = "", []
    for message in payload["messages"]:
        match message["role"]:
            case "system":
                system = message["content"]
            case "user":
                messages.append({"role": "user", "content": message["content"]})
            case "assistant":
                blocks = [
                    {
                        "type": "tool_use",
                        "id": call["id"],
                        "name": call["function"]["name"],
                        "input": json.loads(call["function"]["arguments"]),
                    }
                    for call in message["tool_calls"]
                ]
                messages.append({"role": "assistant", "content": blocks})
            case _:
                result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
                messages.append({"role": "user", "content": [result]})
    tools = [
        {
            "name": each["function"]["name"],
            "description": each["function"]["description"],
            "input_schema": each["function"]["parameters"],
        }
        for each in payload.get("tools", ())
    ]
    made = {"model": payload["model"], "max_tokens": payload["max_tokens"], "system": system, "messages": messages}
    return made | ({"tools": tools} if tools else {})


def values(count: int) -> tuple[Any, ...]:
    """The same conversation as messages of polywire's."""
    from polywire import AiMessage, SystemMessage, ToolCall, ToolResultMessage, UserMessage

    made: list[Any] = []
    for message in openai_messages(count):
        match message["role"]:
            case "system":
                made.append(SystemMessage(message["content"]))
            case "user":
                made.append(UserMessage(message["content"]))
            case "assistant":
                call = message["tool_calls"][0]
                made.append(AiMessage(ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])))
            case _:
                made.append(ToolResultMessage(message["tool_call_id"], "search", message["content"]))
    return tuple(made)


def tool_specifications() -> tuple[Any, ...]:
    """The same tools as specifications of polywire's."""
    from polywire import ToolSpecification

    return tuple(
        ToolSpecification(each["function"]["name"], each["function"]["description"], each["function"]["parameters"])  # type: ignore[index]
        for each in TOOLS
    )
