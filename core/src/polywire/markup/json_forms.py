"""Forms that write calls as JSON between tags: the source of each is wire/compat-vendors.md section 4."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from polywire import wire_json
from polywire.markup.pieces import (
    Found,
    JsonScanner,
    NotMarkup,
    ParameterTypes,
    RawCall,
    Reader,
    call_of_json,
    call_of_text,
    input_of,
    result_text,
)
from polywire.messages import ToolCall, ToolResultMessage

__all__ = ["BracketForm", "JsonTagForm", "PythonTagForm", "json_call", "tool_response"]


def json_call(call: ToolCall, arguments: str = "arguments") -> str:
    """Write one call as `{"name": …, "arguments": …}`."""
    return wire_json.compact({"name": call.name, arguments: input_of(call)})


def tool_response(result: ToolResultMessage) -> str:
    """Write a result between `<tool_response>` tags, as JSON in which no closing tag can be spelled."""
    text = wire_json.compact({"name": result.tool_name, "content": result_text(result)}).replace("</", "<\\/")
    return f"<tool_response>\n{text}\n</tool_response>"


def _decoded(text: str) -> Any:
    try:
        return wire_json.decode(text)
    except ValueError:
        raise NotMarkup from None


class _JsonTagReader:
    """One or more JSON values between an opening and a closing tag."""

    def __init__(self, opener: str, closer: str) -> None:
        self._closer = closer
        self._position = len(opener)
        self._scanner: JsonScanner | None = None
        self._calls: list[RawCall] = []

    def read(self, text: str, final: bool) -> Found | None:
        while True:
            if self._scanner is None:
                while self._position < len(text) and (text[self._position].isspace() or text[self._position] == ","):
                    self._position += 1
                rest = text[self._position : self._position + len(self._closer)]
                if rest == self._closer and self._calls:
                    return Found(self._position + len(self._closer), self._calls)
                if self._closer.startswith(rest):
                    if not final:
                        return None
                    if not self._calls:
                        raise NotMarkup
                    # The closing tag is often a stop sequence of the server's, and then never arrives.
                    return Found(len(text), self._calls)
                if rest[0] not in "{[":
                    raise NotMarkup
                self._scanner = JsonScanner(self._position)
            end = self._scanner.end(text)
            if end is None:
                if final:
                    raise NotMarkup
                return None
            value = _decoded(text[self._position : end])
            self._calls += [call_of_json(item) for item in (value if isinstance(value, list) else [value])]
            self._position, self._scanner = end, None


class JsonTagForm:
    """`<tool_call>{"name": …, "arguments": …}</tool_call>`."""

    openers: Sequence[str] = ("<tool_call>",)
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, _types: ParameterTypes) -> Reader:
        """Make a reader for one tag."""
        return _JsonTagReader(opener, "</tool_call>")

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls, one tag each."""
        return "\n".join(f"<tool_call>\n{json_call(call)}\n</tool_call>" for call in calls)

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return tool_response(result)


_BRACKET_HEAD = re.compile(r"\s*([\w.\-/]+)\s*(?:\[CALL_ID\]([\w\-]+))?\[ARGS\]\s*")
_BRACKET_BEGUN = re.compile(r"\s*[\w.\-/]*\s*(?:\[[A-Z_]*(?:\][\w\-]*(?:\[[A-Z]*(?:\]\s*)?)?)?)?")


class _BracketReader:
    """`[TOOL_CALLS][{…}]`, or `[TOOL_CALLS]name[ARGS]{…}`."""

    def __init__(self, opener: str) -> None:
        self._start = len(opener)
        self._scanner: JsonScanner | None = None
        self._position = 0
        self._name: str | None = None
        self._id: str | None = None

    def read(self, text: str, final: bool) -> Found | None:
        if self._scanner is None and not self._begin(text):
            if final or _BRACKET_BEGUN.fullmatch(text, self._start) is None or len(text) > 512:
                raise NotMarkup
            return None
        assert self._scanner is not None
        end = self._scanner.end(text)
        if end is None:
            if final:
                raise NotMarkup
            return None
        body = text[self._position : end]
        if self._name is not None:
            return Found(end, [call_of_text(self._name, body, self._id)])
        value = _decoded(body)
        values = value if isinstance(value, list) else [value]
        if not values:
            raise NotMarkup
        return Found(end, [call_of_json(item) for item in values])

    def _begin(self, text: str) -> bool:
        """Find where the JSON begins."""
        position = len(text) - len(text[self._start :].lstrip())
        if position >= len(text):
            return False
        if text[position] not in "[{":
            head = _BRACKET_HEAD.match(text, self._start)
            if head is None or head.end() >= len(text):
                return False
            self._name, self._id, position = head.group(1), head.group(2), head.end()
            if text[position] != "{":
                raise NotMarkup
        self._position, self._scanner = position, JsonScanner(position)
        return True


class BracketForm:
    """`[TOOL_CALLS][{"name": …, "arguments": …, "id": …}]`; the newer `[TOOL_CALLS]name[ARGS]{…}` is read as well."""

    openers: Sequence[str] = ("[TOOL_CALLS]",)
    start_openers: Sequence[str] = ()

    def reader(self, opener: str, _types: ParameterTypes) -> Reader:
        """Make a reader for one list or one call."""
        return _BracketReader(opener)

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls as one list."""
        items = [{"name": call.name, "arguments": input_of(call), "id": call.id} for call in calls]
        return f"[TOOL_CALLS]{wire_json.compact(items)}"

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        content = wire_json.compact({"content": result_text(result), "call_id": result.call_id})
        unclosed = content.replace("[/", "[\\u002f")
        return f"[TOOL_RESULTS]{unclosed}[/TOOL_RESULTS]"


_FIRST_KEYS = ("name", "type", "function", "parameters", "arguments", "id")
_FIRST_KEY = re.compile(r'\{\s*(?:"([a-z]*)("?))?')


class _BareJsonReader:
    """`{"name": …, "parameters": …}`, alone or after a tag; several are separated by `;`."""

    def __init__(self, opener: str, types: ParameterTypes, *, tagged: bool) -> None:
        self._position = len(opener) if tagged else 0
        self._scanner: JsonScanner | None = None
        self._calls: list[RawCall] = []
        self._types = types
        self._tagged = tagged
        self._end = 0

    def read(self, text: str, final: bool) -> Found | None:
        while True:
            if self._scanner is None:
                while self._position < len(text) and (text[self._position].isspace() or text[self._position] == ";"):
                    self._position += 1
                if self._position >= len(text):
                    return self._done() if final else None
                if text[self._position] != "{":
                    return self._code(text, final) if self._tagged and not self._calls else self._done()
                self._scanner = JsonScanner(self._position)
            if not self._tagged:
                self._check_first_key(text)
            end = self._scanner.end(text)
            if end is None:
                if final:
                    raise NotMarkup
                return None
            value = _decoded(text[self._position : end])
            self._check(value)
            self._calls.append(call_of_json(value))
            self._position = self._end = end
            self._scanner = None

    def _done(self) -> Found:
        if not self._calls:
            raise NotMarkup
        return Found(self._end, self._calls)

    def _check_first_key(self, text: str) -> None:
        """Let an ordinary JSON answer go as soon as its first key shows what it is."""
        match = _FIRST_KEY.match(text, self._position)
        if match is None:
            raise NotMarkup
        key, closed = match.group(1), match.group(2)
        if key is None:
            if match.end() < len(text):
                raise NotMarkup
        elif closed:
            if key not in _FIRST_KEYS:
                raise NotMarkup
        elif match.end() < len(text) or not any(word.startswith(key) for word in _FIRST_KEYS):
            raise NotMarkup

    def _check(self, value: Any) -> None:
        """Without a tag only an object that can be nothing else is a call."""
        if self._tagged:
            return
        inner = value["function"] if isinstance(value.get("function"), dict) else value
        arguments = inner.get("arguments", inner.get("parameters"))
        if not isinstance(arguments, dict) or not isinstance(inner.get("name"), str):
            raise NotMarkup
        if not {*inner, *value} <= set(_FIRST_KEYS) or (self._types.names and inner["name"] not in self._types.names):
            raise NotMarkup

    def _code(self, text: str, final: bool) -> Found | None:
        """`name.call(key="value")`, the form of a tool that the model was trained with."""
        body = text[self._position :]
        stop = re.search(r"\n|<\|eom_id\|>|<\|eot_id\|>", body)
        if stop is None and not final:
            return None
        end = len(body) if stop is None else stop.start()
        try:
            call = ast.parse(body[:end].strip(), mode="eval").body
            if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Attribute):
                raise NotMarkup
            if call.func.attr != "call" or not isinstance(call.func.value, ast.Name):
                raise NotMarkup
            arguments = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            written = wire_json.compact(arguments)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            raise NotMarkup from None
        return Found(self._position + end, [RawCall(call.func.value.id, written)])


class PythonTagForm:
    """`<|python_tag|>{"name": …, "parameters": …}`, or the bare object where the text begins."""

    openers: Sequence[str] = ("<|python_tag|>",)
    start_openers: Sequence[str] = ("{",)

    def reader(self, opener: str, types: ParameterTypes) -> Reader:
        """Make a reader for one or more objects."""
        return _BareJsonReader(opener, types, tagged=opener in self.openers)

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls, separated by `;`."""
        return "<|python_tag|>" + "; ".join(json_call(call, "parameters") for call in calls)

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result."""
        return tool_response(result)
