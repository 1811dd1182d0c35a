"""What the requests of all models that are no chat models have in common: how they are folded, and laid over defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from polywire.errors import UnknownParameter, did_you_mean
from polywire.models import merge_options
from polywire.requests import NO_OPTIONS, CallOptions

__all__ = ["check_defaults", "check_fields", "fold_task_request", "lay_over"]

_OPTION_NAMES = ("deadline", "tags")


def _parameter_names(request_type: type[Any]) -> set[str]:
    """Every field but the first, which is what the request is about."""
    return {each.name for each in fields(request_type)[1:]}


def check_fields(request: Any, *texts: str) -> None:
    """
    Check what all such requests have, and the fields of these names, which are texts or `None`.

    Raises:
        ValueError: the model's id is empty.
        TypeError: a field is of the wrong type; the message names it.
    """
    for name in ("model", *texts):
        value = getattr(request, name)
        if value is not None and not isinstance(value, str):
            msg = f"{name} must be a str, not {type(value).__name__}"
            raise TypeError(msg)
    if request.model is not None and not request.model.strip():
        msg = f"model must be a non-empty str, not {request.model!r}"
        raise ValueError(msg)
    if not isinstance(request.options, CallOptions):
        msg = f"options must be CallOptions, not {type(request.options).__name__}"
        raise TypeError(msg)


def fold_task_request(request_type: type[Any], given: Any, parameters: Mapping[str, Any]) -> Any:
    """
    Fold what a caller gave into one request; parameters win over what a whole request already holds.

    Raises:
        UnknownParameter: a keyword is no field and no option; the message names the nearest.
        ValueError, TypeError: a value is wrong.
    """
    if not parameters:
        return given if isinstance(given, request_type) else request_type(given)
    known = {*_parameter_names(request_type), *_OPTION_NAMES}
    for name in parameters:
        if name not in known:
            hint = " (what only one vendor has goes into custom_parameters)"
            msg = f"unknown parameter {name!r}{did_you_mean(name, known)}{hint}"
            raise UnknownParameter(msg)
    named = {name: value for name, value in parameters.items() if value is not None}
    options = named.pop("options", None) or NO_OPTIONS
    own_options = {name: named.pop(name) for name in _OPTION_NAMES if name in named}
    options = merge_options(options, CallOptions(**own_options) if own_options else None)
    if not isinstance(given, request_type):
        return request_type(given, **named, options=options)
    if "custom_parameters" in named:
        named["custom_parameters"] = {**given.custom_parameters, **named["custom_parameters"]}
    return replace(given, **named, options=merge_options(given.options, options))


def lay_over(request: Any, defaults: Mapping[str, Any]) -> Any:
    """Lay a request over a model's defaults: what is `None` there takes the default, custom parameters merge by key."""
    changes: dict[str, Any] = {}
    for name, value in defaults.items():
        own = getattr(request, name)
        if name == "custom_parameters":
            if value:
                changes[name] = {**value, **own}
        elif own is None:
            changes[name] = value
    return replace(request, **changes) if changes else request


def check_defaults(request_type: type[Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a model's defaults without those that are `None`.

    Raises:
        UnknownParameter: one is no field of the request; the message names the nearest.
    """
    known = _parameter_names(request_type) - {"options"}
    for name in defaults:
        if name not in known:
            msg = f"unknown default {name!r}{did_you_mean(name, known)}"
            raise UnknownParameter(msg)
    return {name: value for name, value in defaults.items() if value is not None}
