"""
Plugins: what a provider author declares, and the registry that finds and loads it.

A plugin is a distribution with an entry point in the group `polywire`; the entry point's name is the provider's name, its
object a module (or class) with one hook:

    from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl

    class AcmeSettings(ProviderSettings):
        region: str = "eu"

    def build_chat(context: BuildContext) -> ChatModel:
        return context.http_chat_model(AcmeCodec(), auth=context.bearer_auth(), base_url="https://api.acme.example")

    PROVIDER = Provider(
        "acme", "Acme's chat models", AcmeSettings, build_chat, variables={"api_key": ("ACME_API_KEY",)}
    )

    @hookimpl
    def polywire_provider(name: str) -> Provider | None:
        return PROVIDER if name == "acme" else None

and in its `pyproject.toml`:

    [project.entry-points.polywire]
    acme = "polywire_acme.provider"

Names are read from package metadata without importing anything; a plugin is imported when a settings file, or a call,
first asks for its name. One that cannot be used stops nobody else: see `Registry`.

The names here are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polywire.plugins.connections import (
        CircuitBreakerSettings as CircuitBreakerSettings,
        LimitSettings as LimitSettings,
        ProviderSettings as ProviderSettings,
        RetrySettings as RetrySettings,
        TimeoutSettings as TimeoutSettings,
    )
    from polywire.plugins.context import BuildContext as BuildContext
    from polywire.plugins.diagnostics import Diagnostic as Diagnostic
    from polywire.plugins.hooks import hookimpl as hookimpl, hookspec as hookspec
    from polywire.plugins.plain import PlainProviderSettings as PlainProviderSettings
    from polywire.plugins.provider import CONTRACT_VERSION as CONTRACT_VERSION, Provider as Provider
    from polywire.plugins.registry import (
        Registry as Registry,
        default_registry as default_registry,
        wire_named as wire_named,
    )

_HOMES = {
    "BuildContext": "context",
    "CONTRACT_VERSION": "provider",
    "CircuitBreakerSettings": "connections",
    "Diagnostic": "diagnostics",
    "LimitSettings": "connections",
    "PlainProviderSettings": "plain",
    "Provider": "provider",
    "ProviderSettings": "connections",
    "Registry": "registry",
    "RetrySettings": "connections",
    "TimeoutSettings": "connections",
    "default_registry": "registry",
    "hookimpl": "hooks",
    "hookspec": "hooks",
    "wire_named": "registry",
}

__all__ = [
    "CONTRACT_VERSION",
    "BuildContext",
    "CircuitBreakerSettings",
    "Diagnostic",
    "LimitSettings",
    "PlainProviderSettings",
    "Provider",
    "ProviderSettings",
    "Registry",
    "RetrySettings",
    "TimeoutSettings",
    "default_registry",
    "hookimpl",
    "hookspec",
    "wire_named",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
