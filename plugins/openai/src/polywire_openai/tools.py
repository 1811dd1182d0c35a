"""Tools and the choice among them, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polywire.profiles import Profile
from polywire.requests import OpaqueTool, ToolChoice, ToolSpecification
from polywire.responses import Notice
from polywire.schemas import Lowered, lower_schema
from polywire_openai.fields import WIRE, extras_of, own_extras

__all__ = ["decode_tool_choice", "decode_tools", "encode_tool_choice", "encode_tools", "read_tools"]

_TOOL = frozenset({"type", "function"})
_FUNCTION = frozenset({"name", "description", "parameters", "strict"})


def encode_tools(
    tools: Sequence[ToolSpecification | OpaqueTool], profile: Profile, notices: list[Notice]
) -> tuple[list[dict[str, Any]], dict[str, Lowered]]:
    """Write the tools, those of this wire alone as they came; and the schemas that had to change, by name."""
    schemas: dict[str, Lowered] = {}
    return [
        dict(tool.data) if isinstance(tool, OpaqueTool) else _encode_tool(tool, profile, schemas, notices)
        for tool in tools
    ], schemas


def _encode_tool(
    tool: ToolSpecification, profile: Profile, schemas: dict[str, Lowered], notices: list[Notice]
) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    dialect = profile.strict_schema_dialect if tool.strict and profile.strict_schema_dialect else profile.schema_dialect
    lowered = lower_schema(tool.parameters, dialect, subject=f"tools.{tool.name}")
    notices.extend(lowered.notices)
    if lowered.schema is not tool.parameters:
        schemas[tool.name] = lowered
    function["parameters"] = lowered.schema
    if tool.strict is not None:
        function["strict"] = tool.strict
    if tool.cache is not None:
        notices.append(Notice("dropped", f"tools.{tool.name}", "this wire has no cache marks on tools"))
    written: dict[str, Any] = {"type": "function", "function": function}
    own = own_extras(tool.extras)
    for key, value in own.items():
        if key == "function" and isinstance(value, Mapping):
            for name, item in value.items():
                function.setdefault(name, item)
        else:
            written.setdefault(key, value)
    return written


def decode_tools(tools: Any) -> tuple[ToolSpecification | OpaqueTool, ...] | None:
    """Read the tools; one that is no function, or whose schema only its own server can judge, is kept as it came."""
    return read_tools(tools, _decode_tool, WIRE)


def read_tools(
    tools: Any, read_one: Callable[[Mapping[str, Any]], ToolSpecification | OpaqueTool], wire: str
) -> tuple[ToolSpecification | OpaqueTool, ...] | None:
    """
    Read each tool by `read_one`; a second one of the same name is kept as it came.

    Raises:
        ValueError: `tools` is no list, or one of them is no object.
    """
    if tools is None:
        return None
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        msg = f"tools must be a list, not {type(tools).__name__}"
        raise ValueError(msg)
    names: set[str] = set()
    read: list[ToolSpecification | OpaqueTool] = []
    for index, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            msg = f"tools[{index}] must be an object, not {type(tool).__name__}"
            raise ValueError(msg)
        value = read_one(tool)
        if isinstance(value, ToolSpecification):
            if value.name in names:
                value = OpaqueTool(wire, tool)
            else:
                names.add(value.name)
        read.append(value)
    return tuple(read)


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpecification | OpaqueTool:
    function = tool.get("function")
    if function is None and isinstance(tool.get("name"), str):
        # Flat, as in the Responses API.
        function = {key: value for key, value in tool.items() if key != "type"}
        tool = {"type": tool.get("type", "function"), "function": function}
    if tool.get("type", "function") != "function" or not isinstance(function, Mapping):
        return OpaqueTool(WIRE, tool)
    name, description = function.get("name"), function.get("description")
    schema, strict = function.get("parameters"), function.get("strict")
    if not isinstance(name, str) or not name:
        return OpaqueTool(WIRE, tool)
    extras = dict(own_extras(extras_of(tool, _TOOL)))
    if within := own_extras(extras_of(function, _FUNCTION)):
        extras["function"] = within
    try:
        return ToolSpecification(
            name,
            description if isinstance(description, str) else None,
            schema if isinstance(schema, Mapping) else {},
            strict if isinstance(strict, bool) else None,
            extras={WIRE: extras} if extras else {},
        )
    except ValueError:
        return OpaqueTool(WIRE, tool)


def encode_tool_choice(choice: ToolChoice, profile: Profile) -> tuple[Any, frozenset[str] | None]:
    """
    Write the choice.

    Returns:
        the field's value, and the only tools that may be offered, where the choice can be kept in no other way.
    """
    forced = choice.forced
    narrow = "named" not in profile.tool_choices or profile.quirks.get("named_tool_choice") == "narrow"
    if forced is not None:
        if narrow:
            return choice.mode, frozenset({forced})
        return {"type": "function", "function": {"name": forced}}, None
    if choice.names and choice.mode != "none":
        if narrow or not profile.quirks.get("allowed_tools", True):
            return choice.mode, frozenset(choice.names)
        tools = [{"type": "function", "function": {"name": name}} for name in choice.names]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}, None
    return choice.mode, None


def decode_tool_choice(choice: Any) -> ToolChoice | None:
    """Read the choice, in this wire's forms and in those that compatible endpoints take; an unknown one is `None`."""
    match choice:
        case "auto" | "none" | "required":
            return ToolChoice(choice)
        case "any":
            return ToolChoice("required")
        case {"type": "function", "function": {"name": str(name)}} | {"type": "function", "name": str(name)} if name:
            return ToolChoice.tool(name)
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode, "tools": [*tools]}}:
            names = [_allowed_name(tool) for tool in tools]
            if names and all(names):
                return ToolChoice(mode, tuple(names))  # type: ignore[arg-type]
    return None


def _allowed_name(tool: Any) -> str | None:
    match tool:
        case {"type": "function", "function": {"name": str(name)}} if name:
            return name
    return None
