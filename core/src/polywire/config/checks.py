"""What no single table can tell: whether the tables fit each other and what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polywire.config.connections import CheckedTable, check_table
from polywire.config.extensions import unknown_extension
from polywire.config.hints import (
    NEEDS_PLUGIN,
    guessed_problems,
    misspelt_plugin,
    unwritten_references,
    without_effect,
)
from polywire.config.policies import missing_extra
from polywire.config.references import Path
from polywire.config.secrets import reveal
from polywire.errors import PluginError, UnknownProvider, did_you_mean

if TYPE_CHECKING:
    from polywire.config.reading import Reading
    from polywire.plugins.provider import Provider
    from polywire.plugins.registry import Registry

__all__ = ["Checks", "missing_model", "split_name"]

_NAME = re.compile(r"[a-z0-9_-]+")


def split_name(name: str) -> tuple[str, str]:
    """Return `provider:model` in two, at the first colon; a name without one has an empty second part."""
    provider, _, model = name.partition(":")
    return provider.strip(), model.strip()


def missing_model(provider: Provider) -> str:
    """Say that a model's table lacks the key `model`."""
    return f"is missing: the id that {provider.name!r} has for the model"


class Checks:
    """
    Looks over one reading of settings, finding as many mistakes as it can.

    Works on the merged tables rather than on `Settings`, which do not exist where a table is wrong.

    Attributes:
        problems: the mistakes, with their places.
        tables: the providers' tables that their plugins have looked at.
        unknown: the first provider that is not installed, as its own kind of error.
    """

    def __init__(self, reading: Reading, registry: Registry) -> None:
        self._reading = reading
        self._registry = registry
        self.problems: list[tuple[Path, str]] = list(reading.problems)
        self.tables: dict[str, CheckedTable] = {}
        self.unknown: list[UnknownProvider] = []
        self._models = _tables(reading.merged, "models")
        self._providers = _tables(reading.raw, "providers")
        self._usable = set(self._providers)

    def run(self) -> None:
        """
        Look at everything.

        Raises:
            PluginError: a plugin is broken, and the registry is strict.
        """
        for kind in ("models", "providers"):
            self._check_names(kind)
        for name, table in self._providers.items():
            self._check_provider(name, table)
        for name, table in self._models.items():
            self._check_model(name, table)
        self._check_default()
        self._check_cycles()
        self._check_limits()
        self._check_extensions()

    def _tell(self, path: Path, message: str) -> None:
        line = f"{self._reading.places.where(path)}: {message}"
        if all(told != line for _, told in self.problems):
            self.problems.append((path, line))

    def _told(self, path: Path) -> bool:
        return any(place[: len(path)] == path for place, _ in self.problems)

    def _left_out(self, path: Path) -> bool:
        """Whether a value is not there because a variable is not set: told when it is needed."""
        return path in self._reading.expansion.missing or path in self._reading.expansion.malformed

    def _check_names(self, kind: str) -> None:
        for name in self._reading.merged.get(kind) or () if isinstance(self._reading.merged.get(kind), Mapping) else ():
            if not _NAME.fullmatch(str(name)):
                wanted = re.sub(r"[^a-z0-9_-]+", "-", str(name).lower()).strip("-")
                hint = f"; write {wanted!r}" if wanted else ""
                self._tell((kind, name), f"the name {name!r} may hold only a-z, 0-9, _ and -{hint}")

    def _check_provider(self, name: str, table: Mapping[str, Any]) -> None:
        for path, message in unwritten_references(table, self._reading.environ, ("providers", name)):
            self._tell(path, message)
        misspelt = misspelt_plugin(table) if name not in self._registry else None
        if misspelt is not None:
            self._tell(("providers", name), f"unknown key {misspelt!r}; did you mean 'plugin'?")
            table = {
                "plugin" if key == misspelt else key: reveal(value) if key == misspelt else value
                for key, value in table.items()
            }
            if table["plugin"] not in self._registry:
                self._usable.discard(name)
                self.problems += guessed_problems(_without_plugin(table), self._reading.places, ("providers", name))
                return
        plugin = table.get("plugin", name)
        if not isinstance(plugin, str) or not plugin.strip():
            self._tell(("providers", name, "plugin"), "must be the name of an installed provider")
            return
        try:
            provider = self._registry.provider(plugin)
        except UnknownProvider as error:
            place: Path = ("providers", name, "plugin") if "plugin" in table else ("providers", name)
            self._tell(place, str(error) if "plugin" in table else self._registry.unknown(name, hint=NEEDS_PLUGIN))
            self._usable.discard(name)
            self.unknown.append(UnknownProvider(self.problems[-1][1]))
            self.problems += guessed_problems(_without_plugin(table), self._reading.places, ("providers", name))
            return
        except PluginError:
            # Recorded and logged by the registry; an error for the one who uses it, and for nobody else.
            if self._registry.strict:
                raise
            return
        checked = check_table(name, provider, table, self._reading.environ, self._reading.places)
        self.tables[name] = checked
        self.problems += checked.problems

    def _check_model(self, name: str, table: Mapping[str, Any]) -> None:
        base: Path = ("models", name)
        provider = table.get("provider")
        if not self._left_out((*base, "provider")) and not self._told((*base, "provider")):
            if not provider:
                self._tell(
                    (*base, "provider"), "is missing: the name of a [providers] table or of an installed provider"
                )
            elif isinstance(provider, str):
                self._check_provider_name((*base, "provider"), provider)
                self._check_model_id(base, table, provider)
        for key, message in without_effect(table):
            self._tell((*base, key), message)
        fallback = table.get("fallback")
        names = [fallback] if isinstance(fallback, str) else fallback if isinstance(fallback, (list, tuple)) else ()
        words = [word.strip() for each in names if isinstance(each, str) for word in each.split(",") if word.strip()]
        for word in words:
            self._check_model_name((*base, "fallback"), word, fallback_of=name)
        for word in {each for each in words if words.count(each) > 1}:
            self._tell((*base, "fallback"), f"names {word!r} twice")
        if not words and not self._left_out((*base, "fallback")):
            if table.get("fallback_on"):
                self._tell((*base, "fallback_on"), "has no effect without fallback")
            if table.get("circuit_breaker") and not any(name in _words(each) for each in self._models.values()):
                self._tell((*base, "circuit_breaker"), "has no effect without fallback")

    def _check_model_id(self, base: Path, table: Mapping[str, Any], connection: str) -> None:
        """Tell of a table that names no model, where the provider has to be told one."""
        if table.get("model") is not None or self._left_out((*base, "model")):
            return
        plugin = self._providers.get(connection, {}).get("plugin", connection)
        try:
            provider = self._registry.provider(plugin) if isinstance(plugin, str) else None
        except (PluginError, UnknownProvider):
            return  # told, or recorded, elsewhere
        if provider is not None and provider.requires_model:
            self._tell((*base, "model"), missing_model(provider))

    def _check_provider_name(self, path: Path, provider: str) -> None:
        if provider in self._providers or provider in self._registry:
            return
        self._tell(path, self._registry.unknown(provider, also=self._usable))
        self.unknown.append(UnknownProvider(self.problems[-1][1]))

    def _check_model_name(self, path: Path, name: str, fallback_of: str | None = None) -> None:
        if name in self._models:
            if fallback_of is not None and self._models[name].get("kind", "chat") != "chat":
                self._tell(path, f"{name!r} is no chat model")
            return
        provider, model = split_name(name)
        if provider and model:
            self._check_provider_name(path, provider)
            return
        self._tell(path, f"there is no model {name!r}{did_you_mean(name, self._models)}")

    def _check_default(self) -> None:
        name = self._reading.merged.get("default_model")
        if isinstance(name, str) and not self._told(("default_model",)):
            self._check_model_name(("default_model",), name)

    def _check_cycles(self) -> None:
        told: set[frozenset[str]] = set()
        for start in self._models:
            for circle in self._circles(start, [start]):
                if frozenset(circle) not in told:
                    told.add(frozenset(circle))
                    self._tell(
                        ("models", start, "fallback"), f"goes round in a circle: {' -> '.join([*circle, circle[0]])}"
                    )

    def _circles(self, start: str, trail: list[str]) -> Iterator[list[str]]:
        for name in _words(self._models[trail[-1]]):
            if name == start:
                yield list(trail)
            elif name in self._models and name not in trail:
                yield from self._circles(start, [*trail, name])

    def _check_limits(self) -> None:
        limits: list[tuple[Path, Any]] = [
            (("providers", name, "limits"), checked.table.limits)
            for name, checked in self.tables.items()
            if checked.table is not None
        ]
        if self._reading.tables is not None:
            limits.append((("defaults", "limits"), self._reading.tables.defaults.limits))
            limits += [(("models", name, "limits"), each.limits) for name, each in self._reading.tables.models.items()]
        for path, each in limits:
            missing = None if each is None else missing_extra(each)
            if missing is not None:
                self._tell(path, missing)

    def _check_extensions(self) -> None:
        listed = self._reading.tables.extensions if self._reading.tables is not None else ()
        for name in listed:
            unknown = unknown_extension(name)
            if unknown is not None:
                self._tell(("extensions",), unknown)
        if self._reading.tables is not None:
            for name in self._reading.tables.extension_settings:
                if name not in listed:
                    self._tell(("extension_settings", name), f"is not listed in extensions{did_you_mean(name, listed)}")

    def raise_found(self) -> None:
        """
        Raise what was found as one error.

        Raises:
            UnknownProvider: the only mistake is a provider that is not installed.
            InvalidSettings: there are mistakes.
        """
        from polywire.config.problems import raise_problems

        lines = list(dict.fromkeys(line for _, line in self.problems))
        if len(lines) == 1 and self.unknown:
            raise self.unknown[0]
        raise_problems(lines)


def _without_plugin(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != "plugin"}


def _words(table: Mapping[str, Any]) -> list[str]:
    fallback = table.get("fallback")
    names = [fallback] if isinstance(fallback, str) else fallback if isinstance(fallback, (list, tuple)) else []
    return [word.strip() for each in names if isinstance(each, str) for word in each.split(",") if word.strip()]


def _tables(document: Mapping[str, Any], kind: str) -> dict[str, Mapping[str, Any]]:
    tables = document.get(kind)
    if not isinstance(tables, Mapping):
        return {}
    return {str(name): table for name, table in tables.items() if isinstance(table, Mapping)}
