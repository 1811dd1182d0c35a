"""JSON Schema as endpoints take it: the expected forms are those of the wire documents and of the faults A90 to A100."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire.errors import SettingsError
from polywire.immutable import freeze
from polywire.schemas import DIALECTS, dialect_named, lower_schema
from polywire.schemas.validating import problems_of

NODE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "required": ["name", "kids"],
        }
    },
}
JOB = {
    "type": "object",
    "properties": {"job": {"$ref": "#/$defs/Job"}},
    "required": ["job"],
    "$defs": {"Job": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}},
}


def one(schema: dict[str, Any], dialect: str) -> Any:
    """The lowered form of a single property."""
    return lower_schema({"type": "object", "properties": {"x": schema}}, dialect).schema["properties"]["x"]


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every schema within a schema; names of properties are no keywords."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key, value in schema.items():
        if key in {"properties", "$defs", "definitions"}:
            for inner in value.values():
                yield from nodes(inner)
        elif key in {"anyOf", "oneOf", "allOf", "prefixItems"}:
            for inner in value:
                yield from nodes(inner)
        elif key in {"items", "additionalProperties"}:
            yield from nodes(value)


def test_references_are_inlined_where_there_are_none() -> None:
    lowered = lower_schema(JOB, "gemini")

    assert lowered.schema == {
        "type": "object",
        "properties": {
            "job": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]},
        },
        "required": ["job"],
    }
    assert lowered.notices == ()


@pytest.mark.parametrize("pointer", ["#/definitions/Job", "#/$defs/A~1B", "#/$defs/A%20B", "#job", "#/properties/h"])
def test_every_local_reference_is_followed(pointer: str) -> None:
    label = {"type": "object", "properties": {"label": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"h": label, "list": {"type": "array", "items": {"$ref": pointer}}},
        "definitions": {"Job": label},
        "$defs": {"A/B": label, "A B": label, "C": {**label, "$anchor": "job"}},
    }

    assert lower_schema(schema, "gemini").schema["properties"]["list"] == {"type": "array", "items": label}


def test_a_reference_with_siblings_takes_them_along() -> None:
    schema = {**JOB, "properties": {"job": {"$ref": "#/$defs/Job", "description": "the job"}}}

    for dialect in ("gemini", "ollama", "openai_strict"):
        job = lower_schema(schema, dialect).schema["properties"]["job"]
        text = json.dumps(job)
        assert "$ref" not in text
        assert "label" in text
        assert "the job" in text


def test_a_reference_to_nothing_is_told() -> None:
    lowered = lower_schema({"type": "object", "properties": {"x": {"$ref": "https://example.com/x"}}}, "gemini")

    assert "$ref" not in json.dumps(lowered.schema)
    assert any("https://example.com/x" in notice.message for notice in lowered.notices)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_schema_that_contains_itself_stays_finite(dialect: str) -> None:
    lowered = lower_schema(NODE, dialect, subject="tools.tree")
    text = json.dumps(lowered.schema)

    assert len(text) < 5000
    if dialect_named(dialect).recursion == "none":
        assert "$ref" not in text
        assert any(notice.subject == "tools.tree" and "contains itself" in notice.message for notice in lowered.notices)


def test_many_schemas_that_contain_each_other_stay_finite() -> None:
    names = [f"T{number}" for number in range(12)]
    everything = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    schema = {
        "type": "object",
        "properties": everything,
        "$defs": {name: {"type": "object", "properties": everything} for name in names},
    }

    assert len(json.dumps(lower_schema(schema, "gemini").schema)) < 2_000_000


def test_recursion_only_below_optional_properties() -> None:
    lowered = lower_schema(NODE, "gemini_json")

    assert lowered.schema["$defs"]["Node"]["required"] == ["name"]
    assert any("not required" in notice.message for notice in lowered.notices)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"], "description": "d"}, {"type": "string", "nullable": True, "description": "d"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, {"type": "integer", "nullable": True}),
        ({"enum": ["a", "b", None]}, {"type": "string", "nullable": True, "enum": ["a", "b"]}),
        ({"oneOf": [{"type": "null"}, {"type": "number"}]}, {"type": "number", "nullable": True}),
        (
            {"type": ["string", "integer", "null"]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
        ),
    ],
)
def test_null_is_a_keyword_where_types_are_scalars(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert one(schema, "gemini") == expected


def test_enums_of_numbers_travel_as_strings_and_come_back() -> None:
    schema = {"type": "object", "properties": {"e": {"type": "integer", "enum": [0, 1, 2]}}}
    lowered = lower_schema(schema, "gemini")

    assert lowered.schema["properties"]["e"] == {"type": "string", "enum": ["0", "1", "2"]}
    assert lowered.restore({"e": "1"}) == {"e": 1}
    assert lowered.restore({"e": 1}) == {"e": 1}
    assert lowered.restore_text('{"e": "1"}') == '{"e":1}'
    assert lowered.restore_text('{"e": 1}') == '{"e": 1}'
    assert lowered.restore_text('{"e": "1') == '{"e": "1'
    assert [notice.kind for notice in lowered.notices] == ["approximated"]


def test_enums_are_restored_at_any_depth() -> None:
    level = {"type": "number", "enum": [0.5, 1]}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"level": {"$ref": "#/$defs/L"}}}},
            "either": {"anyOf": [{"type": "object", "properties": {"level": level}}, {"type": "boolean"}]},
            "map": {"type": "object", "additionalProperties": level},
            "flag": {"const": True},
        },
        "$defs": {"L": level},
    }
    sent = {"list": [{"level": "0.5"}], "either": {"level": "1"}, "map": {"k": "1"}, "flag": "true"}

    assert lower_schema(schema, "gemini").restore(sent) == {
        "list": [{"level": 0.5}],
        "either": {"level": 1},
        "map": {"k": 1},
        "flag": True,
    }


def test_alternatives_at_the_root_are_told_in_the_description() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    lowered = lower_schema(schema, "anthropic", subject="tools.f")

    assert not {"anyOf", "oneOf", "allOf"} & set(lowered.schema)
    assert lowered.schema["properties"] == schema["properties"]
    assert '"required":["a"]' in lowered.schema["description"]
    assert lowered.notices[0].subject == "tools.f"


def test_a_union_at_the_root_becomes_one_object() -> None:
    schema = {
        "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
        "$defs": {
            "Cat": {
                "type": "object",
                "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
                "required": ["kind", "lives"],
            },
            "Dog": {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]},
        },
    }
    lowered = lower_schema(schema, "anthropic").schema

    assert lowered["type"] == "object"
    assert lowered["properties"]["kind"] == {"enum": ["cat", "dog"]}
    assert lowered["properties"]["lives"] == {"type": "integer"}
    assert lowered["required"] == ["kind"]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("schema", [None, {}])
def test_a_tool_without_parameters_is_an_empty_object(schema: Any, dialect: str) -> None:
    lowered = lower_schema(schema, dialect)

    assert lowered.schema["type"] == "object"
    assert lowered.schema["properties"] == {}
    assert lowered.takes_nothing


def test_an_array_always_has_items() -> None:
    lowered = lower_schema({"type": "object", "properties": {"tags": {"type": "array"}}}, "gemini")

    assert lowered.schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert "tags" in lowered.notices[0].message


def test_strict_objects_are_closed_and_complete() -> None:
    schema = {
        "type": "object",
        "properties": {
            "topic": {"type": "string"},
            "lang": {"type": "string", "enum": ["en", "de"], "default": "en"},
            "note": {"type": ["string", "null"]},
        },
        "required": ["topic"],
    }
    lowered = lower_schema(schema, "openai_strict")

    assert lowered.schema["required"] == ["topic", "lang", "note"]
    assert lowered.schema["additionalProperties"] is False
    assert lowered.schema["properties"]["lang"]["type"] == ["string", "null"]
    assert lowered.schema["properties"]["lang"]["enum"] == ["en", "de", None]
    # null for what had to become nullable means "not given"; where null was a value before, it still is.
    assert lowered.restore({"topic": "sun", "lang": None, "note": None}) == {"topic": "sun", "note": None}


def test_mappings_and_free_values_survive_closed_objects() -> None:
    schema = {
        "type": "object",
        "properties": {
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "free": {"type": "object"},
            "any": {},
        },
        "required": ["counts", "free", "any"],
    }
    for dialect in ("openai_strict", "anthropic_strict"):
        lowered = lower_schema(schema, dialect)
        sent = {"counts": [{"key": "a", "value": 1}], "free": '{"x":[1]}', "any": "[true]"}

        assert lowered.restore(sent) == {"counts": {"a": 1}, "free": {"x": [1]}, "any": [True]}
        assert all(
            node.get("additionalProperties") is False for node in nodes(lowered.schema) if node.get("type") == "object"
        )


def test_what_cannot_be_said_moves_to_the_description() -> None:
    schema = {"type": "string", "pattern": "^a", "minLength": 3, "default": "abc", "description": "a word"}
    lowered = lower_schema({"type": "object", "properties": {"w": schema}}, "ollama")
    word = lowered.schema["properties"]["w"]

    assert set(word) == {"type", "description"}
    for piece in ("a word", 'pattern: "^a"', "minLength: 3", 'default: "abc"'):
        assert piece in word["description"]
    assert "pattern, minLength" in lowered.notices[0].message


def test_bounds_of_whole_numbers_are_exact_without_exclusive_ones() -> None:
    assert one({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}, "gemini") == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
    }


def test_all_of_is_merged() -> None:
    schema = {"allOf": [{"$ref": "#/$defs/Job"}, {"properties": {"n": {"type": "integer"}}, "required": ["n"]}]}

    merged = lower_schema({**JOB, "properties": {"x": schema}, "required": ["x"]}, "gemini").schema["properties"]["x"]

    assert merged["properties"] == {"label": {"type": "string"}, "n": {"type": "integer"}}
    assert merged["required"] == ["label", "n"]


def test_deep_nesting_is_cut_where_an_endpoint_counts_levels() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(20):
        schema = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    lowered = lower_schema(schema, "openai_strict")
    value: Any = "deep"
    for _ in range(20):
        value = {"x": value}
    sent: Any = json.dumps(_below(value, 10))
    for _ in range(10):
        sent = {"x": sent}

    assert json.dumps(lowered.schema).count('"object"') == 10
    assert lowered.restore(sent) == value


def _below(value: Any, levels: int) -> Any:
    return value if levels == 0 else _below(value["x"], levels - 1)


def test_the_full_dialect_changes_nothing() -> None:
    schema = freeze(NODE)

    assert lower_schema(schema).schema is schema


def test_dialects_combine_to_what_both_take() -> None:
    both = dialect_named("gemini_json+no_references")

    assert both.references == "inline"
    assert both.recursion == "none"
    assert both.keywords == DIALECTS["gemini_json"].keywords
    assert "$ref" not in json.dumps(lower_schema(JOB, "gemini_json+no_references").schema)


def test_an_unknown_dialect_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="did you mean 'gemini'"):
        lower_schema(JOB, "gemni")


def test_equal_schemas_of_different_types_are_told_apart() -> None:
    first = freeze({"type": "object", "properties": {"x": {"enum": [1]}}})
    second = freeze({"type": "object", "properties": {"x": {"enum": [True]}}})

    assert first == second
    assert lower_schema(first, "gemini").schema["properties"]["x"]["enum"] == ["1"]
    assert lower_schema(second, "gemini").schema["properties"]["x"]["enum"] == ["true"]


# -- any schema -------------------------------------------------------------------------------------------------------------

_leaf = st.one_of(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "boolean"},
            {"type": ["string", "null"]},
            {"enum": ["a", "b"]},
            {"type": "integer", "enum": [1, 2]},
            {"type": "number", "minimum": 0, "default": 1.5},
            {"$ref": "#/$defs/Job"},
            {},
        ]
    )
)
_schemas = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda item: {"type": "object", "additionalProperties": item}, inner),
        st.builds(lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]}, inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(_schemas, st.sampled_from(sorted(DIALECTS)))
def test_any_schema_comes_out_within_its_dialect(inner: dict[str, Any], dialect: str) -> None:
    schema = {"type": "object", "properties": {"x": inner}, "required": ["x"], "$defs": copy.deepcopy(JOB["$defs"])}
    before = copy.deepcopy(schema)
    facts = dialect_named(dialect)

    lowered = lower_schema(schema, dialect)

    assert schema == before
    assert lowered.schema == lower_schema(schema, dialect).schema
    again = lower_schema(lowered.schema, dialect)
    assert again.schema == lowered.schema
    for node in nodes(lowered.schema):
        assert facts.keywords is None or set(node) <= facts.keywords
        types = node.get("type")
        if facts.closed_objects and (types == "object" or (isinstance(types, list) and "object" in types)):
            assert node["additionalProperties"] is False
        if facts.all_required and "properties" in node:
            assert node["required"] == list(node["properties"])
        if not facts.type_lists:
            assert not isinstance(types, list)
        if facts.string_enums:
            assert all(isinstance(value, str) for value in node.get("enum", ()))
        if facts.references == "inline":
            assert "$ref" not in node


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "object", "required": ["a"]}, {}, "'a' is missing"),
        ({"properties": {"a": {"type": "integer"}}}, {"a": "x"}, "a: must be integer"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, "b: there is no such property"),
        ({"type": "array", "items": {"enum": [1, 2]}}, [1, True], "[1]: must be one of 1, 2"),
        ({"type": "string", "pattern": "^a$"}, "b", "must match"),
        ({"type": "string", "minLength": 2}, "b", "at least 2"),
        ({"type": "number", "exclusiveMinimum": 2}, 2, "more than 2"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "must be"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "more than one"),
        (NODE, {"name": "a", "kids": [{"name": "b"}]}, "kids[0]: 'kids' is missing"),
    ],
)
def test_problems_of_an_answer_are_named_with_their_place(schema: Any, value: Any, problem: str) -> None:
    assert any(problem in each for each in problems_of(schema, value))


def test_a_fitting_answer_has_no_problems() -> None:
    assert problems_of(NODE, {"name": "a", "kids": [{"name": "b", "kids": []}]}) == []
