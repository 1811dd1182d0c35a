"""The settings as one object."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from os import PathLike
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError

from polywire.config.mistakes import problems_of
from polywire.config.problems import InvalidSettings, raise_problems
from polywire.config.reading import Reading, read_settings
from polywire.config.references import Expansion, Path
from polywire.config.schema import DefaultSettings, ModelSettings, Words

__all__ = ["Reading", "Settings", "read_settings", "settings_of"]

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

    # Not the class itself, whose types pydantic would want to know.
    _reading: Reading = PrivateAttr(default_factory=lambda: Reading())

    def __init__(self, /, **values: Any) -> None:
        reading = _READING.get()
        if reading is None:
            reading = Reading()
            reading.prepare(values)
        error: ValidationError | None = None
        try:
            super().__init__(**_hidden(reading.merged))
        except ValidationError as found:
            error = found
        if error is not None:
            reading.problems += _wanted(problems_of(error, Settings, reading.merged, reading.places), reading.expansion)
        if reading.problems:
            raise_problems(line for _, line in reading.problems)
        self._reading = reading
        reading.tables = self

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
        settings = reading.settings
        assert isinstance(settings, cls)
        return settings

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # noqa: ARG002
        """Return settings with other tables; they are checked as at the first making."""
        return type(self)(**{**self._reading.raw, **(update or {})})

    def __eq__(self, other: object) -> bool:
        # By what they say, not by where it was read.
        return isinstance(other, Settings) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]

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


def settings_of(reading: Reading) -> Settings | None:
    """Return what was prepared as an object; `None`, and the mistakes among `reading.problems`, where there are any."""
    token = _READING.set(reading)
    try:
        return Settings()
    except InvalidSettings:
        return None
    finally:
        _READING.reset(token)


def _hidden(value: Any) -> Any:
    """Return tables with what is hidden in them as pydantic hides it, so that it can be dumped."""
    if hasattr(value, "get_secret_value"):
        return SecretStr(value.get_secret_value())
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    return [_hidden(item) for item in value] if isinstance(value, list) else value


def _wanted(problems: list[tuple[Path, str]], expansion: Expansion) -> list[tuple[Path, str]]:
    """Leave out what is only the consequence of a reference that could not be replaced: that is told when it is needed."""
    left_out = [*expansion.missing, *expansion.malformed]
    return [
        (path, line) for path, line in problems if not any(place[: len(path)] == path for place in left_out if path)
    ]
