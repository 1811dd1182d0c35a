"""A request for a model without tools on its wire: the tools, and every earlier call and result, become text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polywire.contents import Content, TextContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.markup.rendering import render_tool_calls, render_tool_instructions, render_tool_result
from polywire.messages import AiMessage, AiPart, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ToolSpecification
from polywire.responses import Notice

__all__ = ["DEFAULT_FORM", "markup_form", "written_request"]

DEFAULT_FORM = "hermes"
"""The form for a model without tool support of which nothing more is known."""


def markup_form(profile: Profile) -> str | None:
    """Return the form in which this profile's tools are written as text; `None` where its wire has tools, or none."""
    if profile.tool_calling != "markup":
        return None
    return profile.tool_markup[0] if profile.tool_markup else DEFAULT_FORM


def written_request(request: ChatRequest, profile: Profile) -> tuple[ChatRequest, tuple[Notice, ...]]:
    """Write a request as text; see `polywire.markup.gate.apply_markup_to_request`."""
    form = markup_form(profile)
    thinking = profile.think_tags and profile.reasoning_field is None and profile.reasoning_echo != "never"
    if form is None and not thinking:
        return request, ()
    messages = request.messages
    if thinking:
        messages = tuple(_with_thinking(message, profile) for message in messages)
    parameters = request.parameters
    notices: list[Notice] = []
    if form is not None:
        messages = _as_text(messages, form)
        choice = parameters.tool_choice
        if parameters.tools and (choice is None or choice.mode != "none"):
            tools: list[ToolSpecification] = []
            for index, tool in enumerate(parameters.tools):
                if not isinstance(tool, ToolSpecification):
                    msg = f"tools[{index}] is a tool of the {tool.wire!r} wire, and this model's tools are written as text"
                    raise UnsupportedByModel(msg)
                tools.append(tool)
            parallel = profile.parallel_tool_calls and parameters.parallel_tool_calls is not False
            messages = _with_system_text(messages, render_tool_instructions(form, tools, choice, parallel=parallel))
            notices.append(
                Notice("approximated", "tools", f"the tools are written into the system text, as {form!r} markup")
            )
            if any(tool.strict for tool in tools):
                notices.append(Notice("dropped", "tools.strict", "nothing holds calls written as text to their schema"))
        if parameters.tools is not None or choice is not None or parameters.parallel_tool_calls is not None:
            parameters = replace(parameters, tools=None, tool_choice=None, parallel_tool_calls=None)
    if messages == request.messages and parameters is request.parameters:
        return request, tuple(notices)
    return ChatRequest(messages, parameters, request.options), tuple(notices)


def _with_thinking(message: Message, profile: Profile) -> Message:
    if not isinstance(message, AiMessage) or (profile.reasoning_echo == "tool_calls" and not message.tool_calls):
        return message
    if not any(isinstance(part, ThinkingContent) and part.text for part in message.parts):
        return message
    parts: list[AiPart] = []
    for part in message.parts:
        if isinstance(part, ThinkingContent):
            part = TextContent(f"<think>\n{part.text}\n</think>\n\n")
        parts.append(part)
    return AiMessage(parts, message.origin, extras=message.extras)


def _as_text(messages: Sequence[Message], form: str) -> tuple[Message, ...]:
    """Write the calls and results of a history as text; the results of one turn become one user message."""
    written: list[Message] = []
    results: list[Content] = []

    def flush() -> None:
        if results:
            written.append(UserMessage(results))
            results.clear()

    for message in messages:
        if isinstance(message, ToolResultMessage):
            text = render_tool_result(form, message)
            results.append(TextContent(f"\n{text}" if results else text))
            results.extend(content for content in message.contents if not isinstance(content, TextContent))
            continue
        flush()
        written.append(_calls_as_text(message, form) if isinstance(message, AiMessage) else message)
    flush()
    return tuple(written)


def _calls_as_text(message: AiMessage, form: str) -> AiMessage:
    if not message.tool_calls:
        return message
    parts: list[AiPart] = []
    calls: list[ToolCall] = []

    def flush() -> None:
        if calls:
            before = parts[-1].text if parts and isinstance(parts[-1], TextContent) else ""
            parts.append(TextContent(("\n" if before else "") + render_tool_calls(form, calls)))
            calls.clear()

    for part in message.parts:
        if isinstance(part, ToolCall):
            calls.append(part)
            continue
        flush()
        parts.append(part)
    flush()
    return AiMessage(parts, message.origin, extras=message.extras)


def _with_system_text(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Add text to the end of the first system message, or put one in front."""
    first = messages[0]
    if isinstance(first, SystemMessage):
        contents = (*first.contents, TextContent(f"\n\n{text}"))
        return (SystemMessage(contents, first.name, extras=first.extras), *messages[1:])
    return (SystemMessage(text), *messages)
