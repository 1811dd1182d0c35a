"""What a call will cost, before it is made: rather too much than too little, for the difference is given back."""

from __future__ import annotations

from polywire.contents import TextContent, ThinkingContent
from polywire.messages import AiMessage, CustomMessage, Message
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.survey import survey
from polywire.tool_calls import ToolCall

__all__ = ["EXPECTED_OUTPUT", "estimate_tokens"]

EXPECTED_OUTPUT = 1024
"""Output tokens reserved where neither the call nor the model sets `max_tokens`."""

_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 8
_TOKENS_PER_MEDIUM = 1500


def estimate_tokens(request: ChatRequest, defaults: ChatRequestParameters | None = None) -> int:
    """
    Guess what a call costs: a token for every 3 bytes of text, tools included, 1,500 for a medium, and `max_tokens`.

    Vendors' tokens are 3 to 4 bytes of common text. Where no `max_tokens` is set, `EXPECTED_OUTPUT` is reserved.
    """
    parameters = request.parameters
    size, media = _measured(request.messages)
    tools = parameters.tools if parameters.tools is not None or defaults is None else defaults.tools
    for tool in tools or ():
        size += _tool_size(tool)
    output = parameters.max_tokens
    if output is None and defaults is not None:
        output = defaults.max_tokens
    return (
        size // _BYTES_PER_TOKEN
        + media * _TOKENS_PER_MEDIUM
        + len(request.messages) * _TOKENS_PER_MESSAGE
        + (EXPECTED_OUTPUT if output is None else output)
    )


def _measured(messages: tuple[Message, ...]) -> tuple[int, int]:
    """Return the bytes of a history and the number of its media; only what was added to one that is known is measured."""
    found = survey(messages)
    count, size, media = found.measured
    if count < len(messages):
        for message in messages[count:]:
            if isinstance(message, CustomMessage):
                size += len(str(message.attributes))
                continue
            for part in message.parts if isinstance(message, AiMessage) else message.contents:
                if isinstance(part, (TextContent, ThinkingContent)):
                    size += _bytes(part.text)
                elif isinstance(part, ToolCall):
                    size += _bytes(part.arguments) + len(part.name)
                else:
                    media += 1
        found.measured = (len(messages), size, media)
    return size, media


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_sizes: dict[int, tuple[object, int]] = {}


def _tool_size(tool: object) -> int:
    """How long a tool is as text; the same few are measured over and over, so the answers are kept."""
    known = _sizes.get(id(tool))
    if known is not None and known[0] is tool:
        return known[1]
    size = len(str(tool))
    if len(_sizes) > 1000:
        _sizes.clear()
    _sizes[id(tool)] = (tool, size)
    return size
