"""Custom parameters: copied over the body as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from polywire import wire_json
from polywire.responses import Notice

__all__ = ["apply_custom_parameters"]


class HasCustomParameters(Protocol):
    """Chat parameters, or the request of a model of another kind."""

    @property
    def custom_parameters(self) -> Mapping[str, Any]:
        """What only one vendor has."""


def apply_custom_parameters(
    body: dict[str, Any], parameters: HasCustomParameters, notices: list[Notice], *, objects: Collection[str] = ()
) -> None:
    """
    Copy `custom_parameters` over `body`; where one takes the place of what a typed parameter wrote, say so.

    `objects` are those fields of the body that hold typed parameters: what is given for one is laid over it key by key.

    Raises:
        TypeError: a value is of no JSON type; the message names its key.
        ValueError: it holds `NaN` or an infinity; the message names the place.
    """
    for key, value in parameters.custom_parameters.items():
        if value is not None and type(value) not in _PLAIN:
            _require_json(key, value)
        typed = body.get(key)
        if key in objects and isinstance(value, Mapping) and isinstance(typed, Mapping):
            for name in value:
                if name in typed and value[name] != typed[name]:
                    _tell(notices, f"{key}.{name}")
            body[key] = {**typed, **value}
            continue
        if key in body and typed != value:
            _tell(notices, key)
        body[key] = value


_PLAIN = frozenset({str, int, bool})


def _require_json(key: str, value: Any) -> None:
    try:
        wire_json.encode(value)
    except TypeError as error:
        msg = f"custom_parameters[{key!r}] cannot be written as JSON: {error}"
        raise TypeError(msg) from None
    wire_json.require_numbers(value, f"custom_parameters[{key!r}]")


def _tell(notices: list[Notice], key: str) -> None:
    notices.append(Notice("information", key, f"the custom parameter {key!r} takes the place of the typed one"))
