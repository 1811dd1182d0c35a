"""
Reading an answer that was written to a lowered schema back into what the original schema means.

A restorer is a function of a parsed JSON value. Lowering makes one for each place where it changed a type; where it
changed none there is none, and reading back costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from polywire import wire_json

__all__ = [
    "Restore",
    "matches",
    "restore_any_of",
    "restore_array",
    "restore_entries",
    "restore_enum",
    "restore_json_text",
    "restore_object",
]

Restore: TypeAlias = Callable[[Any], Any]

_PYTHON_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def matches(schema: Any, value: Any, target: Callable[[str], Any], depth: int = 0) -> bool:
    """
    Whether a value looks like what a schema means: types, enums, required names, and what lies below.

    Enough to tell the branches of an `anyOf` apart; not a validator.
    """
    if not isinstance(schema, Mapping) or depth > 32:
        return schema is not False
    if "$ref" in schema:
        return matches(target(schema["$ref"]), value, target, depth + 1)
    if value is None and schema.get("nullable"):
        return True
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    if kinds and not any(_PYTHON_TYPES.get(each.lower(), lambda _: True)(value) for each in kinds):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        if any(name not in value for name in schema.get("required") or ()):
            return False
        if schema.get("additionalProperties") is False and any(name not in properties for name in value):
            return False
        if not all(
            matches(properties[name], item, target, depth + 1) for name, item in value.items() if name in properties
        ):
            return False
    if isinstance(value, list) and "items" in schema:
        return all(matches(schema["items"], item, target, depth + 1) for item in value)
    for word in ("anyOf", "oneOf"):
        if word in schema and not any(matches(branch, value, target, depth + 1) for branch in schema[word]):
            return False
    return True


def restore_enum(values: Mapping[str, Any]) -> Restore:
    """Map the text of each value back to the value."""

    def restore(value: Any) -> Any:
        return values.get(value, value) if isinstance(value, str) else value

    return restore


def restore_json_text(*, only_object: bool) -> Restore:
    """Read JSON text; what is none, or is no object where one is meant, stays the text it is."""

    def restore(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            read = wire_json.decode(value)
        except ValueError:
            return value
        return value if only_object and not isinstance(read, dict) else read

    return restore


def restore_entries(item: Restore | None) -> Restore:
    """Make a mapping of a list of `{"key": ..., "value": ...}`."""

    def restore(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if not all(isinstance(each, dict) and isinstance(each.get("key"), str) for each in value):
            return value
        return {each["key"]: item(each.get("value")) if item else each.get("value") for each in value}

    return restore


def restore_array(item: Restore) -> Restore:
    """Restore every item."""

    def restore(value: Any) -> Any:
        return [item(each) for each in value] if isinstance(value, list) else value

    return restore


def restore_object(properties: Mapping[str, Restore], not_given: frozenset[str], additional: Restore | None) -> Restore:
    """
    Restore every property.

    `not_given` are optional properties that had to take null: null there means that the model gave none.
    """

    def restore(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        result: dict[str, Any] = {}
        for name, item in value.items():
            if item is None and name in not_given:
                continue
            inner = properties.get(name, additional)
            result[name] = inner(item) if inner is not None else item
        return result

    return restore


def restore_any_of(branches: Sequence[tuple[Any, Restore | None]], target: Callable[[str], Any]) -> Restore:
    """Restore by the first branch that the value looks like."""

    def restore(value: Any) -> Any:
        for schema, inner in branches:
            if matches(schema, value, target):
                return inner(value) if inner is not None else value
        return value

    return restore
