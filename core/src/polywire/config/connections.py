"""Connections: a provider's table, checked by its plugin, with the transport and the limits that its models share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polywire.config.places import Places
from polywire.config.problems import raise_problems
from polywire.config.references import Expansion, Path, expand
from polywire.config.secrets import reveal
from polywire.errors import SettingsError
from polywire.plugins.addresses import host_of, is_loopback, is_own_address
from polywire.plugins.plain import PlainProviderSettings, read_plain

if TYPE_CHECKING:
    from polywire.plugins.connections import ProviderSettings
    from polywire.plugins.provider import Provider
    from polywire.policy import LimitPolicy
    from polywire.transport.streams import HttpTransport

__all__ = ["CheckedTable", "Connection", "check_table", "missing_lines"]


class CheckedTable:
    """
    One provider's table after it was looked at.

    Attributes:
        table: the typed table, plain or as its plugin's model makes it; `None` where there are mistakes, or a required
            key needs a variable that is not set.
        missing: the variables that are not set, by place. An error only for the one who uses the connection.
        problems: mistakes, with their places.
        withheld: secrets in usual variables that are not sent because the address is not the provider's own: what to
            say about them. An error only for the one who uses the connection.
    """

    __slots__ = ("missing", "problems", "table", "withheld")

    def __init__(
        self,
        table: ProviderSettings | PlainProviderSettings | None,
        missing: dict[Path, str],
        problems: list[tuple[Path, str]],
        withheld: list[str],
    ) -> None:
        self.table = table
        self.missing = missing
        self.problems = problems
        self.withheld = withheld


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
    withheld = _take_usual_variables(table, provider, environ, places, base, expansion)
    problems: list[tuple[Path, str]] = [
        (path, f"{places.where(path)}: {message}") for path, message in expansion.malformed.items()
    ]
    plain = provider.plain_settings
    typed: ProviderSettings | PlainProviderSettings | None = read_plain(plain, reveal(table)) if plain else None
    if typed is None:
        from polywire.config.mistakes import checked

        typed, found = checked(provider.settings, table, places, base)
        left_out = [*expansion.missing, *expansion.malformed]
        problems += [(path, line) for path, line in found if not any(place[: len(path)] == path for place in left_out)]
    return CheckedTable(typed, expansion.missing, problems, withheld)


def _take_usual_variables(
    table: dict[str, Any],
    provider: Provider,
    environ: Mapping[str, str],
    places: Places,
    base: Path,
    expansion: Expansion,
) -> list[str]:
    """
    Put what the provider's usual variables hold where the table leaves a setting out; return what is to be said.

    A secret is meant for the provider's own service: it does not go along to another address that the table, or another
    variable, names. A server on this machine mostly asks for none, so there nothing is said.
    """
    withheld: list[str] = []
    # The address first: it decides about secrets.
    for key, variables in sorted(provider.variables.items(), key=lambda each: each[0] != "base_url"):
        if not _is_blank(table.get(key)) or (*base, key) in expansion.missing:
            continue
        named = key in table
        table.pop(key, None)
        found = next((each for each in variables if environ.get(each, "").strip()), None)
        if found is None:
            continue
        address = reveal(table.get("base_url"))
        if (
            isinstance(address, str)
            and address.strip()
            and not is_own_address(address, provider.own_addresses)
            and _is_secret(provider.settings, key)
        ):
            if not named and not is_loopback(address):
                withheld.append(
                    f"{places.where((*base, key))}: is missing: {found} is meant for {provider.name!r} itself and does"
                    f' not go to {host_of(address)} unless the table says so: {key} = "${{{found}}}", or {key} = ""'
                    " to send none"
                )
            continue
        table[key] = environ[found].strip()
        places.variables.setdefault((*base, key), found)
    if not withheld:
        return []
    given = any(_is_secret(provider.settings, key) and not _is_blank(table.get(key)) for key in provider.variables)
    return [] if given else withheld


def _is_secret(settings: type[ProviderSettings], key: str) -> bool:
    """Whether a setting is declared as a `SecretStr`."""
    from polywire.config.secret_settings import may_be_secret

    field = settings.model_fields.get(key)
    return key == "api_key" or (field is not None and may_be_secret(field.annotation))


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
        table: its table, in its plain form where it has one.
        withheld: what to say about secrets that are not sent to this address.
    """

    def __init__(
        self,
        name: str,
        plugin: str,
        provider: Provider,
        table: ProviderSettings | PlainProviderSettings,
        *,
        withheld: Sequence[str] = (),
        make_transport: Callable[[Connection], HttpTransport],
        make_limits: Callable[[str], LimitPolicy],
    ) -> None:
        self.name = name
        self.plugin = plugin
        self.provider = provider
        self.table = table
        self.withheld = tuple(withheld)
        self._make_transport = make_transport
        self._make_limits = make_limits
        self._lock = threading.Lock()
        self._transport: HttpTransport | None = None
        self._limits: LimitPolicy | None = None

    def __repr__(self) -> str:
        return f"Connection({self.name!r}, plugin={self.plugin!r})"

    @property
    def settings(self) -> ProviderSettings:
        """The table as its plugin's model makes it."""
        if isinstance(self.table, PlainProviderSettings):
            self.table = self.provider.settings.model_validate(self.table.written())
        return self.table

    def transport(self) -> HttpTransport:
        """Return the transport, made when first asked for."""
        with self._lock:
            if self._transport is None:
                self._transport = self._make_transport(self)
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
        raise_problems(self.withheld)
        if self.table.api_key or not self.provider.needs_key(self.table):
            return
        variables = self.provider.variables.get("api_key", ())
        states = " and ".join(f"{each} is {'blank' if each in environ else 'not set'}" for each in variables)
        usual = f": the environment variable {states}" if variables else ""
        msg = (
            f"the provider {self.name!r} has no key{usual}; set it, or api_key in [providers.{self.name}] of"
            f" {places.label}; models of other connections do not need it"
        )
        raise SettingsError(msg)


def typed_or_raise(
    checked: CheckedTable, environ: Mapping[str, str], places: Places
) -> ProviderSettings | PlainProviderSettings:
    """
    Return a checked table for use.

    Raises:
        InvalidSettings: there are mistakes, or a variable is not set.
    """
    raise_problems([line for _, line in checked.problems] + missing_lines(checked.missing, environ, places))
    assert checked.table is not None
    return checked.table
