"""What the readers of markup share: the pieces they give, and the scanning of JSON that arrives in fragments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from polywire import wire_json
from polywire.messages import ToolCall, ToolResultMessage
from polywire.tool_specifications import ToolSpecification
from polywire.translation.envelope import error_envelope

__all__ = [
    "CallPiece",
    "Form",
    "Found",
    "JsonScanner",
    "NotMarkup",
    "ParameterTypes",
    "Piece",
    "RawCall",
    "Reader",
    "TextPiece",
    "ThinkingPiece",
    "call_of_json",
    "call_of_text",
    "input_of",
    "result_text",
    "value_text",
]


class TextPiece(NamedTuple):
    """Visible text; never empty."""

    text: str


class ThinkingPiece(NamedTuple):
    """Thinking; never empty."""

    text: str


class CallPiece(NamedTuple):
    """A whole tool call."""

    call: ToolCall


Piece = TextPiece | ThinkingPiece | CallPiece


class RawCall(NamedTuple):
    """A call as it was written: the name, the arguments as JSON text, and the id where the form has one."""

    name: str
    arguments: str
    id: str | None = None


class Found(NamedTuple):
    """
    What a reader has read.

    Attributes:
        end: how many characters belong to it.
        calls: the calls, in order.
        channel: what the text after it is, for forms that write text in channels: `"text"` or `"thinking"`.
    """

    end: int
    calls: Sequence[RawCall] = ()
    channel: str | None = None


class NotMarkup(Exception):
    """What looked like markup is none: it stays text."""


class Reader(Protocol):
    """Reads what begins with one opening tag, as it arrives."""

    def read(self, text: str, final: bool) -> Found | None:
        """
        Read `text`, which begins with the opening tag and is longer at each call.

        Returns:
            what was read, or `None` where more text is needed; never `None` where `final`.

        Raises:
            NotMarkup: it is none of this form.
        """


class ParameterTypes:
    """What the offered tools say about the types of their parameters; forms without JSON need it to read values."""

    def __init__(self, tools: Sequence[ToolSpecification] = ()) -> None:
        self.names = frozenset(tool.name for tool in tools)
        self._properties = {tool.name: tool.parameters.get("properties") or {} for tool in tools}
        self._schemas = {tool.name: tool.parameters for tool in tools}

    def value(self, tool: str, parameter: str, text: str) -> Any:
        """
        Read a value that is written as bare text.

        A string where the tool's schema takes one. Where it takes none, and for objects and arrays of unknown tools,
        JSON. What cannot be read stays a string, for the tool's own validation to judge.
        """
        schema = self._properties.get(tool, {}).get(parameter)
        types = self._types(tool, schema)
        if text.strip() == "null" and "null" in types:
            return None
        if "string" in types:
            return text
        if not types and not text.lstrip().startswith(("{", "[")):
            return text
        try:
            return wire_json.decode(text)
        except ValueError:
            lowered = text.strip().lower()
            return {"true": True, "false": False}.get(lowered, text) if "boolean" in types else text

    def _types(self, tool: str, schema: Any, depth: int = 0) -> set[str]:
        if not isinstance(schema, Mapping) or depth > 8:
            return set()
        types = schema.get("type")
        found = {types} if isinstance(types, str) else set(types or ())
        for value in schema.get("enum") or ([schema["const"]] if "const" in schema else []):
            found.add("string" if isinstance(value, str) else "null" if value is None else "number")
        for word in ("anyOf", "oneOf", "allOf"):
            for branch in schema.get(word) or ():
                found |= self._types(tool, branch, depth + 1)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            node: Any = self._schemas.get(tool, {})
            for step in reference.removeprefix("#/").split("/"):
                node = node.get(step) if isinstance(node, Mapping) else None
            found |= self._types(tool, node, depth + 1)
        return found


class Form(Protocol):
    """
    One way in which models write tool calls as text.

    Attributes:
        openers: the tags that begin a call; none is the beginning of another form's ordinary text.
        start_openers: openers that count only where the text begins.
        call_note: what the instructions add about writing calls.
    """

    openers: Sequence[str]
    start_openers: Sequence[str]

    def reader(self, opener: str, types: ParameterTypes, /) -> Reader:
        """Make a reader for what begins with `opener`."""

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Write calls as this form's models do."""

    def render_result(self, result: ToolResultMessage) -> str:
        """Write a result as this form's models expect it."""


_OUTSIDE = re.compile(r'["{}\[\]]|[^\s:,0-9a-zA-Z+\-."{}\[\]]')
_INSIDE = re.compile(r'["\\]')


class JsonScanner:
    """Finds the end of one JSON object or array in text that grows, looking at each character once."""

    def __init__(self, start: int) -> None:
        self._position = start
        self._depth = 0
        self._in_string = False

    def end(self, text: str) -> int | None:
        """
        Return the place after the value's last bracket, or `None` where it has not come yet.

        Raises:
            NotMarkup: a character stands where JSON has none.
        """
        position = self._position
        while True:
            match = (_INSIDE if self._in_string else _OUTSIDE).search(text, position)
            if match is None:
                self._position = len(text)
                return None
            mark = match.group()
            position = match.end()
            if mark == "\\":
                if position >= len(text):
                    self._position = match.start()
                    return None
                position += 1
            elif mark == '"':
                self._in_string = not self._in_string
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    self._position = position
                    return position
            else:
                raise NotMarkup


def call_of_json(value: Any) -> RawCall:
    """
    Read a call written as an object: `name` and `arguments` (or `parameters`), bare or below `function`.

    Raises:
        NotMarkup: it is none.
    """
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = {**value["function"], **({"id": value["id"]} if "id" in value else {})}
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise NotMarkup
    arguments = value["arguments"] if "arguments" in value else value.get("parameters")
    call_id = value.get("id")
    if isinstance(arguments, str) and (not arguments.strip() or wire_json.decode_object(arguments) is not None):
        text = arguments
    else:
        text = "{}" if arguments is None else wire_json.compact(arguments)
    return RawCall(value["name"], text, call_id if isinstance(call_id, str) and call_id else None)


def call_of_text(name: str, arguments: str, id: str | None = None) -> RawCall:
    """
    Make a call of a name and JSON text.

    Raises:
        NotMarkup: there is no name, or the text is not JSON.
    """
    name, arguments = name.strip(), arguments.strip()
    if not name:
        raise NotMarkup
    if arguments:
        try:
            wire_json.decode(arguments)
        except ValueError:
            raise NotMarkup from None
    return RawCall(name, arguments or "{}", id)


def input_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments to be written; those that are no JSON object are kept as text within one."""
    value = wire_json.decode_object(call.arguments)
    return {"INVALID_JSON": call.arguments} if value is None else value


def value_text(value: Any) -> str:
    """Write a value as bare text: strings as they are, anything else as JSON."""
    return value if isinstance(value, str) else wire_json.compact(value)


def result_text(result: ToolResultMessage) -> str:
    """Return what a result says, as text: a failure says that it is one."""
    return error_envelope(result) if result.is_error else result.text
