"""
The two spellings of this wire, read as one.

Its JSON is that of protocol buffers: fields are written in camelCase, snake_case is taken as well, whole numbers of 64 bits
may be text, and a default value may be left out. Schemas write types in capitals, say `nullable`, and list numbers as text
in `enum`; everybody else writes JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polywire import wire_json
from polywire.errors import ProtocolError

__all__ = [
    "answer_in_camel_case",
    "in_camel_case",
    "is_in_snake_case",
    "object_at",
    "objects_at",
    "part_in_camel_case",
    "plain_schema",
]

_HUMP = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")
_INNER = ("functionCall", "functionResponse", "inlineData", "fileData", "videoMetadata")
"""The fields of a part that hold an object of the wire's own."""


def in_camel_case(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object's fields under their written names. What they hold stays as it is."""
    if not any("_" in key for key in fields):
        return fields
    return {_HUMP.sub(lambda found: found[1].upper(), key): value for key, value in fields.items()}


def answer_in_camel_case(body: dict[str, Any]) -> dict[str, Any]:
    """Return an answer, or a chunk of one, under the written names of its fields, at every depth that is the wire's own."""
    body = dict(in_camel_case(body))
    for key in ("usageMetadata", "promptFeedback"):
        if isinstance(body.get(key), dict):
            body[key] = dict(in_camel_case(body[key]))
    if isinstance(candidates := body.get("candidates"), list):
        body["candidates"] = [_candidate(each) if isinstance(each, dict) else each for each in candidates]
    return body


def _candidate(candidate: dict[str, Any]) -> dict[str, Any]:
    candidate = dict(in_camel_case(candidate))
    content = candidate.get("content")
    if isinstance(content, dict) and isinstance(parts := content.get("parts"), list):
        candidate["content"] = {**content, "parts": [part_in_camel_case(each) for each in parts]}
    return candidate


def is_in_snake_case(body: dict[str, Any]) -> bool:
    """Whether fields of an answer are written with underscores, as clients in Python store it."""
    candidates = body.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return any("_" in key for key in body) or (isinstance(first, dict) and _has_snakes(first))


def _has_snakes(candidate: dict[str, Any]) -> bool:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    held = [candidate, *(part for part in parts if isinstance(part, dict))] if isinstance(parts, list) else [candidate]
    return any("_" in key for each in held for key in each)


def part_in_camel_case(part: Any) -> Any:
    """Return a part, and what it holds of the wire's own, under their written names."""
    if not isinstance(part, Mapping):
        return part
    part = in_camel_case(part)
    inner = {key: in_camel_case(part[key]) for key in _INNER if isinstance(part.get(key), Mapping)}
    return {**part, **inner} if inner else part


def object_at(value: Any, where: str) -> Mapping[str, Any]:
    """
    Return an object, its fields under their written names; nothing is an empty one.

    Raises:
        ProtocolError: it is something else; the message names `where`.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        msg = f"{where} must be an object, not {type(value).__name__}"
        raise ProtocolError(msg)
    return in_camel_case(value)


def objects_at(values: Any, where: str) -> list[Mapping[str, Any]]:
    """
    Return a list of objects.

    Raises:
        ProtocolError: it is something else; the message names `where`.
    """
    if values is None:
        return []
    if not isinstance(values, (list, tuple)):
        msg = f"{where} must be a list, not {type(values).__name__}"
        raise ProtocolError(msg)
    return [object_at(value, f"{where}[{index}]") for index, value in enumerate(values)]


_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_NAMES = frozenset({"properties", "defs", "$defs"})
_KEYWORDS = {"defs": "$defs", "ref": "$ref"}
_UNSPECIFIED = "type_unspecified"


def plain_schema(schema: Any) -> Any:
    """Return a schema of this wire as JSON Schema; one that is JSON Schema already comes back as it was."""
    if not isinstance(schema, Mapping):
        return [plain_schema(item) for item in schema] if isinstance(schema, (list, tuple)) else schema
    read: dict[str, Any] = {}
    for key, value in in_camel_case(schema).items():
        if key in _NAMES and isinstance(value, Mapping):
            read[_KEYWORDS.get(key, key)] = {name: plain_schema(item) for name, item in value.items()}
        elif key == "type" and isinstance(value, str):
            if value.lower() != _UNSPECIFIED:
                read["type"] = value.lower()
        elif key in _COUNTS and isinstance(value, str) and value.isdigit():
            read[key] = int(value)
        elif key in {"enum", "required", "default", "example", "const", "propertyOrdering"}:
            read[key] = value
        else:
            read[_KEYWORDS.get(key, key)] = plain_schema(value)
    if read.get("type") in ("integer", "number") and isinstance(values := read.get("enum"), (list, tuple)):
        read["enum"] = [_number(value) for value in values]
    return _with_null(read) if read.get("nullable") is True else read


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        number = wire_json.decode(value)
    except ValueError:
        return value
    return number if isinstance(number, (int, float)) else value


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Say in JSON Schema that a value may be null."""
    kind, members = schema.get("type"), schema.get("anyOf")
    if isinstance(kind, str) and kind != "null":
        null: dict[str, Any] = {"type": [kind, "null"]}
        if isinstance(values := schema.get("enum"), (list, tuple)) and None not in values:
            null["enum"] = [*values, None]
    elif isinstance(members, list):
        null = {"anyOf": [*members, {"type": "null"}]}
    else:
        return schema
    return {key: value for key, value in {**schema, **null}.items() if key != "nullable"}
