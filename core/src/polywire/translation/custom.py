"""Custom parameters: copied over the body as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from polywire.responses import Notice

__all__ = ["apply_custom_parameters"]


class HasCustomParameters(Protocol):
    """Chat parameters, or the request of a model of another kind."""

    @property
    def custom_parameters(self) -> Mapping[str, Any]:
        """What only one vendor has."""


def apply_custom_parameters(body: dict[str, Any], parameters: HasCustomParameters, notices: list[Notice]) -> None:
    """Copy `custom_parameters` over `body`; where one takes the place of what a typed parameter wrote, say so."""
    for key, value in parameters.custom_parameters.items():
        if key in body and body[key] != value:
            notices.append(Notice("information", key, f"the custom parameter {key!r} takes the place of the typed one"))
        body[key] = value
