"""Layers of settings, merged by pydantic-settings: the only module that loads it, where there is something to merge."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

__all__ = ["merged"]

_LAYERS: ContextVar[Sequence[dict[str, Any]]] = ContextVar("polywire_layers", default=())


class _Layer(PydanticBaseSettingsSource):
    """One layer that has been read already."""

    def __init__(self, settings_cls: type[BaseSettings], values: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return dict(self._values)


class _Merged(BaseSettings):
    """Whatever the layers say; it is checked afterwards, by the settings' own model."""

    model_config = SettingsConfigDict(extra="allow", hide_input_in_errors=True, protected_namespaces=())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the interface of pydantic-settings
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take the layers, the uppermost first."""
        return tuple(_Layer(settings_cls, values) for values in _LAYERS.get())


def merged(layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge layers key by key, the uppermost first."""
    token = _LAYERS.set(layers)
    try:
        return dict(_Merged().model_extra or {})
    finally:
        _LAYERS.reset(token)
