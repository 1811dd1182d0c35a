"""What is asked for: a type or a JSON Schema, as a schema to send and a way to read the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from polywire import wire_json
from polywire.immutable import FrozenDict, freeze_mapping
from polywire.schemas.references import ReferenceTable
from polywire.schemas.validating import problems_of

__all__ = ["InvalidOutput", "OutputType", "output_type"]

_WRAPPED = "value"


class InvalidOutput(ValueError):
    """A value does not fit; the message says where and how, in words a model can act on."""


class OutputType:
    """
    One type of output.

    Attributes:
        name: a short name, of letters, digits, `_` and `-`.
        description: the type's own words, where it has some.
        schema: JSON Schema of the answer. Its root is always an object: endpoints want one, so any other type is asked
            for as `{"value": …}` and taken out again.
    """

    def __init__(self, output: Any) -> None:
        if isinstance(output, Mapping):
            self._adapter: Any = None
            schema: Mapping[str, Any] = freeze_mapping(output, name="output")
            if not schema:
                msg = "output is an empty JSON Schema; it must say what the answer is to be"
                raise ValueError(msg)
            name = str(schema.get("title") or "answer")
            self.description = schema.get("description")
        else:
            self._adapter, schema = _adapter(output)
            name = str(getattr(output, "__name__", None) or "answer")
            self.description = schema.get("description")
        self.name = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64].strip("_") or "answer"
        self._plain = schema
        self.wrapped = not _is_object(schema)
        self.schema: FrozenDict = freeze_mapping(_wrap(schema) if self.wrapped else schema, name="output")

    def read(self, value: Any) -> Any:
        """
        Make the output of a parsed answer.

        Raises:
            InvalidOutput: it does not fit.
        """
        if self.wrapped and isinstance(value, dict) and set(value) == {_WRAPPED}:
            value = value[_WRAPPED]
        if self._adapter is None:
            problems = problems_of(self._plain, value)
            if problems:
                raise InvalidOutput("; ".join(problems[:10]))
            return value
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(wire_json.encode(value))
        except ValidationError as error:
            raise InvalidOutput(_explained(error)) from None

    def unwrapped(self, value: Any) -> Any:
        """Take the value out of a partial answer."""
        return value.get(_WRAPPED) if self.wrapped and isinstance(value, dict) else value


_remembered = lru_cache(maxsize=256)(OutputType)


def output_type(output: Any) -> OutputType:
    """
    Look at a type; the last ones are remembered.

    Raises:
        TypeError: no JSON Schema can be made of it.
        ValueError: the JSON Schema is empty.
    """
    if isinstance(output, Mapping):
        # Equal schemas may differ here: 1, 1.0 and True are equal, and are not the same in an enum.
        return OutputType(output)
    try:
        hash(output)
    except TypeError:
        return OutputType(output)
    return _remembered(output)


def _adapter(output: Any) -> tuple[Any, dict[str, Any]]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    from polywire.tools.annotations import for_pydantic
    from polywire.tools.json_schema import PlainJsonSchema

    try:
        adapter = TypeAdapter(for_pydantic(output))
        return adapter, adapter.json_schema(schema_generator=PlainJsonSchema)
    except (PydanticUserError, NameError) as error:
        msg = f"output {output!r} has no JSON Schema: {str(error).splitlines()[0]}"
        raise TypeError(msg) from error


def _is_object(schema: Mapping[str, Any]) -> bool:
    table = ReferenceTable(schema)
    node: Any = schema
    seen: set[str] = set()
    while isinstance(node, Mapping) and isinstance(node.get("$ref"), str) and node["$ref"] not in seen:
        seen.add(node["$ref"])
        node = table.target(node["$ref"])
    if not isinstance(node, Mapping):
        return False
    return node.get("type") == "object" or ("type" not in node and "properties" in node)


def _wrap(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key not in {"$defs", "definitions"}}
    wrapped: dict[str, Any] = {"type": "object", "properties": {_WRAPPED: inner}, "required": [_WRAPPED]}
    wrapped["additionalProperties"] = False
    wrapped.update({key: schema[key] for key in ("$defs", "definitions") if key in schema})
    return wrapped


def _explained(error: Any) -> str:
    clauses = []
    for each in error.errors(include_url=False, include_context=False)[:10]:
        place = ".".join(str(step) for step in each["loc"]) or "the answer"
        clauses.append(f"{place}: {each['msg']}")
    return "; ".join(clauses)
