"""Custom parameters: copied over the body as they are."""

from __future__ import annotations

from typing import Any

from polywire.requests import ChatRequestParameters
from polywire.responses import Notice

__all__ = ["apply_custom_parameters"]


def apply_custom_parameters(body: dict[str, Any], parameters: ChatRequestParameters, notices: list[Notice]) -> None:
    """Copy `custom_parameters` over `body`; where one takes the place of what a typed parameter wrote, say so."""
    for key, value in parameters.custom_parameters.items():
        if key in body and body[key] != value:
            notices.append(Notice("information", key, f"the custom parameter {key!r} takes the place of the typed one"))
        body[key] = value
