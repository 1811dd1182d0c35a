"""From a name to a model as its plugin builds it, before any policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from polywire.config.checks import missing_model, split_name
from polywire.config.connections import CheckedTable, Connection, check_table, missing_lines, typed_or_raise
from polywire.config.plain import PlainModelSettings
from polywire.config.policies import make_limits
from polywire.config.problems import raise_problems
from polywire.config.references import Expansion, Path, expand
from polywire.config.rules import Rules
from polywire.errors import PluginError, SettingsError, UnknownProvider, did_you_mean
from polywire.plugins.context import BuildContext, make_transport
from polywire.plugins.plain import read_plain
from polywire.requests import ChatRequestParameters

if TYPE_CHECKING:
    from polywire.config.plain import PlainSettings
    from polywire.config.reading import Reading
    from polywire.config.schema import ModelSettings
    from polywire.config.settings import Settings
    from polywire.plugins.connections import ProviderSettings
    from polywire.plugins.provider import Provider
    from polywire.plugins.registry import Registry
    from polywire.policy import Runtime
    from polywire.transport.streams import HttpTransport

__all__ = ["ModelBuilder"]

_BUILDERS = {
    "chat": "build_chat",
    "embedding": "build_embedding",
    "image": "build_image",
    "speech": "build_speech",
}


_FEW_PROVIDERS = 8
"""So many are named in an error about a model; more would bury what it says."""


class ModelBuilder:
    """
    Finds what a name means, opens its connection once, and has the plugin build the model. Not locked: its factory is.

    Attributes:
        connections: those that are open, by name.
    """

    def __init__(
        self,
        reading: Reading,
        tables: Mapping[str, CheckedTable],
        registry: Registry,
        *,
        runtime: Runtime,
        clock: Callable[[], float],
        transport: HttpTransport | Callable[[str, ProviderSettings], HttpTransport] | None,
    ) -> None:
        assert reading.tables is not None
        self.tables: Settings | PlainSettings = reading.tables
        self.registry = registry
        self.runtime = runtime
        self.connections: dict[str, Connection] = {}
        self._reading = reading
        self._checked = tables
        self._clock = clock
        self._transport = transport

    def build(self, name: str, kind: str) -> tuple[Any, Rules, Connection]:
        table, connection_name, defaults = self.resolve(name)
        if table is not None and table.kind != kind:
            article = "an" if table.kind in ("embedding", "image") else "a"
            method = "chat_model" if table.kind == "chat" else f"{table.kind}_model"
            msg = f"{name!r} is {article} {table.kind} model; use factory.{method}({name!r})"
            raise SettingsError(msg)
        connection = self.connection(connection_name)
        self._require_model(name, table, connection.provider, defaults)
        connection.require_key(self._reading.environ, self._reading.places)
        build = getattr(connection.provider, _BUILDERS[kind])
        if build is None:
            msg = f"the provider {connection.plugin!r} offers no {kind} models"
            raise SettingsError(msg)
        rules = Rules.of(table, connection.table, self.tables.defaults)
        context = BuildContext(
            connection.name,
            connection.table,
            plugin=connection.plugin,
            defaults=defaults,
            profile=_profile(connection.table.profile, {} if table is None else table.profile),
            transport=connection.transport,
            timeouts=rules.timeouts,
            history=rules.history,
            unsupported=rules.unsupported,
            clock=self._clock,
            dimensions=None if table is None else table.dimensions,
        )
        refused: SettingsError | None = None
        try:
            return build(context), rules, connection
        except SettingsError as error:
            if type(error) is not SettingsError:
                raise
            refused = error
        raise SettingsError(self._placed(str(refused), name, connection)) from refused.__cause__

    def _require_model(
        self,
        name: str,
        table: ModelSettings | PlainModelSettings | None,
        provider: Provider,
        defaults: ChatRequestParameters,
    ) -> None:
        if table is not None and provider.requires_model and defaults.model is None:
            msg = f"{self._reading.places.where(('models', name, 'model'))}: {missing_model(provider)}"
            raise SettingsError(msg)

    def _placed(self, message: str, name: str, connection: Connection) -> str:
        """Put the place before what a plugin says of its settings, where it names a key, or none."""
        from polywire.config.schema import ModelSettings

        places = self._reading.places
        message = re.sub(r"^\[providers\.[^\]]+\]:?\s*", "", message)
        if message.startswith((places.label, "environment variable ", "the environment variable ")):
            return message
        path: Path
        certificates = re.match(r"the certificates? of the setting '(verify|cert)'", message)
        if certificates is not None:
            path = ("providers", connection.name, certificates[1])
            value = getattr(connection.table, certificates[1])
            files = ", ".join(repr(each) for each in ((value,) if isinstance(value, str) else value or ())[:2])
            return f"{places.where(path)}: {message}" + (f" ({files})" if isinstance(value, (str, tuple)) else "")
        named = re.match(r"(?:the setting ')?(\w+)'?(?::\s*|\s+(?=\S))", message)
        key = named[1] if named is not None else ""
        if key in connection.provider.settings.model_fields:
            path = ("providers", connection.name, key)
        elif name in self.tables.models and key in ModelSettings.model_fields:
            path = ("models", name, key)
        else:
            path, key = (("models", name) if name in self.tables.models else ("providers", connection.name)), ""
        if key and named is not None and message.startswith(key):
            message = message[named.end() :]
        return f"{places.where(path)}: {message}"

    def resolve(self, name: str) -> tuple[ModelSettings | PlainModelSettings | None, str, ChatRequestParameters]:
        """Return a model's table, its connection's name and its parameters."""
        if name in self.tables.models:
            table = self._model_table(name)
            if not table.provider:
                msg = f"{self._reading.places.where(('models', name, 'provider'))}: is missing"
                raise SettingsError(msg)
            return table, table.provider, table.parameters()
        provider, model = split_name(name)
        if ":" in name and provider:
            if provider not in self.tables.providers and provider not in self.registry:
                raise UnknownProvider(self._unknown_provider(provider))
            if not model:
                msg = f"{name!r} names no model{self._written_as(provider)}. {self._known()}"
                raise SettingsError(msg)
            return None, provider, ChatRequestParameters(model=model)
        if name in self.registry or name in self.tables.providers:
            msg = f"{name!r} is a provider, not a model{self._written_as(name)}. {self._known()}"
            raise UnknownProvider(msg)
        what = f"there is no model {name!r}" if name.strip(" :") else f"{name!r} names neither provider nor model"
        near = did_you_mean(name, self.tables.models) if name.strip(" :") else ""
        hint = near if near.startswith("; did you mean") else "."
        msg = f"{what}{hint} {self._known()}"
        raise UnknownProvider(msg)

    def _written_as(self, connection: str) -> str:
        """Say how a model of a connection is written without a table: a name that works, where there is one."""
        table = self._reading.raw.get("providers", {}).get(connection, {})
        try:
            example = self.registry.provider(str(table.get("plugin", connection))).default_model
        except (PluginError, UnknownProvider):
            example = None
        return f": write it as {connection}:{example or 'model'}"

    def _known(self) -> str:
        """Say what can be asked for."""
        providers = self.registry.names()
        listed = (
            self.registry.listed()
            if len(providers) <= _FEW_PROVIDERS
            else f"`polywire providers` shows the {len(providers)} providers"
        )
        if not self.tables.models and self._reading.looked_for:
            return f"{self._reading.looked_for} Without a table: provider:model. {listed}"
        models = ", ".join(self.tables.models) or "none"
        return f"Models in {self._reading.places.label}: {models}; without a table: provider:model. {listed}"

    def _unknown_provider(self, provider: str) -> str:
        tables = [each for each in self.tables.providers if each not in self.registry]
        return self.registry.unknown(provider, also=tables)

    def _model_table(self, name: str) -> ModelSettings | PlainModelSettings:
        """Return a model's table; where a variable was missing, look for it once more."""
        base: Path = ("models", name)
        missing = self._reading.expansion.missing_under(base) | self._reading.expansion.missing_under(("defaults",))
        if not missing:
            return self.tables.models[name]
        expansion = Expansion()
        table = expand(self._reading.raw["models"][name], self._reading.environ, expansion, base)
        expand(self._reading.raw.get("defaults", {}), self._reading.environ, expansion, ("defaults",))
        raise_problems(missing_lines(expansion.missing, self._reading.environ, self._reading.places))
        plain = read_plain(PlainModelSettings, table)
        if plain is not None:
            return plain
        from polywire.config.mistakes import checked
        from polywire.config.schema import ModelSettings

        model, problems = checked(ModelSettings, table, self._reading.places, base)
        raise_problems(line for _, line in problems)
        assert model is not None
        return model

    def connection(self, name: str) -> Connection:
        connection = self.connections.get(name)
        if connection is not None:
            return connection
        reading = self._reading
        raw = reading.raw.get("providers", {}).get(name, {})
        plugin = str(raw.get("plugin", name))
        if name not in self.tables.providers and name not in self.registry:
            raise UnknownProvider(self._unknown_provider(name))
        provider = self.registry.provider(plugin)
        checked = self._checked.get(name)
        if checked is None or checked.missing:
            checked = check_table(name, provider, raw, reading.environ, reading.places)
        table = typed_or_raise(checked, reading.environ, reading.places)
        if table.api_key is None and provider.variables.get("api_key"):
            # The usual variable may have been set since.
            checked = check_table(name, provider, raw, reading.environ, reading.places)
            table = typed_or_raise(checked, reading.environ, reading.places)
        limits = table.limits or self.tables.defaults.limits
        connection = Connection(
            name,
            plugin,
            provider,
            table,
            withheld=checked.withheld,
            make_transport=self._make_transport,
            make_limits=lambda each: make_limits(limits, name=each, clock=self.runtime.now),
        )
        self.connections[name] = connection
        return connection

    def _make_transport(self, connection: Connection) -> HttpTransport:
        given: Any = self._transport
        if given is None:
            return make_transport(connection.table)
        if hasattr(given, "send"):
            return _Borrowed(given)
        made: HttpTransport = given(connection.name, connection.settings)
        return made


class _Borrowed:
    """A transport that was handed in: whoever made it closes it."""

    def __init__(self, transport: HttpTransport) -> None:
        self.send = transport.send
        self.asend = transport.asend

    def close(self) -> None:
        """Leave it open."""

    async def aclose(self) -> None:
        """Leave it open."""


def _profile(connection: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a model's changes to its profile over its connection's; `quirks` merge by key."""
    merged = {**connection, **model}
    if "quirks" in connection and "quirks" in model:
        merged["quirks"] = {**connection["quirks"], **model["quirks"]}
    return merged
