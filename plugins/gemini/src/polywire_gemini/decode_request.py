"""Request bodies of this wire as values: contents, the system instruction, tools and generation settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import TextContent
from polywire.errors import ProtocolError
from polywire.messages import Message, SystemMessage
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
from polywire_gemini.decode_contents import decode_contents, decode_parts
from polywire_gemini.parts import WIRE
from polywire_gemini.proto_json import object_at, objects_at, plain_schema

__all__ = ["decode_request"]

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
_DECLARATION = frozenset({"name", "description", "parameters", "parametersJsonSchema"})


def decode_request(payload: Mapping[str, Any]) -> tuple[ChatRequest, list[Notice]]:
    """
    Read a request body. The model's id is in the address on this wire; one in the body is taken too.

    Raises:
        ProtocolError: it is of another shape than the wire's; the error names the place.
    """
    payload = object_at(payload, "the body")
    notices: list[Notice] = []
    messages: list[Message] = []
    if contents := _instruction(payload.get("systemInstruction")):
        messages.append(SystemMessage(contents))
    messages += decode_contents(objects_at(payload.get("contents"), "contents"), notices)
    kept = {key: value for key, value in payload.items() if key not in _FIELDS}
    generation = dict(object_at(payload.get("generationConfig"), "generationConfig"))
    typed = {ours: generation.pop(theirs) for theirs, ours in _TYPED.items() if generation.get(theirs) is not None}
    wanted = _response_format(generation)
    thinking = object_at(generation.get("thinkingConfig"), "generationConfig.thinkingConfig")
    if not _is_open(thinking):
        generation.pop("thinkingConfig", None)
    if generation:
        kept["generationConfig"] = generation
    model = payload.get("model")
    parameters = ChatRequestParameters(
        model=str(model).removeprefix("models/") if model else None,
        tools=_tools(objects_at(payload.get("tools"), "tools")) or None,
        tool_choice=_choice(object_at(payload.get("toolConfig"), "toolConfig"), kept),
        response_format=wanted,
        reasoning=_reasoning(thinking),
        extras={WIRE: kept} if kept else {},
        **typed,
    )
    return ChatRequest(messages, parameters), notices


def _instruction(system: Any) -> list[Any]:
    if isinstance(system, str):
        return [TextContent(system)] if system else []
    parts = object_at(system, "systemInstruction").get("parts")
    return decode_parts(objects_at(parts, "systemInstruction.parts"), "systemInstruction.parts")


def _response_format(generation: dict[str, Any]) -> ResponseFormat | None:
    """Take the form of the answer out of the settings. One that is not JSON stays there, with its schema."""
    mime = generation.get("responseMimeType")
    if mime != "application/json":
        return None
    del generation["responseMimeType"]
    native = generation.pop("responseSchema", None)
    schema = generation.pop("responseJsonSchema", None) or (plain_schema(native) if native else None)
    return ResponseFormat("json") if schema is None else ResponseFormat("json_schema", schema)


def _is_open(config: Mapping[str, Any]) -> bool:
    """Whether the budget for thinking is -1: as much as the model likes. Only this wire has a word for that."""
    budget = config.get("thinkingBudget")
    return type(budget) is int and budget < 0


def _reasoning(config: Mapping[str, Any]) -> Reasoning | None:
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    reasoning = Reasoning(
        str(level).lower() if level and level != "THINKING_LEVEL_UNSPECIFIED" else None,  # type: ignore[arg-type]
        None if _is_open(config) else budget,
        config.get("includeThoughts"),
    )
    return reasoning if reasoning != Reasoning() else None


def _choice(config: Mapping[str, Any], kept: dict[str, Any]) -> ToolChoice | None:
    calling = object_at(config.get("functionCallingConfig"), "toolConfig.functionCallingConfig")
    mode = str(calling.get("mode", "")).upper()
    names = tuple(map(str, calling.get("allowedFunctionNames") or ()))
    rest = {key: value for key, value in config.items() if key != "functionCallingConfig"}
    # A word that only this wire knows goes back to it as it came.
    is_own = mode not in _MODES or (mode == "VALIDATED" and not names)
    if is_own and calling and mode not in {"", "MODE_UNSPECIFIED"}:
        rest["functionCallingConfig"] = calling
    if rest:
        kept["toolConfig"] = rest
    return None if is_own else ToolChoice(_MODES[mode], names)  # type: ignore[arg-type]


def _tools(tools: Sequence[Mapping[str, Any]]) -> tuple[ToolSpecification | OpaqueTool, ...]:
    found: list[ToolSpecification | OpaqueTool] = []
    for index, tool in enumerate(tools):
        where = f"tools[{index}].functionDeclarations"
        for place, declaration in enumerate(objects_at(tool.get("functionDeclarations"), where)):
            found.append(_declared(declaration, f"{where}[{place}]"))
        if others := {key: value for key, value in tool.items() if key != "functionDeclarations"}:
            found.append(OpaqueTool(WIRE, others))
    return tuple(found)


def _declared(declaration: Mapping[str, Any], where: str) -> ToolSpecification:
    name, own = declaration.get("name"), declaration.get("parameters")
    if not isinstance(name, str) or not name:
        msg = f"{where}: a function needs a name"
        raise ProtocolError(msg)
    schema = declaration.get("parametersJsonSchema") or (plain_schema(own) if own else _NO_ARGUMENTS)
    more = {key: value for key, value in declaration.items() if key not in _DECLARATION and value is not None}
    return ToolSpecification(name, declaration.get("description"), schema, extras={WIRE: more} if more else {})
