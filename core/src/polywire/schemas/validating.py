"""Whether a JSON value fits a JSON Schema, and if not, where: for answers, so that a model can mend them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from polywire import wire_json
from polywire.schemas.combining import types_of
from polywire.schemas.references import ReferenceTable
from polywire.schemas.restoring import matches

__all__ = ["problems_of"]


def problems_of(schema: Mapping[str, Any], value: Any) -> list[str]:
    """
    Return what is wrong with a value, each as `place: reason`; empty where it fits.

    Knows types, enums, objects, arrays, bounds, patterns and combinations; `format` is taken as a remark.
    """
    table = ReferenceTable(schema)
    return list(_problems(schema, value, "", table, 0))


def _same(first: Any, second: Any) -> bool:
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)


def _problems(schema: Any, value: Any, path: str, table: ReferenceTable, depth: int) -> Iterator[str]:
    place = path or "the answer"
    if schema is False:
        yield f"{place}: nothing is allowed here"
    if not isinstance(schema, Mapping) or depth > 200:
        return
    if isinstance(schema.get("$ref"), str):
        target = table.target(schema["$ref"])
        if target is not None:
            yield from _problems(target, value, path, table, depth + 1)
    types = types_of(schema)
    if types and not matches({"type": types}, value, table.target):
        yield f"{place}: must be {' or '.join(types)}, not {_brief(value)}"
        return
    if "enum" in schema and not any(_same(each, value) for each in schema["enum"]):
        yield f"{place}: must be one of {', '.join(map(_brief, schema['enum']))}, not {_brief(value)}"
    if "const" in schema and not _same(schema["const"], value):
        yield f"{place}: must be {_brief(schema['const'])}, not {_brief(value)}"
    if isinstance(value, dict):
        yield from _object_problems(schema, value, path, table, depth)
    elif isinstance(value, list):
        yield from _array_problems(schema, value, path, table, depth)
    elif isinstance(value, str):
        yield from _bounds(schema, len(value), place, "minLength", "maxLength", "characters")
        if isinstance(schema.get("pattern"), str) and not _found(schema["pattern"], value):
            yield f"{place}: must match {schema['pattern']!r}"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number_problems(schema, value, place)
    yield from _combination_problems(schema, value, path, table, depth)


def _object_problems(
    schema: Mapping[str, Any], value: dict[str, Any], path: str, table: ReferenceTable, depth: int
) -> Iterator[str]:
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{path or 'the answer'}: {name!r} is missing"
    properties = schema.get("properties") or {}
    patterns = schema.get("patternProperties") or {}
    additional = schema.get("additionalProperties", True)
    for name, item in value.items():
        place = f"{path}.{name}" if path else name
        if name in properties:
            yield from _problems(properties[name], item, place, table, depth + 1)
            continue
        fitting = [inner for pattern, inner in patterns.items() if _found(pattern, name)]
        for inner in fitting:
            yield from _problems(inner, item, place, table, depth + 1)
        if not fitting and additional is False:
            yield f"{place}: there is no such property; known: {', '.join(properties) or 'none'}"
        elif not fitting:
            yield from _problems(additional, item, place, table, depth + 1)


def _array_problems(
    schema: Mapping[str, Any], value: list[Any], path: str, table: ReferenceTable, depth: int
) -> Iterator[str]:
    yield from _bounds(schema, len(value), path or "the answer", "minItems", "maxItems", "items")
    first = schema.get("prefixItems") or ()
    for index, item in enumerate(value):
        inner = first[index] if index < len(first) else schema.get("items", True)
        yield from _problems(inner, item, f"{path}[{index}]", table, depth + 1)


def _number_problems(schema: Mapping[str, Any], value: float, place: str) -> Iterator[str]:
    yield from _bounds(schema, value, place, "minimum", "maximum", "")
    if isinstance(schema.get("exclusiveMinimum"), (int, float)) and value <= schema["exclusiveMinimum"]:
        yield f"{place}: must be more than {schema['exclusiveMinimum']}"
    if isinstance(schema.get("exclusiveMaximum"), (int, float)) and value >= schema["exclusiveMaximum"]:
        yield f"{place}: must be less than {schema['exclusiveMaximum']}"


def _bounds(schema: Mapping[str, Any], size: float, place: str, least: str, most: str, unit: str) -> Iterator[str]:
    if isinstance(schema.get(least), (int, float)) and size < schema[least]:
        yield f"{place}: must be at least {schema[least]} {unit}".rstrip()
    if isinstance(schema.get(most), (int, float)) and size > schema[most]:
        yield f"{place}: must be at most {schema[most]} {unit}".rstrip()


def _combination_problems(
    schema: Mapping[str, Any], value: Any, path: str, table: ReferenceTable, depth: int
) -> Iterator[str]:
    for branch in schema.get("allOf") or ():
        yield from _problems(branch, value, path, table, depth + 1)
    for word in ("anyOf", "oneOf"):
        if word not in schema:
            continue
        failures = [list(_problems(branch, value, path, table, depth + 1)) for branch in schema[word]]
        if all(failures):
            # The branch that is nearest tells most of what to mend.
            yield from min(failures, key=len)
        elif word == "oneOf" and sum(not each for each in failures) > 1:
            yield f"{path or 'the answer'}: fits more than one of the alternatives"
    if isinstance(schema.get("not"), Mapping) and not list(_problems(schema["not"], value, path, table, depth + 1)):
        yield f"{path or 'the answer'}: is of a form that is excluded"


def _found(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _brief(value: Any) -> str:
    text = wire_json.compact(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
