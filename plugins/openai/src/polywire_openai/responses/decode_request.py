"""
A request body and a list of items, read into polywire's values.

Items of the model's that follow one another are one message; a result closes it. `instructions` are a system message
that goes back to where it stood. A field without a place in the values goes into the parameters' `extras`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polywire.contents import TextContent
from polywire.errors import BadRequest, ProtocolError
from polywire.immutable import EMPTY
from polywire.messages import AiMessage, AiPart, Message, Origin, SystemMessage, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Effort, Reasoning
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.translation.envelope import read_error_envelope
from polywire_openai.response_formats import decode_response_format
from polywire_openai.responses.contents import decode_contents
from polywire_openai.responses.encode_request import AS_READ, STATE
from polywire_openai.responses.fields import FUNCTION_CALL, MESSAGE, WIRE, extras_of
from polywire_openai.responses.items import parts_of_item
from polywire_openai.responses.tools import decode_tool_choice, decode_tools

__all__ = ["decode_items", "decode_request"]

_EFFORTS = frozenset(Effort.__args__)  # type: ignore[attr-defined]
_SAID = frozenset({"type", "role", "content", "status"})
_RESULT = frozenset({"type", "call_id", "output"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TYPED = frozenset(
    {
        "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature",
        "top_p", "text", "reasoning",
    }
)  # fmt: skip


class ItemReader:
    """Reads one list of items."""

    def __init__(self, notices: list[Notice]) -> None:
        self._notices = notices
        self._messages: list[Message] = []
        self._parts: list[AiPart] = []
        self._names: dict[str, str] = {}
        self._has_answer = False

    def read(self, items: Iterable[Any]) -> list[Message]:
        """
        Read the items.

        Raises:
            ProtocolError: one is of another shape than the wire's; the error names its place.
        """
        for position, item in enumerate(items):
            where = f"input[{position}]"
            if not isinstance(item, Mapping):
                msg = f"{where} must be an object, not {type(item).__name__}"
                raise ProtocolError(msg)
            self._item(item, position, where)
        self._close()
        return self._messages

    def _close(self) -> None:
        if self._has_answer:
            message = AiMessage(self._parts, Origin(WIRE))
            self._names.update({call.id: call.name for call in message.tool_calls})
            self._messages.append(message)
        self._parts, self._has_answer = [], False

    def _item(self, item: Mapping[str, Any], position: int, where: str) -> None:
        kind = item.get("type") or MESSAGE
        if kind == MESSAGE and item.get("role") != "assistant":
            self._close()
            self._said(item, where)
        elif kind in _OUTPUTS:
            self._close()
            self._result(item, where)
        else:
            if kind == FUNCTION_CALL and not (item.get("call_id") and item.get("name")):
                msg = f"{where}: a function_call needs a call_id and a name"
                raise ProtocolError(msg)
            self._has_answer = True
            self._parts += [part for _, part in parts_of_item(item, seed=where, index=position)]

    def _said(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        if role not in {"user", "system", "developer"}:
            msg = f"{where}: role must be 'user', 'system', 'developer' or 'assistant', not {role!r}"
            raise ProtocolError(msg)
        contents = decode_contents(item.get("content"), where)
        own = extras_of(item, _SAID)
        if not contents:
            self._notices.append(Notice("repaired", where, f"a {role} message that says nothing is left out"))
        elif role == "user":
            self._messages.append(UserMessage(contents, extras={WIRE: own} if own else EMPTY))
        else:
            self._messages.append(SystemMessage(contents, extras={WIRE: {**own, "role": role}}))

    def _result(self, item: Mapping[str, Any], where: str) -> None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id:
            msg = f"{where}: a {item['type']} needs the call_id of the call that it answers"
            raise ProtocolError(msg)
        own = extras_of(item, _RESULT)
        if own.get("status") == "completed":
            del own["status"]
        extras = {WIRE: own} if own else EMPTY
        contents = decode_contents(item.get("output"), where)
        name = self._names.get(call_id)
        first = contents[0] if contents else None
        failed = read_error_envelope(first.text) if isinstance(first, TextContent) else None
        if failed is not None:
            held = [TextContent(failed[0]), *contents[1:]]
            self._messages.append(ToolResultMessage(call_id, name, held, True, failed[1], extras=extras))
        else:
            self._messages.append(ToolResultMessage(call_id, name, contents, extras=extras))


def decode_items(items: Iterable[Any], notices: list[Notice]) -> list[Message]:
    """
    Read a list of items.

    Raises:
        ProtocolError: one is of another shape than the wire's; the error names its place.
    """
    return ItemReader(notices).read(items)


def decode_request(payload: Mapping[str, Any], notices: list[Notice]) -> ChatRequest:
    """
    Read a request body.

    Raises:
        BadRequest: it holds no input, or a field of another shape than the wire's.
    """
    if not isinstance(payload, Mapping):
        msg = f"a request body must be an object, not {type(payload).__name__}"
        raise BadRequest(msg)
    given = payload.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, Sequence):
        msg = "input: a request body needs a text or a list of items"
        raise BadRequest(msg)
    for key, kind, told in (
        ("instructions", str, "a text"),
        ("reasoning", Mapping, "an object"),
        ("text", Mapping, "an object"),
    ):
        if payload.get(key) is not None and not isinstance(payload[key], kind):
            msg = f"{key} must be {told}, not {type(payload[key]).__name__}"
            raise BadRequest(msg)
    try:
        messages = decode_items(items, notices)
    except ProtocolError as error:
        raise BadRequest(error.message) from None
    instructions = payload.get("instructions")
    if instructions:
        messages.insert(0, SystemMessage(instructions, extras={WIRE: {"instructions": True}}))
    if not messages:
        msg = "input: none of its items says anything"
        raise BadRequest(msg)
    return ChatRequest(messages, _parameters(payload, notices))


def _parameters(payload: Mapping[str, Any], notices: list[Notice]) -> ChatRequestParameters:
    kept = extras_of(payload, _TYPED)
    if not any(key in payload for key in STATE) and "store" not in kept:
        kept[AS_READ] = {"store": True}  # what the service does where nothing is said
    choice, text, reasoning = payload.get("tool_choice"), payload.get("text"), payload.get("reasoning")
    tool_choice = decode_tool_choice(choice)
    if choice is not None and tool_choice is None:
        kept["tool_choice"] = choice
        notices.append(Notice("information", "tool_choice", f"the choice {choice!r} is understood by this wire alone"))
    text, reasoning = text or {}, reasoning or {}
    effort = reasoning.get("effort")
    known: Any = effort if isinstance(effort, str) and effort in _EFFORTS else None
    rest = {key: value for key, value in reasoning.items() if value is not None and not (key == "effort" and known)}
    form = decode_response_format(text.get("format"), text.get("format"))
    if more := {key: value for key, value in text.items() if value is not None and not (key == "format" and form)}:
        kept["text"] = more
    if rest:
        kept["reasoning"] = rest
    told = Reasoning(known, None, True if rest.get("summary") is not None else None)
    try:
        return ChatRequestParameters(
            model=payload.get("model"),
            temperature=payload.get("temperature"),
            top_p=payload.get("top_p"),
            max_tokens=payload.get("max_output_tokens"),
            tools=decode_tools(payload.get("tools")),
            tool_choice=tool_choice,
            parallel_tool_calls=payload.get("parallel_tool_calls"),
            response_format=form,
            reasoning=None if told == Reasoning() else told,
            extras={WIRE: kept} if kept else EMPTY,
        )
    except (TypeError, ValueError) as error:
        msg = f"the request body does not read: {error}"
        raise BadRequest(msg) from error
