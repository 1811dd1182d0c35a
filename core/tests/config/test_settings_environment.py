"""Environment variables over the file, arguments over both; a variable that matches nothing is an error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from polywire.config import LlmFactory, Settings
from polywire.plugins import Registry
from polywire.plugins.durations import read_duration

Problems = Callable[[Callable[[], object]], list[str]]
FILE = """
default_model = "assistant"

[providers.acme]
api_key = "from-file"
headers = { X-Team = "search" }
limits = { concurrency = 4, max_wait = "5s" }

[providers.my-office]
plugin = "acme"

[models.assistant]
provider = "acme"
model = "m"
temperature = 0.2
stop_sequences = ["END"]

[models.small_one]
provider = "acme"

[models.a]
provider = "acme"

[models.a__b]
provider = "acme"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def load(registry: Registry, environ: dict[str, str], **arguments: Any) -> Settings:
    return LlmFactory.from_config("settings.toml", registry=registry, environ=environ, **arguments).settings


@pytest.mark.parametrize(
    ("name", "text", "read", "expected"),
    [
        ("MODELS__ASSISTANT__TEMPERATURE", "0.9", lambda s: s.models["assistant"].temperature, 0.9),
        ("MODELS__ASSISTANT__MODEL", "4", lambda s: s.models["assistant"].model, "4"),
        ("MODELS__ASSISTANT__MODEL", "a:b/c", lambda s: s.models["assistant"].model, "a:b/c"),
        ("MODELS__ASSISTANT__PARALLEL_TOOL_CALLS", "false", lambda s: s.models["assistant"].parallel_tool_calls, False),
        ("MODELS__ASSISTANT__RETRY__ATTEMPTS", "7", lambda s: s.models["assistant"].retry.attempts, 7),
        ("MODELS__ASSISTANT__RETRY", '{ attempts = 3, max_wait = "1m" }', lambda s: s.models["assistant"].retry.max_wait, 60.0),
        ("MODELS__ASSISTANT__DEADLINE", "500ms", lambda s: s.models["assistant"].deadline, 0.5),
        ("MODELS__ASSISTANT__FALLBACK", "small_one, a", lambda s: s.models["assistant"].fallback, ("small_one", "a")),
        ("MODELS__ASSISTANT__FALLBACK", '["small_one"]', lambda s: s.models["assistant"].fallback, ("small_one",)),
        ("MODELS__ASSISTANT__STOP_SEQUENCES", '["a", "b"]', lambda s: s.models["assistant"].stop_sequences, ("a", "b")),
        ("MODELS__ASSISTANT__CUSTOM_PARAMETERS__TOP_K", "40", lambda s: s.models["assistant"].custom_parameters, {"top_k": 40}),
        ("MODELS__ASSISTANT__CUSTOM_PARAMETERS", '{"user": {"Id": "x"}}', lambda s: s.models["assistant"].custom_parameters, {"user": {"Id": "x"}}),
        ("MODELS__SMALL_ONE__MODEL", "x", lambda s: s.models["small_one"].model, "x"),
        ("MODELS__A__B__MODEL", "x", lambda s: s.models["a__b"].model, "x"),
        ("PROVIDERS__MY_OFFICE__SIZE", "3", lambda s: s.providers["my-office"]["size"].get_secret_value(), "3"),
        ("PROVIDERS__ACME__API_KEY", "[not-a-list", lambda s: s.providers["acme"]["api_key"].get_secret_value(), "[not-a-list"),
        ("PROVIDERS__ACME__HEADERS__X_TEAM", "ads", lambda s: s.providers["acme"]["headers"]["X-Team"].get_secret_value(), "ads"),
        ("PROVIDERS__ACME__HEADERS__X_NEW_ONE", "ads", lambda s: s.providers["acme"]["headers"]["x-new-one"].get_secret_value(), "ads"),
        ("PROVIDERS__ACME__LIMITS__CONCURRENCY", "9", lambda s: s.providers["acme"]["limits"]["concurrency"].get_secret_value(), "9"),
        ("PROVIDERS__KEYLESS__BASE_URL", "http://h", lambda s: s.providers["keyless"]["base_url"].get_secret_value(), "http://h"),
        ("DEFAULT_MODEL", "small_one", lambda s: s.default_model, "small_one"),
        ("DEFAULTS__RETRY__ATTEMPTS", "2", lambda s: s.defaults.retry.attempts, 2),
        ("MODELS__ASSISTANT__TEMPERATURE", "  ", lambda s: s.models["assistant"].temperature, 0.2),
    ],
)  # fmt: skip
def test_a_variable_wins_over_the_file(
    name: str, text: str, read: Callable[[Any], Any], expected: Any, registry: Registry, file: Path
) -> None:
    for written in (f"POLYWIRE__{name}", f"polywire__{name.lower()}"):
        assert read(load(registry, {written: text})) == expected


def test_what_a_variable_does_not_set_stays(registry: Registry, file: Path) -> None:
    settings = load(registry, {"POLYWIRE__PROVIDERS__ACME__LIMITS__CONCURRENCY": "9"})

    limits = settings.providers["acme"]["limits"]
    assert (limits["concurrency"].get_secret_value(), limits["max_wait"].get_secret_value()) == ("9", "5s")
    assert settings.providers["acme"]["api_key"].get_secret_value() == "from-file"


def test_arguments_win_over_variables(registry: Registry, file: Path) -> None:
    environ = {"POLYWIRE__MODELS__ASSISTANT__TEMPERATURE": "0.9", "POLYWIRE__MODELS__ASSISTANT__TOP_P": "0.1"}

    settings = load(registry, environ, models={"assistant": {"temperature": 0.5}}, default_model="a")

    assistant = settings.models["assistant"]
    assert (assistant.temperature, assistant.top_p, assistant.model, settings.default_model) == (0.5, 0.1, "m", "a")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("POLYWIRE__MODELS__ASISTANT__TEMPERATURE", "there is no table [models.asistant]; did you mean 'assistant'?"),
        ("POLYWIRE__PROVIDERS__ACNE__API_KEY", "there is no table [providers.acne]; did you mean 'acme'?"),
        ("POLYWIRE__MODLES__ASSISTANT__TEMPERATURE", "there is no table or key 'modles'; did you mean 'models'?"),
        ("POLYWIRE__MODELS__ASSISTANT__TEMPRATURE", "unknown key 'temprature'; did you mean 'temperature'?"),
        ("POLYWIRE__MODELS__ASSISTANT__RETRY__ATEMPTS", "unknown key 'atempts'; did you mean 'attempts'?"),
        ("POLYWIRE__PROVIDERS__ACME__REGOIN", "unknown key 'regoin'; did you mean 'region'?"),
        ("POLYWIRE__DEFAULTS__RETRIES", "unknown key 'retries'; did you mean 'retry'?"),
        ("POLYWIRE__MODELS__ASSISTANT", "must go on with a key: POLYWIRE__MODELS__ASSISTANT__KEY"),
        ("POLYWIRE__MODELS", "must go on with the name of a table and a key: POLYWIRE__MODELS__NAME__KEY"),
        ("POLYWIRE__", "there is no table or key ''"),
        ("POLYWIRE__MODELS__ASSISTANT__MAX_TOKENS", "must be a whole number"),
        ("POLYWIRE__MODELS__ASSISTANT__TEMPERATURE", "must be a number"),
    ],
)
def test_a_variable_that_is_wrong_is_named(
    name: str, words: str, registry: Registry, file: Path, problems: Problems
) -> None:
    lines = problems(lambda: load(registry, {name: "much"}))

    assert len(lines) == 1
    assert lines[0].startswith(f"environment variable {name}: {words}")


def test_a_variable_that_may_mean_two_tables(registry: Registry, problems: Problems) -> None:
    document = {"models": {"a-b": {"provider": "acme"}, "a_b": {"provider": "acme"}}}

    lines = problems(
        lambda: LlmFactory.from_config(document, registry=registry, environ={"POLYWIRE__MODELS__A_B__MODEL": "m"})
    )

    assert lines == [
        "environment variable POLYWIRE__MODELS__A_B__MODEL: may mean any of the tables a-b, a_b; rename them"
    ]


def test_other_variables_are_none_of_ours(registry: Registry, file: Path) -> None:
    assert load(registry, {"POLYWIRE_SETTINGS": "x", "POLYWIRE_HOME": "y", "MODELS": "z"}).default_model == "assistant"


def test_the_file_is_found(registry: Registry, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert LlmFactory.from_config(registry=registry).models == ("assistant", "small_one", "a", "a__b")
    other = tmp_path / "deep" / "other.toml"
    other.parent.mkdir()
    other.write_text('default_model = "keyless:m"\n', encoding="utf-8")
    monkeypatch.setenv("POLYWIRE_SETTINGS", str(other))

    assert LlmFactory.from_config(registry=registry).settings.default_model == "keyless:m"
    assert LlmFactory.from_config(file, registry=registry).settings.default_model == "assistant"
    assert LlmFactory.from_config(str(file), registry=registry).settings.default_model == "assistant"
    assert LlmFactory.from_config({}, registry=registry).models == ()


def test_without_any_file_there_are_no_settings(registry: Registry) -> None:
    factory = LlmFactory.from_config(registry=registry)

    assert factory.models == ()
    assert factory.chat_model("keyless:m").information.model == "m"


def test_settings_objects_are_taken_as_they_are(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYWIRE__DEFAULT_MODEL", "nobody")
    settings = Settings(default_model="a", models={"a": {"provider": "keyless", "model": "m"}})

    assert LlmFactory.from_config(settings, registry=registry).settings is settings
    changed = LlmFactory.from_config(settings, registry=registry, models={"a": {"model": "n"}})
    assert changed.settings.models["a"].model == "n"
    assert changed.settings.models["a"].provider == "keyless"
    assert settings.models["a"].model == "m"
    copied = settings.model_copy(update={"default_model": "keyless:x"})
    assert LlmFactory.from_config(copied, registry=registry).chat_model().information.model == "x"


def test_tables_may_be_given_as_models(registry: Registry) -> None:
    from polywire.config import DefaultSettings, ModelSettings

    settings = Settings(
        models={"a": ModelSettings(provider="keyless", model="m", deadline="2s")},
        defaults=DefaultSettings(history="repair"),
    )

    assert LlmFactory.from_config(settings, registry=registry).settings.models["a"].deadline == 2.0
    assert settings.defaults.history == "repair"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("30s", 30.0), ("500ms", 0.5), ("2m", 120.0), ("1h30m", 5400.0), ("1m 30s", 90.0), (" 5 s ", 5.0), ("1.5s", 1.5),
        (30, 30.0), (0.25, 0.25), (0, 0.0), ("10", 10.0), (timedelta(minutes=2), 120.0), (None, None),
    ],
)  # fmt: skip
def test_durations(written: Any, seconds: float | None) -> None:
    assert read_duration(written) == seconds


@pytest.mark.parametrize("written", ["", "soon", "5 apples", "-5s", "s", -1, float("inf"), float("nan"), True, [], {}])
def test_what_is_no_duration(written: Any) -> None:
    with pytest.raises(ValueError, match="must be a"):
        read_duration(written)
