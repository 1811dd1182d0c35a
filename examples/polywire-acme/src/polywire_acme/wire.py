"""
Acme's words for polywire's values, in both directions.

A request is `{"model", "messages": [{"from", "blocks"}], "tools", "use_tools", …}`. A block holds one member, whose name is
its kind: `{"text": "…"}`, `{"thought": "…"}`, `{"image": {"type", "data"}}`, `{"call": {"id", "name", "arguments"}}`. An
answer is `{"id", "model", "blocks", "ended", "tokens"}`. A stream has the events `start`, `text`, `thought`, `call`,
`arguments`, `block` and, at last, `end`; each tells the place of its block (`at`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polywire.contents import Content, ImageContent, MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import ProtocolError, UnsupportedByModel
from polywire.events import (
    PartEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from polywire.messages import AiMessage, AiPart, CustomMessage, Message, SystemMessage, ToolCall, ToolResultMessage
from polywire.profiles import Profile
from polywire.requests import ChatRequestParameters, ToolChoice, ToolSpecification
from polywire.responses import FinishReason, Notice, TokenUsage
from polywire.translation.calls import make_call
from polywire.translation.finish import finish_reason
from polywire.translation.media import source_of
from polywire.translation.names import NameMap

__all__ = [
    "ERROR_KINDS",
    "PATH",
    "WIRE",
    "StreamReader",
    "encode_messages",
    "encode_parameters",
    "read_finish_reason",
    "read_metadata",
    "read_parts",
    "read_usage",
]

WIRE = "acme"
PATH = "v1/answers"
"""Where requests go, below the base URL."""

ERROR_KINDS: Mapping[str, str] = {"too_many_turns": "bad_request", "out_of_credit": "quota", "busy": "overloaded"}
"""Acme's own words for errors; others are words that many vendors share."""

_ENDINGS = {"done": "stop", "limit": "length", "calls": "tool_calls", "filtered": "content_filter"}
_CHOICES = {"auto": "may", "required": "must", "none": "never"}
_SPEAKERS = {"system": "instructions", "user": "user", "assistant": "model"}


def encode_parameters(parameters: ChatRequestParameters, notices: list[Notice]) -> dict[str, Any]:
    """Write the parameters, the tools and the choice among them: the body without its messages."""
    fields = {
        "model": parameters.model,
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "max_tokens": parameters.max_tokens,
        "stop": list(parameters.stop_sequences) if parameters.stop_sequences else None,
        "seed": parameters.seed,
        "tools": [_tool(tool) for tool in parameters.tools] if parameters.tools else None,
        "use_tools": _choice(parameters.tool_choice) if parameters.tool_choice else None,
    }
    notices += [
        Notice("dropped", name, f"this wire has no place for {name}")
        for name in ("reasoning", "response_format")
        if getattr(parameters, name) is not None
    ]
    return {name: value for name, value in fields.items() if value is not None}


def _tool(tool: Any) -> dict[str, Any]:
    if not isinstance(tool, ToolSpecification):
        return dict(tool.data)
    return {"name": tool.name, "about": tool.description or "", "input": tool.parameters}


def _choice(choice: ToolChoice) -> str | dict[str, str]:
    return {"name": choice.forced} if choice.forced else _CHOICES[choice.mode]


def encode_messages(messages: Sequence[Message], profile: Profile, notices: list[Notice]) -> list[dict[str, Any]]:
    """
    Write the history.

    Raises:
        UnsupportedByModel: a message holds something that Acme does not take.
    """
    return [_message(message, f"messages[{place}]", profile, notices) for place, message in enumerate(messages)]


def _message(message: Message, where: str, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    if isinstance(message, CustomMessage):
        msg = f"{where}: this provider knows no custom messages"
        raise UnsupportedByModel(msg)
    if isinstance(message, ToolResultMessage):
        words = message.text or (message.error.message if message.error else "")
        return {"from": "tool", "call_id": message.call_id, "output": words, "failed": message.is_error}
    parts = message.parts if isinstance(message, AiMessage) else message.contents
    blocks = [_block(part, f"{where}[{place}]", profile, notices) for place, part in enumerate(parts)]
    if not isinstance(message, (AiMessage, SystemMessage)) and message.name is not None:
        notices.append(Notice("dropped", f"{where}.name", "this wire has no names of users"))
    return {"from": _SPEAKERS[message.role], "blocks": blocks}


def _block(part: Content | AiPart, where: str, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    match part:
        case TextContent():
            if part.cache is not None:
                notices.append(Notice("dropped", f"{where}.cache", "this wire has no cache marks"))
            return {"text": part.text}
        case ThinkingContent():
            return {"thought": part.text}
        case ToolCall():
            return {"call": {"id": part.id, "name": part.name, "arguments": part.arguments}}
        case OpaqueContent():
            return dict(part.data)
        case ImageContent():
            source_of(part, profile, where)
            return {"image": {"type": part.media_type, "data": part.base64}}
        case MediaContent():
            source_of(part, profile, where)
    msg = f"{where}: this wire has no place for {part.kind}"
    raise UnsupportedByModel(msg)


def read_parts(body: Mapping[str, Any], names: NameMap, *, cut: bool) -> list[AiPart]:
    """
    Read the parts of a whole answer, in order.

    Raises:
        ProtocolError: it has no blocks.
    """
    blocks = body.get("blocks")
    if not isinstance(blocks, list):
        msg = "the answer has no blocks"
        raise ProtocolError(msg)
    return [_read_block(block, index, names, cut=cut) for index, block in enumerate(blocks)]


def _read_block(block: Any, index: int, names: NameMap, *, cut: bool) -> AiPart:
    match block:
        case {"text": str(text)}:
            return TextContent(text)
        case {"thought": str(text)}:
            return ThinkingContent(text)
        case {"call": {"id": str(id), "name": str(name), "arguments": str(arguments)}}:
            return make_call(names.from_wire(name), arguments, id=id, index=index, source=WIRE, cut=cut)
        case dict():
            return OpaqueContent(WIRE, block)
        case _:
            msg = f"blocks[{index}] is no object"
            raise ProtocolError(msg)


def read_finish_reason(body: Mapping[str, Any]) -> FinishReason | None:
    """Read why the answer ended."""
    word = body.get("ended")
    return finish_reason(_ENDINGS.get(str(word), word))


def read_usage(body: Mapping[str, Any]) -> TokenUsage:
    """Read what the call cost; cached tokens are a part of `in`."""
    tokens = body.get("tokens")
    if not isinstance(tokens, Mapping):
        return TokenUsage()
    return TokenUsage(tokens.get("in"), tokens.get("out"), cached_tokens=tokens.get("cached"))


def read_metadata(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read what else the answer says of itself."""
    found = {"id": body.get("id"), "model": body.get("model"), "raw_finish_reason": body.get("ended")}
    return {key: value for key, value in found.items() if value is not None}


class StreamReader:
    """
    Reads the vendor's stream events; one for each stream.

    Attributes:
        ended: set it when the end mark was read; nothing after it is read.
        reason: set it when the finish reason was read.
        metadata: of the answer, as `read_metadata` has it.
    """

    def __init__(self, names: NameMap) -> None:
        self.ended = False
        self.reason: FinishReason | None = None
        self.metadata: dict[str, Any] = {}
        self._names = names
        self._calls: dict[int, tuple[str, str, list[str]]] = {}

    def read(self, event: str | None, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Yield what one event says."""
        part = body.get("at", 0)
        match event:
            case "start":
                self.metadata.update(read_metadata(body))
            case "text" if body.get("text"):
                yield TextDelta(body["text"], part)
            case "thought" if body.get("text"):
                yield ThinkingDelta(body["text"], part)
            case "call":
                yield from self.start_call(part, body["id"], body["name"])
            case "arguments":
                yield from self.grow_call(part, body["text"])
            case "block":
                yield PartEnd(_read_block(body.get("block"), part, self._names, cut=False), part)
            case "end":
                self.ended = True
                self.reason = read_finish_reason(body)
                self.metadata.update(read_metadata(body))
                yield UsageUpdate(read_usage(body))

    def start_call(self, part: int, id: str, name: str) -> Iterator[StreamEvent]:
        """Begin a call: `yield from` it."""
        name = self._names.from_wire(name)
        self._calls[part] = (id, name, [])
        yield ToolCallStart(id, name, part)

    def grow_call(self, part: int, arguments: str) -> Iterator[StreamEvent]:
        """Add to a call's arguments: `yield from` it."""
        if arguments:
            self._calls[part][2].append(arguments)
            yield ToolCallDelta(arguments, part)

    def close_calls(self, *, cut: bool) -> list[StreamEvent]:
        """End every call: the answer is over."""
        return [
            ToolCallEnd(make_call(name, "".join(pieces), id=call_id, index=part, source=WIRE, cut=cut), part)
            for part, (call_id, name, pieces) in self._calls.items()
        ]
