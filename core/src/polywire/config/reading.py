"""Reading settings: layers merged, references replaced, tables typed. Nothing here needs the models of the tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import msgspec

from polywire.config.places import Places, leaves
from polywire.config.plain import PlainSettings
from polywire.config.references import Expansion, Path, expand
from polywire.config.secrets import hide_untyped
from polywire.config.sources import DEFAULT_FILE, FILE_VARIABLE, EnvironmentLayer, find_file, merge_layers, read_file
from polywire.errors import SettingsError, did_you_mean
from polywire.plugins.plain import read_plain

if TYPE_CHECKING:
    from polywire.config.settings import Settings

__all__ = ["TABLES", "Reading", "read_settings"]

TABLES = PlainSettings.__struct_fields__
"""What may stand at the top of a settings file."""


class Reading(msgspec.Struct, kw_only=True):
    """
    One reading of settings: what went in, and what was found on the way.

    Attributes:
        document: the file, or what stands in its place.
        environ: the environment, for references and for what lies over the document.
        layered: whether variables `POLYWIRE__…` lie over the document.
        known_providers: names for which the environment may begin a table.
        places: where each setting comes from.
        raw: all layers merged, references as written, strings that may be keys hidden.
        merged: the same with references replaced.
        expansion: what came of the references.
        problems: mistakes so far, with their places.
        tables: the result, where there were no mistakes: in its plain form where it has one.
        looked_for: where a file was looked for, as a sentence, when none was given and none was found; else empty.
    """

    document: Mapping[str, Any] = msgspec.field(default_factory=dict)
    environ: Mapping[str, str] = msgspec.field(default_factory=lambda: os.environ)
    layered: bool = False
    known_providers: Callable[[], Collection[str]] = tuple
    places: Places = msgspec.field(default_factory=Places)
    raw: dict[str, Any] = msgspec.field(default_factory=dict)
    merged: dict[str, Any] = msgspec.field(default_factory=dict)
    expansion: Expansion = msgspec.field(default_factory=Expansion)
    problems: list[tuple[Path, str]] = msgspec.field(default_factory=list)
    tables: PlainSettings | Settings | None = None
    looked_for: str = ""

    def __repr__(self) -> str:
        # Not the environment, which holds every key there is.
        return f"Reading({self.places.label!r}, problems={len(self.problems)})"

    def __deepcopy__(self, _memo: object) -> Reading:
        return self

    def __reduce__(self) -> Any:
        msg = "settings are not pickled: keys would be readable in the file"
        raise TypeError(msg)

    def merge(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Lay arguments over the environment over the document, key by key."""
        layers = [arguments]
        if self.layered:
            environment = EnvironmentLayer(TABLES, self.environ, self.document, self.known_providers)
            self.places.variables = environment.variables
            self.problems += [((), problem) for problem in environment.problems]
            layers.append(hide_untyped(environment.values))
        return merge_layers([*layers, hide_untyped(self.document)])

    def prepare(self, arguments: dict[str, Any]) -> None:
        """Merge the layers, and replace the references in them."""
        self.raw = hide_untyped(_as_mappings(self.merge(hide_untyped(arguments))))
        self.merged = expand(self.raw, self.environ, self.expansion)
        self.problems += [
            (path, f"{self.places.where(path)}: {message}") for path, message in self.expansion.malformed.items()
        ]

    def read(self) -> None:
        """Type what was prepared, as plain tables where it can be, and by the model of all settings where it cannot."""
        self.tables = read_plain(PlainSettings, self.merged) if not self.problems else None
        if self.tables is None:
            from polywire.config.settings import settings_of

            self.tables = settings_of(self)

    @property
    def settings(self) -> Settings:
        """The settings as one object; of plain tables it is made when first asked for."""
        if isinstance(self.tables, PlainSettings):
            from polywire.config.settings import settings_of

            made = settings_of(self)
            assert made is not None, "what is plain is without mistakes"
            return made
        assert self.tables is not None
        return self.tables


def read_settings(
    source: str | PathLike[str] | Mapping[str, Any] | Settings | None,
    *,
    environ: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    known_providers: Callable[[], Collection[str]] = tuple,
) -> Reading:
    """
    Read settings, and return what was found, mistakes included.

    Raises:
        SettingsError: the file cannot be read, or an argument is none of the settings.
        TypeError: `source` is nothing that settings can be read from.
    """
    arguments = arguments or {}
    for name in arguments:
        if name not in TABLES:
            msg = f"argument {name}: unknown{did_you_mean(name, TABLES)}"
            raise SettingsError(msg)
    environ = os.environ if environ is None else environ
    made: Reading | None = getattr(source, "_reading", None)
    if isinstance(made, Reading):  # the source is `Settings`
        if not arguments:
            return made
        reading = Reading(document=made.raw, environ=environ)
        reading.places.label = made.places.label
    else:
        reading = _reading_of(source, environ)
        reading.known_providers = known_providers
    reading.places.arguments = [leaf for leaf in leaves(arguments) if leaf]
    reading.prepare(dict(arguments))
    reading.read()
    return reading


def _as_mappings(value: Any) -> Any:
    """Return tables that were given as models as mappings of what is set in them."""
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: _as_mappings(item) for key, item in value.items()}
    return value


def _reading_of(source: Any, environ: Mapping[str, str]) -> Reading:
    if isinstance(source, Mapping):
        return Reading(document=source, environ=environ, layered=True)
    if source is None:
        path = find_file(environ)
    elif isinstance(source, (str, PathLike)):
        path = FilePath(source).expanduser()
    else:
        msg = f"settings must be a path, a mapping, Settings or None, not {type(source).__name__}"
        raise TypeError(msg)
    if path is None:
        looked_for = (
            f"No settings file was found: there is no {FilePath(DEFAULT_FILE).absolute()}, and the environment variable"
            f" {FILE_VARIABLE} is not set."
        )
        return Reading(environ=environ, layered=True, places=Places("settings"), looked_for=looked_for)
    return Reading(document=read_file(path), environ=environ, layered=True, places=Places(str(path)))
