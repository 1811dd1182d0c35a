"""What a plugin declares about one provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from polywire.immutable import EMPTY

if TYPE_CHECKING:
    from polywire.codec import Wire
    from polywire.embeddings import EmbeddingModel
    from polywire.media_models import ImageModel, SpeechModel
    from polywire.models import ChatModel
    from polywire.plugins.connections import ProviderSettings
    from polywire.plugins.context import BuildContext
    from polywire.plugins.plain import PlainProviderSettings
    from polywire.profiles import ProfileTable

__all__ = ["CONTRACT_VERSION", "Provider"]

CONTRACT_VERSION = 1
"""The version of the contract between plugins and this core. A plugin that speaks a newer one is not used."""


class _Declared(msgspec.Struct, frozen=True):
    """The fields of `Provider`."""

    name: str
    summary: str
    settings: type[ProviderSettings] | Callable[[], type[ProviderSettings]]
    build_chat: Callable[[BuildContext], ChatModel] | None
    build_embedding: Callable[[BuildContext], EmbeddingModel] | None = None
    build_image: Callable[[BuildContext], ImageModel] | None = None
    build_speech: Callable[[BuildContext], SpeechModel] | None = None
    wires: tuple[Wire, ...] | Callable[[], tuple[Wire, ...]] = ()
    profiles: ProfileTable | Callable[[], ProfileTable] | None = None
    variables: Mapping[str, tuple[str, ...]] = EMPTY
    requires_key: bool | Callable[[Any], bool] | None = None
    extra: str | None = None
    contract: int = CONTRACT_VERSION
    own_addresses: tuple[str, ...] = ()
    requires_model: bool = False
    default_model: str | None = None
    plain_settings: type[PlainProviderSettings] | None = None


class Provider(_Declared, frozen=True):
    """
    One provider: a name that settings can ask for, and how its models are built.

    Attributes:
        name: as in the entry point.
        summary: one line for `polywire providers`.
        settings: the pydantic model of the provider's table in the settings file, a subclass of `ProviderSettings`. May
            be given as a function without arguments that returns it, where `plain_settings` mostly do without it.
        build_chat: makes a chat model of a `BuildContext`; raises `SettingsError` where the settings do not suffice. It
            must not use the network.
        build_embedding, build_image, build_speech: likewise for the other kinds; `None` where there is none.
        wires: the dialects that the provider offers to `polywire.convert`; a name finds the first one whose `name`
            it is, else the first. May be a function without arguments, called once, when a wire is first asked for.
        profiles: the provider's profile table, or a function without arguments that returns it, for tools that show
            what is known of a model.
        variables: for a setting's name, the environment variables that are its usual home: the first that is not
            blank counts where the table leaves the setting out. `{"api_key": ("ACME_API_KEY",)}`. A secret among them
            is used with the usual address and with `own_addresses` only.
        requires_key: whether a model cannot be built without `api_key`; a function of the settings where it depends on
            them. `None`: a key is required where `variables` name one for it and the table has no `base_url` of its own
            (a local server seldom asks for a key).
        extra: the extra of the plugin's distribution that `build_chat` needs, for the install command in errors.
        contract: the version of the contract that the plugin was written for.
        own_addresses: where secrets of `variables` may go when the table has a `base_url`: addresses with scheme and
            host, subdomains included (`https://api.acme.example`), or what ends alike (`https://*-api.acme.example`).
            With any other `base_url` the table must name the secret itself.
        requires_model: whether a table without `model` is a mistake: its requests have to name one.
        default_model: the name of the model that `build_chat` makes where none is named, if there is one.
        plain_settings: the same table where it says plain things, read without pydantic: see `polywire.plugins.plain`.
            The builders then get it in place of the model, and the attributes of both are the same.
    """

    @property  # type: ignore[misc]
    def settings(self) -> type[ProviderSettings]:
        """The model of the provider's table, imported when first asked for."""
        declared: Any = self.declared_settings
        model: type[ProviderSettings] = declared if isinstance(declared, type) else declared()
        return model

    @property
    def declared_settings(self) -> Any:
        """What was given as `settings`: the model, or the function that returns it."""
        field: Any = _Declared.settings
        return field.__get__(self)

    def offered_wires(self) -> tuple[Wire, ...]:
        """Return the dialects, making them if need be."""
        return _made(self.wires) if callable(self.wires) else tuple(self.wires)

    def needs_key(self, settings: ProviderSettings | PlainProviderSettings) -> bool:
        """Whether a model of these settings cannot be built without a key."""
        if self.requires_key is None:
            return bool(self.variables.get("api_key")) and settings.base_url is None
        if callable(self.requires_key):
            return bool(self.requires_key(settings))
        return self.requires_key


@lru_cache(maxsize=256)
def _made(wires: Callable[[], tuple[Wire, ...]]) -> tuple[Wire, ...]:
    # Once: a wire resolves the profiles that it writes by [0.1 ms, the cost of converting ten messages].
    return tuple(wires())
