"""How an answer of a given type is asked for, and read: by the endpoint's schema mode, a forced tool, or in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

from polywire import wire_json
from polywire.contents import TextContent
from polywire.messages import (
    AiMessage,
    AiPart,
    Message,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.models import ChatModel
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ResponseFormat, ToolChoice, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, Notice, TypedChatResponse, total_usage
from polywire.schemas import Lowered, lower_schema
from polywire.structured.failures import OutputInvalid, OutputRefused, OutputTruncated
from polywire.structured.json_text import json_candidates
from polywire.structured.output_types import InvalidOutput, OutputType, output_type

__all__ = ["OutputMode", "TypedConversation"]

OutputMode: TypeAlias = Literal["schema", "tool", "instructions"]
"""The endpoint's own schema mode; a tool that must be called with the answer; or words, and validation on this side."""

_TOOL = "final_answer"
_REFUSED = frozenset({FinishReason.REFUSAL, FinishReason.CONTENT_FILTER})


def _profile_of(model: ChatModel, request: ChatRequest) -> Profile | None:
    information = model.information
    if information.profile is None:
        return None
    return information.profile(request.parameters.model or information.model)


def _choose_mode(profile: Profile | None, request: ChatRequest) -> OutputMode:
    if profile is None:
        return "instructions"
    if "json_schema" in profile.response_formats:
        return "schema"
    forced = bool({"named", "required"} & profile.tool_choices)
    # Beside tools of the caller's a forced one would keep the model from calling them.
    if profile.tool_calling == "native" and forced and not request.parameters.tools:
        return "tool"
    return "instructions"


class TypedConversation:
    """
    One typed call: the request to send, and what becomes of each answer. Knows no model and no network.

    Args:
        model: asked for its profile only.
        request: what the caller asked.
        output: the type.
        mode: how it is asked for; `None`: as the profile allows, best first.
        repair_rounds: how often a wrong answer is sent back.
    """

    def __init__(
        self, model: ChatModel, request: ChatRequest, output: Any, mode: OutputMode | None, repair_rounds: int
    ) -> None:
        self.type: OutputType = output_type(output)
        profile = _profile_of(model, request)
        self.mode: OutputMode = mode or _choose_mode(profile, request)
        self._repair_rounds = repair_rounds
        self._repairs = 0
        self._responses: list[ChatResponse] = []
        self._notices: list[Notice] = []
        self._strict: bool | None = None
        self.lowered = self._lower(profile)
        self._profile = profile
        self.request = self.asked(request)

    def _lower(self, profile: Profile | None) -> Lowered:
        if profile is None or self.mode == "instructions":
            return Lowered(self.type.schema)
        strict = profile.strict_schema_dialect if self.mode == "schema" or profile.strict_tools else None
        lowered = lower_schema(self.type.schema, strict or profile.schema_dialect, subject="output")
        self._notices += lowered.notices
        self._strict = True if strict else None
        return lowered

    def asked(self, request: ChatRequest) -> ChatRequest:
        """Return `request` as one that asks for the type."""
        parameters, profile = request.parameters, self._profile
        schema = self.lowered.schema
        if self.mode == "schema":
            form = ResponseFormat("json_schema", schema, self.type.name, self.type.description, self._strict)
            return request.with_parameters(replace(parameters, response_format=form))
        if self.mode == "tool":
            tool = ToolSpecification(_TOOL, self.type.description or "Give the final answer.", schema, self._strict)
            named = profile is None or "named" in profile.tool_choices
            choice = ToolChoice.tool(_TOOL) if named else ToolChoice("required")
            changed = replace(parameters, tools=(tool,), tool_choice=choice, response_format=None)
            return request.with_parameters(changed)
        json_mode = profile is not None and "json" in profile.response_formats and not parameters.tools
        changed = replace(parameters, response_format=ResponseFormat("json") if json_mode else None)
        rule = (
            "Answer with one JSON value and nothing else: no words around it, no code fence. It must fit this JSON Schema:\n"
            + wire_json.compact(schema)
        )
        return ChatRequest(_with_system_text(request.messages, rule), changed, request.options)

    def text_of(self, response: ChatResponse) -> str:
        """Return the part of an answer that holds the output, as text."""
        if self.mode == "tool":
            for call in response.tool_calls:
                if call.name == _TOOL:
                    return call.arguments
        return response.text or ""

    def accept(self, response: ChatResponse) -> TypedChatResponse[Any] | None:
        """
        Read an answer.

        Returns:
            the typed response; or `None` where the answer was wrong and `request` is now one that asks for its repair.

        Raises:
            OutputTruncated, OutputRefused, OutputInvalid: there will be none.
        """
        outcome = self.read(response)
        if isinstance(outcome, TypedChatResponse):
            return outcome
        turn = [response.message] if response.message.parts else []
        self.request = self.request.with_messages([*self.request.messages, *turn, *outcome])
        return None

    def read(self, response: ChatResponse) -> TypedChatResponse[Any] | list[Message]:
        """
        Read an answer.

        Returns:
            the typed response; or, where the answer was wrong, the messages that follow it and ask for its repair.

        Raises:
            OutputTruncated, OutputRefused, OutputInvalid: there will be none.
        """
        self._responses.append(response)
        text = self.text_of(response)
        problem = "it holds no JSON"
        for value in self._candidates(response, text):
            try:
                output = self.type.read(self.lowered.restore(value))
            except InvalidOutput as error:
                problem = str(error) if problem == "it holds no JSON" else problem
                continue
            return self._typed(response, text, output)
        if response.finish_reason is FinishReason.LENGTH:
            msg = "the answer was cut off by the token limit before it was complete"
            raise OutputTruncated(msg, self._responses, text)
        if response.finish_reason in _REFUSED:
            msg = f"there is no answer: {response.finish_reason.value}" + (f": {text}" if text else "")
            raise OutputRefused(msg, self._responses, text)
        others = [call.name for call in response.tool_calls if call.name != _TOOL]
        if others:
            msg = f"the model called {', '.join(others)} instead of answering; run tools with ToolService first"
            raise OutputInvalid(msg, self._responses, text)
        if self._repairs >= self._repair_rounds:
            msg = f"the answer does not fit {self.type.name}: {problem}"
            raise OutputInvalid(msg, self._responses, text)
        self._repairs += 1
        return _repair_messages(response, problem)

    def saw(self, response: ChatResponse) -> None:
        """Take in an answer that is not the last one, such as a turn of tool calls: its usage and notices count."""
        self._responses.append(response)

    def _candidates(self, response: ChatResponse, text: str) -> list[Any]:
        if self.mode == "tool" and any(call.name == _TOOL and not call.is_valid for call in response.tool_calls):
            return []
        return list(json_candidates(text))

    def _typed(self, response: ChatResponse, text: str, output: Any) -> TypedChatResponse[Any]:
        if self._repairs:
            word = "round" if self._repairs == 1 else "rounds"
            self._notices.append(
                Notice("repaired", "output", f"the answer was put right by the model in {self._repairs} {word}")
            )
        message, reason = response.message, response.finish_reason
        if any(call.name == _TOOL for call in response.tool_calls) and self.mode == "tool":
            # The tool was a form of asking: as text the answer can stand in a history, where a call would want a result.
            parts: list[AiPart] = [
                TextContent(text) if isinstance(part, ToolCall) and part.name == _TOOL else part
                for part in message.parts
            ]
            message, reason = AiMessage(parts, message.origin, extras=message.extras), FinishReason.STOP
        notices = dict.fromkeys([*(each for answer in self._responses for each in answer.notices), *self._notices])
        usage = total_usage(answer.usage for answer in self._responses)
        return TypedChatResponse(message, usage, reason, tuple(notices), response.metadata, output=output)


def _repair_messages(response: ChatResponse, problem: str) -> list[Message]:
    words = f"This answer does not fit the JSON Schema that was asked for: {problem}. Give the whole answer again, corrected."
    if response.tool_calls:
        error = ToolError("invalid_arguments", words)
        return [ToolResultMessage(call.id, call.name, error=error) for call in response.tool_calls]
    return [UserMessage(words)]


def _with_system_text(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    first = messages[0]
    if isinstance(first, SystemMessage):
        contents = (*first.contents, TextContent(f"\n\n{text}"))
        return (SystemMessage(contents, first.name, extras=first.extras), *messages[1:])
    return (SystemMessage(text), *messages)
