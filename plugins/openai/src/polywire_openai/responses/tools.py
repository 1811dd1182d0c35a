"""Tools and the choice among them, both ways: flat, unlike Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.profiles import Profile
from polywire.requests import OpaqueTool, ToolChoice, ToolSpecification
from polywire.responses import Notice
from polywire.schemas import Lowered, lower_schema
from polywire_openai.responses.fields import WIRE, extras_of, own_extras
from polywire_openai.tools import read_tools

__all__ = ["decode_tool_choice", "decode_tools", "encode_tool_choice", "encode_tools"]

_TOOL = frozenset({"type", "name", "description", "parameters", "strict"})


def encode_tools(
    tools: Sequence[ToolSpecification | OpaqueTool], profile: Profile, notices: list[Notice]
) -> tuple[list[dict[str, Any]], dict[str, Lowered]]:
    """Write the tools, those of this wire alone as they came; and the schemas that had to change, by name."""
    schemas: dict[str, Lowered] = {}
    written: list[dict[str, Any]] = []
    for tool in tools:
        if isinstance(tool, OpaqueTool):
            written.append(dict(tool.data))
            continue
        strict = tool.strict and profile.strict_schema_dialect
        lowered = lower_schema(
            tool.parameters,
            profile.strict_schema_dialect if strict and profile.strict_schema_dialect else profile.schema_dialect,
            subject=f"tools.{tool.name}",
        )
        notices.extend(lowered.notices)
        if lowered.schema is not tool.parameters:
            schemas[tool.name] = lowered
        item: dict[str, Any] = {"type": "function", "name": tool.name}
        if tool.description is not None:
            item["description"] = tool.description
        # Left out, the service would try the strict form first, and change the schema.
        item |= {"parameters": lowered.schema, "strict": bool(tool.strict)}
        if tool.cache is not None:
            notices.append(Notice("dropped", f"tools.{tool.name}", "this wire has no cache marks on tools"))
        for key, value in own_extras(tool.extras).items():
            item.setdefault(key, value)
        written.append(item)
    return written, schemas


def decode_tools(tools: Any) -> tuple[ToolSpecification | OpaqueTool, ...] | None:
    """Read the tools; one that is no function, or whose schema only its own server can judge, is kept as it came."""
    return read_tools(tools, _decode_tool, WIRE)


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpecification | OpaqueTool:
    name, description = tool.get("name"), tool.get("description")
    schema, strict = tool.get("parameters"), tool.get("strict")
    if tool.get("type") != "function" or not isinstance(name, str) or not name:
        return OpaqueTool(WIRE, tool)
    own = extras_of(tool, _TOOL)
    try:
        return ToolSpecification(
            name,
            description if isinstance(description, str) else None,
            schema if isinstance(schema, Mapping) else {},
            strict if isinstance(strict, bool) else None,
            extras={WIRE: own} if own else {},
        )
    except ValueError:
        return OpaqueTool(WIRE, tool)


def encode_tool_choice(choice: ToolChoice) -> Any:
    """Write the choice."""
    if choice.forced is not None:
        return {"type": "function", "name": choice.forced}
    if choice.names and choice.mode != "none":
        tools = [{"type": "function", "name": name} for name in choice.names]
        return {"type": "allowed_tools", "mode": choice.mode, "tools": tools}
    return choice.mode


def decode_tool_choice(choice: Any) -> ToolChoice | None:
    """Read the choice; one that only this wire understands is `None`."""
    match choice:
        case "auto" | "none" | "required":
            return ToolChoice(choice)
        case {"type": "function", "name": str(name)} if name:
            return ToolChoice.tool(name)
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": [*tools]}:
            named = [tool for tool in tools if isinstance(tool, Mapping) and tool.get("type") == "function"]
            names: Any = tuple(tool.get("name") for tool in named)
            if names and len(names) == len(tools) and all(isinstance(name, str) for name in names):
                return ToolChoice(mode, names)
    return None
