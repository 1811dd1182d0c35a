"""Usual mistakes of the first settings file, and what is said of each: where it stands, and what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywire.config import LlmFactory
from polywire.errors import SettingsError, UnknownProvider
from polywire.plugins import Registry

Problems = Callable[[Callable[[], object]], list[str]]


def lines_of(document: dict[str, Any], registry: Registry, problems: Problems, **more: Any) -> list[str]:
    return problems(lambda: LlmFactory.from_config(document, registry=registry, **more))


def test_a_name_of_ones_own_needs_a_plugin(registry: Registry) -> None:
    with pytest.raises(UnknownProvider) as caught:
        LlmFactory.from_config({"providers": {"office": {"base_url": "https://h.example"}}}, registry=registry)

    assert str(caught.value) == (
        "settings [providers.office]: unknown provider 'office'."
        ' A name of your own needs plugin = "…", the name of an installed provider. Known providers: acme, keyless'
    )


def test_other_mistakes_of_a_table_without_a_provider_are_told_with_it(registry: Registry, problems: Problems) -> None:
    table = {"base_ulr": "https://h.example", "base_url": "h.example", "verify": 3, "of_its_own": 1, "limits": {"x": 1}}

    lines = lines_of({"providers": {"acmee": table}}, registry, problems)

    assert lines[0].startswith("settings [providers.acmee]: unknown provider 'acmee'; did you mean 'acme'? A name of")
    assert [line.partition(": ")[0] for line in lines[1:]] == [
        "settings [providers.acmee] base_url",
        "settings [providers.acmee] verify",
        "settings [providers.acmee] limits",
        "settings [providers.acmee]",
    ]
    assert lines[-1].endswith("unknown key 'base_ulr'; did you mean 'base_url'?")


@pytest.mark.parametrize("key", ["plugn", "pluggin", "plugin_", "Plugin", "plugins"])
def test_a_misspelt_plugin_is_told_with_the_other_mistakes(key: str, registry: Registry, problems: Problems) -> None:
    document = {
        "providers": {"office": {key: "acme", "size": "big", "regoin": "eu"}},
        "models": {"a": {"provider": "office", "model": "m"}},
    }

    assert set(lines_of(document, registry, problems)) == {
        f"settings [providers.office]: unknown key {key!r}; did you mean 'plugin'?",
        "settings [providers.office] size: must be a whole number",
        "settings [providers.office]: unknown key 'regoin'; did you mean 'region'?",
    }


def test_a_misspelt_plugin_that_names_no_provider(registry: Registry, problems: Problems) -> None:
    lines = lines_of({"providers": {"office": {"plugn": "sk-secret-value", "verify": 3}}}, registry, problems)

    assert lines == [
        "settings [providers.office]: unknown key 'plugn'; did you mean 'plugin'?",
        "settings [providers.office] verify: must be true or false, or text",
    ]


@pytest.mark.parametrize("key", ["api_key", "base_url", "plugin", "headers", "proxy", "verify", "transport"])
def test_a_connections_key_in_a_models_table(key: str, registry: Registry, problems: Problems) -> None:
    lines = lines_of(
        {"models": {"c": {"provider": "keyless", "model": "m", key: "sk-secret-value"}}}, registry, problems
    )

    assert lines == [
        f"settings [models.c]: unknown key {key!r}: it belongs in the connection's table, [providers.keyless]"
    ]


def test_a_connections_key_in_a_models_table_without_a_provider(registry: Registry, problems: Problems) -> None:
    lines = lines_of({"models": {"c": {"api_key": "sk-secret-value"}}}, registry, problems)

    assert "settings [models.c]: unknown key 'api_key': it belongs in the connection's table, [providers.NAME]" in lines


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("chat", "dimensions", 3),
        ("image", "dimensions", 3),
        ("embedding", "temperature", 0.0),
        ("embedding", "max_tokens", 5),
        ("image", "tool_choice", "auto"),
        ("speech", "reasoning", "low"),
        ("speech", "parallel_tool_calls", False),
        ("embedding", "stop_sequences", ["a"]),
        ("image", "response_format", "json"),
        ("embedding", "seed", 0),
    ],
)
def test_a_setting_without_effect(kind: str, key: str, value: object, registry: Registry, problems: Problems) -> None:
    table = {"provider": "keyless", "model": "m", "kind": kind, key: value}

    (line,) = lines_of({"models": {"vec": table}}, registry, problems)

    assert line.startswith(f'settings [models.vec] {key}: has no effect on a model of kind "{kind}"')


def test_settings_that_have_an_effect_on_an_embedding(registry: Registry) -> None:
    table = {"provider": "keyless", "model": "m", "kind": "embedding", "dimensions": 3, "custom_parameters": {"a": 1}}

    LlmFactory.from_config(
        {"models": {"vec": {**table, "deadline": "5s", "retry": {"attempts": 2}}}}, registry=registry
    )


@pytest.mark.parametrize("place", ["api_key", "base_url", "proxy"])
def test_a_reference_without_braces(place: str, registry: Registry, problems: Problems) -> None:
    lines = lines_of({"providers": {"acme": {place: "$FAKE_KEY"}}}, registry, problems)

    assert lines[0] == (
        f'settings [providers.acme] {place}: is the text "$FAKE_KEY" itself, not what the variable holds;'
        ' did you mean "${FAKE_KEY}"?'
    )


def test_a_reference_without_braces_in_a_header(registry: Registry, problems: Problems) -> None:
    (line,) = lines_of(
        {"providers": {"acme": {"headers": {"X-Key": "$fake"}}}}, registry, problems, environ={"fake": "v"}
    )

    assert line.startswith("settings [providers.acme] headers.X-Key: ")
    assert line.endswith('did you mean "${fake}"?')


@pytest.mark.parametrize("key", ["$ecret-value", "$3CR3T", "$ecretvalue", "a $FAKE_KEY", "$$FAKE_KEY"])
def test_a_key_that_begins_with_a_dollar_is_a_key(key: str, registry: Registry) -> None:
    LlmFactory.from_config({"providers": {"acme": {"api_key": key}}}, registry=registry)


@pytest.mark.parametrize("name", ["Acme", "ACME", "AcMe"])
def test_a_providers_name_in_another_case(name: str, registry: Registry) -> None:
    with pytest.raises(UnknownProvider, match="did you mean 'acme'"):
        LlmFactory.from_config({"models": {"a": {"provider": name, "model": "m"}}}, registry=registry)
    with pytest.raises(UnknownProvider, match="did you mean 'acme'"):
        LlmFactory.from_config({}, registry=registry).chat_model(f"{name}:m")


def test_a_model_written_as_one_word(registry: Registry, problems: Problems) -> None:
    lines = lines_of({"models": {"assistant": "acme:m-1"}}, registry, problems)

    assert lines == [
        'settings [models.assistant]: must be a table: [models.assistant] with provider = "acme" and model = "m-1"'
    ]


@pytest.mark.parametrize("arguments", [(), ("settings.toml",), ({},)])
def test_a_factory_is_made_of_a_file(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"use LlmFactory\.from_config"):
        LlmFactory(*arguments)


def test_a_file_that_is_not_there_is_told_with_its_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        LlmFactory.from_config("none.toml")

    assert str(caught.value) == f"none.toml: there is no such file; it was looked for at {tmp_path / 'none.toml'}"
    with pytest.raises(SettingsError) as caught:
        LlmFactory.from_config(tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: there is no such file"
