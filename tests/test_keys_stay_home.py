"""For every installed provider: the key in its usual variable does not go to an address of somebody else."""

from __future__ import annotations

from typing import Any

import pytest

from polywire.config import InvalidSettings, LlmFactory
from polywire.config.connections import _is_secret
from polywire.config.secrets import secret_texts
from polywire.plugins import Provider, Registry
from polywire.plugins.addresses import is_own_address

SECRET = "sk-a-secret-of-the-vendor"
PROVIDERS = {
    name: provider
    for name, provider in Registry().load_all().items()
    if isinstance(provider, Provider) and any(_is_secret(provider.settings, key) for key in provider.variables)
}


def environ_of(provider: Provider) -> dict[str, str]:
    return {
        variables[0]: SECRET
        for key, variables in provider.variables.items()
        if _is_secret(provider.settings, key)
    }  # fmt: skip


def test_there_are_providers_to_look_at() -> None:
    assert {"openai", "anthropic", "gemini", "ollama", "azure-openai", "groq"} <= set(PROVIDERS)


@pytest.mark.parametrize("name", PROVIDERS)
def test_no_usual_key_goes_to_another_host(name: str) -> None:
    table: dict[str, Any] = {"base_url": "https://gateway.example/v1"}
    with (
        LlmFactory.from_config({"providers": {name: table}}, environ=environ_of(PROVIDERS[name])) as factory,
        pytest.raises(InvalidSettings, match=r"does not go to gateway\.example") as caught,
    ):
        factory.chat_model(f"{name}:m")

    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_usual_key_goes_to_this_machine_only_where_the_provider_is_at_home_there(name: str) -> None:
    provider = PROVIDERS[name]
    table: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1"}
    with LlmFactory.from_config({"providers": {name: table}}, environ=environ_of(provider)) as factory:
        settings = factory._builder.connection(name).settings

    at_home = is_own_address("http://127.0.0.1:9/v1", provider.own_addresses)
    assert (SECRET in set(secret_texts(settings.model_dump()))) is at_home
    assert at_home is (name in ("ollama", "ollama-compatible", "vllm", "llama-cpp", "lm-studio"))


@pytest.mark.parametrize("name", [name for name, each in PROVIDERS.items() if each.own_addresses])
def test_the_usual_key_goes_to_the_providers_own_addresses(name: str) -> None:
    provider = PROVIDERS[name]
    for address in provider.own_addresses:
        own = address.replace("https://*", "https://eu")
        with LlmFactory.from_config(
            {"providers": {name: {"base_url": own}}}, environ=environ_of(provider)
        ) as factory:  # fmt: skip
            settings = factory._builder.connection(name).settings
        assert settings.api_key is not None
        assert settings.api_key.get_secret_value() == SECRET
