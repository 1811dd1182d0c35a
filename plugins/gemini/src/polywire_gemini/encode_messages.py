"""
A history as `systemInstruction` and `contents`.

A turn's results go into one content right after its calls, one `functionResponse` for each call, in call order. An id
is sent only where the model itself gave one. Signatures go back on the very part they came on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.contents import MediaContent, OpaqueContent, TextContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.envelope import result_text
from polywire_gemini.parts import WIRE, encode_content, encode_media, own_extras

__all__ = ["encode_answer_parts", "encode_messages", "in_turns"]

FIRST_USER_TEXT = "(The conversation begins with the assistant.)"


def encode_messages(
    messages: Sequence[Message], profile: Profile, notices: list[Notice]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """
    Write a prepared history: the system instruction, and the contents.

    All system messages go into the instruction, in order.

    Raises:
        UnsupportedByModel: a message holds something that the vendor cannot take.
    """
    system: list[dict[str, Any]] = []
    contents: list[dict[str, Any]] = []
    calls: dict[str, ToolCall] = {}
    results: dict[str, dict[str, Any]] = {}
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        if not isinstance(message, ToolResultMessage):
            _let_go(calls, results, contents)
        match message:
            case SystemMessage():
                if contents:
                    notices.append(
                        Notice("approximated", where, "instructions have one place here, before the conversation")
                    )
                system += _parts(message, profile, where)
            case UserMessage():
                if parts := _parts(message, profile, where):
                    contents.append({"role": "user", "parts": parts})
            case AiMessage():
                calls = {call.id: call for call in message.tool_calls}
                if parts := encode_answer_parts(message, profile, where, notices):
                    contents.append({"role": "model", "parts": parts})
            case ToolResultMessage():
                results[message.call_id] = _result(message, calls.get(message.call_id), profile, where)
            case CustomMessage():
                msg = f"{where}: this provider knows no custom messages"
                raise UnsupportedByModel(msg)
    _let_go(calls, results, contents)
    return ({"parts": system} if system else None), contents


def in_turns(contents: list[dict[str, Any]], notices: list[Notice]) -> list[dict[str, Any]]:
    """
    Return the contents of a request in turns that the vendor takes: calls come right after the user's or a result's turn.

    400, "Please ensure that function call turn comes immediately after a user turn or after a function response turn":
    github.com/google-gemini/gemini-cli/issues/11814.

    Raises:
        UnsupportedByModel: nothing is said.
    """
    if not contents:
        msg = "messages: this wire needs a message of the user's that says something"
        raise UnsupportedByModel(msg)
    turns: list[dict[str, Any]] = []
    for content in contents:
        if content["role"] == "model" and any("functionCall" in part for part in content["parts"]):
            if not turns:
                told = f"calls must follow the user; {FIRST_USER_TEXT!r} is put before them"
                notices.append(Notice("repaired", "messages[0]", told))
                turns.append({"role": "user", "parts": [{"text": FIRST_USER_TEXT}]})
            elif turns[-1]["role"] == "model":
                turns[-1] = {"role": "model", "parts": [*turns[-1]["parts"], *content["parts"]]}
                continue
        turns.append(content)
    return turns


def _parts(message: SystemMessage | UserMessage, profile: Profile, where: str) -> list[dict[str, Any]]:
    encoded = [
        encode_content(item, profile, f"{where}.contents[{index}]") for index, item in enumerate(message.contents)
    ]
    return [part for part in encoded if part is not None]


def _let_go(calls: dict[str, ToolCall], results: dict[str, dict[str, Any]], contents: list[dict[str, Any]]) -> None:
    if results:
        order = [call_id for call_id in calls if call_id in results]
        order += [call_id for call_id in results if call_id not in calls]
        contents.append({"role": "user", "parts": [results[call_id] for call_id in order]})
        results.clear()


def encode_answer_parts(
    message: AiMessage, profile: Profile, where: str, notices: list[Notice]
) -> list[dict[str, Any]]:
    """Write what the model said, part by part, each signature on its own part."""
    placeholder = profile.quirks.get("signature_placeholder")
    parts: list[dict[str, Any]] = []
    called = False
    for index, part in enumerate(message.parts):
        side = own_extras(part.extras) if not isinstance(part, OpaqueContent) else {}
        match part:
            case TextContent():
                if part.text or side:
                    parts.append({"text": part.text, **side})
            case ThinkingContent():
                if part.redacted is None:
                    seal = {"thoughtSignature": part.signature} if part.signature else {}
                    parts.append({"text": part.text, "thought": True, **seal, **side})
                else:
                    notices.append(Notice("dropped", where, "this wire has no place for encrypted thinking"))
            case ToolCall():
                function: dict[str, Any] = {"name": part.name, "args": _arguments(part)}
                if _gave_id(part):
                    function["id"] = part.id
                encoded = {"functionCall": function, **side}
                if placeholder and not called and "thoughtSignature" not in side:
                    encoded["thoughtSignature"] = placeholder
                    notices.append(
                        Notice(
                            "approximated",
                            where,
                            "a call that another model made carries the vendor's placeholder for a signature",
                        )
                    )
                called = True
                parts.append(encoded)
            case OpaqueContent():
                parts.append(dict(part.data))
            case MediaContent():
                parts += _said_media(part, profile, f"{where}.parts[{index}]", notices)
    return parts


def _said_media(part: MediaContent, profile: Profile, where: str, notices: list[Notice]) -> list[dict[str, Any]]:
    """Write what a model made; one that this model does not take must not end a conversation that another began."""
    try:
        return [encode_media(part, profile, where)]
    except UnsupportedByModel as error:
        notices.append(Notice("dropped", where, f"what a model made is left out ({error.message})"))
    return []


def _gave_id(call: ToolCall) -> bool:
    return call.source == WIRE and not call.extras.get(WIRE, {}).get("generated_id")


def _arguments(call: ToolCall) -> dict[str, Any]:
    arguments = wire_json.decode_arguments(call.arguments)
    return {"INVALID_JSON": call.arguments} if arguments is None else arguments


def _result(message: ToolResultMessage, call: ToolCall | None, profile: Profile, where: str) -> dict[str, Any]:
    name = message.tool_name or (call.name if call is not None else None)
    if name is None:
        msg = f"{where}: this wire links results by the tool's name, and the result {message.call_id!r} has none"
        raise UnsupportedByModel(msg)
    if message.is_error:
        response: dict[str, Any] = {
            "error": result_text(message) or (message.error.message if message.error else "the tool failed")
        }
        if message.error is not None:
            response["type"] = message.error.type
            if message.error.retryable is not None:
                response["retryable"] = message.error.retryable
            if message.error.metadata:
                # A copy: a converted payload is the caller's, and the value is read-only.
                response["metadata"] = wire_json.decode(wire_json.encode(message.error.metadata))
    else:
        response = {"output": result_text(message)}
    encoded: dict[str, Any] = {"name": name, "response": response}
    if call is not None and _gave_id(call):
        encoded["id"] = call.id
    parts = [
        encode_media(item, profile, f"{where}.contents[{index}]") if isinstance(item, MediaContent) else dict(item.data)
        for index, item in enumerate(message.contents)
        if isinstance(item, (MediaContent, OpaqueContent))
    ]
    if parts:
        encoded["parts"] = parts
    for key, value in message.extras.get(WIRE, {}).get("response", {}).items():
        encoded.setdefault(key, value)
    return {"functionResponse": encoded}
