"""What pydantic finds wrong in settings, in words. Loaded where a table has to be looked at by its model."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from polywire.config.places import Places, dotted
from polywire.config.references import Path
from polywire.config.secret_settings import secrets_of_table
from polywire.config.secrets import reveal, scrub
from polywire.errors import did_you_mean
from polywire.plugins.connections import ProviderSettings

__all__ = ["checked", "problems_of"]

ModelT = TypeVar("ModelT", bound=BaseModel)


def checked(
    model: type[ModelT], document: Mapping[str, Any], places: Places, base: Path = ()
) -> tuple[ModelT | None, list[tuple[Path, str]]]:
    """Return a table as its model makes it, or the mistakes in it, by place; `document` may hold hidden strings."""
    try:
        return model.model_validate(reveal(document)), []
    except ValidationError as found:
        error = found
    # Out here, so that pydantic's error, which holds the table, does not hang on.
    return None, problems_of(error, model, document, places, base)


def problems_of(
    error: ValidationError, model: type[BaseModel], document: Any, places: Places, base: Path = ()
) -> list[tuple[Path, str]]:
    """
    Tell what pydantic found, by place, without any value that may be secret.

    Args:
        error: what `model` said.
        model: the table's model.
        document: what was validated.
        places: where the settings come from.
        base: the table's place.
    """
    secrets = set(secrets_of_table(document, model))
    found: dict[tuple[Path, bool], list[str]] = {}
    for each in error.errors(include_url=False, include_input=False):
        unknown = each["type"] == "extra_forbidden"
        whole = tuple(each["loc"])
        path = tuple(each["loc"]) if unknown or each["type"] == "missing" else _existing(each["loc"], document)
        message = (
            _unknown_key(path, (*base, *path), model, document) if unknown else _message(each, path, document)
        ) + _written_out((*base, *whole), each["type"], document)
        messages = found.setdefault((path, unknown), [])
        if message not in messages:
            messages.append(message)
    lines = []
    for (path, unknown), messages in found.items():
        place = (*base, *path)
        # An unknown key is told at its table, where the known ones are to be found.
        where = places.source(place) or places.where(place[:-1] if unknown else place)
        lines.append((place, scrub(f"{where}: {_joined(messages)}", secrets)))
    return lines


def _joined(messages: list[str]) -> str:
    """Put together what the members of a union say of the same value."""
    first, *others = messages
    return first + "".join(f", or {each.removeprefix('must be ')}" for each in others)


def _existing(location: Sequence[str | int], document: Any) -> Path:
    """Return the part of a location that is really in the document: pydantic adds the names of union members."""
    path: list[str | int] = []
    for step in location:
        in_table = isinstance(document, Mapping) and step in document
        in_list = isinstance(document, (list, tuple)) and isinstance(step, int) and step < len(document)
        if in_table or in_list:
            document = document[step]
            path.append(step)
    return tuple(path)


_WORDS = {
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "dict_type": "must be a table",
    "mapping_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "missing": "is missing",
}


_BOUNDS = {
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "less_than": "must be less than {lt}",
}


def _message(error: Any, path: Path, document: Any) -> str:
    kind: str = error["type"]
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**{key: f"{value:g}" for key, value in (error.get("ctx") or {}).items()})
    if kind in ("value_error", "assertion_error"):
        cause = (error.get("ctx") or {}).get("error")
        return str(cause) if cause is not None else str(error["msg"])
    if kind in ("literal_error", "enum"):
        expected = str((error.get("ctx") or {}).get("expected", ""))
        words = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        value = reveal(_value(path, document))
        near = did_you_mean(value, words) if isinstance(value, str) else ""
        return f"must be {expected}{near if near.startswith('; did you mean') else ''}"
    text = str(error["msg"])
    return text.replace("Input should be", "must be").replace("Input should have", "must have").removeprefix("Value ")


def _value(path: Path, document: Any) -> Any:
    for step in path:
        document = document[step]
    return document


def _unknown_key(path: Path, place: Path, model: type[BaseModel], document: Any) -> str:
    key = str(path[-1])
    known = _keys_at(model, path[:-1])
    if len(place) == 3 and place[0] == "models" and (key == "plugin" or key in ProviderSettings.model_fields):
        table = _value(path[:-1], document)
        connection = table.get("provider") if isinstance(table, Mapping) else None
        name = connection if isinstance(connection, str) and connection else "NAME"
        return f"unknown key {key!r}: it belongs in the connection's table, [{dotted(('providers', name))}]"
    return f"unknown key {key!r}{did_you_mean(key, known)}"


def _written_out(place: Path, kind: str, document: Any) -> str:
    """Say how `assistant = "openai:model"` under `[models]` is written as a table."""
    if len(place) != 2 or place[0] != "models" or not kind.startswith(("model_", "dict_", "mapping_")):
        return ""
    try:
        value = _value(place, document)
    except (KeyError, TypeError, IndexError):
        return ""
    provider, colon, model = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not (colon and provider.strip() and model.strip()):
        return ""
    return f": [{dotted(place)}] with provider = {provider.strip()!r} and model = {model.strip()!r}".replace("'", '"')


def _keys_at(model: Any, path: Path) -> list[str]:
    """Return the keys that the table at a place of `model` has."""
    annotation: Any = model
    for step in path:
        table = _table_of(annotation)
        if table is None:
            return []
        if isinstance(table, type) and issubclass(table, BaseModel):
            field = table.model_fields.get(str(step))
            if field is None:
                return []
            annotation = field.annotation
        else:
            annotation = get_args(table)[1]
    table = _table_of(annotation)
    return sorted(table.model_fields) if isinstance(table, type) and issubclass(table, BaseModel) else []


def _table_of(annotation: Any) -> Any:
    """Return the model or `dict[...]` in an annotation, through `Optional` and `Annotated`."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return next((found for each in get_args(annotation) if (found := _table_of(each)) is not None), None)
    if hasattr(annotation, "__metadata__"):
        return _table_of(annotation.__origin__)
    if origin is dict and len(get_args(annotation)) == 2:
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return None
