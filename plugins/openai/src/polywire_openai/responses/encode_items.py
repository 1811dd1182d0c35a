"""
Messages, written as items.

The model's message becomes the items it was read from, in order: reasoning with its seal, messages with their id and
phase, calls, and every block of an unknown type as it came. A result is an item linked by `call_id`. A failed one, for
which this wire has no flag, is written as the error envelope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.messages import (
    AiMessage,
    AiPart,
    CustomMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.envelope import error_envelope
from polywire_openai.encode_messages import encode_arguments
from polywire_openai.refusals import is_refusal
from polywire_openai.responses.contents import encode_contents
from polywire_openai.responses.fields import CUSTOM_CALL, FUNCTION_CALL, MESSAGE, REASONING, WIRE, made_id, own_extras
from polywire_openai.responses.items import arguments_of, reasoning_id, summary_of

__all__ = ["ItemWriter", "encode_items"]

_AROUND = frozenset({"id", "phase", "status"})
_NOT_PART = _AROUND | {"refusal"}
_SYSTEM_ROLES = frozenset({"system", "developer"})


def encode_items(
    messages: Sequence[Message], profile: Profile, notices: list[Notice], *, stateless: bool = True
) -> list[dict[str, Any]]:
    """
    Write a history that has been made fit for the profile.

    Args:
        messages: the history.
        profile: the model's.
        notices: where what is changed is told.
        stateless: whether the service keeps nothing: reasoning without its seal then means nothing to it.

    Raises:
        UnsupportedByModel: a message holds what the model cannot be given and must not go without.
    """
    writer = ItemWriter(profile, notices, stateless=stateless)
    items: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        items += writer.message(message, f"messages[{index}]")
    writer.finish()
    return items


class ItemWriter:
    """
    Writes messages as items, for one profile, and gathers the notices.

    Args:
        profile: the model's.
        notices: where what is changed is told.
        stateless: whether the service keeps nothing.
        for_input: whether the items are for a request; else they are an answer's.
        seals: whether what seals thinking is this wire's own.
    """

    def __init__(
        self,
        profile: Profile,
        notices: list[Notice],
        *,
        stateless: bool = True,
        for_input: bool = True,
        seals: bool = True,
    ) -> None:
        self._seals = seals
        self._profile = profile
        self._notices = notices
        self._stateless = stateless
        self._for_input = for_input
        self._custom: set[str] = set()
        self._withheld = 0

    def finish(self) -> None:
        """Say what was left out of several messages, once."""
        if self._withheld:
            text = (
                f"{self._withheld} block(s) of thinking are left out: without a seal they mean nothing to a service that"
                " keeps no state"
            )
            self._notices.append(Notice("dropped", "messages", text))

    def message(self, message: Message, where: str) -> list[dict[str, Any]]:
        """
        Write one message.

        Raises:
            UnsupportedByModel: it holds what the model cannot be given and must not go without.
        """
        match message:
            case AiMessage():
                return self.answer(message.parts, where)
            case ToolResultMessage():
                return [self._result(message, where)]
            case UserMessage() | SystemMessage():
                return [self._said(message, where)]
            case CustomMessage():
                item = message.attributes.get("item")
                if message.attributes.get("wire") == WIRE and isinstance(item, Mapping):
                    return [dict(item)]
                msg = f"{where}: a custom message of {sorted(message.attributes)} means nothing on this wire"
                raise UnsupportedByModel(msg)

    def _said(self, message: UserMessage | SystemMessage, where: str) -> dict[str, Any]:
        own = own_extras(message.extras)
        role = "user"
        if isinstance(message, SystemMessage):
            role = own["role"] if own.get("role") in _SYSTEM_ROLES else self._profile.system_role
        if message.name is not None:
            self._notices.append(Notice("dropped", where, "this wire has no names of speakers"))
        content = encode_contents(message.contents, self._profile, self._notices, where)
        more = {key: value for key, value in own.items() if key not in {"role", "content", "instructions"}}
        return {"role": role, "content": content, **more}

    def _result(self, message: ToolResultMessage, where: str) -> dict[str, Any]:
        kind = "custom_tool_call_output" if message.call_id in self._custom else "function_call_output"
        output: Any
        if message.is_error:
            output = error_envelope(message)
            media = [item for item in message.contents if isinstance(item, MediaContent)]
            if media:
                output = encode_contents([TextContent(output), *media], self._profile, self._notices, where)
        else:
            output = encode_contents(message.contents, self._profile, self._notices, where) or ""
        own = own_extras(message.extras)
        return {
            **{key: value for key, value in own.items() if key not in {"type", "output"}},
            "type": kind,
            "call_id": message.call_id,
            "output": output,
        }

    def answer(self, parts: Sequence[AiPart], where: str) -> list[dict[str, Any]]:
        """Write the model's own message."""
        items: list[dict[str, Any]] = []
        withheld = self._withheld
        for index, part in enumerate(parts):
            match part:
                case TextContent():
                    self._text(part, items)
                case ThinkingContent():
                    self._think(part, items)
                case ToolCall():
                    items.append(self._call(part))
                case OpaqueContent() if part.wire == WIRE:
                    items.append(dict(part.data))
                case _:
                    text = f"this wire takes no {getattr(part, 'kind', 'media')} back in the model's own message"
                    self._notices.append(Notice("dropped", f"{where}.parts[{index}]", text))
            cache = getattr(part, "cache", None)
            if cache is not None:
                self._notices.append(
                    Notice("dropped", "cache", "this wire has no cache marks on the model's own words")
                )
        if self._withheld > withheld:
            # An item's id binds it to the reasoning that came before it, which is not there now.
            for item in items:
                if item.get("type") in {FUNCTION_CALL, CUSTOM_CALL}:
                    item.pop("id", None)
        if not items and self._for_input and not self._withheld:
            items.append({"role": "assistant", "content": ""})
        return items

    def _text(self, part: TextContent, items: list[dict[str, Any]]) -> None:
        own = own_extras(part.extras)
        around = {key: value for key, value in own.items() if key in _AROUND}
        more = {key: value for key, value in own.items() if key not in _NOT_PART}
        written: dict[str, Any]
        if is_refusal(part):
            written = {"type": "refusal", "refusal": part.text, **more}
        else:
            written = {"type": "output_text", "text": part.text, "annotations": [], **more}
        last = items[-1] if items else None
        if last is not None and last.get("type") == MESSAGE and last.get("id") == around.get("id") and "id" in around:
            last["content"].append(written)
            return
        if self._for_input and "id" not in around and not is_refusal(part) and not more:
            items.append({"role": "assistant", "content": part.text, **around})
            return
        identity = around.pop("id", None) or made_id("msg", len(items), part.text)
        head = {"type": MESSAGE, "id": identity, "role": "assistant", "status": "completed"}
        items.append({**head, "content": [written], **around})

    def _think(self, part: ThinkingContent, items: list[dict[str, Any]]) -> None:
        own = own_extras(part.extras)
        seal = part.redacted if part.redacted is not None else part.signature
        if seal is not None and not self._seals:
            text = "the seal on thinking of another wire is left out: this wire cannot read it"
            self._notices.append(Notice("dropped", "message", text))
            seal = None
            if not part.text:
                return
        if self._for_input and self._stateless and seal is None and "content" not in own:
            self._withheld += 1
            return
        item: dict[str, Any] = {
            "type": REASONING,
            "id": own.get("id") or reasoning_id(part.text, seal),
            "summary": list(own["summary"]) if "summary" in own else summary_of(part.text),
        }
        if seal is not None:
            item["encrypted_content"] = seal
        item.update({key: value for key, value in own.items() if key not in {"id", "summary"}})
        items.append(item)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        own = own_extras(call.extras)
        more = {key: value for key, value in own.items() if key != "type"}
        if own.get("type") == CUSTOM_CALL:
            self._custom.add(call.id)
            return {"type": CUSTOM_CALL, "call_id": call.id, "name": call.name, "input": arguments_of(call), **more}
        arguments = encode_arguments(call.arguments) if self._for_input else call.arguments
        if call.incomplete and not self._for_input:
            more["status"] = "incomplete"
        return {"type": FUNCTION_CALL, "call_id": call.id, "name": call.name, "arguments": arguments, **more}
