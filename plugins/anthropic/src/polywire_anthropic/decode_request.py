"""
A request body, or a message list, read into polywire's values.

A user turn that holds tool results becomes one `ToolResultMessage` each, before the `UserMessage` with the rest.
Nothing is lost: a field without a place in the values goes into `extras["anthropic"]`, of the parameters or of the
message, and so do those typed fields (`thinking`, `output_config`, sampling) whose exact form the values do not hold,
so that a conversion can put them back as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polywire.contents import Content, ThinkingContent
from polywire.errors import BadRequest, ProtocolError
from polywire.immutable import EMPTY
from polywire.messages import (
    AiMessage,
    AiPart,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from polywire.parameters import ChatRequestParameters, ResponseFormat
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire_anthropic.decode import (
    WIRE,
    blocks_of,
    decode_content,
    decode_contents,
    decode_part,
    decode_plain_part,
    extras_of,
)
from polywire_anthropic.encode_request import TYPED_FIELDS
from polywire_anthropic.thinking import decode_reasoning
from polywire_anthropic.tools import decode_tool_choice, decode_tools

__all__ = ["decode_messages", "decode_request"]

_MESSAGE = frozenset({"role", "content"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_KEPT_AS_READ = frozenset({"thinking", "output_config", "temperature", "top_p", "stream"})


def decode_request(payload: Mapping[str, Any], notices: list[Notice]) -> ChatRequest:
    """
    Read a request body.

    Raises:
        BadRequest: it holds no messages, or a field of another shape than the wire's.
    """
    if not isinstance(payload, Mapping):
        msg = f"a request body must be an object, not {type(payload).__name__}"
        raise BadRequest(msg)
    turns = payload.get("messages")
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        msg = "messages: a request body needs a list of messages"
        raise BadRequest(msg)
    try:
        messages: list[Message] = [*_system(payload.get("system")), *decode_messages(turns, notices)]
    except ProtocolError as error:
        raise BadRequest(error.message) from None
    if not messages:
        msg = "messages: none of them says anything"
        raise BadRequest(msg)
    return ChatRequest(messages, _parameters(payload, notices))


def _parameters(payload: Mapping[str, Any], notices: list[Notice]) -> ChatRequestParameters:
    extras = {
        key: value
        for key, value in payload.items()
        if (key not in TYPED_FIELDS or key in _KEPT_AS_READ) and value is not None
    }
    choice, parallel = decode_tool_choice(payload.get("tool_choice"))
    if choice is None and payload.get("tool_choice") is not None:
        notices.append(
            Notice("dropped", "tool_choice", f"an unknown tool_choice {payload['tool_choice']!r} is left out")
        )
    try:
        return ChatRequestParameters(
            model=payload.get("model"),
            temperature=payload.get("temperature"),
            top_p=payload.get("top_p"),
            max_tokens=payload.get("max_tokens"),
            stop_sequences=payload.get("stop_sequences"),
            tools=decode_tools(payload.get("tools")),
            tool_choice=choice,
            parallel_tool_calls=parallel,
            response_format=_response_format(payload.get("output_config")),
            reasoning=decode_reasoning(payload.get("thinking"), payload.get("output_config")),
            extras={WIRE: extras} if extras else EMPTY,
        )
    except (TypeError, ValueError) as error:
        msg = f"the request body does not read: {error}"
        raise BadRequest(msg) from error


def _response_format(output_config: Any) -> ResponseFormat | None:
    form = output_config.get("format") if isinstance(output_config, Mapping) else None
    if isinstance(form, Mapping) and form.get("type") == "json_schema" and isinstance(form.get("schema"), Mapping):
        return ResponseFormat("json_schema", form["schema"])
    return None


def _system(system: Any) -> list[Message]:
    contents = decode_contents(system, "system")
    return [SystemMessage(contents)] if contents else []


def decode_messages(turns: Iterable[Any], notices: list[Notice]) -> list[Message]:
    """
    Read a message list.

    Raises:
        ProtocolError: a message is of another shape than the wire's; the error names its place.
    """
    messages: list[Message] = []
    names: dict[str, str] = {}
    for position, turn in enumerate(turns):
        if type(turn) is dict and len(turn) == 2:
            known = _plain(turn, names, messages)
            if known is not None:
                names = known
                continue
        where = f"messages[{position}]"
        if not isinstance(turn, Mapping):
            msg = f"{where} must be an object, not {type(turn).__name__}"
            raise ProtocolError(msg)
        extras = extras_of(turn, _MESSAGE)
        match turn.get("role"):
            case "user":
                _user(turn.get("content"), where, names, extras, messages, notices)
            case "assistant":
                parts: list[AiPart] = []
                for index, block in enumerate(blocks_of(turn.get("content"), where)):
                    part = decode_part(block, index=index, seed=where)
                    if part is not None:
                        parts.append(part)
                names = {part.id: part.name for part in parts if type(part) is ToolCall}
                messages.append(AiMessage(parts, _origin(parts), extras=extras))
            case "system":
                contents = decode_contents(turn.get("content"), where)
                if contents:
                    own = {**extras.get(WIRE, {}), "in_place": True}
                    messages.append(SystemMessage(contents, extras={WIRE: own}))
            case role:
                msg = f"{where}: role {role!r} must be 'user', 'assistant' or 'system'"
                raise ProtocolError(msg)
    return messages


_OWN = Origin(WIRE)


def _plain(turn: dict[str, Any], names: dict[str, str], messages: list[Message]) -> dict[str, str] | None:
    """
    Read a turn of the usual shape: one text, or a list of calls or of results in text, with no further fields.

    Returns:
        the names of the calls by their ids, for the results that follow; `None` where the turn needs a closer look.
    """
    role, content = turn.get("role"), turn.get("content")
    if role == "assistant":
        if type(content) is str:
            if content:
                messages.append(AiMessage(content, _OWN))
                return {}
        elif type(content) is list and content:
            parts, calls = [], {}
            for block in content:
                part = decode_plain_part(block)
                if part is None:
                    return None
                if type(part) is ToolCall:
                    calls[part.id] = part.name
                parts.append(part)
            messages.append(AiMessage(parts, _OWN))
            return calls
    elif role == "user":
        if type(content) is str:
            if content:
                messages.append(UserMessage(content))
                return names
        elif type(content) is list and content:
            results = []
            for block in content:
                result = _plain_result(block, names)
                if result is None:
                    return None
                results.append(result)
            messages += results
            return names
    return None


def _plain_result(block: Any, names: Mapping[str, str]) -> ToolResultMessage | None:
    if type(block) is dict and len(block) == 3 and block.get("type") == "tool_result":
        call_id, held = block.get("tool_use_id"), block.get("content")
        if type(call_id) is str and call_id and type(held) is str and held:
            return ToolResultMessage(call_id, names.get(call_id), held)
    return None


def _origin(parts: Sequence[AiPart]) -> Origin | None:
    """
    Tell where an assistant's message comes from.

    Thinking that bears no seal was made elsewhere and only passed through this wire, which demands an empty one; it is
    bound to no wire.
    """
    thoughts = [part for part in parts if type(part) is ThinkingContent]
    if thoughts and not any(thought.signature or thought.redacted for thought in thoughts):
        return None
    return _OWN


def _user(
    content: Any,
    where: str,
    names: Mapping[str, str],
    extras: Mapping[str, Any],
    messages: list[Message],
    notices: list[Notice],
) -> None:
    if type(content) is str and content:
        messages.append(UserMessage(content, extras=extras))
        return
    said: list[Content] = []
    results = 0
    for block in blocks_of(content, where):
        if block.get("type") == "tool_result" and isinstance(call_id := block.get("tool_use_id"), str) and call_id:
            results += 1
            held = block.get("content")
            messages.append(
                ToolResultMessage(
                    call_id,
                    names.get(call_id),
                    held if type(held) is str and held else decode_contents(held, where),
                    block.get("is_error") is True,
                    extras=extras_of(block, _RESULT),
                )
            )
        elif (value := decode_content(block)) is not None:
            said.append(value)
    if said:
        messages.append(UserMessage(said, extras=extras))
    elif extras:
        notices.append(
            Notice("dropped", where, f"the fields {sorted(extras[WIRE])} of a message without text are left out")
        )
    if not said and not results:
        notices.append(Notice("repaired", where, "a user's message that says nothing is left out"))
