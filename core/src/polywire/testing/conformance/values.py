"""One example of every value that the core has, with a word in it that must not get lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polywire.contents import (
    AudioContent,
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.messages import (
    AiMessage,
    CustomMessage,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.requests import (
    ChatRequest,
    ChatRequestParameters,
    OpaqueTool,
    Reasoning,
    ResponseFormat,
    ToolSpecification,
)

__all__ = ["PNG", "SEARCH", "conversations", "parameters", "tool_turn"]

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 16
SEARCH = ToolSpecification(
    "search",
    "Search the archive.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)

_MEDIA: tuple[Content, ...] = (
    ImageContent(data=PNG),
    ImageContent(url="https://example.com/zebra.png"),
    ImageContent(file_id="file-zebra"),
    AudioContent(data=b"RIFF\x00\x00\x00\x00WAVEzebra"),
    VideoContent(data=b"\x00\x00\x00\x18ftypmp42zebra"),
    DocumentContent(data=b"%PDF-1.4 zebra", name="zebra.pdf"),
    DocumentContent(url="https://example.com/zebra.pdf"),
)


def tool_turn(*ids: str, name: str = "search") -> list[Message]:
    """An assistant turn with these calls, and their results."""
    calls = [ToolCall(call_id, name, {"query": f"zebra-{number}"}) for number, call_id in enumerate(ids)]
    return [
        AiMessage(calls),
        *(ToolResultMessage(call.id, name, f"found-{number}") for number, call in enumerate(calls)),
    ]


def conversations() -> Iterator[tuple[str, list[Message], tuple[str, ...]]]:
    """
    Every kind of message and content: a name, the conversation, and the words of it that must reach the body (or be
    told of in a notice, or be refused).
    """
    user = UserMessage("quagga")
    yield "a user's text", [user], ("quagga",)
    yield "several texts", [UserMessage(["okapi", "quagga"])], ("okapi", "quagga")
    yield "a system message", [SystemMessage("okapi"), user], ("okapi", "quagga")
    yield "a system message in mid-conversation", [user, AiMessage("gnu"), SystemMessage("okapi"), UserMessage("eland")], (
        "quagga", "gnu", "okapi", "eland",
    )  # fmt: skip
    yield "two system messages", [SystemMessage("okapi"), SystemMessage("eland"), user], ("okapi", "eland")
    yield "two user messages in a row", [user, UserMessage("okapi")], ("quagga", "okapi")
    yield "an assistant's text", [user, AiMessage("okapi"), UserMessage("eland")], ("okapi", "eland")
    yield "an assistant's text as the last message", [user, AiMessage("okapi")], ("okapi",)
    yield "a name on a message", [UserMessage("quagga", name="okapi")], ("quagga",)
    yield "letters beyond ASCII", [UserMessage("東京 \u2028 🦓")], ("🦓",)
    yield "a lone surrogate", [UserMessage("quagga \ud83d okapi")], ("quagga",)
    yield "a cache mark", [SystemMessage([TextContent("okapi", cache=CacheMark())]), user], ("okapi",)
    for media in _MEDIA:
        source = "data" if getattr(media, "data", None) else "url" if getattr(media, "url", None) else "file_id"
        yield f"{type(media).__name__} by {source}", [UserMessage(["quagga", media])], ("quagga",)
    yield "one call and its result", [user, *tool_turn("call_a1")], ("zebra-0", "found-0")
    yield "parallel calls and their results", [user, *tool_turn("call_a1", "call_b2", "call_c3")], (
        "zebra-0", "zebra-1", "zebra-2", "found-0", "found-1", "found-2",
    )  # fmt: skip
    yield "the same id in two turns", [user, *tool_turn("call_0"), *tool_turn("call_0")], ("found-0",)
    yield "an id of another provider", [user, *tool_turn("functions.search:0")], ("found-0",)
    yield "text beside calls", [user, AiMessage(["okapi", ToolCall("c1", "search", {"query": "gnu"})]), ToolResultMessage("c1", "search", "eland")], (
        "okapi", "gnu", "eland",
    )  # fmt: skip
    failed = ToolResultMessage("c1", "search", error=ToolError("timeout", "okapi", True, {"after": 3}))
    yield "a failed result", [user, AiMessage(ToolCall("c1", "search")), failed], ("okapi",)
    yield "an empty result", [user, AiMessage(ToolCall("c1", "search")), ToolResultMessage("c1", "search", "")], ()
    yield "a picture in a result", [user, AiMessage(ToolCall("c1", "search")), ToolResultMessage("c1", "search", ["okapi", ImageContent(data=PNG)])], ("okapi",)  # fmt: skip
    yield "arguments that are no JSON", [user, AiMessage(ToolCall("c1", "search", '{"query": "okap')), ToolResultMessage("c1", "search", "eland", True)], ("okap", "eland")  # fmt: skip
    yield "thinking of another wire", [user, AiMessage([ThinkingContent("okapi", "c2ln"), "eland"], Origin("elsewhere")), UserMessage("gnu")], ("eland", "gnu")  # fmt: skip
    yield "a block of another wire", [user, AiMessage(["eland", OpaqueContent("elsewhere", {"type": "okapi"})], Origin("elsewhere")), UserMessage("gnu")], ("eland", "gnu")  # fmt: skip
    yield "an empty answer", [user, AiMessage(""), UserMessage("gnu")], ("gnu",)
    yield "a custom message", [user, CustomMessage({"okapi": 1})], ("okapi",)


def parameters() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every typed parameter, one at a time: its name, and what to set."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    tools = {"tools": (SEARCH,)}
    yield "temperature", {"temperature": 0.25}
    yield "top_p", {"top_p": 0.75}
    yield "max_tokens", {"max_tokens": 321}
    yield "stop_sequences", {"stop_sequences": ("okapi",)}
    yield "seed", {"seed": 4242}
    yield "presence_penalty", {"presence_penalty": 0.5}
    yield "frequency_penalty", {"frequency_penalty": 0.5}
    yield "tools", tools
    yield "tool_choice", {**tools, "tool_choice": "required"}
    yield "tool_choice", {**tools, "tool_choice": "none"}
    yield "parallel_tool_calls", {**tools, "parallel_tool_calls": False}
    yield "response_format", {"response_format": ResponseFormat("json")}
    yield "response_format", {"response_format": ResponseFormat("json_schema", schema, "okapi")}
    yield "reasoning", {"reasoning": Reasoning("high")}
    yield "reasoning", {"reasoning": Reasoning(budget_tokens=2048)}
    yield "tools", {"tools": (OpaqueTool("elsewhere", {"type": "okapi"}),)}


def requests_of(messages: list[Message], **fields: Any) -> ChatRequest:
    """A request for a conversation, with the tool that its calls name."""
    if any(isinstance(message, AiMessage) and message.tool_calls for message in messages):
        fields.setdefault("tools", (SEARCH,))
    return ChatRequest(messages, ChatRequestParameters(**fields))
