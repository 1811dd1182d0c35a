"""What is installed and what the settings offer: the commands' one view of the registry and the factory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polywire.cli.failures import line_of, one_line
from polywire.cli.settings_tables import Setting, settings_of
from polywire.errors import UnknownProvider

if TYPE_CHECKING:
    from polywire.config import LlmFactory
    from polywire.models import ChatModel
    from polywire.plugins import Provider

__all__ = [
    "ConfiguredModel",
    "InstalledProvider",
    "common_settings",
    "configured_models",
    "dropped_parameters",
    "installed_providers",
]


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
        refused: those of `common_settings` that its table does not take.
    """

    name: str
    distribution: str
    summary: str = ""
    problem: str | None = None
    wires: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = field(default=())
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """One model of the settings file, before it is made."""

    name: str
    provider: str
    model: str
    kind: str = "chat"
    fallback: tuple[str, ...] = ()
    is_default: bool = False


def installed_providers(name: str | None = None, *, deep: bool = False) -> Iterator[InstalledProvider]:
    """
    Yield every installed provider, broken ones too, or only the one of a name. Each is imported to be asked.

    With `deep`, tables inside its table are told key by key.

    Raises:
        UnknownProvider: nothing of this name is installed.
    """
    from polywire.plugins import Registry

    registry = Registry()
    if name is not None and name not in registry:
        raise UnknownProvider(registry.unknown(name))
    for each in registry.names() if name is None else (name,):
        declaration = registry.declaration(each)
        distribution = (declaration.distribution if declaration is not None else None) or "unknown distribution"
        try:
            provider = registry.provider(each)
            wires = tuple(wire.name for wire in provider.offered_wires())
            settings = tuple(own_settings(provider, deep=deep))
        except Exception as error:
            # Whatever a plugin raises: it is shown, and the others are shown too.
            found = registry.diagnostic(each)
            problem = one_line(found.message) if found is not None else line_of(error)
            yield InstalledProvider(each, distribution, problem=problem)
            continue
        refused = tuple(getattr(provider.settings, "refused_settings", ()))
        yield InstalledProvider(each, distribution, provider.summary, None, wires, settings, refused)


def own_settings(provider: Provider, *, deep: bool = False) -> Iterator[Setting]:
    """Yield what a provider's table takes besides, or otherwise than, every other's."""
    common = {setting.name: setting for setting in common_settings(deep=deep)}
    for setting in settings_of(provider.settings, deep=deep):
        if setting.name.partition(".")[0] in provider.settings.refused_settings:
            continue
        variables = provider.variables.get(setting.name, ())
        if variables:
            yield replace(setting, default=" or ".join(f"${name}" for name in variables))
        elif common.get(setting.name) != setting:
            yield setting


def common_settings(*, deep: bool = False) -> tuple[Setting, ...]:
    """Return what every provider's table takes."""
    from polywire.plugins import ProviderSettings

    return tuple(settings_of(ProviderSettings, deep=deep))


def configured_models(factory: LlmFactory) -> tuple[ConfiguredModel, ...]:
    """Return the models of the settings file, in its order."""
    settings = factory.settings
    return tuple(
        ConfiguredModel(
            name=name,
            provider=each.provider,
            model=each.model or "",
            kind=each.kind,
            fallback=tuple(each.fallback or ()),
            is_default=name == settings.default_model,
        )
        for name, each in settings.models.items()
    )


def dropped_parameters(model: ChatModel) -> list[tuple[str, str]]:
    """
    Return the parameters set for a model that it does not take, with the reason for each.

    A request is written as for a call, and not sent. A model that is not behind HTTP tells nothing.

    Raises:
        UnsupportedByModel: there are some, and the settings say that this is an error.
    """
    from polywire.http_model import HttpChatModel
    from polywire.requests import PARAMETER_NAMES, ChatRequest

    inner: object = model
    while inner is not None and not isinstance(inner, HttpChatModel):
        inner = getattr(inner, "model", None)
    if inner is None or inner.information.model is None:
        return []
    return [
        (notice.subject, notice.message)
        for notice in inner.notices_for(ChatRequest("hi"))
        if notice.kind == "dropped" and notice.subject.split(".")[0].split("[")[0] in PARAMETER_NAMES
    ]
