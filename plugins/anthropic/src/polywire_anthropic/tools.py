"""Tools and the choice among them, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import CacheMark
from polywire.profiles import Profile
from polywire.requests import OpaqueTool, ToolChoice, ToolSpecification
from polywire.responses import Notice
from polywire.schemas import Lowered, lower_schema
from polywire_anthropic.cache_marks import cache_control
from polywire_anthropic.decode import WIRE, extras_of

__all__ = ["decode_tool_choice", "decode_tools", "encode_tool_choice", "encode_tools"]

_TOOL = frozenset({"type", "name", "description", "input_schema", "strict", "cache_control"})


def encode_tools(
    tools: Sequence[ToolSpecification | OpaqueTool], profile: Profile, notices: list[Notice]
) -> tuple[list[dict[str, Any]], dict[str, Lowered]]:
    """Write the tools, those of this wire alone as they came; and the schemas as they are sent, by name."""
    schemas: dict[str, Lowered] = {}
    return [
        dict(tool.data) if isinstance(tool, OpaqueTool) else _encode_tool(tool, profile, schemas, notices)
        for tool in tools
    ], schemas


def _encode_tool(
    tool: ToolSpecification, profile: Profile, schemas: dict[str, Lowered], notices: list[Notice]
) -> dict[str, Any]:
    written: dict[str, Any] = {"name": tool.name}
    if tool.description:
        written["description"] = tool.description
    dialect = profile.schema_dialect
    if tool.strict and profile.strict_schema_dialect is not None:
        dialect = profile.strict_schema_dialect
    lowered = lower_schema(tool.parameters, dialect, subject=f"tools.{tool.name}")
    notices.extend(lowered.notices)
    schemas[tool.name] = lowered
    written["input_schema"] = lowered.schema
    if tool.strict is not None:
        written["strict"] = tool.strict
    if tool.cache is not None:
        written["cache_control"] = cache_control(tool.cache)
    for key, value in tool.extras.get(WIRE, {}).items():
        written.setdefault(key, value)
    return written


def decode_tools(tools: Any) -> tuple[ToolSpecification | OpaqueTool, ...] | None:
    """
    Read the tools; one with a type of its own (a vendor's server tool) is kept as it came.

    Raises:
        ValueError: `tools` is no list, or one of them is no object.
    """
    if tools is None:
        return None
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        msg = f"tools must be a list, not {type(tools).__name__}"
        raise ValueError(msg)
    for index, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            msg = f"tools[{index}] must be an object, not {type(tool).__name__}"
            raise ValueError(msg)
    return tuple(_decode_tool(tool) for tool in tools)


def _decode_tool(tool: Mapping[str, Any]) -> ToolSpecification | OpaqueTool:
    name, schema = tool.get("name"), tool.get("input_schema")
    if tool.get("type") not in {None, "custom"} or not isinstance(name, str) or not name:
        return OpaqueTool(WIRE, tool)
    description, strict = tool.get("description"), tool.get("strict")
    control = tool.get("cache_control")
    try:
        return ToolSpecification(
            name,
            description if isinstance(description, str) else None,
            schema if isinstance(schema, Mapping) else {},
            strict if isinstance(strict, bool) else None,
            CacheMark(control.get("ttl")) if isinstance(control, Mapping) else None,
            extras_of(tool, _TOOL),
        )
    except ValueError:  # a schema whose root is no object: only this wire's own server can judge it
        return OpaqueTool(WIRE, tool)


def encode_tool_choice(
    choice: ToolChoice | None, parallel: bool | None, notices: list[Notice]
) -> dict[str, Any] | None:
    """
    Write the choice, with the parallel switch inside it.

    Switching parallel calls off needs a choice to stand in, so `auto`, the wire's default, is then written out.
    """
    if choice is None and parallel is not False:
        return None
    choice = choice or ToolChoice()
    if choice.mode == "none":
        return {"type": "none"}
    written: dict[str, Any]
    if choice.forced is not None:
        written = {"type": "tool", "name": choice.forced}
    else:
        written = {"type": "any" if choice.mode == "required" else "auto"}
        if choice.names:
            message = "this wire cannot narrow the choice to several tools; all of them are offered"
            notices.append(Notice("approximated", "tool_choice", message))
    if parallel is not None:
        written["disable_parallel_tool_use"] = not parallel
    return written


def decode_tool_choice(choice: Any) -> tuple[ToolChoice | None, bool | None]:
    """Read the choice and the parallel switch in it; an unknown form is `None`."""
    if not isinstance(choice, Mapping):
        return None, None
    disabled = choice.get("disable_parallel_tool_use")
    parallel = not disabled if isinstance(disabled, bool) else None
    match choice.get("type"):
        case "auto":
            return ToolChoice(), parallel
        case "any":
            return ToolChoice("required"), parallel
        case "tool" if isinstance(name := choice.get("name"), str) and name:
            return ToolChoice.tool(name), parallel
        case "none":
            return ToolChoice("none"), None
        case _:
            return None, None
