"""Which settings a provider's table takes, read off its pydantic model."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

__all__ = ["Setting", "settings_of", "toml_text", "type_text"]


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One key of a settings table.

    Attributes:
        name: the key as it is written in the file.
        type: what it takes, in words.
        default: what it is where left out, as TOML writes it; `"required"`, or `""` for nothing.
        description: what it means; may be empty.
    """

    name: str
    type: str
    default: str
    description: str


def settings_of(model: Any, *, deep: bool = False) -> Iterator[Setting]:
    """
    Yield the settings that a pydantic model takes, in its order.

    With `deep`, a table inside it is told key by key, as `retry.attempts`, which TOML reads too.
    """
    described = _attributes(model.__doc__ or "")
    for name, info in model.model_fields.items():
        inner = _table_of(info.annotation) if deep else None
        if inner is not None:
            for each in settings_of(inner, deep=True):
                yield replace(each, name=f"{info.alias or name}.{each.name}")
            continue
        yield Setting(
            name=info.alias or name,
            type="duration" if _is_duration(info.metadata) else type_text(info.annotation),
            default="required" if info.is_required() else _default_text(info),
            description=" ".join((info.description or described.get(name, "")).split()),
        )


def type_text(annotation: Any) -> str:
    """Tell a type as someone who writes TOML would: `text`, `number`, `list of text`, `"a" | "b"`, `secret`."""
    simple = {str: "text", int: "whole number", float: "number", bool: "true | false", Any: "anything"}
    if annotation in simple:
        return simple[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(
            f'"{each}"' if isinstance(each, str) else toml_text(each) for each in arguments if each is not None
        )
    if origin in (Union, types.UnionType):
        words = dict.fromkeys(type_text(each) for each in arguments if each is not type(None))
        return " | ".join(words)
    if hasattr(annotation, "__metadata__"):
        return "duration" if _is_duration(annotation.__metadata__) else type_text(annotation.__origin__)
    if origin in (list, tuple, set, frozenset) or _named(origin, "Sequence", "Iterable"):
        inner = [each for each in arguments if each is not Ellipsis]
        return f"list of {type_text(inner[0])}" if inner else "list"
    if annotation in (list, tuple, set, frozenset):
        return "list"
    if annotation is dict or origin is dict or _named(origin or annotation, "Mapping", "MutableMapping"):
        return f"table of {type_text(arguments[1])}" if len(arguments) == 2 else "table"
    if isinstance(annotation, type):
        if issubclass(annotation, Enum):
            return " | ".join(f'"{each.value}"' for each in annotation)
        words_by_name = {"SecretStr": "secret", "Secret": "secret", "Path": "path", "timedelta": "duration"}
        if annotation.__name__ in words_by_name:
            return words_by_name[annotation.__name__]
        if hasattr(annotation, "model_fields"):
            return f"table {{{', '.join(annotation.model_fields)}}}"
        return annotation.__name__
    return str(annotation).removeprefix("typing.")


def _attributes(docstring: str) -> dict[str, str]:
    """Read the `Attributes:` section of a class's docstring: where many authors say what a setting means."""
    _, found, section = inspect.cleandoc(docstring).partition("Attributes:\n")
    attributes: dict[str, str] = {}
    name = ""
    for line in section.splitlines() if found else ():
        if line and not line.startswith(" "):
            break
        start = re.match(r" {4}(\w+)(?: \([^)]*\))?: (.*)", line)
        if start is not None:
            name = start[1]
            attributes[name] = start[2]
        elif name and line.strip():
            attributes[name] += " " + line.strip()
    return attributes


def _table_of(annotation: Any) -> Any:
    """Return the pydantic model in an annotation such as `Annotated[Model, …] | None`, or `None`."""
    if hasattr(annotation, "__metadata__"):
        return _table_of(annotation.__origin__)
    if get_origin(annotation) in (Union, types.UnionType):
        tables = [_table_of(each) for each in get_args(annotation) if each is not type(None)]
        return tables[0] if len(tables) == 1 else None
    return annotation if hasattr(annotation, "model_fields") else None


def _is_duration(metadata: Iterable[Any]) -> bool:
    """Whether a number is read by the validator of durations, which takes `"30s"` as well."""
    return any(getattr(getattr(each, "func", None), "__name__", "") == "read_duration" for each in metadata)


def _named(origin: Any, *names: str) -> bool:
    return getattr(origin, "__name__", None) in names


def _default_text(info: Any) -> str:
    try:
        value = info.get_default(call_default_factory=True)
    except TypeError:
        # A factory that wants the values of the other fields.
        return "(depends on the others)"
    return toml_text(value)


def toml_text(value: Any) -> str:
    """Tell a value as TOML writes it; nothing, and a secret, is the empty text."""
    if value is None or hasattr(value, "get_secret_value"):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return toml_text(value.value)
    if isinstance(value, str):
        return f'"{value}"' if value else '""'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_text(item)}" for key, item in value.items()) + "}" if value else ""
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [toml_text(item) for item in value]
        return f"[{', '.join(sorted(items) if isinstance(value, (set, frozenset)) else items)}]" if items else ""
    if hasattr(value, "model_fields_set"):
        shown = {name: getattr(value, name) for name in type(value).model_fields}
        return toml_text({name: item for name, item in shown.items() if item is not None})
    if hasattr(value, "total_seconds"):
        return f'"{value.total_seconds():g}s"'
    return str(value)
