"""Which settings may be secret, by what their models say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from polywire.config.secrets import reveal, secret_texts
from polywire.profiles import Profile

__all__ = ["may_be_secret", "secrets_of_table"]

_SECRET_NAME = re.compile(r"key|token|secret|password|passphrase|credential|auth|cookie|signature", re.IGNORECASE)
"""A setting whose name has one of these words in it may hold a secret, however its plugin has typed it."""


def may_be_secret(annotation: Any) -> bool:
    """Whether a setting of this type is declared as hidden."""
    return annotation is SecretStr or any(may_be_secret(each) for each in get_args(annotation))


def secrets_of_table(document: Any, model: type[BaseModel]) -> Iterator[str]:
    """
    Yield the strings of a table that may be secret: those of hidden settings and of keys that `model` does not know.

    A word of a closed choice and the text of a plain setting are none: masking them would make a message unreadable that
    has the same word in it for another reason. Of an address, what stands for the user and what follows `?` may be.
    """
    if not isinstance(document, Mapping):
        yield from secret_texts(document)
        return
    for key, item in document.items():
        field = model.model_fields.get(str(key))
        if field is None:
            yield from secret_texts(item)
        else:
            yield from _secrets_of_setting(str(key), item, field.annotation)


def _secrets_of_setting(key: str, value: Any, annotation: Any) -> Iterator[str]:
    inner = next(
        (each for each in _members(annotation) if isinstance(each, type) and issubclass(each, BaseModel)), None
    )
    text = reveal(value)
    if key == "profile" and isinstance(value, Mapping):
        # What is known of models, in words that are no secret: what is said of them names no value.
        known = Profile.__dataclass_fields__.keys() - {"quirks"}
        yield from secret_texts({name: item for name, item in value.items() if name not in known})
    elif isinstance(value, Mapping) and inner is not None:
        yield from secrets_of_table(value, inner)
    elif not isinstance(text, str) or may_be_secret(annotation) or _SECRET_NAME.search(key):
        yield from secret_texts(value)
    elif "://" in text:
        yield from _secrets_of_address(text)
    elif str not in _members(annotation) and text not in _choices(annotation):
        yield from secret_texts(value)


def _members(annotation: Any) -> list[Any]:
    """Return a type and all that it is put together of."""
    return [annotation, *(inner for each in get_args(annotation) for inner in _members(each))]


def _choices(annotation: Any) -> set[Any]:
    return {word for each in _members(annotation) if get_origin(each) is Literal for word in get_args(each)}


def _secrets_of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:
        yield address.strip()
        return
    user, _, _ = parts.netloc.rpartition("@")
    words = [user, *user.split(":", 1), parts.query, *re.split("[&=]", parts.query), parts.fragment]
    yield from (each for each in words if each)
