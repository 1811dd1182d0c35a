"""
Writing a JSON Schema in the subset that an endpoint takes.

Deterministic: the same schema and dialect give the same result, byte for byte. The caller's schema is never touched.
What could not be said is told in a description where a model can use it, and in a notice. Where a type had to change
(an enum of numbers sent as strings), the model's answer is read back by `Lowered.restore`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from polywire.errors import BadRequest, PolywireError
from polywire.immutable import FrozenDict
from polywire.schemas.combining import is_object_like, merge, types_of
from polywire.schemas.dialects import SchemaDialect, dialect_named
from polywire.schemas.lowered import Lowered, WeakeningNotes
from polywire.schemas.normalising import Normaliser, sentence, thaw, told
from polywire.schemas.references import ReferenceTable
from polywire.schemas.restoring import (
    Restore,
    restore_any_of,
    restore_array,
    restore_entries,
    restore_json_text,
    restore_object,
)

__all__ = ["Lowered", "lower_schema"]

_EVERYTHING = SchemaDialect()
_DEFINITION = re.compile(r"#|#/(\$defs|definitions)/[^/]+")
_UNROLLED = 2
"""How often a schema that contains itself is written out inside itself."""
_LARGEST = 4000
"""How many nodes may be written out before every further recursion is cut: mutual recursion grows without bound."""
_JSON_TEXT = "written as JSON text"

_ANNOTATIONS = frozenset(
    {
        "$schema", "$comment", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions", "title",
        "readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType", "contentSchema", "discriminator",
        "xml", "externalDocs", "propertyOrdering", "nullable",
    }
)  # fmt: skip
"""Keywords that demand nothing: left out without a word where a dialect does not list them."""
_TOLD = frozenset({"default", "examples", "example"})
"""Keywords that demand nothing, and that a model can use: told in the description."""


_remembered: dict[tuple[int, str, str], tuple[Mapping[str, Any], Lowered]] = {}


def lower_schema(schema: Mapping[str, Any] | None, dialect: str = "full", *, subject: str = "schema") -> Lowered:
    """
    Write a schema in the subset that a dialect names.

    Args:
        schema: the schema; `None` and `{}` mean an object without properties.
        dialect: see `polywire.schemas.DIALECTS`.
        subject: what the notices are about: `"tools.search"`, `"response_format"`.

    Raises:
        SettingsError: there is no such dialect.
        BadRequest: it is no JSON Schema: a keyword has a value of another kind.
    """
    if not schema:
        schema = FrozenDict({"type": "object", "properties": FrozenDict()})
    facts = dialect_named(dialect)
    if facts == _EVERYTHING:
        return Lowered(schema)
    if type(schema) is not FrozenDict:
        return _lowered(schema, facts, dialect, subject)
    # A read-only schema is lowered once. Its identity is the key: 1, 1.0 and True are equal, and are not the same here.
    key = (id(schema), dialect, subject)
    known = _remembered.get(key)
    if known is None or known[0] is not schema:
        if len(_remembered) >= 1024:
            _remembered.clear()
        known = _remembered[key] = (schema, _lowered(schema, facts, dialect, subject))
    return known[1]


def _lowered(schema: Mapping[str, Any], facts: SchemaDialect, dialect: str, subject: str) -> Lowered:
    try:
        return _Lowering(schema, facts, dialect, subject).run()
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        if isinstance(error, PolywireError):
            raise
        msg = f"{subject}: this is no JSON Schema ({type(error).__name__}: {error})"
        raise BadRequest(msg) from error


class _Lowering:
    """One schema on its way into one dialect."""

    def __init__(self, root: Mapping[str, Any], dialect: SchemaDialect, name: str, subject: str) -> None:
        self._root = root
        self._dialect = dialect
        self._table = ReferenceTable(root)
        self._note = WeakeningNotes(subject, name)
        self._normaliser = Normaliser(dialect, self._table, self._note)
        self._definitions: dict[str, tuple[dict[str, Any], Restore | None]] = {}
        self._pending: list[str] = []
        self._nodes = 0
        self._restores = False

    def run(self) -> Lowered:
        root, inside = self._object_root() if self._dialect.root_object else (dict(self._root), ())
        if replace(self._dialect, root_object=False) == _EVERYTHING:
            return Lowered(thaw(root), self._note.notices())
        schema, restore = self._lower(root, "", 0, inside)
        while self._pending:
            reference = self._pending.pop()
            if reference != "#" and reference not in self._definitions:
                self._definitions[reference] = self._lower(self._table.target(reference), reference, 0, ())
        for reference in sorted(self._definitions):
            _, container, name = reference.split("/", 2)
            word = unquote(name).replace("~1", "/").replace("~0", "~")
            schema.setdefault(container, {})[word] = self._definitions[reference][0]
        self._definitions["#"] = (schema, restore)
        if restore is None or not self._restores:
            return Lowered(schema, self._note.notices())
        return Lowered(schema, self._note.notices(), restore)

    def _object_root(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the root as one object: without a reference, and without alternatives beside it."""
        root: dict[str, Any] = dict(self._root)
        inside: tuple[str, ...] = ()
        while isinstance(root.get("$ref"), str) and root["$ref"] not in inside:
            reference = root.pop("$ref")
            target = self._table.target(reference)
            if not isinstance(target, Mapping):
                self._note(f"the reference {reference!r} points to nothing and is left out", "")
                break
            inside = (*inside, reference)
            root = merge([target, root], lambda key: self._note(f"{key} beside a reference is left out", ""))
        if "allOf" in root:
            root = self._normaliser.merged_all_of(root, "")
        root = self._normaliser.without_alternatives(root, "")
        if "type" not in root and is_object_like(root):
            root["type"] = "object"
        return root, inside

    # -- one node ------------------------------------------------------------------------------------------------------

    def _lower(
        self, node: Any, path: str, depth: int, inside: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore | None]:
        self._nodes += 1
        if not isinstance(node, Mapping):
            node = {} if node is not False else {"description": "never given"}
        if "$ref" in node:
            return self._lower_reference(node, path, depth, inside)
        current, restore = self._normaliser.normalise(node, path)
        if restore is not None:
            self._restores = True
        if "$ref" in current:
            return self._lower_reference(current, path, depth, inside)
        dialect = self._dialect
        types = types_of(current)
        nested = "object" in types or "array" in types
        if dialect.max_depth is not None and nested and depth >= dialect.max_depth:
            self._note(f"what is nested deeper than {dialect.max_depth} levels is {_JSON_TEXT}", path)
            return self._json_text(current, only_object=types == ["object"])
        if dialect.typed and not types and not any(word in current for word in ("anyOf", "oneOf", "allOf")):
            self._note(f"a value of any type is {_JSON_TEXT}", path)
            return self._json_text(current, only_object=False)
        if dialect.closed_objects and "object" in types and depth > 0 and not current.get("properties"):
            opened = self._open_object(current, path, depth, inside)
            if opened is not None:
                return opened
        return self._lower_keywords(current, path, depth + nested, inside, restore)

    def _lower_keywords(
        self, node: dict[str, Any], path: str, depth: int, inside: tuple[str, ...], restore: Restore | None
    ) -> tuple[dict[str, Any], Restore | None]:
        dialect = self._dialect
        result: dict[str, Any] = {}
        lost: dict[str, Any] = {}
        for key, value in node.items():
            if key in {"properties", "required", "additionalProperties", "$defs", "definitions"}:
                continue
            if not dialect.allows_value(key, value):
                lost[key] = value
            elif not dialect.allows(key):
                if key in _TOLD:
                    if value is not None:
                        lost[key] = value
                elif key not in _ANNOTATIONS and not key.startswith("x-"):
                    lost[key] = value
            elif key == "items":
                result[key], inner = self._lower(value, f"{path}[]", depth, inside)
                restore = restore_array(inner) if inner is not None else restore
            elif key in {"anyOf", "oneOf"}:
                restore = self._lower_branches(result, key, value, path, depth, inside) or restore
            elif key in {"allOf", "prefixItems"}:
                result[key] = [self._lower(item, path, depth, inside)[0] for item in value]
            else:
                result[key] = thaw(value)
        if "object" in types_of(node) or "properties" in node or "required" in node:
            restore = self._lower_object(node, result, lost, path, depth, inside) or restore
        constraints = [key for key in lost if key not in _TOLD]
        if constraints:
            self._note(
                f"{', '.join(constraints)} {'is' if len(constraints) == 1 else 'are'} told in the description only",
                path,
            )
        if lost and dialect.allows("description"):
            result["description"] = told(result.get("description"), lost)
        return result, restore

    def _lower_branches(
        self, result: dict[str, Any], key: str, branches: Any, path: str, depth: int, inside: tuple[str, ...]
    ) -> Restore | None:
        lowered: list[tuple[dict[str, Any], Restore | None]] = []
        for branch in branches:
            pair = self._lower(branch, path, depth, inside)
            if all(pair[0] != known for known, _ in lowered):
                lowered.append(pair)
        if len(lowered) == 1:
            # Branches that differed only in what is left out here.
            for word, value in lowered[0][0].items():
                result.setdefault(word, value)
            return lowered[0][1]
        result[key] = [schema for schema, _ in lowered]
        if any(inner is not None for _, inner in lowered):
            return restore_any_of(lowered, self._lowered_target)
        return None

    def _lower_object(
        self,
        node: dict[str, Any],
        result: dict[str, Any],
        lost: dict[str, Any],
        path: str,
        depth: int,
        inside: tuple[str, ...],
    ) -> Restore | None:
        dialect = self._dialect
        required = [name for name in node.get("required") or () if isinstance(name, str)]
        restores: dict[str, Restore] = {}
        not_given: set[str] = set()
        properties: dict[str, Any] = {}
        for name, item in (node.get("properties") or {}).items():
            place = f"{path}.{name}" if path else name
            schema, inner = self._lower(item, place, depth, inside)
            if dialect.all_required and name not in required and not self._normaliser.takes_null(schema):
                schema = _or_null(schema)
                not_given.add(name)
                self._restores = True
            if dialect.recursion == "optional" and name in required and self._table.leads_into_recursion(item):
                required.remove(name)
                self._note("a property that contains its own schema is not required", place)
            properties[name] = schema
            if inner is not None:
                restores[name] = inner
        if "properties" in node or dialect.closed_objects:
            result["properties"] = properties
        if dialect.typed and (unknown := [name for name in required if name not in properties]):
            required = [name for name in required if name in properties]
            self._note(f"the required {', '.join(unknown)}, of which nothing more is said, is left out", path)
        if dialect.all_required:
            required = list(properties)
        if required or dialect.all_required:
            result["required"] = required
        additional = node.get("additionalProperties")
        inner = None
        if dialect.closed_objects:
            if additional:
                self._note("properties beside the named ones are not taken", path)
            result["additionalProperties"] = False
        elif additional is not None and not dialect.allows("additionalProperties"):
            if additional is not True:
                lost["additionalProperties"] = additional
        elif isinstance(additional, Mapping):
            result["additionalProperties"], inner = self._lower(additional, f"{path}.*", depth, inside)
        elif additional is not None:
            result["additionalProperties"] = additional
        if restores or not_given or inner is not None:
            return restore_object(restores, frozenset(not_given), inner)
        return None

    # -- what has no direct counterpart --------------------------------------------------------------------------------

    def _open_object(
        self, node: dict[str, Any], path: str, depth: int, inside: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore | None] | None:
        """Write an object whose names are not known where objects must be closed; `None`: it is closed already."""
        additional = node.get("additionalProperties")
        if additional is False:
            return None
        if not isinstance(additional, Mapping) or not additional:
            self._note(f"an object of any form is {_JSON_TEXT}", path)
            return self._json_text(node, only_object=True)
        self._note("a mapping is written as a list of its entries", path)
        self._restores = True
        value, inner = self._lower(additional, f"{path}.*", depth + 2, inside)
        entry = {
            "type": "object",
            "properties": {"key": {"type": "string"}, "value": value},
            "required": ["key", "value"],
            "additionalProperties": False,
        }
        schema: dict[str, Any] = {"type": "array", "items": entry}
        schema["description"] = sentence(node.get("description"), "a mapping, written as a list of its entries")
        return (_or_null(schema) if "null" in types_of(node) else schema), restore_entries(inner)

    def _json_text(self, node: Mapping[str, Any], *, only_object: bool) -> tuple[dict[str, Any], Restore]:
        self._restores = True
        what = "a JSON object, written as JSON text" if only_object else "any JSON value, written as JSON text"
        schema: dict[str, Any] = {"type": "string", "description": sentence(node.get("description"), what)}
        nullable = self._normaliser.takes_null(node) and types_of(node)
        return (_or_null(schema) if nullable else schema), restore_json_text(only_object=only_object)

    def _lower_reference(
        self, node: Mapping[str, Any], path: str, depth: int, inside: tuple[str, ...]
    ) -> tuple[dict[str, Any], Restore | None]:
        reference = node["$ref"]
        siblings = {key: value for key, value in node.items() if key not in {"$ref", "$defs", "definitions"}}
        dialect = self._dialect
        target = self._table.target(reference)
        if target is None:
            if dialect.references == "keep":
                return thaw(node), None
            self._note(f"the reference {reference!r} points to nothing in this schema and is left out", path)
            return self._lower(siblings, path, depth, inside)
        recursive = self._table.is_recursive(reference)
        keep = dialect.references == "keep" or (
            dialect.references == "bare"
            and _DEFINITION.fullmatch(reference) is not None
            and (not siblings or recursive)
        )
        if keep and not (recursive and dialect.recursion == "none"):
            if siblings and dialect.references == "bare":
                self._note("what stands beside a reference is left out", path)
                siblings = {}
            if _DEFINITION.fullmatch(reference) is None:
                return {"$ref": reference, **thaw(siblings)}, None
            self._pending.append(reference)
            return {"$ref": reference, **thaw(siblings)}, self._restore_later(reference)
        if inside.count(reference) >= _UNROLLED or (recursive and self._nodes > _LARGEST) or len(inside) > 64:
            return self._cut(target, reference, path)
        if siblings and isinstance(target, Mapping):
            target = merge([target, siblings], lambda key: self._note(f"{key} beside a reference is left out", path))
        return self._lower(target, path, depth, (*inside, reference))

    def _restore_later(self, reference: str) -> Restore:
        def restore(value: Any) -> Any:
            inner = self._definitions[reference][1]
            return inner(value) if inner is not None else value

        return restore

    def _lowered_target(self, reference: str) -> Any:
        known = self._definitions.get(reference)
        return known[0] if known is not None else {}

    def _cut(self, target: Any, reference: str, path: str) -> tuple[dict[str, Any], Restore | None]:
        """End a recursion that the endpoint cannot follow."""
        self._note(f"the schema {reference!r} contains itself and is written out {_UNROLLED} levels deep", path)
        name = str(target.get("title") or reference.rsplit("/", 1)[-1]) if isinstance(target, Mapping) else reference
        node = {"description": f"{name}, nested further in the same form"}
        is_object = is_object_like(target)
        if self._dialect.closed_objects or not is_object:
            return self._json_text(node, only_object=is_object)
        return {"type": "object", **node}, None


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that takes null as well."""
    types = types_of(schema)
    if "null" in types:
        return schema
    if types:
        result = {**schema, "type": [*types, "null"]}
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            result["enum"] = [*schema["enum"], None]
        if "const" in schema:
            result["enum"] = [result.pop("const"), None]
        return result
    if isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    described = {"description": schema["description"]} if "description" in schema else {}
    rest = {key: value for key, value in schema.items() if key != "description"}
    return {**described, "anyOf": [rest, {"type": "null"}]}
