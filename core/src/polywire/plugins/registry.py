"""
The registry: finds providers by name, and loads a plugin when one is first asked for.

Names come from package metadata, without importing. One object is registered with pluggy once, under its entry point's
value, however many names lead to it, and is asked alone: pluggy's own loading by name raises at the first broken plugin,
refuses the same object twice and hides clashes.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import pluggy

from polywire.errors import PluginError, SettingsError, UnknownProvider, did_you_mean
from polywire.plugins import hooks
from polywire.plugins.diagnostics import Diagnostic
from polywire.plugins.discovery import PROVIDER_GROUP, Declaration, declarations
from polywire.plugins.loading import clash, failed_import, problem
from polywire.plugins.plain import PlainProviderSettings
from polywire.plugins.provider import CONTRACT_VERSION, Provider

if TYPE_CHECKING:
    from polywire.codec import Wire

__all__ = ["Registry", "default_registry", "wire_named"]

LOGGER = logging.getLogger("polywire.plugins")


class Registry:
    """
    The providers that settings can name. Safe for threads.

    Args:
        providers: given in code; they win over installed ones of the same name.
        installed: look for installed plugins as well.
        strict: load every plugin now, and raise for the first that cannot be used, clashes included: for tests, and for
            those who want to know before they begin.

    A plugin that cannot be used (it fails to import in whatever way, answers `None`, clashes with another distribution,
    speaks a newer contract) is recorded in `diagnostics` and logged once as a warning. Nothing else is disturbed; asking
    for it raises `PluginError` with the original exception as its cause.
    """

    def __init__(self, providers: Iterable[Provider] = (), *, installed: bool = True, strict: bool = False) -> None:
        self._strict = strict
        self._installed = installed
        self._lock = threading.Lock()
        self._declared: dict[str, tuple[Declaration, ...]] | None = None
        self._manager = pluggy.PluginManager(hooks.PROJECT_NAME)
        self._manager.add_hookspecs(hooks)
        self._broken_values: dict[str, Diagnostic] = {}
        self._diagnostics: dict[str, Diagnostic] = {}
        self._providers: dict[str, Provider] = {}
        for each in providers:
            self._add(each)
        if strict:
            self.load_all()

    def __repr__(self) -> str:
        return f"Registry({', '.join(self.names())})"

    def _add(self, provider: Provider) -> None:
        if not isinstance(provider, Provider):
            msg = f"providers must hold Provider objects, not {type(provider).__name__}"
            raise TypeError(msg)
        wrong = _wrong(provider)
        if wrong is not None:
            msg = f"the provider {provider.name!r}: {wrong[1]}"
            raise PluginError(msg)
        if provider.name in self._providers:
            msg = f"there are two providers named {provider.name!r}"
            raise PluginError(msg)
        self._providers[provider.name] = provider

    def _declarations(self) -> dict[str, tuple[Declaration, ...]]:
        if self._declared is None:
            self._declared = declarations(PROVIDER_GROUP) if self._installed else {}
        return self._declared

    # Looking

    def names(self) -> tuple[str, ...]:
        """Return the names of all providers, sorted, broken ones included. Imports nothing."""
        return tuple(sorted({*self._providers, *self._declarations()}))

    def __contains__(self, name: object) -> bool:
        return name in self._providers or name in self._declarations()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What has been found wrong so far, by name. `load_all` looks at everything."""
        return tuple(self._diagnostics[name] for name in sorted(self._diagnostics))

    def diagnostic(self, name: str) -> Diagnostic | None:
        """Return what has been found wrong with a name so far."""
        return self._diagnostics.get(name)

    def declaration(self, name: str) -> Declaration | None:
        """Return the entry point of a name; `None` for a provider given in code. Imports nothing."""
        claims = self._declarations().get(name)
        return claims[0] if claims and name not in self._providers_in_code() else None

    def _providers_in_code(self) -> set[str]:
        return {name for name in self._providers if name not in self._declarations()}

    # Loading

    def provider(self, name: str) -> Provider:
        """
        Return the provider of a name, loading its plugin if need be.

        Raises:
            UnknownProvider: nothing of this name is installed; the message names the nearest one.
            PluginError: it is installed and cannot be used; the original exception is the cause.
        """
        found = self._providers.get(name)
        if found is not None:
            return found
        broken = self._diagnostics.get(name)
        if broken is not None:
            raise _error(broken) from broken.error
        claims = self._declarations().get(name)
        if not claims:
            raise UnknownProvider(self.unknown(name))
        outcome = clash(name, claims) if len(claims) > 1 else self._load(claims[0])
        if isinstance(outcome, Provider):
            with self._lock:
                return self._providers.setdefault(name, outcome)
        recorded = self._record(outcome)
        raise _error(recorded) from recorded.error

    def load_all(self) -> dict[str, Provider | Diagnostic]:
        """Load every plugin; return the provider, or what is wrong, by name. For the command `polywire providers`."""
        found: dict[str, Provider | Diagnostic] = {}
        for name in self.names():
            try:
                found[name] = self.provider(name)
            except PluginError:
                if self._strict:
                    raise
                found[name] = self._diagnostics[name]
        return found

    def listed(self, also: Iterable[str] = ()) -> str:
        """Name all providers, and say which are installed but broken, as far as is known."""
        names = sorted({*self.names(), *also})
        if not names:
            return "No provider is installed: each is a package of its own, named polywire-…"
        told = [
            f"{each} (installed but failed to load: {self._diagnostics[each].message})"
            if each in self._diagnostics
            else each
            for each in names
        ]
        return f"Known providers: {', '.join(told)}"

    def unknown(self, name: str, also: Iterable[str] = (), *, hint: str = "") -> str:
        """
        Return what to say about a name that is not known: the nearest one, all of them, and which are broken.

        `also` are names known from elsewhere, such as the tables of a settings file; `hint` is a sentence that goes
        before the list of all.
        """
        also = tuple(also)
        # Names are written in lower case: "OpenAI" is nearest to "openai".
        near = did_you_mean(name.lower(), {*self.names(), *also})
        nearest = near if near.startswith("; did you mean") else "."
        said = f" {hint[:1].upper()}{hint[1:]}." if hint else ""
        return f"unknown provider {name!r}{nearest}{said} {self.listed(also)}"

    @property
    def strict(self) -> bool:
        """Whether a plugin that cannot be used is raised at once."""
        return self._strict

    def _record(self, diagnostic: Diagnostic) -> Diagnostic:
        with self._lock:
            first = self._diagnostics.setdefault(diagnostic.name, diagnostic)
        if first is diagnostic:
            LOGGER.warning("%s", diagnostic)
        return first

    def _load(self, declaration: Declaration) -> Provider | Diagnostic:
        """Import the object, register it once, and ask it alone. Outside the lock: an import may ask us again."""
        try:
            plugin = self._manager.get_plugin(declaration.value) or declaration.entry_point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return failed_import(declaration, error)
        try:
            plugin = self._registered(declaration.value, plugin)
            if not any(each.plugin is plugin for each in self._manager.hook.polywire_provider.get_hookimpls()):
                return problem(
                    declaration, "no_hook", f"{declaration.value} has no polywire_provider(name) marked with @hookimpl"
                )
            others = [each for each in self._manager.get_plugins() if each is not plugin]
            ask = self._manager.subset_hook_caller("polywire_provider", others)
            provider: Any = ask(name=declaration.name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return problem(
                declaration, "no_answer", f"polywire_provider failed: {type(error).__name__}: {error}", error
            )
        if provider is None:
            return problem(declaration, "no_answer", f"polywire_provider({declaration.name!r}) answers None")
        wrong = _wrong(provider)
        return provider if wrong is None else problem(declaration, *wrong)

    def _registered(self, value: str, plugin: Any) -> Any:
        if inspect.isclass(plugin):
            plugin = plugin()
        with self._lock:
            already = self._manager.get_plugin(value)
            if already is not None:
                return already
            if not self._manager.is_registered(plugin):
                self._manager.register(plugin, name=value)
            return plugin


def _wrong(provider: Any) -> tuple[Any, str] | None:
    """Say what is wrong with what a plugin offers: the kind of problem, and words for it."""
    contract = getattr(provider, "contract", None)
    if isinstance(contract, int) and contract > CONTRACT_VERSION:
        return "contract", (
            f"it speaks version {contract} of the plugin contract, and this polywire knows {CONTRACT_VERSION};"
            " upgrade: pip install -U polywire"
        )
    if not isinstance(provider, Provider):
        return "type", f"polywire_provider must return a Provider, not {type(provider).__name__}"
    if not isinstance(contract, int):
        return "type", f"Provider.contract must be an int, not {type(contract).__name__}"
    wrong = _wrong_settings(provider)
    if wrong is not None:
        return "type", wrong
    for field in ("build_chat", "build_embedding", "build_image", "build_speech"):
        build = getattr(provider, field)
        if build is not None and not callable(build):
            return "type", f"Provider.{field} must be a function, not {type(build).__name__}"
    return None


def _wrong_settings(provider: Provider) -> str | None:
    plain = provider.plain_settings
    if plain is not None:
        if not (inspect.isclass(plain) and issubclass(plain, PlainProviderSettings)):
            return "Provider.plain_settings must be a subclass of PlainProviderSettings"
        if callable(provider.declared_settings) and not inspect.isclass(provider.declared_settings):
            return None  # looked at when something in a table is not plain
    from polywire.plugins.connections import ProviderSettings

    if inspect.isclass(provider.declared_settings) and issubclass(provider.declared_settings, ProviderSettings):
        return None
    return "Provider.settings must be a subclass of ProviderSettings"


def _error(diagnostic: Diagnostic) -> PluginError:
    return PluginError(str(diagnostic))


@cache
def default_registry() -> Registry:
    """Return the registry of what is installed, one for the process."""
    return Registry()


def wire_named(name: str, registry: Registry | None = None) -> Wire:
    """
    Return the dialect that a provider offers, for `polywire.convert`.

    Raises:
        UnknownProvider: no provider of this name is installed.
        PluginError: it is installed and cannot be used.
        SettingsError: the provider offers no dialect.
    """
    wires = (registry or default_registry()).provider(name).offered_wires()
    for wire in wires:
        if wire.name == name:
            return wire
    if not wires:
        msg = f"the provider {name!r} offers no wire to convert"
        raise SettingsError(msg)
    return wires[0]
