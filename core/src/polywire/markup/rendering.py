"""Writing tools, calls and results as text, for models that take no tools on their wire."""

from __future__ import annotations

from collections.abc import Sequence

from polywire import wire_json
from polywire.markup.forms import form_named
from polywire.messages import ToolCall, ToolResultMessage
from polywire.parameters import ToolChoice
from polywire.tool_specifications import ToolSpecification

__all__ = ["render_tool_call", "render_tool_calls", "render_tool_instructions", "render_tool_result"]


def render_tool_call(form: str, call: ToolCall) -> str:
    """Write one call in this form."""
    return form_named(form).render_calls((call,))


def render_tool_calls(form: str, calls: Sequence[ToolCall]) -> str:
    """Write the calls of one turn in this form."""
    return form_named(form).render_calls(calls)


def render_tool_result(form: str, result: ToolResultMessage) -> str:
    """Write one result in this form; a failure says that it is one."""
    return form_named(form).render_result(result)


def render_tool_instructions(
    form: str, tools: Sequence[ToolSpecification], tool_choice: ToolChoice | None = None, *, parallel: bool = True
) -> str:
    """
    Write what a model must know to call tools in this form: which there are, and how a call is written.

    Args:
        form: the form's name.
        tools: the tools.
        tool_choice: whether the model must call one; `none` is the caller's to heed, by leaving the tools out.
        parallel: may it call several at once?
    """
    lines = [
        wire_json.compact(
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    **({"description": tool.description} if tool.description else {}),
                    "parameters": tool.parameters,
                },
            }
        )
        for tool in tools
    ]
    example = ToolCall("functions.example_tool:0", "example_tool", {"example_parameter": "value"})
    answer = ToolResultMessage("functions.example_tool:0", "example_tool", "result")
    several = "To call several tools, write one call after another." if parallel else "Make at most one call at a time."
    text = (
        "# Tools\n\n"
        "You may call the tools below. Each line is the JSON signature of one tool:\n"
        "<tools>\n" + "\n".join(lines) + "\n</tools>\n\n"
        "To call a tool, write exactly in this form, with the tool's own name and parameters, and then end your turn:\n"
        f"{render_tool_call(form, example)}\n"
        f"{several} Never write a result yourself: results come in the next message, in this form:\n"
        f"{render_tool_result(form, answer)}"
    )
    if tool_choice is None or tool_choice.mode != "required":
        if tool_choice is not None and tool_choice.names:
            text += f"\n\nOf these tools call only: {', '.join(tool_choice.names)}."
        return text
    if tool_choice.names:
        return f"{text}\n\nIn this turn you must call {' or '.join(tool_choice.names)}."
    return f"{text}\n\nIn this turn you must call at least one tool."
