"""What is installed and what the settings offer: the commands' one view of the registry and the factory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polywire.cli.failures import line_of
from polywire.cli.settings_tables import Setting, settings_of

if TYPE_CHECKING:
    from polywire.config import LlmFactory

__all__ = ["ConfiguredModel", "InstalledProvider", "common_settings", "configured_models", "installed_providers"]


@dataclass(frozen=True, slots=True)
class InstalledProvider:
    """
    One provider name of an installed distribution.

    Attributes:
        name: as the settings say it.
        distribution: which package brings it, with its version.
        summary: one line about it; empty where it is broken.
        problem: why it cannot be used; `None` where it can.
        wires: the wires it offers to `polywire convert`.
        settings: what its table takes besides `common_settings`.
    """

    name: str
    distribution: str
    summary: str = ""
    problem: str | None = None
    wires: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """One model of the settings file, before it is made."""

    name: str
    provider: str
    model: str
    fallback: tuple[str, ...] = ()
    is_default: bool = False


def installed_providers(name: str | None = None) -> Iterator[InstalledProvider]:
    """Yield every installed provider, broken ones too; or only the one of a name. Each is imported to be asked."""
    from polywire.plugins import Registry

    registry = Registry()
    for each in registry.names():
        if name is not None and each != name:
            continue
        distribution = registry.distribution(each)
        try:
            provider = registry.provider(each)
            common = {setting.name: setting for setting in common_settings()}
            settings = tuple(one for one in settings_of(provider.settings) if common.get(one.name) != one)
        except Exception as error:
            # Whatever a plugin raises: it is shown, and the others are shown too.
            yield InstalledProvider(each, distribution, problem=line_of(error))
            continue
        yield InstalledProvider(each, distribution, provider.summary, None, wire_names(provider), settings)


def wire_names(provider: Any) -> tuple[str, ...]:
    """Return the names of the wires that a provider offers."""
    return tuple(wire if isinstance(wire, str) else wire.name for wire in provider.wires)


def common_settings() -> tuple[Setting, ...]:
    """Return what every provider's table takes."""
    from polywire.plugins import ProviderSettings

    return tuple(settings_of(ProviderSettings))


def configured_models(factory: LlmFactory) -> tuple[ConfiguredModel, ...]:
    """Return the models of the settings file, in its order."""
    settings = factory.settings
    return tuple(
        ConfiguredModel(
            name=name,
            provider=each.provider,
            model=each.model or "",
            fallback=tuple(each.fallback or ()),
            is_default=name == settings.default_model,
        )
        for name, each in settings.models.items()
    )
