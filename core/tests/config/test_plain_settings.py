"""Plain tables are read without pydantic, and mean what pydantic's models make of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from polywire.config import DefaultSettings, LlmFactory, ModelSettings, Settings
from polywire.config.plain import PlainDefaultSettings, PlainModelSettings, PlainSettings
from polywire.config.reading import read_settings
from polywire.errors import SettingsError
from polywire.plugins import Provider, ProviderSettings, Registry
from polywire.plugins.connections import CircuitBreakerSettings, LimitSettings, RetrySettings, TimeoutSettings
from polywire.plugins.plain import (
    PlainCircuitBreakerSettings,
    PlainLimitSettings,
    PlainProviderSettings,
    PlainRetrySettings,
    PlainTable,
    PlainTimeoutSettings,
    read_plain,
)
from polywire_openai.provider import PROVIDER as OPENAI

PAIRS: list[tuple[Any, Any]] = [
    (PlainSettings, Settings),
    (PlainModelSettings, ModelSettings),
    (PlainDefaultSettings, DefaultSettings),
    (PlainRetrySettings, RetrySettings),
    (PlainLimitSettings, LimitSettings),
    (PlainCircuitBreakerSettings, CircuitBreakerSettings),
    (PlainTimeoutSettings, TimeoutSettings),
    (PlainProviderSettings, ProviderSettings),
]
PAIRS += [
    (provider.plain_settings, provider.settings)
    for provider in Registry().load_all().values()
    if isinstance(provider, Provider) and provider.plain_settings is not None
]
PAIRS = list(dict.fromkeys(PAIRS))
by_name = pytest.mark.parametrize(("plain", "model"), PAIRS, ids=[f"{model.__name__}" for _, model in PAIRS])


def simple(value: Any) -> Any:
    """A value without what differs between the two: the types of tables and of secrets."""
    if hasattr(value, "get_secret_value"):
        return value.get_secret_value()
    if hasattr(value, "model_dump"):
        return {name: simple(item) for name, item in value if item is not None}
    if isinstance(value, PlainTable):
        return {name: simple(item) for name, item in value if item is not None}
    if isinstance(value, Mapping):
        return {key: simple(item) for key, item in value.items()}
    return tuple(simple(item) for item in value) if isinstance(value, (list, tuple)) else value


@by_name
def test_every_key_is_the_models_and_is_left_out_alike(plain: Any, model: Any) -> None:
    made, given = plain(), model()

    assert set(plain.__struct_fields__) <= set(model.model_fields)
    for name in plain.__struct_fields__:
        assert simple(getattr(made, name)) == simple(getattr(given, name)), name


@pytest.mark.parametrize(("plain", "model"), [pair for pair in PAIRS if pair[1] not in (Settings, LimitSettings)])
def test_what_a_builder_reads_of_the_model_it_can_read_of_the_plain_table(plain: Any, model: Any) -> None:
    for name in model.model_fields:
        assert simple(getattr(plain(), name)) == simple(getattr(model(), name)), name


class Word(StrEnum):
    strict = "strict"
    chat = "chat"


ODD = (
    None, True, False, 0, 1, 3, -1, 0.5, 1.0, 2.5, -0.5, float("inf"), float("nan"), 10**30, "", " ", "x", " x ", "3",
    "true", "30s", "500ms", "-1s", "strict", "repair", "notice", "chat", "image", "auto", "json", "low", "none", "httpx",
    "aiohttp", "openai", "2023-06-01", "http://h", "https://h.example:8443/v1/", "https://u:p@h/v1", "https://h?x=1",
    "http://h:99999", "http://h:0", "http://h:8\u0660\u0660/v1", 10**400, "ftp://h", "h:8080", "http://h\n", [], ["x"], ["rate_limit"], ["nonsense"], [1], (),
    ("a", "b"), {}, {"x": "y"}, {"effort": "low"}, {"effort": "nonsense"}, {"stream": True}, {1: 2}, {"attempts": 3},
    {"attempts": 0}, {"jitter": 0.5, "max_wait": "30s"}, {"connect": "5s", "read": 0}, {"concurrency": 8},
    {"requests_per_minute": 60.0, "max_wait": 1.5}, {"pause": "1m", "enabled": False}, {"store": "redis://h"},
    timedelta(seconds=2), Word.strict, Word.chat, b"x", object,
)  # fmt: skip


def tables(model: Any) -> st.SearchStrategy[dict[str, Any]]:
    keys = st.sampled_from([*model.model_fields, "nonsense"])
    return st.dictionaries(keys, st.sampled_from(ODD), max_size=4)


@by_name
@hypothesis_settings(max_examples=200)
@given(data=st.data())
def test_what_is_read_as_plain_is_what_the_model_makes_of_it(plain: Any, model: Any, data: st.DataObject) -> None:
    table = data.draw(tables(model))
    read = read_plain(plain, table)
    if read is None:
        return
    made = model.model_validate(table)

    for name in model.model_fields:
        assert simple(getattr(read, name, None)) == simple(getattr(made, name)), name


@by_name
def test_each_value_by_itself(plain: Any, model: Any) -> None:
    """Every odd value in every key: few are plain, and those are the same."""
    taken = 0
    for name in model.model_fields:
        for value in ODD:
            read = read_plain(plain, {name: value})
            if read is not None:
                taken += 1
                made = model.model_validate({name: value})
                assert simple(getattr(read, name)) == simple(getattr(made, name)), (name, value)

    assert taken >= len(plain.__struct_fields__)


USUAL: dict[str, Any] = {
    "default_model": "assistant",
    "providers": {
        "openai": {
            "api_key": "${MY_KEY}",
            "base_url": "http://127.0.0.1:8080/v1",
            "headers": {"X-Team": "${TEAM}"},
            "timeouts": {"connect": "5s", "read": "1m"},
            "limits": {"concurrency": 4},
            "retry": {"attempts": 3, "max_wait": "30s"},
            "organization": "org",
        }
    },
    "models": {
        "assistant": {"provider": "openai", "model": "m", "temperature": 0, "fallback": ["spare"], "deadline": "1m"},
        "spare": {"provider": "openai", "model": "s", "custom_parameters": {"top_k": 3}, "reasoning": "low"},
    },
    "defaults": {"history": "repair", "fallback_on": ["rate_limit"]},
}
ENVIRON = {"MY_KEY": "sk-test-123456\n", "TEAM": "ads"}


@pytest.mark.parametrize("seconds", [10**400, -(10**400)], ids=["large", "negative"])
def test_a_number_of_seconds_that_no_float_holds_is_a_mistake_like_others(seconds: int) -> None:
    settings = {**USUAL, "defaults": {"deadline": seconds}}

    with pytest.raises(SettingsError, match=r"\[defaults\] deadline: must be a number of seconds, 0 or more"):
        LlmFactory.from_config(settings, environ=ENVIRON)


def test_usual_settings_are_plain() -> None:
    reading = read_settings(USUAL, environ=ENVIRON)

    assert isinstance(reading.tables, PlainSettings)


def test_the_objects_that_callers_see_are_the_models_own() -> None:
    with LlmFactory.from_config(USUAL, environ=ENVIRON) as factory:
        connection = factory._builder.connection("openai")

        assert isinstance(connection.table, PlainProviderSettings)
        assert connection.settings == OPENAI.settings.model_validate(
            {
                **USUAL["providers"]["openai"],
                "api_key": "sk-test-123456",
                "headers": {"X-Team": "ads"},
            }
        )
        assert connection.settings is connection.settings
        assert factory.settings is factory.settings
        assert factory.settings == Settings.load(USUAL, environ=ENVIRON)
        assert factory.settings.models["assistant"].model_fields_set == set(USUAL["models"]["assistant"])
        assert "sk-test" not in f"{connection.table!r} {connection.settings!r} {factory.settings.model_dump_json()}"


def test_a_function_that_makes_transports_gets_the_models_settings() -> None:
    seen: list[Any] = []

    def make(name: str, settings: ProviderSettings) -> Any:
        seen.append((name, settings))
        raise RuntimeError

    with LlmFactory.from_config(USUAL, environ=ENVIRON, transport=make) as factory, pytest.raises(RuntimeError):
        factory.chat_model()

    assert [(name, type(settings)) for name, settings in seen] == [("openai", OPENAI.settings)]


@pytest.mark.parametrize(
    "table",
    [
        {"base_url": "https://user:pass@host/v1"},
        {"verify": "/ca.pem"},
        {"profile": {"prefill": False}},
    ],
)
def test_what_is_not_plain_is_read_by_the_model(table: dict[str, Any]) -> None:
    with LlmFactory.from_config({"providers": {"openai": table}}, environ={}) as factory:
        connection = factory._builder.connection("openai")

    assert type(connection.table) is OPENAI.settings
    assert connection.settings == OPENAI.settings.model_validate(table)


def test_a_copy_of_a_provider_keeps_its_models_or_gets_others() -> None:
    class Other(ProviderSettings):
        """Another model."""

    same = msgspec.structs.replace(OPENAI, summary="a copy")
    other = msgspec.structs.replace(OPENAI, settings=Other, plain_settings=None)

    assert same.settings is OPENAI.settings
    assert other.settings is Other
    assert Provider("acme", "Acme", lambda: Other, None).settings is Other
