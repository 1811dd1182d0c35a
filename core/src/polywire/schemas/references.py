"""Finding what a `$ref` points to, and which references lead back to themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["ReferenceTable", "subschemas"]

_ONE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties", "additionalItems",
)  # fmt: skip
_LIST = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def subschemas(node: Any, *, definitions: bool = False) -> Iterator[Any]:
    """Iterate over the schemas directly below one; those in `$defs` only if asked for."""
    if not isinstance(node, Mapping):
        return
    for key in _ONE:
        value = node.get(key)
        if isinstance(value, (Mapping, bool)):
            yield value
    for key in _LIST:
        value = node.get(key)
        if isinstance(value, list):
            yield from value
    for key in _NAMED:
        value = node.get(key)
        if isinstance(value, Mapping) and (definitions or key not in {"$defs", "definitions"}):
            yield from value.values()


class ReferenceTable:
    """The references of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._anchors: dict[str, Any] | None = None
        self._targets: dict[str, Any] = {}
        self._recursive: dict[str, bool] = {}

    def target(self, reference: str) -> Any:
        """Return the schema a reference points to, or `None` where it points to nothing in this document."""
        if reference not in self._targets:
            self._targets[reference] = self._find(reference)
        return self._targets[reference]

    def _find(self, reference: str) -> Any:
        base = self._root.get("$id")
        if isinstance(base, str) and reference.startswith(base) and reference != base:
            reference = reference[len(base) :]
        if reference in {"#", ""}:
            return self._root
        if not reference.startswith("#"):
            return self._named(reference)
        if not reference.startswith("#/"):
            return self._named(reference[1:])
        node: Any = self._root
        for step in reference[2:].split("/"):
            word = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and word in node:
                node = node[word]
            elif isinstance(node, list) and word.isdecimal() and int(word) < len(node):
                node = node[int(word)]
            else:
                return None
        return node if isinstance(node, (Mapping, bool)) else None

    def _named(self, name: str) -> Any:
        """Return the schema whose `$anchor` or `$id` is `name`."""
        if self._anchors is None:
            self._anchors = {}
            stack: list[Any] = [self._root]
            while stack:
                node = stack.pop()
                if isinstance(node, Mapping):
                    for key in ("$anchor", "$dynamicAnchor", "$id"):
                        if isinstance(node.get(key), str):
                            self._anchors.setdefault(node[key], node)
                    stack.extend(subschemas(node, definitions=True))
        return self._anchors.get(name)

    def is_recursive(self, reference: str) -> bool:
        """Whether what a reference points to leads back to that reference."""
        if reference not in self._recursive:
            self._recursive[reference] = self.reaches(self.target(reference), reference)
        return self._recursive[reference]

    def reaches(self, node: Any, reference: str) -> bool:
        """Whether a schema leads, through any number of references, to this one."""
        goal = self.target(reference)
        seen: set[str] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if not isinstance(current, Mapping):
                continue
            word = current.get("$ref")
            if isinstance(word, str):
                target = self.target(word)
                if word == reference or (target is goal and target is not None):
                    return True
                if word not in seen:
                    seen.add(word)
                    stack.append(target)
            stack.extend(subschemas(current))
        return False

    def leads_into_recursion(self, node: Any) -> bool:
        """Whether a schema uses, at any depth, a reference that leads back to itself."""
        seen: set[str] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if not isinstance(current, Mapping):
                continue
            word = current.get("$ref")
            if isinstance(word, str) and word not in seen:
                if self.is_recursive(word):
                    return True
                seen.add(word)
                stack.append(self.target(word))
            stack.extend(subschemas(current))
        return False
