"""Tools as a model sees them: what is offered, not what is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polywire import wire_json
from polywire.contents import CacheMark
from polywire.fast_dataclass import dataclass
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
            wire_json.require_numbers(schema, f"the parameters of tool {self.name!r}")
            if not schema:
                schema = EMPTY_PARAMETERS_SCHEMA
            if not _takes_objects(schema):
                root = schema.get("type")
                msg = f"the parameters of tool {self.name!r} must be a JSON Schema whose root has type 'object', not {root!r}"
                raise ValueError(msg)
            if "type" not in schema and "$ref" not in schema:
                schema = FrozenDict({"type": "object", **schema})
            if any(schema.get(key, schema) is None for key in _NEVER_NULL):
                schema = FrozenDict({key: schema[key] for key in schema if schema[key] is not None})
                schema = (
                    schema if "properties" in schema or "$ref" in schema else FrozenDict({**schema, "properties": {}})
                )
            object.__setattr__(self, "parameters", schema)
        object.__setattr__(self, "extras", freeze_mapping(self.extras, name="extras"))

    @classmethod
    def from_function(cls, function: Callable[..., Any], **overrides: Any) -> ToolSpecification:
        """Make it from a function's signature, annotations and docstring (extra `polywire[tools]`)."""
        from polywire.tools.functions import specification_of

        return specification_of(function, **overrides)


_NEVER_NULL = ("properties", "required")


def _takes_objects(schema: Mapping[str, Any]) -> bool:
    """Whether a schema's root is an object: by its type, by its fields, or by all that it is put together from."""
    kind = schema.get("type")
    if kind is not None:
        return bool(kind == "object")
    if "properties" in schema or "$ref" in schema:
        return True
    members = next((schema[key] for key in ("anyOf", "oneOf", "allOf") if schema.get(key)), ())
    return bool(members) and all(isinstance(member, Mapping) and _takes_objects(member) for member in members)


@dataclass(frozen=True, slots=True)
class OpaqueTool:
    """A tool that only one wire knows, such as a vendor's own web search: sent unchanged to it, refused elsewhere."""

    wire: str
    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", freeze_mapping(self.data, name="data"))
