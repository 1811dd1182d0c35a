"""
Settings and the factory that makes models of them.

    with LlmFactory.from_config("settings.toml") as factory:
        model = factory.chat_model("assistant")

`$POLYWIRE_SETTINGS` names the file, else it is `./settings.toml`; environment variables lie over it
(`POLYWIRE__MODELS__ASSISTANT__TEMPERATURE`), arguments over both. `settings.example.toml` shows every key.

The names here are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polywire.config.extensions import Extension as Extension
    from polywire.config.factory import LlmFactory as LlmFactory
    from polywire.config.problems import InvalidSettings as InvalidSettings
    from polywire.config.schema import DefaultSettings as DefaultSettings, ModelSettings as ModelSettings
    from polywire.config.settings import Settings as Settings

_HOMES = {
    "DefaultSettings": "schema",
    "Extension": "extensions",
    "InvalidSettings": "problems",
    "LlmFactory": "factory",
    "ModelSettings": "schema",
    "Settings": "settings",
}

__all__ = ["DefaultSettings", "Extension", "InvalidSettings", "LlmFactory", "ModelSettings", "Settings"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
