"""What a profile takes of the parameters; the rest is removed or brought near, and never in silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from polywire.errors import BadRequest, UnsupportedByModel, did_you_mean
from polywire.profiles import Profile
from polywire.requests import (
    ChatRequestParameters,
    Effort,
    OpaqueTool,
    Reasoning,
    ToolChoice,
    ToolSpecification,
)
from polywire.responses import Notice
from polywire.translation.names import NameMap

__all__ = ["asked_to_stream", "fit_parameters", "nearest_effort"]

_EFFORTS: tuple[str, ...] = get_args(Effort)
_SAMPLING = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")


def fit_parameters(
    parameters: ChatRequestParameters, profile: Profile, wire: str, names: NameMap
) -> tuple[ChatRequestParameters, list[Notice]]:
    """
    Return the parameters as this profile takes them, tool names already mapped, and what was changed.

    Raises:
        UnsupportedByModel: more stop sequences than the endpoint takes: to drop some would change the answer.
    """
    notices: list[Notice] = []
    changes: dict[str, Any] = {}
    for other, fields in parameters.extras.items():
        # What was asked "as read" is said in the values too, and whether to stream is the caller's to say.
        names_told = sorted(fields.keys() - {"as_read", "stream"}) if other != wire and isinstance(fields, dict) else ()
        if names_told:
            what = ", ".join(names_told)
            notices.append(
                Notice("dropped", "extras", f"fields that only the wire {other!r} knows are left out: {what}")
            )
    for name in _SAMPLING:
        if getattr(parameters, name) is not None and name not in profile.sampling:
            changes[name] = None
            notices.append(Notice("dropped", name, f"this model takes no {name}"))
    _fit_stop_sequences(parameters, profile, changes, notices)
    _fit_tools(parameters, profile, wire, names, changes, notices)
    if (
        parameters.reasoning is not None
        and parameters.reasoning.effort is not None
        and profile.efforts
        and parameters.reasoning.effort not in profile.efforts
    ):
        effort = nearest_effort(parameters.reasoning.effort, profile.efforts)
        changes["reasoning"] = Reasoning(effort, parameters.reasoning.budget_tokens, parameters.reasoning.visible)  # type: ignore[arg-type]
        notices.append(
            Notice(
                "approximated",
                "reasoning",
                f"this model knows no effort {parameters.reasoning.effort!r}; the nearest is {effort!r}",
            )
        )
    return (replace(parameters, **changes) if changes else parameters), notices


def _fit_stop_sequences(
    parameters: ChatRequestParameters, profile: Profile, changes: dict[str, Any], notices: list[Notice]
) -> None:
    stops = parameters.stop_sequences
    if not stops:
        if stops is not None:
            changes["stop_sequences"] = None
        return
    if "stop_sequences" not in profile.sampling:
        changes["stop_sequences"] = None
        notices.append(Notice("dropped", "stop_sequences", "this model takes no stop sequences"))
        return
    if not profile.blank_stop_sequences:
        kept = tuple(stop for stop in stops if stop.strip())
        if kept != stops:
            changes["stop_sequences"] = kept or None
            notices.append(Notice("dropped", "stop_sequences", "this wire takes no stop sequence of white space alone"))
            stops = kept
    if profile.stop_limit is not None and len(stops) > profile.stop_limit:
        msg = f"stop_sequences: {len(stops)} given, and this endpoint takes at most {profile.stop_limit}"
        raise UnsupportedByModel(msg)


def _fit_tools(
    parameters: ChatRequestParameters,
    profile: Profile,
    wire: str,
    names: NameMap,
    changes: dict[str, Any],
    notices: list[Notice],
) -> None:
    tools: list[ToolSpecification | OpaqueTool] = []
    changed = False
    for tool in parameters.tools or ():
        if isinstance(tool, OpaqueTool):
            if tool.wire == wire:
                tools.append(tool)
            else:
                changed = True
                told = f"the tool {_name_of(tool)!r} has a form that only the wire {tool.wire!r} knows, and is left out"
                notices.append(Notice("dropped", "tools", told))
            continue
        fitted = _fit_tool(tool, profile, wire, names, notices)
        changed = changed or fitted is not tool
        tools.append(fitted)
    if changed or (parameters.tools is not None and not parameters.tools):
        changes["tools"] = tuple(tools) or None
    choice = parameters.tool_choice
    if not tools:
        if choice is not None:
            changes["tool_choice"] = None
            if choice.mode == "required":
                notices.append(Notice("dropped", "tool_choice", "there are no tools to choose from"))
        if parameters.parallel_tool_calls is not None:
            changes["parallel_tool_calls"] = None
        return
    if choice is not None and choice.names:
        offered = [str(_name_of(tool)) if isinstance(tool, OpaqueTool) else tool.name for tool in tools]
        for name in choice.names:
            if names.to_wire(name) not in offered:
                own = [names.from_wire(each) for each in offered]
                msg = f"tool_choice: no tool {name!r} is offered{did_you_mean(name, own)}"
                raise BadRequest(msg)
    if choice is not None and choice.mode == "none" and "none" not in profile.tool_choices:
        # A switch that is not there, or is ignored: what is not offered is not called.
        text = "this endpoint takes no tool choice 'none'; the tools are not offered"
        notices.append(Notice("approximated", "tool_choice", text))
        changes |= {"tools": None, "tool_choice": None, "parallel_tool_calls": None}
        return
    if choice is not None:
        changes["tool_choice"] = _fit_choice(choice, profile, names, notices)
    if not profile.parallel_tool_calls:
        if parameters.parallel_tool_calls:
            notices.append(Notice("dropped", "parallel_tool_calls", "this endpoint makes one call a turn"))
        changes["parallel_tool_calls"] = False
    if not profile.parallel_switch and changes.get("parallel_tool_calls", parameters.parallel_tool_calls) is not None:
        if parameters.parallel_tool_calls is not None:
            notices.append(Notice("dropped", "parallel_tool_calls", "this endpoint has no such switch"))
        changes["parallel_tool_calls"] = None


def _name_of(tool: OpaqueTool) -> Any:
    inner = tool.data.get("function") or tool.data.get("custom")
    name = tool.data.get("name") or (inner.get("name") if isinstance(inner, Mapping) else None)
    # On some wires what a tool is stands in the name of its only field.
    return name or tool.data.get("type") or next(iter(tool.data), "tool")


def _fit_tool(
    tool: ToolSpecification, profile: Profile, wire: str, names: NameMap, notices: list[Notice]
) -> ToolSpecification:
    changes: dict[str, Any] = {}
    name = names.to_wire(tool.name)
    if name != tool.name:
        changes["name"] = name
    for other in tool.extras:
        if other != wire:
            told = f"what only the wire {other!r} knows of the tool {tool.name!r} is left out"
            notices.append(Notice("dropped", f"tools.{tool.name}", told))
    if tool.strict is not None and not profile.strict_tools:
        changes["strict"] = None
        if tool.strict:
            notices.append(Notice("dropped", f"tools.{tool.name}", "this endpoint has no strict tools"))
    return replace(tool, **changes) if changes else tool


def _fit_choice(choice: ToolChoice, profile: Profile, names: NameMap, notices: list[Notice]) -> ToolChoice | None:
    taken = profile.tool_choices
    mapped = tuple(names.to_wire(name) for name in choice.names)
    if choice.forced is not None and "named" not in taken:
        weaker = "required" if "required" in taken else "auto"
        notices.append(
            Notice(
                "approximated",
                "tool_choice",
                f"this endpoint cannot be made to call {choice.forced!r}; sent as {weaker!r}",
            )
        )
        # The names stay: a codec that can offer only these tools shall do so.
        choice = ToolChoice(weaker, choice.names)  # type: ignore[arg-type]
        return choice if weaker in taken else None
    if choice.mode == "required" and choice.forced is None and "required" not in taken:
        notices.append(
            Notice("approximated", "tool_choice", "this endpoint cannot be made to call a tool; sent as 'auto'")
        )
        return ToolChoice("auto", mapped) if "auto" in taken else None
    if choice.mode == "auto" and "auto" not in taken:
        notices.append(Notice("dropped", "tool_choice", "this endpoint takes no tool choice 'auto'"))
        return None
    return ToolChoice(choice.mode, mapped) if mapped != choice.names else choice


def asked_to_stream(parameters: ChatRequestParameters) -> bool | None:
    """Whether the body that was read, of whichever wire, asked for a stream: for a `Wire` whose own body says so too."""
    for fields in parameters.extras.values():
        if isinstance(fields, Mapping) and isinstance(fields.get("stream"), bool):
            return bool(fields["stream"])
    return None


def nearest_effort(effort: str, known: tuple[str, ...]) -> str:
    """
    The known effort nearest to `effort`; of two equally near ones the weaker. Thinking that is asked for is never switched
    off that way.
    """
    place = _EFFORTS.index(effort)
    places = [_EFFORTS.index(each) for each in known if each in _EFFORTS and (each != "none" or len(known) == 1)]
    return _EFFORTS[min(places, key=lambda each: (abs(each - place), each))]
