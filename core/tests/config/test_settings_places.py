"""What a newcomer gets wrong first: each mistake names the file, the table and the key, and what is near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import Field

from polywire.config import LlmFactory
from polywire.errors import SettingsError, UnknownProvider
from polywire.models import ChatModel
from polywire.plugins import BuildContext, Provider, ProviderSettings, Registry

Problems = Callable[[Callable[[], object]], list[str]]


class ChoosySettings(ProviderSettings):
    """A table with a closed choice, and without a network."""

    refused_settings: ClassVar[Mapping[str, str]] = {"base_url": "there is no network here", "proxy": "none here"}

    api: Literal["chat", "responses"] | None = None
    apis: tuple[Literal["chat", "responses"], ...] = ()
    file: Path | None = Field(default=None, description="a file")


def build(context: BuildContext) -> ChatModel:
    if context.settings.file is not None:
        msg = f"file: {str(context.settings.file)!r} is no model"
        raise SettingsError(msg)
    if context.model == "odd":
        msg = f"[providers.{context.provider}]: there are no weights of 'odd'"
        raise SettingsError(msg)
    return ChatModel.from_function(lambda request: "hello")


REGISTRY = Registry(
    [
        Provider("choosy", "one with choices", ChoosySettings, build, requires_model=True),
        Provider("embedded", "one with a model of its own", ChoosySettings, build, default_model="tiny"),
    ],
    installed=False,
)


def lines_of(problems: Problems, document: dict[str, Any]) -> list[str]:
    return problems(lambda: LlmFactory.from_config(document, registry=REGISTRY))


def test_a_table_that_names_no_model_where_one_is_needed(problems: Problems) -> None:
    document = {
        "providers": {"mine": {"plugin": "choosy"}},
        "models": {"a": {"provider": "choosy"}, "b": {"provider": "mine"}, "c": {"provider": "embedded"}},
    }

    assert lines_of(problems, document) == [
        "settings [models.a] model: is missing: the id that 'choosy' has for the model",
        "settings [models.b] model: is missing: the id that 'choosy' has for the model",
    ]


def test_a_model_id_in_a_variable_that_is_not_set_is_an_error_for_its_user_alone() -> None:
    document = {"models": {"a": {"provider": "choosy", "model": "${ITS_NAME}"}}}

    with (
        LlmFactory.from_config(document, registry=REGISTRY, environ={}) as factory,
        pytest.raises(
            SettingsError, match=r"settings \[models.a\] model: the environment variable ITS_NAME is not set"
        ),
    ):
        factory.chat_model("a")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ({"api": "respones"}, "api: must be 'chat' or 'responses'; did you mean 'responses'?"),
        ({"apis": ["chat", "caht"]}, "apis[1]: must be 'chat' or 'responses'; did you mean 'chat'?"),
        ({"history": "repiar"}, "history: must be 'strict' or 'repair'; did you mean 'repair'?"),
        ({"base_url": "https://h/v1"}, "base_url: there is no network here"),
    ],
)
def test_mistakes_in_a_providers_table(table: dict[str, Any], line: str, problems: Problems) -> None:
    assert lines_of(problems, {"providers": {"choosy": table}}) == [f"settings [providers.choosy] {line}"]


def test_every_setting_that_is_refused_is_told(problems: Problems) -> None:
    assert lines_of(problems, {"providers": {"choosy": {"base_url": "x", "proxy": "y", "api": "caht"}}})[:2] == [
        "settings [providers.choosy] base_url: there is no network here",
        "settings [providers.choosy] proxy: none here",
    ]


@pytest.mark.parametrize(
    "address",
    ["acme.example/v1", "htps://acme.example", "https:///v1", "ftp://acme.example", "https://h:port", "http://["],
)
def test_an_address_that_is_none(address: str, registry: Registry, problems: Problems) -> None:
    lines = problems(lambda: LlmFactory.from_config({"providers": {"acme": {"base_url": address}}}, registry=registry))

    assert lines == ["settings [providers.acme] base_url: must be an address that begins with http:// or https://"]


def test_an_address_with_a_password_is_told_at_its_place(registry: Registry) -> None:
    document = {"providers": {"acme": {"base_url": "https://user:hunter22@acme.example", "api_key": "k"}}}

    with LlmFactory.from_config(document, registry=registry) as factory, pytest.raises(SettingsError) as caught:
        factory.chat_model("acme:m")

    assert str(caught.value).startswith("settings [providers.acme] base_url: holds a user or a password")
    assert "hunter22" not in str(caught.value)


def test_an_address_from_the_usual_variable_names_the_variable(problems: Problems) -> None:
    provider = Provider("wired", "one", ProviderSettings, build, variables={"base_url": ("WIRED_URL",)})
    registry = Registry([provider], installed=False)

    lines = problems(
        lambda: LlmFactory.from_config(
            {"providers": {"wired": {}}}, registry=registry, environ={"WIRED_URL": "not-an-address"}
        )
    )

    assert lines == ["environment variable WIRED_URL: must be an address that begins with http:// or https://"]


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (
            {"providers": {"choosy": {"file": "/nowhere"}}, "models": {"a": {"provider": "choosy", "model": "m"}}},
            "my.toml [providers.choosy] file: '/nowhere' is no model",
        ),
        (
            {"models": {"a": {"provider": "choosy", "model": "odd"}}},
            "my.toml [models.a]: there are no weights of 'odd'",
        ),
    ],
)
def test_what_a_plugin_refuses_is_told_at_its_place(document: dict[str, Any], line: str) -> None:
    factory = LlmFactory.from_config(document, registry=REGISTRY)
    factory._builder._reading.places.label = "my.toml"

    with factory, pytest.raises(SettingsError) as caught:
        factory.chat_model("a")

    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"temperature": -0.1}, "temperature: must be 0 or more"),
        ({"temperature": float("nan")}, "temperature: must be a finite number"),
        ({"temperature": float("inf")}, "temperature: must be a finite number"),
        ({"top_p": 1.01}, "top_p: must be 1 or less"),
        ({"top_p": -1}, "top_p: must be 0 or more"),
        ({"presence_penalty": float("-inf")}, "presence_penalty: must be a finite number"),
        ({"frequency_penalty": float("nan")}, "frequency_penalty: must be a finite number"),
    ],
)
def test_numbers_out_of_range(keys: dict[str, Any], line: str, problems: Problems) -> None:
    document = {"models": {"a": {"provider": "embedded", **keys}}}

    assert lines_of(problems, document) == [f"settings [models.a] {line}"]


@pytest.mark.parametrize("keys", [{"temperature": 0}, {"temperature": 2.5}, {"top_p": 1}, {"top_p": 0}])
def test_numbers_at_the_edge(keys: dict[str, Any]) -> None:
    LlmFactory.from_config({"models": {"a": {"provider": "embedded", **keys}}}, registry=REGISTRY).close()


def test_a_provider_in_place_of_a_model_leads_to_a_name_that_works() -> None:
    with LlmFactory.from_config({}, registry=REGISTRY) as factory:
        with pytest.raises(UnknownProvider) as caught:
            factory.chat_model("embedded")
        assert "write it as embedded:tiny." in str(caught.value)
        assert factory.chat_model("embedded:tiny").chat("hi").text == "hello"


def test_a_model_that_is_not_known_is_not_buried_in_providers() -> None:
    many = [Provider(f"vendor-{number}", "one", ProviderSettings, build) for number in range(21)]
    document = {"models": {"assistant": {"provider": "vendor-3"}}}
    with (
        LlmFactory.from_config(document, registry=Registry(many, installed=False)) as factory,
        pytest.raises(UnknownProvider) as caught,
    ):
        factory.chat_model("asistant")

    assert str(caught.value).startswith("there is no model 'asistant'; did you mean 'assistant'?")
    assert "21 providers" in str(caught.value)
    assert "vendor-" not in str(caught.value)


def test_without_a_settings_file_the_places_are_named(tmp_path: Path) -> None:
    with LlmFactory.from_config(registry=REGISTRY) as factory:
        for name in (None, "assistant"):
            with pytest.raises(SettingsError) as caught:
                factory.chat_model(name)
            assert f"there is no {tmp_path / 'settings.toml'}" in str(caught.value)
            assert "POLYWIRE_SETTINGS is not set" in str(caught.value)
    with LlmFactory.from_config({}, registry=REGISTRY) as factory:
        with pytest.raises(SettingsError) as caught:
            factory.chat_model()
        assert "POLYWIRE_SETTINGS" not in str(caught.value)


def test_a_key_that_is_missing_stops_only_the_model_that_needs_it(registry: Registry) -> None:
    document = {
        "default_model": "assistant",
        "models": {
            "assistant": {"provider": "acme", "model": "m", "fallback": ["spare"]},
            "spare": {"provider": "keyless", "model": "m"},
        },
    }
    with LlmFactory.from_config(document, registry=registry, environ={}) as factory:
        factory.chat_model("spare")
        with pytest.raises(SettingsError, match="models of other connections do not need it"):
            factory.chat_model()
