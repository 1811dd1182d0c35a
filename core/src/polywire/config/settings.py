"""The settings as one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from polywire.config.places import Places, leaves
from polywire.config.problems import InvalidSettings, problems_of, raise_problems
from polywire.config.references import Expansion, Path, expand
from polywire.config.schema import DefaultSettings, ModelSettings, Words
from polywire.config.secrets import hide_untyped
from polywire.config.sources import DEFAULT_FILE, FILE_VARIABLE, EnvironmentLayer, find_file, merge_layers, read_file
from polywire.errors import SettingsError, did_you_mean

__all__ = ["Reading", "Settings", "read_settings"]


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
        settings: the result, where there were no mistakes.
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
    settings: Settings | None = None
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
            environment = EnvironmentLayer(Settings.model_fields, self.environ, self.document, self.known_providers)
            self.places.variables = environment.variables
            self.problems += [((), problem) for problem in environment.problems]
            layers.append(hide_untyped(environment.values))
        return merge_layers([*layers, hide_untyped(self.document)])

    def prepare(self, values: dict[str, Any]) -> dict[str, Any]:
        """Take the merged layers, and return them with references replaced."""
        self.raw = hide_untyped(_plain(values))
        self.merged = expand(self.raw, self.environ, self.expansion)
        self.problems += [
            (path, f"{self.places.where(path)}: {message}") for path, message in self.expansion.malformed.items()
        ]
        return self.merged


_READING: ContextVar[Reading | None] = ContextVar("polywire_reading", default=None)


class Settings(BaseModel):
    """
    Everything that the settings file says.

    Made in code, it takes its tables as keyword arguments, plain mappings or the models of `polywire.config`, and reads
    neither file nor `POLYWIRE__…` variables: `Settings.load` does. References to environment variables (`"${NAME}"`) are
    replaced when it is made; one to a variable that is not set is an error only for the model that needs it.

    Attributes:
        default_model: what `factory.chat_model()` returns without a name.
        models: the tables `[models.NAME]`.
        providers: the tables `[providers.NAME]`, checked by their plugins when a factory is made. Every string in them is
            hidden, whatever its key.
        defaults: the table `[defaults]`.
        extensions: names of installed extensions to load.
        extension_settings: a table for each of them.

    Raises:
        InvalidSettings: there are mistakes; all of them are told, one line each.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), validate_default=False
    )

    default_model: str | None = None
    models: dict[str, ModelSettings] = Field(default_factory=dict)
    providers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    defaults: DefaultSettings = Field(default_factory=DefaultSettings)
    extensions: Words = ()
    extension_settings: dict[str, dict[str, Any]] = Field(default_factory=dict)

    _reading: Reading = PrivateAttr(default_factory=Reading)

    def __init__(self, /, **values: Any) -> None:
        reading = _READING.get() or Reading()
        token = _READING.set(reading)
        error: ValidationError | None = None
        try:
            super().__init__(**reading.merge(hide_untyped(values)))
        except ValidationError as found:
            error = found
        finally:
            _READING.reset(token)
        if error is not None:
            reading.problems += _wanted(problems_of(error, Settings, reading.merged, reading.places), reading.expansion)
        if reading.problems:
            raise_problems(line for _, line in reading.problems)
        self._reading = reading
        reading.settings = self

    @model_validator(mode="before")
    @classmethod
    def _prepare(cls, values: Any) -> Any:
        reading = _READING.get()
        return reading.prepare(values) if reading is not None and isinstance(values, dict) else values

    @classmethod
    def load(
        cls,
        source: str | PathLike[str] | Mapping[str, Any] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> Self:
        """
        Read a file (or a mapping in its place; with neither, the file that is found), the environment and arguments.

        Args:
            source: a TOML file, or a mapping; `None` finds `$POLYWIRE_SETTINGS` or `./settings.toml`.
            environ: the environment, in place of the process's own.
            **arguments: tables and keys that win over both, merged key by key.

        Raises:
            SettingsError: the file cannot be read.
            InvalidSettings: there are mistakes.
        """
        reading = read_settings(source, environ=environ, arguments=arguments)
        raise_problems(line for _, line in reading.problems)
        assert isinstance(reading.settings, cls)
        return reading.settings

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # noqa: ARG002
        """Return settings with other tables; they are checked as at the first making."""
        return type(self)(**{**self._reading.raw, **(update or {})})

    @property
    def label(self) -> str:
        """The file's name, or `"settings"`."""
        return self._reading.places.label

    @property
    def looked_for(self) -> str:
        """Where a settings file was looked for, as a sentence, when none was given and none was found; else empty."""
        return self._reading.looked_for

    def __repr__(self) -> str:
        # Names alone: no value, so no key.
        return (
            f"Settings({self.label!r}, default_model={self.default_model!r}, models={list(self.models)},"
            f" providers={list(self.providers)})"
        )

    __str__ = __repr__


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
        if name not in Settings.model_fields:
            msg = f"argument {name}: unknown{did_you_mean(name, Settings.model_fields)}"
            raise SettingsError(msg)
    if isinstance(source, Settings):
        if not arguments:
            return source._reading
        reading = Reading(document=source._reading.raw, environ=os.environ if environ is None else environ)
        reading.places.label = source.label
    else:
        reading = _reading_of(source, os.environ if environ is None else environ)
        reading.known_providers = known_providers
    reading.places.arguments = [leaf for leaf in leaves(arguments) if leaf]
    token = _READING.set(reading)
    try:
        reading.settings = Settings(**arguments)
    except InvalidSettings:
        reading.settings = None
    finally:
        _READING.reset(token)
    return reading


def _plain(value: Any) -> Any:
    """Return tables that were given as models as mappings of what is set in them."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
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


def _wanted(problems: list[tuple[Path, str]], expansion: Expansion) -> list[tuple[Path, str]]:
    """Leave out what is only the consequence of a reference that could not be replaced: that is told when it is needed."""
    left_out = [*expansion.missing, *expansion.malformed]
    return [
        (path, line) for path, line in problems if not any(place[: len(path)] == path for place in left_out if path)
    ]
