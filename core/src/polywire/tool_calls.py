"""A model's request for a tool, and why a tool did not succeed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from polywire import wire_json
from polywire.errors import InvalidToolArguments
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping, slot_setters

__all__ = ["ToolCall", "ToolError"]


@dataclass(frozen=True, slots=True, init=False)
class ToolCall:
    """
    The model asks for one tool to be run.

    Attributes:
        id: links the call to its result; the vendor's own, or made where it gave none.
        name: the tool's name as the caller knows it.
        arguments: the raw JSON text as received. A mapping given here becomes compact JSON, non-ASCII kept; empty or
            `null` becomes `{}`.
        source: where it was read from: the wire's name, or `"markup"` for a call written as text.
        incomplete: the answer was cut off inside this call. Such a call is never run.
        extras: what only one wire understands, under that wire's name.

    A call whose arguments are not a JSON object is *invalid*: it stays in the history as it came, is answered with an
    error result, and is never run.
    """

    id: str
    name: str
    arguments: str = "{}"
    source: str | None = None
    incomplete: bool = False
    extras: Mapping[str, Any] = EMPTY
    kind: Literal["tool_call"] = "tool_call"

    def __init__(
        self,
        id: str,
        name: str,
        arguments: str | Mapping[str, Any] | None = "{}",
        source: str | None = None,
        *,
        incomplete: bool = False,
        extras: Mapping[str, Any] = EMPTY,
        kind: Literal["tool_call"] = "tool_call",
    ) -> None:
        if type(id) is not str or not id:
            _check_label("id", id)
        if type(name) is not str or not name:
            _check_label("name", name)
        if type(arguments) is not str or arguments[:1] != "{":
            arguments = _arguments_of(arguments, incomplete)
        if kind != "tool_call":
            msg = f"kind must be 'tool_call', not {kind!r}"
            raise ValueError(msg)
        _set_id(self, id)
        _set_name(self, name)
        _set_arguments(self, arguments)
        _set_source(self, source)
        _set_incomplete(self, incomplete)
        _set_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_kind(self, kind)

    @property
    def is_valid(self) -> bool:
        """Whether the arguments are a whole JSON object, so that the call may be run."""
        return not self.incomplete and wire_json.decode_arguments(self.arguments) is not None

    @property
    def input(self) -> dict[str, Any]:
        """
        The parsed arguments, a new dict at each access.

        Raises:
            InvalidToolArguments: the call is incomplete, or its arguments are not a JSON object.
        """
        if self.incomplete:
            msg = f"the call {self.id!r} of {self.name!r} was cut off by the end of the answer: {self.arguments!r}"
            raise InvalidToolArguments(msg, tool_name=self.name, call_id=self.id)
        if (arguments := wire_json.decode_arguments(self.arguments)) is not None:
            return arguments
        try:
            value = wire_json.decode(self.arguments)
        except ValueError as error:
            msg = f"the arguments of {self.name!r} are not JSON ({error}): {self.arguments!r}"
            raise InvalidToolArguments(msg, tool_name=self.name, call_id=self.id) from None
        if not isinstance(value, dict):
            msg = (
                f"the arguments of {self.name!r} must be a JSON object, not {type(value).__name__}: {self.arguments!r}"
            )
            raise InvalidToolArguments(msg, tool_name=self.name, call_id=self.id)
        place = wire_json.place_of_no_number(value)
        msg = f"the arguments of {self.name!r} hold what is no number in JSON ({(place or '').lstrip('.')}): {self.arguments!r}"
        raise InvalidToolArguments(msg, tool_name=self.name, call_id=self.id)


_set_id, _set_name, _set_arguments, _set_source, _set_incomplete, _set_extras, _set_kind = slot_setters(
    ToolCall, "id", "name", "arguments", "source", "incomplete", "extras", "kind"
)


def _check_label(label: str, value: object) -> None:
    if not isinstance(value, str):
        msg = f"ToolCall.{label} must be a str, not {type(value).__name__}"
        raise TypeError(msg)
    if not value:
        msg = f"ToolCall.{label} must not be empty"
        raise ValueError(msg)


def _arguments_of(arguments: object, incomplete: bool) -> str:
    if isinstance(arguments, str):
        # Of a call that was cut off, what had arrived stays, even if that is nothing: `{}` would look whole.
        says_nothing = not arguments or arguments.isspace() or arguments.strip() == "null"
        return "{}" if says_nothing and not incomplete else arguments
    if arguments is None:
        return "{}"
    if isinstance(arguments, Mapping):
        wire_json.require_numbers(arguments, "ToolCall.arguments")
        return wire_json.compact(arguments)
    msg = f"ToolCall.arguments must be JSON text or a mapping, not {type(arguments).__name__}"
    raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class ToolError:
    """
    Why a tool did not succeed, in a form that both a model and a program can act on.

    Attributes:
        type: a short word: `timeout`, `cancelled`, `permission_denied`, `invalid_arguments`, `unknown_tool`, or the
            exception's class name.
        message: for the model to read.
        retryable: whether the same call may succeed if made again; `None` where that is not known.
        metadata: anything else, as JSON.
    """

    type: str
    message: str
    retryable: bool | None = None
    metadata: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, name="metadata"))
        if self.metadata:
            wire_json.require_numbers(self.metadata, "ToolError.metadata")
