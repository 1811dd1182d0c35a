"""
What can be asked of a model besides the messages.

One rule of merging, everywhere: request over model default, field by field, a value that is not `None` wins;
`custom_parameters` and `extras` merge by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, Literal, TypeAlias, get_args

from polywire import wire_json
from polywire.errors import UnknownParameter, did_you_mean
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping
from polywire.tool_specifications import OpaqueTool, ToolSpecification

__all__ = [
    "NO_PARAMETERS",
    "PARAMETER_NAMES",
    "ChatRequestParameters",
    "Effort",
    "Reasoning",
    "ResponseFormat",
    "ToolChoice",
    "check_number",
]

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard the model shall think, weakest first. A wire that knows fewer words takes the nearest, with a notice."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """
    Whether the model may, must or must not call tools.

    `mode` is `"auto"` (may), `"required"` (must) or `"none"`. `names` narrows it to some of the tools; `required` with
    one name forces that tool.
    """

    mode: Literal["auto", "required", "none"] = "auto"
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in {"auto", "required", "none"}:
            msg = f"tool choice {self.mode!r}: must be 'auto', 'required', 'none', or ToolChoice.tool(name)"
            raise ValueError(msg)
        object.__setattr__(self, "names", (self.names,) if isinstance(self.names, str) else tuple(self.names))

    @classmethod
    def tool(cls, name: str) -> ToolChoice:
        """The model must call this tool."""
        return cls("required", (name,))

    @classmethod
    def of(cls, value: str | ToolChoice) -> ToolChoice:
        """Read the short form: one of the three modes."""
        if isinstance(value, ToolChoice):
            return value
        if not isinstance(value, str):
            msg = f"tool_choice must be a str or a ToolChoice, not {type(value).__name__}"
            raise TypeError(msg)
        return cls(value)  # type: ignore[arg-type]

    @property
    def forced(self) -> str | None:
        """The one tool that must be called, or `None`."""
        return self.names[0] if self.mode == "required" and len(self.names) == 1 else None


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """
    The form of the answer's text: `"text"`, any JSON object (`"json"`), or JSON after a schema (`"json_schema"`).

    `name`, `description` and `strict` go along where the wire has a place for them.
    """

    type: Literal["text", "json", "json_schema"] = "text"
    schema: Mapping[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None

    def __post_init__(self) -> None:
        if self.type not in {"text", "json", "json_schema"}:
            msg = f"response_format {self.type!r}: must be 'text', 'json' or 'json_schema'"
            raise ValueError(msg)
        if (self.schema is None) is (self.type == "json_schema"):
            msg = "response_format needs a schema for type 'json_schema', and takes none for the others"
            raise ValueError(msg)
        if self.schema is not None:
            object.__setattr__(self, "schema", freeze_mapping(self.schema, name="response_format.schema"))
            wire_json.require_numbers(self.schema, "response_format.schema")

    @classmethod
    def of(cls, value: str | Mapping[str, Any] | ResponseFormat) -> ResponseFormat:
        """Read the short forms: a type's name, or a JSON Schema."""
        if isinstance(value, ResponseFormat):
            return value
        if isinstance(value, str):
            return cls(value)  # type: ignore[arg-type]
        if isinstance(value, Mapping):
            return cls("json_schema", value)
        msg = f"response_format must be a str, a JSON Schema or a ResponseFormat, not {type(value).__name__}"
        raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """
    How the model shall think before it answers.

    Attributes:
        effort: how hard; `"none"` switches thinking off where the model can.
        budget_tokens: at most so many tokens of thinking, for models that count rather than grade.
        visible: whether the thinking, or its summary, shall be sent along; `None` leaves it to the vendor.
    """

    effort: Effort | None = None
    budget_tokens: int | None = None
    visible: bool | None = None

    def __post_init__(self) -> None:
        if self.effort is not None and self.effort not in get_args(Effort):
            msg = f"reasoning effort {self.effort!r}" + did_you_mean(str(self.effort), get_args(Effort))
            raise ValueError(msg)
        check_number("reasoning.budget_tokens", self.budget_tokens, whole=True)
        if self.visible is not None and not isinstance(self.visible, bool):
            msg = f"reasoning.visible must be a bool, not {type(self.visible).__name__}"
            raise TypeError(msg)

    @classmethod
    def of(cls, value: str | int | bool | Mapping[str, Any] | Reasoning) -> Reasoning:
        """Read the short forms: an effort, a budget in tokens, `False` for off, or a mapping of the fields."""
        if isinstance(value, Reasoning):
            return value
        if isinstance(value, bool):
            return cls() if value else cls(effort="none")
        if isinstance(value, int):
            return cls(budget_tokens=value)
        if isinstance(value, str):
            return cls(effort=value)  # type: ignore[arg-type]
        if isinstance(value, Mapping):
            return cls(**value)
        msg = f"reasoning must be an effort, a budget or a Reasoning, not {type(value).__name__}"
        raise TypeError(msg)


def check_number(name: str, value: Any, *, whole: bool = False) -> None:
    if value is None:
        return
    allowed: tuple[type, ...] = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed):
        msg = f"{name} must be {'an int' if whole else 'a number'}, not {type(value).__name__}"
        raise TypeError(msg)
    if isinstance(value, float) and not isfinite(value):
        msg = f"{name} must be a number that JSON can write, not {value}"
        raise ValueError(msg)
    if name.endswith("tokens") and isinstance(value, int) and value < 0:
        msg = f"{name} must not be negative, not {value}"
        raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequestParameters:
    """
    Everything that can be asked of a model besides the messages; all of it optional.

    What several vendors share and mean alike is a typed field. What one vendor has goes through `custom_parameters`,
    copied into the request body as it is (a key there wins over a typed field, with a notice; `messages`, `stream` and
    `tools` are refused). `extras` hold what a wire's own request carried when it was read, under that wire's name.
    """

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    tools: tuple[ToolSpecification | OpaqueTool, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning: Reasoning | None = None
    custom_parameters: Mapping[str, Any] = EMPTY
    extras: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.model is not None and (not isinstance(self.model, str) or not self.model.strip()):
            msg = f"model must be a non-empty str, not {self.model!r}"
            raise TypeError(msg) if not isinstance(self.model, str) else ValueError(msg)
        for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
            check_number(name, getattr(self, name))
        for name in ("max_tokens", "seed"):
            check_number(name, getattr(self, name), whole=True)
        if self.stop_sequences is not None:
            put(self, "stop_sequences", _strings("stop_sequences", self.stop_sequences))
        if self.tools is not None:
            put(self, "tools", _tools(self.tools))
        if self.tool_choice is not None:
            put(self, "tool_choice", ToolChoice.of(self.tool_choice))
        if self.parallel_tool_calls is not None and not isinstance(self.parallel_tool_calls, bool):
            msg = f"parallel_tool_calls must be a bool, not {type(self.parallel_tool_calls).__name__}"
            raise TypeError(msg)
        if self.response_format is not None:
            put(self, "response_format", ResponseFormat.of(self.response_format))
        if self.reasoning is not None:
            put(self, "reasoning", Reasoning.of(self.reasoning))
        put(self, "custom_parameters", freeze_mapping(self.custom_parameters, name="custom_parameters"))
        for key in ("messages", "stream", "tools"):
            if key in self.custom_parameters:
                msg = f"custom_parameters may not hold {key!r}: it is the library's own"
                raise ValueError(msg)
        put(self, "extras", freeze_mapping(self.extras, name="extras"))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ChatRequestParameters:
        """
        Make them from keyword parameters.

        Raises:
            UnknownParameter: a key is none of the fields; the message names the nearest one.
        """
        for key in values:
            if key not in PARAMETER_NAMES:
                msg = (
                    f"unknown parameter {key!r}{did_you_mean(key, PARAMETER_NAMES)}"
                    " (what only one vendor has goes into custom_parameters)"
                )
                raise UnknownParameter(msg)
        return cls(**values)

    def merge(self, over: ChatRequestParameters | None) -> ChatRequestParameters:
        """Return these with `over` laid on top: what is not `None` there wins; the two mappings merge by key."""
        if over is None or over is NO_PARAMETERS:
            return self
        if self is NO_PARAMETERS:
            return over
        merged = {name: value for name in PARAMETER_NAMES if (value := getattr(self, name)) is not None}
        for name in PARAMETER_NAMES:
            value = getattr(over, name)
            if value is None:
                continue
            if name in _MERGED_BY_KEY and merged[name]:
                value = {**merged[name], **value} if value else merged[name]
            merged[name] = value
        return ChatRequestParameters(**merged)


PARAMETER_NAMES: tuple[str, ...] = tuple(each.name for each in fields(ChatRequestParameters))
_MERGED_BY_KEY = frozenset({"custom_parameters", "extras"})
NO_PARAMETERS = ChatRequestParameters()
"""The shared empty parameters."""


def _strings(name: str, value: Any) -> tuple[str, ...]:
    strings = (value,) if isinstance(value, str) else tuple(value)
    for item in strings:
        if not isinstance(item, str):
            msg = f"{name} must hold strings, not {type(item).__name__}"
            raise TypeError(msg)
        if not item:
            msg = f"{name} must not hold an empty string"
            raise ValueError(msg)
    return strings


def _tools(value: Any) -> tuple[ToolSpecification | OpaqueTool, ...]:
    items = (value,) if isinstance(value, (ToolSpecification, OpaqueTool)) or callable(value) else tuple(value)
    tools: list[ToolSpecification | OpaqueTool] = []
    names: set[str] = set()
    for index, item in enumerate(items):
        if isinstance(item, OpaqueTool):
            tools.append(item)
            continue
        specification = getattr(item, "specification", item)
        if not isinstance(specification, ToolSpecification) and callable(item):
            specification = ToolSpecification.from_function(item)
        if not isinstance(specification, ToolSpecification):
            msg = f"tools[{index}] must be a ToolSpecification, a function or a tool, not {type(item).__name__}"
            raise TypeError(msg)
        if specification.name in names:
            msg = f"tools[{index}]: there are two tools named {specification.name!r}"
            raise ValueError(msg)
        names.add(specification.name)
        tools.append(specification)
    return tuple(tools)
