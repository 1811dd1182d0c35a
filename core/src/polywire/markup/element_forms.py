"""Forms that write each argument as an element of its own: the source is wire/compat-vendors.md section 4."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from polywire import wire_json
from polywire.markup.json_forms import tool_response
from polywire.markup.pieces import (
    Found,
    NotMarkup,
    ParameterTypes,
    RawCall,
    Reader,
    input_of,
    result_text,
    value_text,
)
from polywire.messages import ToolCall, ToolResultMessage

__all__ = ["ArgumentKeyForm", "ClosedReader", "FunctionElementForm", "InvokeForm"]


class ClosedReader:
    """
    Waits for a closing tag and reads all before it at once.

    `begins` are the words of which one must follow the opening tag; what begins otherwise is let go at once. `inner` is
    the last tag within: as long as it is missing, a closing tag belongs to an argument's value.
    """

    def __init__(
        self,
        opener: str,
        closer: str,
        parse: Callable[[str], Sequence[RawCall]],
        *,
        begins: Sequence[str] = (),
        inner: str = "",
        unclosed: bool = False,
    ) -> None:
        self._opener, self._closer, self._parse = opener, closer, parse
        self._begins, self._inner, self._unclosed = begins, inner, unclosed
        self._searched = len(opener)

    def read(self, text: str, final: bool) -> Found | None:
        if self._begins:
            head = text[len(self._opener) :].lstrip()
            if not any(head.startswith(word) or word.startswith(head) for word in self._begins):
                raise NotMarkup
        while True:
            at = text.find(self._closer, self._searched)
            if at < 0:
                break
            body = text[len(self._opener) : at]
            if self._inner in body:
                return Found(at + len(self._closer), self._parse(body))
            self._searched = at + len(self._closer)
        self._searched = max(self._searched, len(text) - len(self._closer) + 1)
        if not final:
            return None
        if not self._unclosed:
            raise NotMarkup
        return Found(len(text), self._parse(text[len(self._opener) :]))


def _without_line_ends(text: str) -> str:
    """Strip the one line end that models put on either side of a value."""
    return text.removeprefix("\n").removesuffix("\n")


_FUNCTION = re.compile(
    r"\s*<function=([^>\n]+)>\s*((?:<parameter=[^>\n]+>.*?</parameter>\s*)*)</function>\s*", re.DOTALL
)
_PARAMETER = re.compile(r"<parameter=([^>\n]+)>(.*?)</parameter>", re.DOTALL)


class FunctionElementForm:
    """`<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`, also without the outer tag."""

    openers: Sequence[str] = ("<tool_call>", "<function=")
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, types: ParameterTypes) -> Reader:
        """Make a reader for one element."""
        if opener == self.openers[0]:
            return ClosedReader(
                opener,
                "</tool_call>",
                lambda body: self._calls(body, types),
                begins=("<function=",),
                inner="</function>",
                unclosed=True,
            )
        return ClosedReader(opener, "</function>", lambda body: self._calls(f"{opener}{body}</function>", types))

    def _calls(self, body: str, types: ParameterTypes) -> list[RawCall]:
        calls: list[RawCall] = []
        position = 0
        while position < len(body):
            match = _FUNCTION.match(body, position)
            if match is None:
                raise NotMarkup
            name = match.group(1).strip().strip('"')
            arguments = {
                key.strip(): types.value(name, key.strip(), _without_line_ends(text))
                for key, text in _PARAMETER.findall(match.group(2))
            }
            calls.append(RawCall(name, wire_json.compact(arguments)))
            position = match.end()
        if not calls:
            raise NotMarkup
        return calls

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls, one element each."""
        written = []
        for call in calls:
            lines = [f"<tool_call>\n<function={call.name}>"]
            lines += [f"<parameter={key}>\n{value_text(value)}\n</parameter>" for key, value in input_of(call).items()]
            written.append("\n".join([*lines, "</function>\n</tool_call>"]))
        return "\n".join(written)

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return tool_response(result)


_PAIRS = r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*"
_ARGUMENT_KEYS = re.compile(rf"\s*([^\s<>{{}}\[\]\"]+)\s*((?:{_PAIRS})*)", re.DOTALL)
_PAIR = re.compile(_PAIRS, re.DOTALL)


class ArgumentKeyForm:
    """`<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`."""

    openers: Sequence[str] = ("<tool_call>",)
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, types: ParameterTypes) -> Reader:
        """Make a reader for one element."""
        return ClosedReader(opener, "</tool_call>", lambda body: [self._call(body, types)])

    def _call(self, body: str, types: ParameterTypes) -> RawCall:
        match = _ARGUMENT_KEYS.fullmatch(body)
        if match is None:
            raise NotMarkup
        name = match.group(1)
        arguments = {
            key.strip(): types.value(name, key.strip(), _without_line_ends(text))
            for key, text in _PAIR.findall(match.group(2))
        }
        if not arguments and types.names and name not in types.names:
            # A lone word between the tags is a call only of a tool that there is.
            raise NotMarkup
        return RawCall(name, wire_json.compact(arguments))

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls, one element each."""
        written = []
        for call in calls:
            lines = [f"<tool_call>{call.name}"]
            for key, value in input_of(call).items():
                lines += [f"<arg_key>{key}</arg_key>", f"<arg_value>{value_text(value)}</arg_value>"]
            written.append("\n".join([*lines, "</tool_call>"]))
        return "\n".join(written)

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return tool_response(result)


class InvokeForm:
    """
    `<invoke name="…"><parameter name="…">value</parameter></invoke>` within an outer tag.

    `prefix` stands before every tag's name but those of `outer`; with `typed` a parameter says `string="true"` where
    its value is bare text, and `string="false"` where it is JSON.
    """

    start_openers: Sequence[str] = ()

    def __init__(self, outer: Sequence[str], *, prefix: str = "", typed: bool = False) -> None:
        self._outer = outer
        self._prefix = prefix
        self._typed = typed
        self.openers: Sequence[str] = tuple(f"<{word}>" for word in outer)
        mark = re.escape(prefix)
        parameter = rf'<{mark}parameter\s+name="([^"]*)"(?:\s+string="(true|false)")?\s*>(.*?)</{mark}parameter>'
        self._parameter = re.compile(parameter, re.DOTALL)
        self._invoke = re.compile(
            rf'\s*<{mark}invoke\s+name="([^"]+)"\s*>\s*((?:{parameter}\s*)*)</{mark}invoke>\s*', re.DOTALL
        )

    def reader(self, opener: str, types: ParameterTypes) -> Reader:
        """Make a reader for one outer tag."""
        return ClosedReader(
            opener,
            f"</{opener[1:]}",
            lambda body: self._calls(body, types),
            begins=(f"<{self._prefix}invoke",),
            inner=f"</{self._prefix}invoke>",
            unclosed=True,
        )

    def _calls(self, body: str, types: ParameterTypes) -> list[RawCall]:
        calls: list[RawCall] = []
        position = 0
        while position < len(body):
            match = self._invoke.match(body, position)
            if match is None:
                raise NotMarkup
            name = match.group(1)
            arguments = {}
            for key, string, text in self._parameter.findall(match.group(2)):
                if string == "true":
                    arguments[key] = text
                elif string == "false":
                    try:
                        arguments[key] = wire_json.decode(text)
                    except ValueError:
                        raise NotMarkup from None
                else:
                    arguments[key] = types.value(name, key, _without_line_ends(text))
            calls.append(RawCall(name, wire_json.compact(arguments)))
            position = match.end()
        if not calls:
            raise NotMarkup
        return calls

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls within one outer tag."""
        mark = self._prefix
        lines = [self.openers[0]]
        for call in calls:
            lines.append(f'<{mark}invoke name="{call.name}">')
            for key, value in input_of(call).items():
                kind = f' string="{"true" if isinstance(value, str) else "false"}"' if self._typed else ""
                lines.append(f'<{mark}parameter name="{key}"{kind}>{value_text(value)}</{mark}parameter>')
            lines.append(f"</{mark}invoke>")
        return "\n".join([*lines, f"</{self._outer[0]}>"])

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return f"<function_results>\n<result>{result_text(result)}</result>\n</function_results>"
