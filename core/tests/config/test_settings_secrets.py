"""Keys: by reference, blank or missing, and nowhere to be seen."""

from __future__ import annotations

import copy
import logging
import os
import pickle
import pprint
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from polywire.config import InvalidSettings, LlmFactory, Settings
from polywire.config.references import Expansion, expand
from polywire.errors import SettingsError
from polywire.plugins import Registry
from polywire.testing.transport import FakeTransport

KEY = "sk-test-DO-NOT-LEAK-123"
Problems = Callable[[Callable[[], object]], list[str]]


def pieces(key: str) -> list[str]:
    return [key[at : at + 8] for at in range(len(key) - 7)]


def assert_hidden(text: str, key: str = KEY) -> None:
    for piece in pieces(key):
        assert piece not in text


def shown(value: Any) -> str:
    """Everything that looking at an object shows."""
    texts = [repr(value), str(value), f"{value}", f"{value!r}", pprint.pformat(value)]
    texts += [repr(vars(value)) if hasattr(value, "__dict__") else ""]
    if hasattr(value, "model_dump"):
        texts += [repr(value.model_dump()), value.model_dump_json()]
    return "\n".join(texts)


def sent(model: Any, transport: FakeTransport) -> str | None:
    """The Authorization header that a call goes out with."""
    model.chat("hi")
    return transport.last.headers.get("authorization")


@pytest.mark.parametrize("key", [KEY, f"  {KEY}\n", "${MY_KEY}"])
def test_a_key_is_sent_and_never_shown(
    key: str, registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    caplog.set_level(logging.DEBUG)
    document = {"providers": {"acme": {"api_key": key, "headers": {"X-Other": KEY}, "proxy": f"http://u:{KEY}@h"}}}

    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    model = factory.chat_model("acme:m")

    assert sent(model, transport) == f"Bearer {KEY}"
    assert transport.last.headers["x-other"] == KEY
    builder = vars(factory)["_builder"]
    connection = builder.connections["acme"]
    objects = (factory, factory.settings, model, builder, connection, connection.settings, factory.settings.providers)
    for each in objects:
        assert_hidden(shown(each))
    assert_hidden(shown(copy.deepcopy(factory.settings)))
    assert_hidden(shown(factory.settings.model_copy(update={"default_model": "acme:m"})))
    assert_hidden(caplog.text)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(factory.settings)


@pytest.mark.parametrize(
    "table",
    [
        {"api_key": KEY, "regoin": "x"},
        {"api_key": [KEY]},
        {"api_key": {"value": KEY}},
        {"size": KEY},
        {"verify": [KEY]},
        {"headers": KEY},
        {"headers": {"Authorization": [KEY]}},
        {"limits": {"store": [KEY], "concurrency": KEY}},
        {"timeouts": KEY},
        {"history": KEY},
        {"profile": {"tool_calling": 1, "nonsense": KEY}},
        {"anything": {"deep": [{"token": KEY}]}},
        {"api_key": "${MY_KEY}", "size": "${MY_KEY}", "history": "a ${MY_KEY}"},
    ],
)
def test_no_mistake_shows_a_key(
    table: dict[str, Any], registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    for document in ({"providers": {"acme": table}}, {"providers": {"acme": table}, "nonsense": 1}):
        with pytest.raises(SettingsError) as caught:
            LlmFactory.from_config(document, registry=registry)

        error: BaseException | None = caught.value
        assert_hidden("".join(traceback.format_exception(caught.value)).replace(repr(table), ""))
        while error is not None:
            assert_hidden(f"{error!r} {error} {vars(error)}")
            error = error.__cause__ or error.__context__


def test_a_plugins_own_words_are_scrubbed(registry: Registry) -> None:
    from pydantic import field_validator

    from polywire.plugins import Provider, ProviderSettings

    class Talkative(ProviderSettings):
        token: str = ""

        @field_validator("token")
        @classmethod
        def _check(cls, value: str) -> str:
            msg = f"the token {value} is wrong"
            raise ValueError(msg)

    talkative = Registry([Provider("talkative", "", Talkative, lambda context: None)], installed=False)  # type: ignore[arg-type, return-value]

    with pytest.raises(InvalidSettings) as caught:
        LlmFactory.from_config({"providers": {"talkative": {"token": KEY}}}, registry=talkative)

    assert str(caught.value) == "settings [providers.talkative] token: the token ********** is wrong"


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    from polywire.plugins import ProviderSettings

    assert "base_url='https://h/v1'" in repr(ProviderSettings(base_url=f"https://user:{KEY}@h/v1?key={KEY}"))


# Missing and blank keys


@pytest.mark.parametrize("value", [None, "", "   ", "\n"])
@pytest.mark.parametrize("table", [{}, {"api_key": ""}, {"api_key": "  \n"}])
def test_without_a_key_the_model_cannot_be_built_and_the_variable_is_named(
    value: str | None, table: dict[str, str], registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("ACME_API_KEY", value)
    transport = FakeTransport()
    factory = LlmFactory.from_config({"providers": {"acme": table}}, registry=registry, transport=transport)

    with pytest.raises(SettingsError) as caught:
        factory.chat_model("acme:m")

    assert f"ACME_API_KEY is {'not set' if value is None else 'blank'}" in str(caught.value)
    assert "[providers.acme]" in str(caught.value)
    assert transport.requests == []


@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_reference_that_leads_nowhere_is_an_error_for_the_one_who_needs_it(
    value: str | None, registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    document = {
        "providers": {"acme": {"api_key": "${MY_KEY}"}, "keyless": {}},
        "models": {"b": {"provider": "acme", "model": "m"}, "a": {"provider": "keyless", "model": "m"}},
    }
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)

    assert sent(factory.chat_model("a"), transport) is None
    with pytest.raises(SettingsError) as caught:
        factory.chat_model("b")

    state = "not set" if value is None else "blank"
    assert str(caught.value) == f"settings [providers.acme] api_key: the environment variable MY_KEY is {state}"


def test_the_usual_variable_is_used_where_the_table_leaves_the_key_out(
    registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "  ")
    monkeypatch.setenv("ACME_KEY", " second\n")

    factory = LlmFactory.from_config({}, registry=registry, transport=transport)

    assert sent(factory.chat_model("acme:m"), transport) == "Bearer second"
    explicit = LlmFactory.from_config(
        {"providers": {"acme": {"api_key": "mine"}}}, registry=registry, transport=transport
    )
    assert sent(explicit.chat_model("acme:m"), transport) == "Bearer mine"


def test_the_environment_is_read_when_the_factory_is_made(
    registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set after import: found. Removed after the making: still known. Set late: found when the model is built."""
    document = {
        "providers": {
            "acme": {"api_key": "${MY_KEY}"},
            "late": {"plugin": "acme", "api_key": "${LATE_KEY}"},
            "usual": {"plugin": "acme"},
        }
    }
    monkeypatch.setenv("MY_KEY", "early")
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    monkeypatch.delenv("MY_KEY")
    monkeypatch.setenv("LATE_KEY", "late")
    monkeypatch.setenv("ACME_API_KEY", "usual")

    assert sent(factory.chat_model("acme:m"), transport) == "Bearer early"
    assert sent(factory.chat_model("late:m"), transport) == "Bearer late"
    assert sent(factory.chat_model("usual:m"), transport) == "Bearer usual"


def test_a_local_server_needs_no_key(registry: Registry, transport: FakeTransport) -> None:
    document = {"providers": {"acme": {"base_url": "http://127.0.0.1:1/v1"}}}
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)

    assert sent(factory.chat_model("acme:m"), transport) is None


# References


def test_references_in_any_string(
    registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST", "h.example")
    monkeypatch.setenv("WARM", "0.5")
    monkeypatch.setenv("NAME", "some-model\n")
    document = {
        "default_model": "${WHICH}",
        "providers": {"keyless": {"base_url": "https://${HOST}/v1", "headers": {"X-A": "$${HOST} ${HOST}"}}},
        "models": {
            "a": {
                "provider": "keyless",
                "model": "${NAME}",
                "temperature": "${WARM}",
                "custom_parameters": {"x": ["${HOST}"]},
            }
        },
    }
    monkeypatch.setenv("WHICH", "a")

    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    factory.chat_model().chat("hi")

    assert transport.last.url == "https://h.example/v1/echo"
    assert transport.last.headers["x-a"] == "${HOST} h.example"
    assert transport.last.json == {"model": "some-model", "temperature": 0.5, "text": "hi", "x": ["h.example"]}


def test_a_models_own_reference_is_looked_for_again(
    registry: Registry, transport: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = {"models": {"a": {"provider": "keyless", "model": "${NAME}", "temperature": "${WARM}"}}}
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    with pytest.raises(SettingsError) as caught:
        factory.chat_model("a")
    assert str(caught.value).splitlines() == [
        "settings [models.a] model: the environment variable NAME is not set",
        "settings [models.a] temperature: the environment variable WARM is not set",
    ]

    monkeypatch.setenv("NAME", "m")
    monkeypatch.setenv("WARM", "hot")
    with pytest.raises(SettingsError, match=r"settings \[models.a\] temperature: must be a number"):
        factory.chat_model("a")
    monkeypatch.setenv("WARM", "1")

    factory.chat_model("a").chat("hi")
    assert (transport.last.json["model"], transport.last.json["temperature"]) == ("m", 1.0)


@pytest.mark.parametrize("text", ["${", "${}", "${A B}", "${1A}", "${A-B}", "a ${", "${A${B}}", "${A:-b}"])
def test_what_is_no_reference_is_told(text: str, registry: Registry, problems: Problems) -> None:
    document = {"providers": {"acme": {"api_key": text}}, "models": {"a": {"provider": "keyless", "model": text}}}

    lines = problems(lambda: LlmFactory.from_config(document, registry=registry))

    assert {line.partition(": ")[0] for line in lines} == {
        "settings [models.a] model",
        "settings [providers.acme] api_key",
    }
    assert all('"${NAME}"' in line for line in lines)


@hypothesis_settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_text_without_references_stays_as_it_is(text: str) -> None:
    plain = text.replace("${", "")
    assert expand({"a": [plain]}, {}, Expansion()) == {"a": [plain]}
    assert expand(plain + "$${x}", {}, Expansion()) == (plain + "$${x}").replace("$${", "${")


def test_what_a_variable_holds_is_no_reference_itself() -> None:
    assert expand("<${A}>", {"A": "${B} $${C}"}, Expansion()) == "<${B} $${C}>"


def test_an_environment_of_ones_own(registry: Registry, transport: FakeTransport) -> None:
    environ = {"ACME_API_KEY": "k", "POLYWIRE__DEFAULT_MODEL": "acme:m"}
    factory = LlmFactory.from_config({}, registry=registry, transport=transport, environ=environ)

    assert sent(factory.chat_model(), transport) == "Bearer k"
    assert "ACME_API_KEY" not in os.environ


def test_settings_read_from_a_file_hold_hidden_strings(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'[providers.x]\nplugin = "acme"\nodd_name = ["{KEY}"]\n', encoding="utf-8")

    loaded = Settings.load("s.toml")

    assert_hidden(shown(loaded))
    assert loaded.providers["x"]["plugin"] == "acme"
    assert loaded.providers["x"]["odd_name"][0].get_secret_value() == KEY


# What is no secret is not masked


def test_an_extra_to_install_is_told_whole(
    registry: Registry, problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polywire.plugins.connections.find_spec", lambda name: None)

    lines = problems(
        lambda: LlmFactory.from_config(
            {"providers": {"acme": {"transport": "aiohttp", "region": "number", "size": "x"}}}, registry=registry
        )
    )

    assert set(lines) == {
        "settings [providers.acme] size: must be a whole number",
        "settings [providers.acme] transport: this transport needs an extra: pip install 'polywire[aiohttp]'",
    }


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ({"plain": "eu-west-1"}, "of eu-west-1"),
        ({"choice": "northern"}, "of northern"),
        ({"address": f"https://user:{KEY}@acme.example/v1?sig={KEY}"}, "@acme.example/v1?"),
        ({"plain": "eu-west-1", "headers": {"X": "eu-west-1"}}, "of **********"),
    ],
)
def test_only_what_may_be_secret_is_masked(table: dict[str, Any], shown: str) -> None:
    from typing import Literal

    from pydantic import model_validator

    from polywire.plugins import Provider, ProviderSettings

    class Telling(ProviderSettings):
        plain: str = ""
        choice: Literal["", "northern", "southern"] = ""
        address: str = ""

        @model_validator(mode="after")
        def _check(self) -> Telling:
            msg = f"it is of {self.plain or self.choice or self.address}"
            raise ValueError(msg)

    telling = Registry([Provider("telling", "", Telling, lambda context: None)], installed=False)  # type: ignore[arg-type, return-value]

    with pytest.raises(InvalidSettings) as caught:
        LlmFactory.from_config({"providers": {"telling": table}}, registry=telling)

    assert shown in str(caught.value)
    assert_hidden(str(caught.value))
