"""
Saying one schema node in fewer words: the rewriting that needs no knowledge of what lies below it.

After it a node has one spelling for each meaning that the dialect knows: tuples, `const`, `oneOf`, `allOf`, null and
enums of other types are already in the dialect's own form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polywire import wire_json
from polywire.schemas.combining import is_object_like, merge, merge_alternatives, types_of
from polywire.schemas.dialects import SchemaDialect
from polywire.schemas.references import ReferenceTable
from polywire.schemas.restoring import Restore, restore_enum

__all__ = ["Normaliser", "sentence", "thaw", "told"]

_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def thaw(value: Any) -> Any:
    """Return a plain, changeable copy of JSON data."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    return value


def sentence(description: Any, more: str) -> str:
    """Return a description with something added in parentheses."""
    return f"{description} ({more})" if description else more


def told(description: Any, lost: Mapping[str, Any]) -> str:
    """Return a description that tells keywords which could not be sent; those too long to read are left out."""
    words = [f"{key}: {text}" for key, value in lost.items() if len(text := wire_json.compact(thaw(value))) <= 400]
    return sentence(description, "; ".join(words)) if words else str(description or "")


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _is_null(branch: Any) -> bool:
    if not isinstance(branch, Mapping):
        return False
    return types_of(branch) == ["null"] or branch.get("const", 0) is None or branch.get("enum") == [None]


class Normaliser:
    """Rewrites single nodes for one dialect; `note` is told what was weakened, and where."""

    def __init__(self, dialect: SchemaDialect, table: ReferenceTable, note: Callable[[str, str], None]) -> None:
        self._dialect = dialect
        self._table = table
        self._note = note

    def resolved(self, branch: Any) -> dict[str, Any]:
        """Return what a branch says, with a reference at its top followed."""
        seen: set[str] = set()
        node: Mapping[str, Any] = branch if isinstance(branch, Mapping) else {}
        while isinstance(node.get("$ref"), str) and node["$ref"] not in seen:
            seen.add(node["$ref"])
            target = self._table.target(node["$ref"])
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            node = merge([target if isinstance(target, Mapping) else {}, siblings], lambda _: None)
        return dict(node)

    def takes_null(self, node: Any) -> bool:
        """Whether null is a value that a schema takes."""
        if not isinstance(node, Mapping):
            return node is not False
        node = self.resolved(node)
        if node.get("nullable") is True:
            return True
        if "const" in node:
            return node["const"] is None
        if "enum" in node:
            return None in node["enum"]
        types = types_of(node)
        if types:
            return "null" in types
        for word in ("anyOf", "oneOf"):
            if word in node:
                return any(self.takes_null(branch) for branch in node[word])
        if "allOf" in node:
            return all(self.takes_null(branch) for branch in node["allOf"])
        return not any(word in node for words in _OF_TYPE.values() for word in words)

    def merged_all_of(self, node: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return a node with its `allOf` merged into it."""
        siblings = {key: value for key, value in node.items() if key != "allOf"}
        branches = list(node["allOf"])
        if len(branches) == 1 and isinstance(branches[0], Mapping) and "$ref" in branches[0]:
            # Left as a reference: it may be kept, or lead back to itself.
            return {**branches[0], **siblings}
        parts: list[Mapping[str, Any]] = []
        while branches:
            part = self.resolved(branches.pop(0))
            branches[:0] = part.pop("allOf", [])
            parts.append(part)
        return merge([*parts, siblings], lambda key: self._note(f"of several {key} in allOf the first is sent", path))

    def without_alternatives(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        """Return an object with the alternatives beside its properties made one; the rule moves to the description."""
        for word in ("anyOf", "oneOf"):
            if not isinstance(node.get(word), list):
                continue
            branches = [self.resolved(branch) for branch in node[word]]
            if branches and all(is_object_like(branch) for branch in branches):
                description = told(node.get("description"), {word: node[word]})
                node = merge_alternatives(node, branches)
                self._note(f"{word} is told in the description only", path)
                if description:
                    node["description"] = description
        return node

    def normalise(self, node: Mapping[str, Any], path: str) -> tuple[dict[str, Any], Restore | None]:
        """Return the node in the dialect's own form, and what restores its values where their type changed."""
        dialect = self._dialect
        current = dict(node)
        if "allOf" in current and (not dialect.allows("allOf") or len(current["allOf"]) == 1):
            current = self.merged_all_of(current, path)
            if "$ref" in current:
                return current, None
        if dialect.typed and "properties" in current:
            current = self.without_alternatives(current, path)
        if "const" in current and not dialect.allows("const"):
            current["enum"] = [current.pop("const")]
        if isinstance(current.get("items"), list):
            current["prefixItems"] = current.pop("items")
        if "prefixItems" in current and not dialect.allows("prefixItems"):
            self._one_kind_of_item(current, path)
        if "oneOf" in current and not dialect.allows("oneOf") and "anyOf" not in current:
            current = {("anyOf" if key == "oneOf" else key): value for key, value in current.items()}
            self._note("oneOf is sent as anyOf", path)
        if dialect.keywords is not None:
            current = self._null(current)
        if not dialect.type_lists and len(types_of(current)) > 1:
            current = self._split_types(current, path)
        if "$ref" in current:
            return current, None
        restore = self._enum(current, path) if isinstance(current.get("enum"), list) else None
        if (dialect.typed or dialect.array_items) and "type" not in current:
            self._infer_type(current)
        of_anything = "items" not in current and not (current.get("prefixItems") and dialect.allows("prefixItems"))
        if dialect.array_items and of_anything and "array" in types_of(current):
            current["items"] = {"type": "string"}
            self._note("the items of an array, of which nothing is said, are strings", path)
        if "integer" in types_of(current):
            self._whole_bounds(current)
        return current, restore

    def _one_kind_of_item(self, node: dict[str, Any], path: str) -> None:
        kinds: list[Any] = []
        rest = node.get("items")
        for item in [*node.pop("prefixItems"), *([rest] if isinstance(rest, Mapping) and rest else [])]:
            if item not in kinds:
                kinds.append(item)
        if kinds:
            node["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        else:
            node.pop("items", None)
        self._note("the items of a tuple may stand in any order", path)

    def _null(self, node: dict[str, Any]) -> dict[str, Any]:
        """Say null in the dialect's way: as a type, or by the keyword."""
        by_keyword = self._dialect.null == "nullable"
        if not by_keyword:
            if node.get("nullable") is not True or self.takes_null({k: v for k, v in node.items() if k != "nullable"}):
                return node
            types = types_of(node)
            if types:
                node["type"] = [*types, "null"]
                if isinstance(node.get("enum"), list):
                    node["enum"] = [*node["enum"], None]
            elif "anyOf" in node:
                node["anyOf"] = [*node["anyOf"], {"type": "null"}]
            return node
        nullable = node.get("nullable") is True
        types = types_of(node)
        if len(types) > 1 and "null" in types:
            nullable = True
            left = [each for each in types if each != "null"]
            node["type"] = left[0] if len(left) == 1 else left
        if isinstance(node.get("enum"), list) and None in node["enum"] and len(node["enum"]) > 1:
            nullable = True
            node["enum"] = [value for value in node["enum"] if value is not None]
        if isinstance(node.get("anyOf"), list):
            branches = [branch for branch in node["anyOf"] if not _is_null(branch)]
            if branches and len(branches) < len(node["anyOf"]):
                nullable = True
                node["anyOf"] = branches
        if nullable:
            node["nullable"] = True
        if node.get("default", 0) is None:
            # "nothing" as the default is what leaving the value out says already.
            del node["default"]
        if isinstance(node.get("anyOf"), list) and len(node["anyOf"]) == 1 and isinstance(node["anyOf"][0], Mapping):
            branch = dict(node.pop("anyOf")[0])
            node = {**branch, **node}
            if "$ref" not in node:
                return self._null(node)
        return node

    def _split_types(self, node: dict[str, Any], path: str) -> dict[str, Any]:
        if "anyOf" in node:
            node.pop("type")
            self._note("type beside anyOf is left out", path)
            return node
        types = types_of(node)
        owned = {word for words in _OF_TYPE.values() for word in words}
        values = node.get("enum")
        branches: list[dict[str, Any]] = []
        for each in types:
            words = _OF_TYPE.get("number" if each == "integer" else each, ())
            branch: dict[str, Any] = {"type": each, **{word: node[word] for word in words if word in node}}
            if isinstance(values, list):
                fitting = [value for value in values if _type_name(value) == each]
                if not fitting:
                    continue
                branch["enum"] = fitting
            branches.append(branch)
        rest = {key: value for key, value in node.items() if key not in owned and key not in {"type", "enum"}}
        return {**rest, "anyOf": branches}

    def _enum(self, node: dict[str, Any], path: str) -> Restore | None:
        values = node["enum"]
        if self._dialect.filled_enums and "" in values:
            values = [value for value in values if value != ""]
            node["enum"] = values
            self._note("the empty text among the values of an enum is left out", path)
            if not values:
                del node["enum"]
                node["type"] = "string"
                return None
        if not self._dialect.string_enums or all(isinstance(value, str) for value in values):
            if self._dialect.typed and "type" not in node:
                kinds = list(dict.fromkeys(_type_name(value) for value in values))
                if kinds:
                    node["type"] = kinds[0] if len(kinds) == 1 else kinds
            return None
        words = {value: value for value in values if isinstance(value, str)}
        for value in values:
            if not isinstance(value, str):
                words.setdefault(wire_json.compact(thaw(value)), value)
        node["enum"] = [value if isinstance(value, str) else wire_json.compact(thaw(value)) for value in values]
        node["enum"] = list(dict.fromkeys(node["enum"]))
        node["type"] = "string"
        for word in (*_OF_TYPE["number"], "format"):
            node.pop(word, None)
        if "default" in node and not isinstance(node["default"], str):
            node["default"] = wire_json.compact(thaw(node["default"]))
        self._note("the values of an enum are sent as strings, and read back", path)
        return restore_enum(words)

    def _infer_type(self, node: dict[str, Any]) -> None:
        if any(word in node for word in ("anyOf", "oneOf", "allOf", "enum")):
            return
        if "const" in node:
            node["type"] = _type_name(node["const"])
            return
        for name, words in _OF_TYPE.items():
            if any(word in node for word in words):
                node["type"] = name
                return

    def _whole_bounds(self, node: dict[str, Any]) -> None:
        """For whole numbers an exclusive bound has an exact inclusive one."""
        for word, other, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
            bound = node.get(word)
            if not isinstance(bound, int) or isinstance(bound, bool) or self._dialect.allows(word):
                continue
            if self._dialect.allows(other) and other not in node:
                node[other] = node.pop(word) + step
