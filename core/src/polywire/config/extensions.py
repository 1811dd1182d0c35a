"""
Extensions: what watches calls or wraps models, loaded only because the settings list it.

    extensions = ["opentelemetry"]

    [extension_settings.opentelemetry]
    capture_content = false

An extension is an entry point in the group `polywire.extensions`. Its object is called with its table as keyword
arguments and returns an `Extension`; a subclass of `Extension` is the usual object:

    class Telemetry(Extension):
        def __init__(self, *, capture_content: bool = False) -> None: ...
        def observers(self) -> Sequence[Observer]: ...
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polywire.config.secrets import reveal, scrub, secret_texts
from polywire.errors import PluginError, PolywireError, SettingsError, did_you_mean
from polywire.models import ChatModel
from polywire.plugins.discovery import EXTENSION_GROUP, declarations
from polywire.plugins.loading import clash, failed_import

if TYPE_CHECKING:
    from polywire.policy import Observer

__all__ = ["Extension", "load_extension", "unknown_extension"]


class Extension:
    """
    What an extension may do; everything is a no-op unless overridden.

    One object serves a factory, and is closed with it. It is asked from any thread.
    """

    def observers(self) -> Sequence[Observer]:
        """Return who is told what happens to every call of every model; see `polywire.policy.observers`."""
        return ()

    def wrap_model(self, model: ChatModel, name: str) -> ChatModel:  # noqa: ARG002 - for those who override it
        """
        Return `model`, or one around it; `name` is its name in the settings, or `provider:model`.

        Called once for each model that the factory hands out, outside its policies. What wraps a model that streams must
        stream, and calls only `do_chat` and its sisters.
        """
        return model

    def close(self) -> None:
        """Give back what the extension holds. Idempotent."""


def unknown_extension(name: str) -> str | None:
    """Say that no extension of this name is installed; `None` where one is. Imports nothing."""
    known = declarations(EXTENSION_GROUP)
    if name in known:
        return None
    return f"no extension {name!r} is installed{did_you_mean(name, known)}"


def load_extension(name: str, settings: Mapping[str, Any]) -> Extension:
    """
    Import an extension and make it with its table.

    Raises:
        SettingsError: there is none of this name, or its table is wrong.
        PluginError: it cannot be used; the original exception is the cause.
    """
    claims = declarations(EXTENSION_GROUP).get(name)
    if not claims:
        raise SettingsError(unknown_extension(name))
    if len(claims) > 1:
        msg = f"the extension {name!r}: {clash(name, claims).message}"
        raise PluginError(msg)
    try:
        make: Any = claims[0].entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        msg = f"the extension {name!r} is installed but failed to load: {failed_import(claims[0], error).message}"
        raise PluginError(msg) from error
    if not callable(make):
        msg = f"the extension {name!r}: {claims[0].value} must be callable, not {type(make).__name__}"
        raise PluginError(msg)
    values = reveal(settings)
    _check_keys(name, make, values)
    problem = None
    try:
        extension = make(**values)
    except PolywireError:
        raise
    except Exception as error:
        problem = scrub(f"{type(error).__name__}: {error}", secret_texts(settings))
    if problem is not None:
        # Raised out here and without a cause: the original's words may hold a key from the table.
        msg = f"the extension {name!r} cannot be made of its settings: {problem}"
        raise PluginError(msg)
    if not isinstance(extension, Extension):
        msg = f"the extension {name!r}: {claims[0].value} must return an Extension, not {type(extension).__name__}"
        raise PluginError(msg)
    return extension


def _check_keys(name: str, make: Any, values: Mapping[str, Any]) -> None:
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
    for key in values:
        if key not in known:
            msg = f"[extension_settings.{name}]: unknown key {key!r}{did_you_mean(key, known)}"
            raise SettingsError(msg)
