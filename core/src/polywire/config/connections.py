"""Connections: a provider's table, checked by its plugin, with the transport and the limits that its models share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from polywire.config.places import Places
from polywire.config.problems import problems_of, raise_problems
from polywire.config.references import Expansion, Path, expand
from polywire.config.secrets import reveal
from polywire.errors import SettingsError

if TYPE_CHECKING:
    from polywire.plugins.connections import ProviderSettings
    from polywire.plugins.provider import Provider
    from polywire.policy import LimitPolicy
    from polywire.transport.streams import HttpTransport

__all__ = ["CheckedTable", "Connection", "check_table", "missing_lines"]


class CheckedTable:
    """
    One provider's table after its plugin's model has looked at it.

    Attributes:
        settings: the typed table; `None` where a required key needs a variable that is not set.
        missing: the variables that are not set, by place. An error only for the one who uses the connection.
        problems: mistakes, with their places.
    """

    __slots__ = ("missing", "problems", "settings")

    def __init__(
        self, settings: ProviderSettings | None, missing: dict[Path, str], problems: list[tuple[Path, str]]
    ) -> None:
        self.settings = settings
        self.missing = missing
        self.problems = problems


def check_table(
    name: str, provider: Provider, raw: Mapping[str, Any], environ: Mapping[str, str], places: Places
) -> CheckedTable:
    """
    Check a provider's table.

    Args:
        name: the connection's name.
        provider: whose settings it must fit.
        raw: the table, references as written, strings hidden.
        environ: the environment, for references and for the provider's usual variables.
        places: where the settings come from.
    """
    base: Path = ("providers", name)
    expansion = Expansion()
    table = dict(expand(raw, environ, expansion, base))
    table.pop("plugin", None)
    for key, variables in provider.variables.items():
        if _is_blank(table.get(key)) and (*base, key) not in expansion.missing:
            found = next((value for each in variables if (value := environ.get(each, "").strip())), None)
            if found is not None:
                table[key] = found
            else:
                table.pop(key, None)
    problems: list[tuple[Path, str]] = [
        (path, f"{places.where(path)}: {message}") for path, message in expansion.malformed.items()
    ]
    settings: Any = None
    error: ValidationError | None = None
    try:
        settings = provider.settings.model_validate(reveal(table))
    except ValidationError as found_error:
        error = found_error
    if error is not None:
        left_out = [*expansion.missing, *expansion.malformed]
        problems += [
            (path, line)
            for path, line in problems_of(error, provider.settings, table, places, base)
            if not any(place[: len(path)] == path for place in left_out)
        ]
    return CheckedTable(settings, expansion.missing, problems)


def _is_blank(value: Any) -> bool:
    text = reveal(value)
    return text is None or (isinstance(text, str) and not text.strip())


def missing_lines(missing: Mapping[Path, str], environ: Mapping[str, str], places: Places) -> list[str]:
    """Tell what is missing, one line for each place."""
    return [
        f"{places.where(path)}: the environment variable {name} {'is blank' if name in environ else 'is not set'}"
        for path, name in missing.items()
    ]


class Connection:
    """
    One connection that models use.

    Attributes:
        name: its name in the settings, or the provider's.
        plugin: the name by which the plugin knows it.
        provider: what the plugin declares.
        settings: its table.
    """

    def __init__(
        self,
        name: str,
        plugin: str,
        provider: Provider,
        settings: ProviderSettings,
        *,
        make_transport: Callable[[str, ProviderSettings], HttpTransport],
        make_limits: Callable[[str], LimitPolicy],
    ) -> None:
        self.name = name
        self.plugin = plugin
        self.provider = provider
        self.settings = settings
        self._make_transport = make_transport
        self._make_limits = make_limits
        self._lock = threading.Lock()
        self._transport: HttpTransport | None = None
        self._limits: LimitPolicy | None = None

    def __repr__(self) -> str:
        return f"Connection({self.name!r}, plugin={self.plugin!r})"

    def transport(self) -> HttpTransport:
        """Return the transport, made when first asked for."""
        with self._lock:
            if self._transport is None:
                self._transport = self._make_transport(self.name, self.settings)
            return self._transport

    def limits(self) -> LimitPolicy:
        """Return the limits, made when first asked for."""
        with self._lock:
            if self._limits is None:
                self._limits = self._make_limits(self.name)
            return self._limits

    def close(self) -> None:
        """Close the transport, and give back what the limits hold."""
        with self._lock:
            transport, limits, self._transport, self._limits = self._transport, self._limits, None, None
        if limits is not None:
            limits.close()
        if transport is not None:
            transport.close()

    async def aclose(self) -> None:
        """As `close`, from async code."""
        with self._lock:
            transport, limits, self._transport, self._limits = self._transport, self._limits, None, None
        if limits is not None:
            limits.close()
        if transport is not None:
            await transport.aclose()

    def require_key(self, environ: Mapping[str, str], places: Places) -> None:
        """
        Refuse a connection without the key that its provider needs, before any network.

        Raises:
            SettingsError: there is none; the message names the usual variable.
        """
        if self.settings.api_key or not self.provider.needs_key(self.settings):
            return
        variables = self.provider.variables.get("api_key", ())
        states = " and ".join(f"{each} is {'blank' if each in environ else 'not set'}" for each in variables)
        usual = f": the environment variable {states}" if variables else ""
        msg = (
            f"the provider {self.name!r} has no key{usual}; set it, or api_key in [providers.{self.name}] of"
            f" {places.label}"
        )
        raise SettingsError(msg)


def typed_or_raise(checked: CheckedTable, environ: Mapping[str, str], places: Places) -> ProviderSettings:
    """
    Return a checked table's settings for use.

    Raises:
        InvalidSettings: there are mistakes, or a variable is not set.
    """
    raise_problems([line for _, line in checked.problems] + missing_lines(checked.missing, environ, places))
    assert checked.settings is not None
    return checked.settings
