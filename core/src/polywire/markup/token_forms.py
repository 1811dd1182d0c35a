"""Forms that mark calls with the model's own control tokens: the source is wire/compat-vendors.md section 4."""

# ruff: noqa: RUF001, RUF002 - the tokens are spelled with these characters
from __future__ import annotations

import re
from collections.abc import Sequence

from polywire import wire_json
from polywire.markup.element_forms import ClosedReader
from polywire.markup.pieces import (
    Found,
    NotMarkup,
    ParameterTypes,
    RawCall,
    Reader,
    call_of_text,
    input_of,
    result_text,
)
from polywire.messages import ToolCall, ToolResultMessage

__all__ = ["ChannelForm", "SectionForm", "SeparatorForm"]


def _every(pattern: re.Pattern[str], body: str) -> list[re.Match[str]]:
    """Match one unit after another until the text is used up."""
    matches: list[re.Match[str]] = []
    position = 0
    while position < len(body):
        match = pattern.match(body, position)
        if match is None:
            raise NotMarkup
        matches.append(match)
        position = match.end()
    if not matches:
        raise NotMarkup
    return matches


_SECTION_CALL = re.compile(
    r"\s*<\|tool_call_begin\|>\s*([^<\s]+)\s*<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>\s*", re.DOTALL
)
_CALL_ID = re.compile(r"(?:functions\.)?(.+?)(?::\d+)?")


class SectionForm:
    """
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…`.

    The ids carry the name. They are kept as they are: the model expects to see them again.
    """

    openers: Sequence[str] = ("<|tool_calls_section_begin|>", "<|tool_call_begin|>")
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, _types: ParameterTypes) -> Reader:
        """Make a reader for a section, or for a call that stands alone."""
        if opener == self.openers[0]:
            return ClosedReader(
                opener,
                "<|tool_calls_section_end|>",
                self._calls,
                begins=("<|tool_call_begin|>",),
                inner="<|tool_call_end|>",
                unclosed=True,
            )
        return ClosedReader(opener, "<|tool_call_end|>", lambda body: self._calls(f"{opener}{body}<|tool_call_end|>"))

    def _calls(self, body: str) -> list[RawCall]:
        calls = []
        for match in _every(_SECTION_CALL, body):
            call_id = match.group(1)
            name = _CALL_ID.fullmatch(call_id)
            calls.append(call_of_text(name.group(1) if name else call_id, match.group(2), call_id))
        return calls

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls as one section."""
        units = []
        for index, call in enumerate(calls):
            name = _CALL_ID.fullmatch(call.id)
            own = name is not None and name.group(1) == call.name and ":" in call.id
            call_id = call.id if own else f"functions.{call.name}:{index}"
            arguments = wire_json.compact(input_of(call))
            units.append(f"<|tool_call_begin|>{call_id}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>")
        return f"<|tool_calls_section_begin|>{''.join(units)}<|tool_calls_section_end|>"

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return f"## Return of {result.call_id}\n{result_text(result)}"


_SEPARATED = re.compile(r"\s*<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>(.*?)<｜tool▁call▁end｜>\s*", re.DOTALL)
_FENCED = re.compile(r"([^\n`{]+)\n```(?:json)?\n(.*?)\n?```", re.DOTALL)


class SeparatorForm:
    """
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`.

    The older shape, `function<｜tool▁sep｜>name` and the arguments in a fence, is read as well.
    """

    openers: Sequence[str] = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>")
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, _types: ParameterTypes) -> Reader:
        """Make a reader for a list of calls, or for a call that stands alone."""
        if opener == self.openers[0]:
            return ClosedReader(
                opener,
                "<｜tool▁calls▁end｜>",
                self._calls,
                begins=("<｜tool▁call▁begin｜>",),
                inner="<｜tool▁call▁end｜>",
                unclosed=True,
            )
        return ClosedReader(
            opener, "<｜tool▁call▁end｜>", lambda body: self._calls(f"{opener}{body}<｜tool▁call▁end｜>")
        )

    def _calls(self, body: str) -> list[RawCall]:
        calls = []
        for match in _every(_SEPARATED, body):
            name, arguments = match.group(1), match.group(2)
            fenced = _FENCED.fullmatch(arguments.strip())
            if fenced is not None:
                name, arguments = fenced.group(1), fenced.group(2)
            calls.append(call_of_text(name, arguments))
        return calls

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls as one list."""
        units = [
            f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{wire_json.compact(input_of(call))}<｜tool▁call▁end｜>"
            for call in calls
        ]
        return f"<｜tool▁calls▁begin｜>{''.join(units)}<｜tool▁calls▁end｜>"

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return f"<｜tool▁output▁begin｜>{result_text(result)}<｜tool▁output▁end｜>"


_HEADER = re.compile(
    r"(?:<\|start\|>assistant(?:\s+to=(?P<first>[\w.\-]+))?\s*)?"
    r"<\|channel\|>(?P<channel>analysis|commentary|final)(?:\s+to=(?P<second>[\w.\-]+))?[^<]{0,64}"
    r"(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>"
)
_ENDS = re.compile(r"<\|call\|>|<\|end\|>|<\|return\|>")


class _ChannelReader:
    def read(self, text: str, final: bool) -> Found | None:
        header = _HEADER.match(text)
        if header is None:
            if final or len(text) > 256:
                raise NotMarkup
            return None
        recipient = header.group("first") or header.group("second")
        channel = header.group("channel")
        if recipient is None or channel == "analysis":
            return Found(header.end(), (), "thinking" if channel == "analysis" else "text")
        end = _ENDS.search(text, header.end())
        if end is None and not final:
            return None
        body = text[header.end() : end.start() if end else len(text)]
        if end is None and wire_json.decode_object(body) is None:
            raise NotMarkup
        call = call_of_text(recipient.removeprefix("functions."), body)
        return Found(end.end() if end else len(text), [call])


class ChannelForm:
    """
    `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`, among channels of text.

    `analysis` is thinking, and nothing in it is ever run; `final`, and `commentary` to nobody, are visible text.
    """

    openers: Sequence[str] = ("<|channel|>", "<|start|>assistant")
    start_openers: Sequence[str] = ()

    def reader(self, _opener: str, _types: ParameterTypes) -> Reader:
        """Make a reader for one channel's header, and for its body where that is a call."""
        return _ChannelReader()

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls, one channel each."""
        return "".join(
            f"<|start|>assistant<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
            f"{wire_json.compact(input_of(call))}<|call|>"
            for call in calls
        )

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        name = result.tool_name or result.call_id
        content = result_text(result)
        return f"<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{content}<|end|>"
