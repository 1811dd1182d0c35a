"""
Which part of JSON Schema an endpoint takes, as data.

A dialect is a row of facts, never a branch on a vendor. A profile names the one its endpoint takes. Names may be joined
with `+` (`"gemini_json+no_references"`): the result takes only what all of them take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Literal

from polywire.errors import SettingsError, did_you_mean
from polywire.fast_dataclass import dataclass

__all__ = ["DIALECTS", "SchemaDialect", "dialect_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDialect:
    """
    One subset of JSON Schema.

    Attributes:
        keywords: the keywords that may be sent; `None`: all.
        formats: the values of `format` that may be sent; `None`: all.
        references: `"keep"` them; keep those that stand alone (`"bare"`), replacing one that has siblings by what it
            points to; or replace all of them (`"inline"`).
        recursion: may a schema contain itself? `"optional"`: only below properties that may be left out.
        root_object: must the root be an object, with no `anyOf`, `oneOf` or `allOf` beside?
        type_lists: may `type` be a list?
        null: is null a `"type"`, or is it told by the keyword `"nullable"`?
        string_enums: must the values of an `enum` be strings?
        filled_enums: must each of them be more than an empty string?
        closed_objects: must every object say `additionalProperties: false`?
        all_required: must every property be required (an optional one then takes null)?
        typed: must every schema say its type?
        array_items: must every array say its `items`?
        largest_min_items: the largest `minItems` that may be sent; `None`: any.
        max_depth: how deep objects and arrays may be nested; `None`: any depth.
    """

    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    references: Literal["keep", "bare", "inline"] = "keep"
    recursion: Literal["any", "optional", "none"] = "any"
    root_object: bool = False
    type_lists: bool = True
    null: Literal["type", "nullable"] = "type"
    string_enums: bool = False
    filled_enums: bool = False
    closed_objects: bool = False
    all_required: bool = False
    typed: bool = False
    array_items: bool = False
    largest_min_items: int | None = None
    max_depth: int | None = None

    def allows(self, keyword: str) -> bool:
        """Whether this keyword may be sent."""
        return self.keywords is None or keyword in self.keywords

    def allows_value(self, keyword: str, value: object) -> bool:
        """Whether this keyword, which the dialect knows, may be sent with this value."""
        if keyword == "format":
            return self.formats is None or value in self.formats
        if keyword == "minItems":
            return self.largest_min_items is None or not isinstance(value, int) or value <= self.largest_min_items
        return True

    def __and__(self, other: SchemaDialect) -> SchemaDialect:
        """Return the dialect that takes only what both take."""
        values: dict[str, object] = {}
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            if mine == theirs or theirs is None:
                values[each.name] = mine
            elif mine is None:
                values[each.name] = theirs
            elif isinstance(mine, frozenset):
                values[each.name] = mine & theirs
            elif isinstance(mine, bool):
                # True is the narrower one of every switch but this.
                values[each.name] = (mine and theirs) if each.name == "type_lists" else (mine or theirs)
            elif isinstance(mine, int):
                values[each.name] = min(mine, theirs)
            else:
                order = _NARROWER_LAST[each.name]
                values[each.name] = max(mine, theirs, key=order.index)
        return SchemaDialect(**values)  # type: ignore[arg-type]


_NARROWER_LAST: Mapping[str, tuple[str, ...]] = {
    "references": ("keep", "bare", "inline"),
    "recursion": ("any", "optional", "none"),
    "null": ("type", "nullable"),
}

_STRICT_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

DIALECTS: Mapping[str, SchemaDialect] = {
    # All of JSON Schema; the schema goes out as it is.
    "full": SchemaDialect(),
    # All of it, without references.
    "no_references": SchemaDialect(references="inline", recursion="none"),
    # All of it below an object at the root: wire/anthropic-messages.md section 5.
    "anthropic": SchemaDialect(root_object=True),
    # wire/anthropic-messages.md section 5, "Strict / structured-output schema subset".
    "anthropic_strict": SchemaDialect(
        keywords=frozenset(
            {
                "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "allOf",
                "$ref", "$defs", "definitions", "format", "minItems", "description", "title",
            }
        ),
        formats=_STRICT_FORMATS | {"uri"},
        references="bare",
        recursion="none",
        root_object=True,
        closed_objects=True,
        typed=True,
        largest_min_items=1,
    ),
    # wire/openai-chat.md section 5, "Strict schema subset".
    "openai_strict": SchemaDialect(
        keywords=frozenset(
            {
                "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref",
                "$defs", "definitions", "format", "pattern", "minimum", "maximum", "exclusiveMinimum",
                "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "description", "title",
            }
        ),
        formats=_STRICT_FORMATS,
        references="bare",
        root_object=True,
        closed_objects=True,
        all_required=True,
        typed=True,
        array_items=True,
        max_depth=10,
    ),
    # The OpenAPI subset: wire/gemini.md section 6, `Schema`. `defs` and `ref` are left out: refs are inlined.
    "gemini": SchemaDialect(
        keywords=frozenset(
            {
                "type", "format", "nullable", "enum", "items", "properties", "required", "anyOf", "minItems",
                "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum",
                "pattern", "default", "example", "title", "description", "propertyOrdering", "additionalProperties",
            }
        ),
        # Other values of `format` are refused for strings; numbers say their width with it.
        formats=frozenset({"date-time", "enum", "float", "double", "int32", "int64"}),
        references="inline",
        recursion="none",
        root_object=True,
        type_lists=False,
        null="nullable",
        string_enums=True,
        # 400, "enum[0]: cannot be empty": github.com/Bobsilvio/ha-claude/pull/32.
        filled_enums=True,
        typed=True,
        array_items=True,
    ),
    # The part of JSON Schema that `parametersJsonSchema` and `responseJsonSchema` list: wire/gemini.md section 6.
    "gemini_json": SchemaDialect(
        keywords=frozenset(
            {
                "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items",
                "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties",
                "additionalProperties", "required", "propertyOrdering",
            }
        ),
        references="bare",
        recursion="optional",
        array_items=True,
    ),
    # What the server keeps of a tool's properties: wire/ollama.md section 3.
    "ollama": SchemaDialect(
        keywords=frozenset({"anyOf", "type", "items", "description", "enum", "properties", "required"}),
        references="inline",
        recursion="none",
        root_object=True,
    ),
}  # fmt: skip
"""The dialects that polywire knows, by name."""


@lru_cache(maxsize=64)
def dialect_named(name: str) -> SchemaDialect:
    """
    Return the dialect of this name, or of several names joined with `+`.

    Raises:
        SettingsError: there is none of this name; the message names the nearest one.
    """
    result: SchemaDialect | None = None
    for word in name.split("+"):
        dialect = DIALECTS.get(word.strip())
        if dialect is None:
            msg = f"unknown schema dialect {word.strip()!r}{did_you_mean(word.strip(), DIALECTS)}"
            raise SettingsError(msg)
        result = dialect if result is None else result & dialect
    assert result is not None
    return result
