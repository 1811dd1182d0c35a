"""Making one schema of several: `allOf`, siblings of a reference, and alternatives at the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["is_object_like", "merge", "merge_alternatives", "types_of"]

_LARGER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_LAST = frozenset({"title", "description", "default", "examples", "example", "nullable"})


def types_of(schema: Any) -> list[str]:
    """Return the types that a schema names, as a list."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return [kind] if isinstance(kind, str) else list(kind) if isinstance(kind, list) else []


def is_object_like(schema: Any) -> bool:
    """Whether a schema describes, or adds to, an object."""
    if not isinstance(schema, Mapping):
        return False
    types = types_of(schema)
    return types == ["object"] or (not types and ("properties" in schema or "required" in schema))


def merge(schemas: Sequence[Mapping[str, Any]], conflict: Callable[[str], None]) -> dict[str, Any]:
    """
    Return one schema that demands what all of them demand.

    Descriptions and defaults: the last wins. `conflict` is told each keyword of which only the first could be kept.
    """
    result: dict[str, Any] = {}
    for schema in schemas:
        for key, value in schema.items():
            if key not in result or result[key] == value or key in _LAST:
                result[key] = value
            elif key == "properties":
                merged = dict(result[key])
                for name, item in value.items():
                    both = name in merged and merged[name] != item
                    merged[name] = {"allOf": [merged[name], item]} if both else item
                result[key] = merged
            elif key == "required":
                result[key] = list(dict.fromkeys([*result[key], *value]))
            elif key == "enum":
                result[key] = [item for item in result[key] if item in value]
            elif key == "type":
                mine, theirs = types_of(result), types_of(schema)
                common = [each for each in mine if each in theirs or (each == "integer" and "number" in theirs)]
                if not common and "integer" in theirs and "number" in mine:
                    common = ["integer"]
                if common:
                    result[key] = common[0] if len(common) == 1 else common
                else:
                    conflict(key)
            elif key in _LARGER:
                result[key] = max(result[key], value)
            elif key in _SMALLER:
                result[key] = min(result[key], value)
            elif key in {"allOf", "$defs", "definitions"}:
                result[key] = [*result[key], *value] if key == "allOf" else {**result[key], **value}
            elif key == "additionalProperties":
                result[key] = False if False in (result[key], value) else result[key]
            else:
                conflict(key)
    return result


def merge_alternatives(root: Mapping[str, Any], branches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return `root` as one object that takes what any of the branches takes.

    A property that several branches describe takes any of their forms; required is what all of them require.
    """
    properties: dict[str, Any] = {}
    own = root.get("properties") or {}
    for branch in branches:
        for name, item in (branch.get("properties") or {}).items():
            properties[name] = _either(properties[name], item) if name in properties else item
    for name, item in own.items():
        both = name in properties and properties[name] != item
        properties[name] = {"allOf": [item, properties[name]]} if both else item
    required = [name for name in properties if all(name in (branch.get("required") or ()) for branch in branches)]
    result = {key: value for key, value in root.items() if key not in {"anyOf", "oneOf"}}
    result["type"] = "object"
    ordered = [*own, *(name for name in properties if name not in own)]
    result["properties"] = {name: properties[name] for name in ordered}
    needed = [name for name in dict.fromkeys([*(root.get("required") or ()), *required]) if name in properties]
    if needed:
        result["required"] = needed
    if any(branch.get("additionalProperties") is False for branch in branches):
        result.setdefault("additionalProperties", False)
    return result


def _choices(schema: Any) -> list[Any] | None:
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if isinstance(schema.get("enum"), list) else None


def _either(first: Any, second: Any) -> Any:
    if first == second:
        return first
    mine, theirs = _choices(first), _choices(second)
    if mine is not None and theirs is not None and types_of(first) == types_of(second):
        # The tag of a union: one list of words reads better than two schemas of one word.
        rest = {key: value for key, value in first.items() if key not in {"const", "enum", "title", "default"}}
        return {**rest, "enum": [*mine, *(value for value in theirs if value not in mine)]}
    branches = first["anyOf"] if isinstance(first, Mapping) and set(first) == {"anyOf"} else [first]
    return {"anyOf": [*branches, second]}
