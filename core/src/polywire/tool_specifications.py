"""Tools as a model sees them: what is offered, not what is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polywire.contents import CacheMark
from polywire.immutable import EMPTY, FrozenDict, freeze_mapping

__all__ = ["EMPTY_PARAMETERS_SCHEMA", "OpaqueTool", "ToolSpecification"]

EMPTY_PARAMETERS_SCHEMA = FrozenDict({"type": "object", "properties": FrozenDict()})


@dataclass(frozen=True, slots=True)
class ToolSpecification:
    """
    A tool as the model sees it.

    Attributes:
        name: as the caller knows it; a codec maps it where a wire's pattern demands, and maps it back.
        description: when and how to use it.
        parameters: JSON Schema of the arguments; its root is an object. `None` or `{}` means no parameters.
        strict: ask the vendor to hold the model to the schema; `None` leaves it to the vendor.
        cache: "everything up to this tool may be cached".
        extras: what only one wire understands, under that wire's name.

    Raises:
        ValueError: the name is empty, or the schema's root is not an object.
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] = EMPTY_PARAMETERS_SCHEMA
    strict: bool | None = None
    cache: CacheMark | None = None
    extras: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            msg = f"ToolSpecification.name must be a non-empty str, not {self.name!r}"
            raise TypeError(msg) if not isinstance(self.name, str) else ValueError(msg)
        if self.parameters is not EMPTY_PARAMETERS_SCHEMA:
            schema = freeze_mapping(self.parameters, name=f"the parameters of tool {self.name!r}")
            if not schema:
                schema = EMPTY_PARAMETERS_SCHEMA
            root = schema.get("type", "object" if "properties" in schema or "$ref" in schema else None)
            if root != "object":
                msg = f"the parameters of tool {self.name!r} must be a JSON Schema whose root has type 'object', not {root!r}"
                raise ValueError(msg)
            if "type" not in schema and "$ref" not in schema:
                schema = FrozenDict({"type": "object", **schema})
            object.__setattr__(self, "parameters", schema)
        object.__setattr__(self, "extras", freeze_mapping(self.extras, name="extras"))

    @classmethod
    def from_function(cls, function: Callable[..., Any], **overrides: Any) -> ToolSpecification:
        """Make it from a function's signature, annotations and docstring (extra `polywire[tools]`)."""
        from polywire.tools.functions import specification_of

        return specification_of(function, **overrides)


@dataclass(frozen=True, slots=True)
class OpaqueTool:
    """A tool that only one wire knows, such as a vendor's own web search: sent unchanged to it, refused elsewhere."""

    wire: str
    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", freeze_mapping(self.data, name="data"))
