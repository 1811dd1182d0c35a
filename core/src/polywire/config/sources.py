"""Where settings are read from: the file, the environment over it, arguments over both."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from polywire.config.places import leaves
from polywire.config.references import Path
from polywire.errors import SettingsError, did_you_mean

__all__ = ["DEFAULT_FILE", "FILE_VARIABLE", "PREFIX", "EnvironmentLayer", "find_file", "merge_layers", "read_file"]

PREFIX = "POLYWIRE__"
"""What the environment variables that lie over the file begin with."""
FILE_VARIABLE = "POLYWIRE_SETTINGS"
"""The environment variable that names the settings file."""
DEFAULT_FILE = "settings.toml"
"""The settings file where the variable names none, in the folder that the program runs in."""
_TABLES_BY_NAME = ("models", "providers", "extension_settings")
_FREE_TABLES = frozenset({"custom_parameters", "profile", "extension_settings", "headers"})
"""Tables whose keys are the caller's own, so that nothing tells of which type a value is."""


def find_file(environ: Mapping[str, str]) -> FilePath | None:
    """
    Return the settings file: `$POLYWIRE_SETTINGS`, else `./settings.toml`; `None` where there is neither.

    Raises:
        SettingsError: the variable names a file that is not there.
    """
    named = environ.get(FILE_VARIABLE, "").strip()
    if named:
        path = FilePath(named).expanduser()
        if not path.is_file():
            msg = f"environment variable {FILE_VARIABLE}: there is no file {named!r}"
            raise SettingsError(msg)
        return path
    path = FilePath(DEFAULT_FILE)
    return path if path.is_file() else None


def read_file(path: FilePath) -> dict[str, Any]:
    """
    Read a TOML file.

    Raises:
        SettingsError: it is not there, cannot be read, or is no TOML; the message gives line and column.
    """
    import tomllib

    problem = None
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        where = "" if path.is_absolute() else f"; it was looked for at {path.absolute()}"
        problem = f"{path}: there is no such file{where}"
    except OSError as error:
        problem = f"{path}: {error.strerror or error}"
    except UnicodeDecodeError as error:
        problem = f"{path}: is not UTF-8 text (byte {error.start})"
    except tomllib.TOMLDecodeError as error:
        problem = f"{path}: is not TOML: {str(error)[:1].lower()}{str(error)[1:]}"
    # Raised out here, so that the parser's error, which holds the file's text, does not hang on.
    raise SettingsError(problem)


def merge_layers(layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """
    Merge layers of settings key by key, the uppermost first.

    Where only one says anything there is nothing to merge, and pydantic-settings, whose work that is, need not be loaded
    [measured: a tenth of the time from a program's start to its first answer].
    """
    said = [layer for layer in layers if layer]
    if len(said) < 2:
        return said[0] if said else {}
    from polywire.config.layers import merged

    return merged(said)


class EnvironmentLayer:
    """
    The variables `POLYWIRE__TABLE__NAME__KEY`.

    A table's name is compared without regard to case, and `-` is written `_`. Blank variables count as not set. Lists and
    tables are written as in TOML.

    Args:
        fields: the settings' own names.
        environ: the environment.
        document: what the variables lie over.
        known_providers: names for which a table may be begun here: `POLYWIRE__PROVIDERS__ACME__API_KEY` needs none in
            the file.

    Attributes:
        values: what they say.
        variables: the variables by the place they set.
        problems: what matches nothing.
    """

    def __init__(
        self,
        fields: Collection[str],
        environ: Mapping[str, str],
        document: Mapping[str, Any],
        known_providers: Callable[[], Collection[str]],
    ) -> None:
        self._fields = fields
        self._document = document
        self._known_providers = known_providers
        self.variables: dict[Path, str] = {}
        self.problems: list[str] = []
        self.values: dict[str, Any] = {}
        for name in sorted(environ):
            if name.upper().startswith(PREFIX):
                self._read(name, environ[name])

    def _read(self, name: str, text: str) -> None:
        path = self._place(name)
        if path is None or not text.strip():
            return
        value = _value(text, free=any(step in _FREE_TABLES for step in path[:-1]) and path[0] != "providers")
        table = self.values
        for step in path[:-1]:
            inner = table.setdefault(str(step), {})
            if not isinstance(inner, dict):
                self.problems.append(f"environment variable {name}: another variable sets the whole of it")
                return
            table = inner
        key = str(path[-1])
        if isinstance(value, dict) and isinstance(table.get(key), dict):
            table[key] = {**value, **table[key]}
        else:
            table[key] = value
        for leaf in leaves(value, path):
            self.variables.setdefault(leaf, name)
        self.variables.setdefault(path, name)

    def _place(self, name: str) -> Path | None:
        """Return what a variable sets; `None`, and a problem told, where it matches nothing."""
        first, _, rest = name[len(PREFIX) :].lower().partition("__")
        if first not in self._fields:
            self._unknown(name, f"there is no table or key {first!r}{did_you_mean(first, self._fields)}")
            return None
        if first not in _TABLES_BY_NAME:
            return (first, *rest.split("__")) if rest else (first,)
        if not rest:
            self._unknown(name, f"must go on with the name of a table and a key: {name.upper()}__NAME__KEY")
            return None
        return self._place_in_table(name, first, rest)

    def _place_in_table(self, name: str, kind: str, rest: str) -> Path | None:
        written = self._document.get(kind)
        tables = list(written) if isinstance(written, Mapping) else []
        begun = [each for each in self._known_providers() if each not in tables] if kind == "providers" else []
        matching = [each for each in (*tables, *begun) if rest.startswith(f"{_normalised(each)}__")]
        longest = max((len(each) for each in matching), default=0)
        matching = [each for each in matching if len(each) == longest]
        if not matching:
            wanted = rest.partition("__")[0]
            if "__" not in rest:
                self._unknown(name, f"must go on with a key: {name.upper()}__KEY")
            else:
                near = did_you_mean(wanted, {_normalised(each): each for each in (*tables, *begun)})
                self._unknown(name, f"there is no table [{kind}.{wanted}]{near}")
            return None
        if len(matching) > 1:
            self._unknown(name, f"may mean any of the tables {', '.join(sorted(matching))}; rename them")
            return None
        table = matching[0]
        keys = rest[len(table) + 2 :].split("__")
        place: list[str | int] = [kind, table]
        inner: Any = written.get(table) if isinstance(written, Mapping) else None
        for key in keys:
            # A key of the caller's own, such as a header's name, is found whatever its case.
            same = [each for each in inner if _normalised(str(each)) == key] if isinstance(inner, Mapping) else []
            if not same and len(place) > 2 and place[-1] == "headers":
                same = [key.replace("_", "-")]
            place.append(same[0] if same else key)
            inner = inner.get(place[-1]) if isinstance(inner, Mapping) else None
        return tuple(place)

    def _unknown(self, name: str, message: str) -> None:
        self.problems.append(f"environment variable {name}: {message}")


def _normalised(name: str) -> str:
    return name.lower().replace("-", "_")


def _value(text: str, *, free: bool) -> Any:
    """Read a variable's text: lists and tables as TOML or JSON; other words as text, unless nothing else tells a type."""
    stripped = text.strip()
    if stripped[:1] in ("[", "{"):
        for read in (_toml, json.loads):
            try:
                return read(stripped)
            except (ValueError, RecursionError):
                continue
        return text
    if free:
        try:
            return json.loads(stripped)
        except ValueError:
            return text
    return text


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(f"value = {text}")["value"]
