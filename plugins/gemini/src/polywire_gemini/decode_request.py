"""Request bodies of this wire as values: contents, the system instruction, tools and generation settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import Content, OpaqueContent, TextContent, ThinkingContent
from polywire.messages import (
    AiMessage,
    AiPart,
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
    ToolChoice,
    ToolSpecification,
)
from polywire.responses import Notice
from polywire.translation.calls import make_call
from polywire_gemini.parts import WIRE, decode_media

__all__ = ["decode_contents", "decode_request"]

_TYPED = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop_sequences",
    "seed": "seed",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
}
_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_FIELDS = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"}
_NO_ARGUMENTS = {"type": "object", "properties": {}}


def decode_request(payload: Mapping[str, Any]) -> tuple[ChatRequest, list[Notice]]:
    """Read a request body. The model's id is in the address on this wire; one in the body is taken too."""
    notices: list[Notice] = []
    messages: list[Message] = []
    system = payload.get("systemInstruction")
    if isinstance(system, Mapping) and (contents := _contents(system.get("parts") or ())):
        messages.append(SystemMessage(contents))
    messages += decode_contents(payload.get("contents") or (), notices)
    kept = {key: value for key, value in payload.items() if key not in _FIELDS}
    generation = dict(payload.get("generationConfig") or {})
    typed = {ours: generation.pop(theirs) for theirs, ours in _TYPED.items() if generation.get(theirs) is not None}
    mime = generation.pop("responseMimeType", None)
    schema = generation.pop("responseJsonSchema", None) or generation.pop("responseSchema", None)
    wanted = None
    if mime == "application/json":
        wanted = ResponseFormat("json") if schema is None else ResponseFormat("json_schema", _lowered_types(schema))
    elif mime is not None:
        generation["responseMimeType"] = mime
    thinking = generation.pop("thinkingConfig", None)
    if generation:
        kept["generationConfig"] = generation
    model = payload.get("model")
    parameters = ChatRequestParameters(
        model=str(model).removeprefix("models/") if model else None,
        tools=_tools(payload.get("tools") or ()) or None,
        tool_choice=_choice(payload.get("toolConfig"), kept),
        response_format=wanted,
        reasoning=_reasoning(thinking) if isinstance(thinking, Mapping) else None,
        extras={WIRE: kept} if kept else {},
        **typed,
    )
    return ChatRequest(messages, parameters), notices


def _reasoning(config: Mapping[str, Any]) -> Reasoning:
    level = config.get("thinkingLevel")
    return Reasoning(
        str(level).lower() if level else None,  # type: ignore[arg-type]
        config.get("thinkingBudget"),
        config.get("includeThoughts"),
    )


def _choice(config: Any, kept: dict[str, Any]) -> ToolChoice | None:
    if not isinstance(config, Mapping):
        return None
    calling = config.get("functionCallingConfig")
    rest = {key: value for key, value in config.items() if key != "functionCallingConfig"}
    if rest:
        kept["toolConfig"] = rest
    if not isinstance(calling, Mapping) or calling.get("mode") not in _MODES:
        return None
    return ToolChoice(_MODES[calling["mode"]], tuple(map(str, calling.get("allowedFunctionNames") or ())))  # type: ignore[arg-type]


def _tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolSpecification | OpaqueTool, ...]:
    found: list[ToolSpecification | OpaqueTool] = []
    for tool in tools:
        others = {key: value for key, value in tool.items() if key != "functionDeclarations"}
        for declaration in tool.get("functionDeclarations") or ():
            schema = declaration.get("parametersJsonSchema") or declaration.get("parameters") or _NO_ARGUMENTS
            found.append(
                ToolSpecification(declaration.get("name", ""), declaration.get("description"), _lowered_types(schema))
            )
        if others:
            found.append(OpaqueTool(WIRE, others))
    return tuple(found)


def _lowered_types(schema: Any) -> Any:
    """This wire's schemas write types in capitals; everyone else's in small letters."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lowered_types(value)
            for key, value in schema.items()
        }
    if isinstance(schema, (list, tuple)):
        return [_lowered_types(item) for item in schema]
    return schema


def _contents(parts: Sequence[Mapping[str, Any]]) -> list[Content]:
    contents: list[Content] = []
    for part in parts:
        side = {key: value for key, value in part.items() if key != "text"}
        if "text" in part:
            if part["text"]:
                contents.append(TextContent(part["text"], extras={WIRE: {"part": side}} if side else {}))
        elif (media := decode_media(part)) is not None:
            contents.append(media)
        else:
            contents.append(OpaqueContent(WIRE, part))
    return contents


def decode_contents(contents: Sequence[Mapping[str, Any]], notices: list[Notice]) -> list[Message]:
    """Read a list of contents. Results without an id answer the calls before them by name and order."""
    messages: list[Message] = []
    waiting: list[ToolCall] = []
    for position, content in enumerate(contents):
        where = f"messages[{position}]"
        parts = content.get("parts") or ()
        if content.get("role") == "model":
            message = AiMessage(_answer_parts(parts, position), Origin(WIRE))
            waiting = list(message.tool_calls)
            messages.append(message)
            continue
        texts: list[Mapping[str, Any]] = []
        for part in parts:
            if isinstance(part.get("functionResponse"), Mapping):
                messages.append(_result(part["functionResponse"], waiting, where))
            else:
                texts.append(part)
        if held := _contents(texts):
            messages.append(UserMessage(held))
        elif not parts:
            notices.append(Notice("dropped", where, "a content without parts is left out"))
    return messages


def _answer_parts(parts: Sequence[Mapping[str, Any]], position: int) -> list[AiPart]:
    read: list[AiPart] = []
    calls = 0
    for part in parts:
        side = {key: value for key, value in part.items() if key not in {"text", "thought", "functionCall"}}
        if isinstance(part.get("functionCall"), Mapping):
            function = part["functionCall"]
            own: dict[str, Any] = {"part": side} if side else {}
            if not function.get("id"):
                own["generated_id"] = True
            read.append(
                make_call(
                    function.get("name") or "unnamed",
                    function.get("args"),
                    id=function.get("id"),
                    seed=str(position),
                    index=calls,
                    source=WIRE,
                    extras={WIRE: own} if own else {},
                )
            )
            calls += 1
        elif "text" in part and part.get("thought"):
            signature = side.pop("thoughtSignature", None)
            read.append(ThinkingContent(part["text"] or "", signature, extras={WIRE: {"part": side}} if side else {}))
        elif "text" in part:
            read.append(TextContent(part["text"] or "", extras={WIRE: {"part": side}} if side else {}))
        elif (media := decode_media(part)) is not None:
            read.append(media)
        else:
            read.append(OpaqueContent(WIRE, part))
    return read


def _result(response: Mapping[str, Any], waiting: list[ToolCall], where: str) -> ToolResultMessage:
    name, call_id = response.get("name"), response.get("id")
    if not call_id:
        open_calls = [call for call in waiting if call.name == name] or waiting
        call_id = open_calls[0].id if open_calls else f"{where}.{name}"
    waiting[:] = [call for call in waiting if call.id != call_id]
    body = response.get("response") or {}
    contents: list[Content] = []
    error: ToolError | None = None
    failed = "error" in body
    if failed:
        text = body["error"] if isinstance(body["error"], str) else _text(body["error"])
        if "type" in body:
            error = ToolError(str(body["type"]), text, body.get("retryable"), body.get("metadata") or {})
    else:
        output = body.get("output", body.get("result", body))
        text = output if isinstance(output, str) else _text(output)
    if text:
        contents.append(TextContent(text))
    media = [decode_media(part) for part in response.get("parts") or ()]
    contents += [item for item in media if item is not None]
    return ToolResultMessage(call_id, name, contents, failed, error)


def _text(value: Any) -> str:
    from polywire import wire_json

    return wire_json.compact(value)
