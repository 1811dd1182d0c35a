"""Mistakes in settings: all of them at once, one line each, that says where, what, and what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywire.config import InvalidSettings, LlmFactory, Settings
from polywire.errors import SettingsError, UnknownProvider
from polywire.plugins import Registry

Problems = Callable[[Callable[[], object]], list[str]]
GOOD = {"providers": {"keyless": {}}, "models": {"a": {"provider": "keyless", "model": "m"}}}


def with_model(**keys: Any) -> dict[str, Any]:
    return {"models": {"a": {"provider": "keyless", "model": "m", **keys}}}


def test_five_mistakes_are_five_lines(tmp_path: Path, registry: Registry, problems: Problems) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        """
default_model = "asistant"

[providers.acme]
base_ulr = "https://acme.example"

[models.assistant]
provider = "acmee"
temprature = 0.2
max_tokens = "many"
""",
        encoding="utf-8",
    )

    lines = problems(lambda: LlmFactory.from_config("settings.toml", registry=registry))

    assert len(lines) == 5
    assert set(lines) == {
        "settings.toml default_model: there is no model 'asistant'; did you mean 'assistant'?",
        "settings.toml [providers.acme]: unknown key 'base_ulr'; did you mean 'base_url'?",
        (
            "settings.toml [models.assistant] provider: unknown provider 'acmee'; did you mean 'acme'?"
            " Known providers: acme, keyless"
        ),
        "settings.toml [models.assistant]: unknown key 'temprature'; did you mean 'temperature'?",
        "settings.toml [models.assistant] max_tokens: must be a whole number",
    }


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"modls": {}}, "settings: unknown key 'modls'; did you mean 'models'?"),
        ({"models": 3}, "settings [models]: must be a table"),
        ({"models": {"a": "m"}}, "settings [models.a]: must be a table"),
        ({"models": []}, "settings [models]: must be a table"),
        ({"providers": {"acme": 1}}, "settings [providers.acme]: must be a table"),
        ({"defaults": {"retry": {"attempt": 2}}}, "settings [defaults] retry: unknown key 'attempt'; did you mean 'attempts'?"),
        (with_model(temperature="hot"), "settings [models.a] temperature: must be a number"),
        (with_model(temperature=True), "settings [models.a] temperature: must be a number"),
        (with_model(temperature=[1]), "settings [models.a] temperature: must be a number"),
        (with_model(max_tokens=1.5), "settings [models.a] max_tokens: must be a whole number"),
        (with_model(max_tokens=0), "settings [models.a] max_tokens: must be 1 or more"),
        (with_model(model=7), "settings [models.a] model: must be text"),
        (with_model(model=""), "settings [models.a] model: must not be empty"),
        (with_model(parallel_tool_calls="perhaps"), "settings [models.a] parallel_tool_calls: must be true or false"),
        (with_model(history="repiar"), "settings [models.a] history: must be 'strict' or 'repair'; did you mean 'repair'?"),
        (with_model(unsupported="warn"), "settings [models.a] unsupported: must be 'notice' or 'error'"),
        (with_model(kind="chatt"), "settings [models.a] kind: must be 'chat', 'embedding', 'image' or 'speech'; did you mean 'chat'?"),
        (with_model(retry={"attempts": 0}), "settings [models.a] retry.attempts: must be 1 or more"),
        (with_model(retry={"jitter": 2}), "settings [models.a] retry.jitter: must be 1 or less"),
        (with_model(retry=3), "settings [models.a] retry: must be a table"),
        (
            with_model(deadline="soon"),
            'settings [models.a] deadline: must be a duration such as "30s", "500ms", "2m" or "1h30m", or a number of seconds',
        ),
        (
            with_model(fallback=["keyless:b"], fallback_on=["rate_limt"]),
            "settings [models.a] fallback_on: unknown kind of error 'rate_limt'; did you mean 'rate_limit'?",
        ),
        (with_model(reasoning="hihg"), "settings [models.a] reasoning: reasoning effort 'hihg'; did you mean 'high'?"),
        (
            with_model(custom_parameters={"messages": []}),
            "settings [models.a] custom_parameters: custom_parameters may not hold 'messages': it is the library's own",
        ),
        (with_model(stop_sequences=["a", ""]), "settings [models.a] stop_sequences: stop_sequences must not hold an empty string"),
        (
            with_model(profile={"tool_caling": "none"}),
            "settings [models.a] profile: unknown profile field 'tool_caling'; did you mean 'tool_calling'?",
        ),
        (with_model(fallback=["a"]), "settings [models.a] fallback: goes round in a circle: a -> a"),
        (with_model(fallback_on=["timeout"]), "settings [models.a] fallback_on: has no effect without fallback"),
        (with_model(circuit_breaker={"failures": 2}), "settings [models.a] circuit_breaker: has no effect without fallback"),
        ({"models": {"a": {"model": "m"}}}, "settings [models.a] provider: is missing: the name of a [providers] table or of an installed provider"),
        ({"models": {"A b": {"provider": "keyless"}}}, "settings [models.\"A b\"]: the name 'A b' may hold only a-z, 0-9, _ and -; write 'a-b'"),
        ({"providers": {"Keyless": {"plugin": "keyless"}}}, "settings [providers.Keyless]: the name 'Keyless' may hold only a-z, 0-9, _ and -; write 'keyless'"),
        ({"providers": {"acme": {"size": "big"}}}, "settings [providers.acme] size: must be a whole number"),
        ({"providers": {"acme": {"headers": {"a": 1}}}}, "settings [providers.acme] headers.a: must be text"),
        ({"providers": {"acme": {"verify": 3}}}, "settings [providers.acme] verify: must be true or false, or text"),
        ({"providers": {"acme": {"plugin": 3}}}, "settings [providers.acme] plugin: must be the name of an installed provider"),
        ({"providers": {"acme": {"limits": {"concurency": 3}}}}, "settings [providers.acme] limits: unknown key 'concurency'; did you mean 'concurrency'?"),
        ({"extensions": ["opentelemetri"]}, "settings extensions: no extension 'opentelemetri' is installed"),
        ({"extension_settings": {"x": {}}}, "settings [extension_settings.x]: is not listed in extensions"),
        ({"default_model": 3}, "settings default_model: must be text"),
    ],
)  # fmt: skip
def test_one_mistake_is_one_line(document: dict[str, Any], line: str, registry: Registry, problems: Problems) -> None:
    lines = problems(lambda: LlmFactory.from_config(document, registry=registry))

    assert len(lines) == 1
    assert lines[0].startswith(line)


@pytest.mark.parametrize(
    ("document", "near"),
    [
        ({"providers": {"acmee": {}}}, "settings [providers.acmee]: unknown provider 'acmee'; did you mean 'acme'?"),
        (
            {"providers": {"office": {"plugin": "acm"}}},
            "settings [providers.office] plugin: unknown provider 'acm'; did you mean 'acme'?",
        ),
        (
            {"models": {"a": {"provider": "kayless"}}},
            "settings [models.a] provider: unknown provider 'kayless'; did you",
        ),
        ({"default_model": "acmee:m"}, "settings default_model: unknown provider 'acmee'; did you mean 'acme'?"),
    ],
)
def test_an_unknown_provider_alone_is_its_own_kind_of_error(
    document: dict[str, Any], near: str, registry: Registry
) -> None:
    with pytest.raises(UnknownProvider) as caught:
        LlmFactory.from_config(document, registry=registry)

    assert str(caught.value).startswith(near)
    assert "Known providers: " in str(caught.value)


def test_a_circle_of_fallbacks_is_told_once(registry: Registry, problems: Problems) -> None:
    models = {
        name: {"provider": "keyless", "fallback": [following]}
        for name, following in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"))
    }

    lines = problems(lambda: LlmFactory.from_config({"models": models}, registry=registry))

    assert lines == ["settings [models.a] fallback: goes round in a circle: a -> b -> c -> a"]


def test_fallbacks_that_are_no_models(registry: Registry, problems: Problems) -> None:
    models = {
        "assistant": {"provider": "keyless", "fallback": ["spair", "vectors", "spare", "spare", "keyless:other"]},
        "spare": {"provider": "keyless"},
        "vectors": {"provider": "keyless", "kind": "embedding"},
    }

    lines = problems(lambda: LlmFactory.from_config({"models": models}, registry=registry))

    assert lines == [
        "settings [models.assistant] fallback: there is no model 'spair'; did you mean 'spare'?",
        "settings [models.assistant] fallback: 'vectors' is no chat model",
        "settings [models.assistant] fallback: names 'spare' twice",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[models.a\n", "line 1, column"),
        (b"a = 1\na = 2\n", "line 2, column"),
        (b'[models.a]\nmodel = "x\n', "line 2, column"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_toml_is_told_with_its_place(text: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_bytes(text)

    with pytest.raises(SettingsError) as caught:
        LlmFactory.from_config("my.toml")

    assert str(caught.value).startswith("my.toml: is not ")
    assert words in str(caught.value)
    assert caught.value.__context__ is None


def test_a_byte_order_mark_does_no_harm(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "settings.toml").write_bytes(b'\xef\xbb\xbfdefault_model = "keyless:m"\n')

    assert LlmFactory.from_config(registry=registry).settings.default_model == "keyless:m"


def test_files_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml: there is no such file"):
        LlmFactory.from_config("none.toml")
    with pytest.raises(SettingsError, match=r"\S"):
        LlmFactory.from_config(tmp_path)
    monkeypatch.setenv("POLYWIRE_SETTINGS", "gone.toml")
    with pytest.raises(SettingsError, match=r"environment variable POLYWIRE_SETTINGS: there is no file 'gone\.toml'"):
        LlmFactory.from_config()


@pytest.mark.parametrize("source", [3, ["settings.toml"], b"settings.toml"])
def test_what_settings_cannot_be_read_from(source: Any) -> None:
    with pytest.raises(TypeError, match="path"):
        LlmFactory.from_config(source)


def test_a_misspelt_argument(registry: Registry) -> None:
    with pytest.raises(SettingsError, match=r"argument modles: unknown; did you mean 'models'\?"):
        LlmFactory.from_config(GOOD, registry=registry, modles={})


def test_a_mistake_in_an_argument_names_the_argument(registry: Registry, problems: Problems) -> None:
    lines = problems(
        lambda: LlmFactory.from_config(GOOD, registry=registry, models={"a": {"top_p": "much", "temprature": 1}})
    )

    assert set(lines) == {
        "argument models.a.top_p: must be a number",
        "argument models.a.temprature: unknown key 'temprature'; did you mean 'temperature'?",
    }


def test_settings_made_in_code_tell_their_mistakes_too(problems: Problems) -> None:
    lines = problems(lambda: Settings(models={"a": {"temprature": 1}}, providerz={}))

    assert lines == [
        "settings [models.a]: unknown key 'temprature'; did you mean 'temperature'?",
        "settings: unknown key 'providerz'; did you mean 'providers'?",
    ]


def test_a_broken_plugin_in_the_file_stops_nobody_else(install: Any, good: str) -> None:
    install("polywire-bad", {"plugin_bad": "raise RuntimeError('no')"}, {"bad": "plugin_bad"})
    install("polywire-good", {"plugin_good": good}, {"good": "plugin_good"})
    document = {
        "providers": {"bad": {"anything": 1}, "good": {}},
        "models": {"b": {"provider": "bad"}, "g": {"provider": "good"}},
    }

    with LlmFactory.from_config(document, registry=Registry()) as factory:
        assert factory.chat_model("g").chat("hi").text == "good says hi"
        with pytest.raises(SettingsError) as caught:
            factory.chat_model("b")

    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(SettingsError, match="RuntimeError: no"):
        LlmFactory.from_config(document, strict=True)


def test_an_extra_that_is_not_installed(
    registry: Registry, problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polywire.config.policies.find_spec", lambda name: None)
    document = {
        "providers": {"acme": {"limits": {"store": "redis://h", "concurrency": 3}}},
        "models": {"a": {"provider": "keyless", "limits": {"tokens_per_minute": 5}}},
        "defaults": {"limits": {"concurrency": 5}},
    }

    lines = problems(lambda: LlmFactory.from_config(document, registry=registry))

    assert lines == [
        "settings [providers.acme] limits: limits with a store need an extra: pip install 'polywire[redis]'",
        "settings [models.a] limits: limits per minute need an extra: pip install 'polywire[limits]'",
    ]


def test_the_error_can_be_sent_elsewhere() -> None:
    import pickle

    error = InvalidSettings(["a: b", "c: d"])

    copy = pickle.loads(pickle.dumps(error))

    assert (str(copy), copy.problems) == ("a: b\nc: d", ("a: b", "c: d"))
