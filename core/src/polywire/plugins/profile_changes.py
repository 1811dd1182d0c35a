"""What settings may change of a profile: each field's type and, where they are known, its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from polywire.errors import did_you_mean
from polywire.parameters import Effort
from polywire.profiles.schema import ALL_SAMPLING, Profile

__all__ = ["check_profile", "profile_problems"]

Place = tuple[str | int, ...]


def check_profile(profile: dict[str, Any]) -> dict[str, Any]:
    """
    Return changes to a profile; numbers, `true` and `false` that the environment gives as text are read.

    Raises:
        pydantic.ValidationError: a key is no field of a profile, or a value does not fit its field; each mistake is told
            at its place, with the nearest known word.
    """
    hints = get_type_hints(Profile)
    read = {key: _read(value, hints.get(key)) for key, value in profile.items()}
    found = list(profile_problems(read))
    if found:
        from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

        title = "profile"
        raise ValidationError.from_exception_data(
            title,
            [
                InitErrorDetails(
                    type=PydanticCustomError("profile_field", "{problem}", {"problem": problem}), loc=place, input=None
                )
                for place, problem in found
            ],
            hide_input=True,
        )
    return read


def profile_problems(changes: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with changes to a profile: the place inside them, and words that hold no value."""
    hints = get_type_hints(Profile)
    for key, value in changes.items():
        if key not in hints:
            yield (), f"unknown profile field {key!r}{did_you_mean(str(key), hints)}"
        elif value is not None or type(None) not in get_args(hints[key]):
            yield from (((key, *place), problem) for place, problem in _wrong(key, value, hints[key]))


def _wrong(key: str, value: Any, hint: Any) -> Iterator[tuple[Place, str]]:
    kinds = {hint, get_origin(hint), *get_args(hint)}
    if get_origin(hint) is Literal:
        yield from _no_choice(value, get_args(hint))
    elif kinds & {frozenset, tuple}:
        if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
            yield (), "must be a list of words"
            return
        known = _known_words(key)
        for index, word in enumerate(value):
            if not isinstance(word, str):
                yield (index,), "must be text"
            elif known:
                yield from (((index,), problem) for _, problem in _no_choice(word, known))
    elif get_origin(hint) is not None and issubclass(_class_of(hint), Mapping):
        if not isinstance(value, Mapping):
            yield (), "must be a table"
    elif bool in kinds:
        if not isinstance(value, bool):
            yield (), "must be true or false"
    elif int in kinds:
        if isinstance(value, bool) or not isinstance(value, int):
            yield (), "must be a whole number"
        elif value < 0:
            yield (), "must be 0 or more"
    elif not isinstance(value, str):
        yield (), "must be text"
    elif key.endswith("_pattern") and not _is_pattern(value):
        yield (), "must be a regular expression"
    elif key.endswith("schema_dialect"):
        yield from _no_dialect(value)


def _class_of(hint: Any) -> type:
    origin = get_origin(hint)
    return origin if isinstance(origin, type) else object


def _no_choice(value: Any, words: Iterable[str]) -> Iterator[tuple[Place, str]]:
    words = tuple(words)
    if value in words:
        return
    *first, last = (repr(word) for word in words)
    near = did_you_mean(value, words) if isinstance(value, str) else ""
    yield (), f"must be {', '.join(first)} or {last}{near if near.startswith('; did you mean') else ''}"


def _known_words(key: str) -> tuple[str, ...]:
    """Return the words that a field's list may hold; none where it is open: media types have no end."""
    if key == "tool_markup":
        from polywire.markup.forms import FORMS

        return tuple(FORMS)
    if key.endswith("_sources"):
        return ("data", "url", "file_id")
    if key == "efforts":
        return get_args(Effort)
    if key == "sampling":
        return tuple(sorted(ALL_SAMPLING))
    default = getattr(Profile(), key)
    return tuple(sorted(default)) if key in ("tool_choices", "response_formats") else ()


def _no_dialect(value: str) -> Iterator[tuple[Place, str]]:
    from polywire.schemas.dialects import DIALECTS

    for word in value.split("+"):
        yield from _no_choice(word.strip(), DIALECTS)


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _read(value: Any, hint: Any) -> Any:
    if not isinstance(value, str) or hint is None:
        return value
    kinds = {hint, *get_args(hint)}
    text = value.strip()
    if bool in kinds:
        return {"true": True, "false": False}.get(text.lower(), value)
    return int(text) if int in kinds and re.fullmatch(r"[0-9]{1,18}", text) else value
