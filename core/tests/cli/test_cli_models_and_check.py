"""`polywire models` and `polywire check`, against the real settings, registry and factory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Install = Callable[..., Path]

PLUGIN = """
from polywire.errors import AuthenticationFailed
from polywire.messages import AiMessage, ToolCall
from polywire.models import ChatModel, ModelInformation
from polywire.plugins import Provider, ProviderSettings, hookimpl
from polywire.profiles import Profile, ProfileRule, ProfileTable

TABLE = ProfileTable(
    Profile(stop_limit=4),
    (ProfileRule("big-*", {"stop_limit": 2}, "https://acme.example/models", "2026-01-02"),),
    source="https://acme.example",
    date="2026-01-01",
)

def build(context):
    def answer(request):
        if context.model == "refused":
            raise AuthenticationFailed("the key was refused", provider=context.provider, model=context.model)
        if request.parameters.tools:
            return AiMessage([ToolCall("1", "get_weather", '{"city":"Paris"}')])
        return f"{context.model} says hello"
    model = ChatModel.from_function(answer)
    table = TABLE.overridden(context.profile) if context.profile else TABLE
    model.information = ModelInformation(context.provider, context.defaults, table.for_model, "acme")
    return model

PROVIDER = Provider("acme", "Acme", ProviderSettings, build, variables={"api_key": ("ACME_API_KEY",)})

@hookimpl
def polywire_provider(name):
    return PROVIDER if name == "acme" else None
"""

SETTINGS = """
default_model = "assistant"

[providers.acme]
api_key = "${ACME_API_KEY}"
limits = { concurrency = 4 }

[models.assistant]
provider = "acme"
model = "big-1"
fallback = ["spare"]
retry = { attempts = 4, initial_wait = "1s", max_wait = "30s", max_total = "2m" }
deadline = "90s"
profile = { cache_marks = 3 }

[models.spare]
provider = "acme"
model = "small-1"

[models.refused]
provider = "acme"
model = "refused"
fallback = ["spare"]
"""
KEY = "sk-acme-0123456789abcdef"


@pytest.fixture(autouse=True)
def _plugin(distribution: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from polywire.plugins import Registry

    distribution("polywire-acme", {"polywire_acme.py": PLUGIN}, {"polywire": {"acme": "polywire_acme"}})
    # The process's own registry has read what is installed already.
    monkeypatch.setattr("polywire.config.factory.default_registry", Registry)
    monkeypatch.setenv("ACME_API_KEY", KEY)
    monkeypatch.delenv("POLYWIRE_SETTINGS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_text(SETTINGS, encoding="utf-8")


def test_chat_goes_through_the_settings_file(run: Run) -> None:
    assert run("chat", "hi").out == "big-1 says hello\n"
    assert run("chat", "-m", "spare", "hi").out == "small-1 says hello\n"
    assert run("chat", "-m", "acme:other", "hi").out == "other says hello\n"


def test_chat_says_who_answered_in_whose_place(run: Run) -> None:
    result = run("chat", "-m", "refused", "hi")

    assert (result.code, result.out) == (0, "small-1 says hello\n")
    assert result.err == "answered by spare, because of refused: authentication\n"


def test_models_are_listed_in_the_files_order_with_the_default_marked(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACME_API_KEY")
    result = run("models")

    assert result.code == 0
    assert [line.split() for line in result.out.splitlines()] == [
        ["name", "provider", "model", "kind", "fallback"],
        ["assistant", "*", "acme", "big-1", "chat", "spare"],
        ["spare", "acme", "small-1", "chat"],
        ["refused", "acme", "refused", "chat", "spare"],
    ]
    assert json.loads(run("models", "--json").out)[0] == {
        "name": "assistant",
        "provider": "acme",
        "model": "big-1",
        "kind": "chat",
        "fallback": ["spare"],
        "is_default": True,
    }


@pytest.mark.parametrize("with_key", [True, False])
def test_a_profile_names_the_source_and_date_of_each_fact(
    run: Run, monkeypatch: pytest.MonkeyPatch, with_key: bool
) -> None:
    if not with_key:
        monkeypatch.delenv("ACME_API_KEY")
    result = run("models", "--profile", "assistant")

    assert (result.code, result.err) == (0, "")
    lines = [re.split(r"\s{2,}", line) for line in result.out.splitlines()]
    assert ["stop_limit", "rule 1", "2"] in lines
    assert ["cache_marks", "settings", "3"] in lines
    assert ["user_name", "-", "true"] in lines
    assert ["base", "*", "https://acme.example", "2026-01-01"] in lines
    assert ["rule 1", "big-*", "https://acme.example/models", "2026-01-02"] in lines


def test_a_profile_works_without_a_table_and_as_json(run: Run) -> None:
    document = json.loads(run("models", "--profile", "acme:big-7", "--json").out)

    assert (document["provider"], document["model"]) == ("acme", "big-7")
    assert {"name": "stop_limit", "value": "2", "label": "rule 1"} in document["profile"]
    assert [source["label"] for source in document["sources"]] == ["base", "rule 1"]


def test_a_profile_of_nothing_known_is_a_settings_error(run: Run) -> None:
    result = run("models", "--profile", "asistant")

    assert (result.code, result.out) == (4, "")
    assert "did you mean 'assistant'" in result.err
    assert result.err.count("\n") == 1


def test_check_tells_the_effective_policies(run: Run) -> None:
    result = run("check")

    assert (result.code, result.err) == (0, "")
    blocks = result.out.split("\n\n")
    assert blocks[0] == "settings.toml: valid, 3 models"
    assert blocks[1].splitlines()[0] == "assistant  (acme, big-1, the default)"
    assert "  deadline  total 90 s" in blocks[1].splitlines()
    assert "  fallback  spare; on the usual errors; skipped for 30 s after 5 failures in 60 s" in blocks[1].splitlines()
    assert "  retry     up to 4 attempts, waiting 1 s to 30 s, 2 min in all" in blocks[1].splitlines()
    assert "  limit     4 calls at once (acme)" in blocks[1].splitlines()
    assert "  retry     none" in blocks[2].splitlines()


def test_check_live_makes_three_calls_and_tells_what_came_back(run: Run) -> None:
    result = run("check", "--live", "-m", "assistant")

    assert (result.code, result.err) == (0, "")
    text = result.out
    assert re.search(r'^  plain     ok      \d+ ms +"big-1 says hello"', text, re.MULTILINE)
    assert re.search(r'^  tool      ok      \d+ ms +get_weather\(\{"city":"Paris"\}\)', text, re.MULTILINE)
    assert re.search(r'^  stream    ok      \d+ ms, first \d+ ms +"big-1 says hello" in 1 piece', text, re.MULTILINE)


def test_check_live_asks_each_model_itself_and_not_its_fallback(run: Run) -> None:
    result = run("check", "--live")

    assert result.code == 6
    assert result.err == "polywire: check: failed: refused\n"
    assert result.out.count("authentication: acme:refused: the key was refused") == 3
    assert result.out.count(" ok ") == 6


def test_check_goes_on_where_a_model_has_no_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACME_API_KEY")
    result = run("check")

    assert result.code == 6
    assert result.out.count("ACME_API_KEY") == 3
    assert result.err == "polywire: check: failed: assistant, spare, refused\n"


def test_check_as_json(run: Run) -> None:
    result = run("check", "--live", "--json", "-m", "spare", "-m", "refused")
    spare, refused = json.loads(result.out)

    assert result.code == 6
    assert [probe["status"] for probe in spare["probes"]] == ["ok", "ok", "ok"]
    assert [probe["status"] for probe in refused["probes"]] == ["failed"] * 3
    assert {"policy": "limit", "effect": "4 calls at once (acme)"} in spare["policies"]


@pytest.mark.parametrize("command", [("check",), ("models",), ("chat", "hi")])
def test_each_mistake_in_the_file_is_one_line(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "bad.toml").write_text(
        '[providers.acme]\napi_key = "sk-acme-secret"\nbase_ulr = "x"\n'
        '[models.a]\nprovider = "acme"\nmodel = "m"\ntemperature = "hot"\n',
        encoding="utf-8",
    )
    result = run(*command, "--settings", "bad.toml")

    assert (result.code, result.out) == (4, "")
    lines = result.err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("polywire: ") for line in lines)
    assert any("base_ulr" in line and "base_url" in line for line in lines)
    assert any("temperature" in line for line in lines)
    assert "sk-acme-secret" not in result.err


@pytest.mark.parametrize("command", [("check",), ("models",), ("chat", "hi")])
def test_a_settings_file_that_is_not_there_is_one_line(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--settings", "nowhere.toml")

    assert (result.code, result.out) == (4, "")
    assert "nowhere.toml" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("chat", "hi"),
        ("chat", "--json", "hi"),
        ("chat", "-m", "refused", "hi"),
        ("chat", "--debug", "hi"),
        ("models",),
        ("models", "--profile", "assistant", "--json"),
        ("check", "--live"),
        ("check", "--live", "--json", "--debug"),
        ("providers", "acme", "--json"),
    ],
)
def test_a_key_is_never_shown(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command)

    assert KEY not in result.out + result.err
    assert "0123456789abcdef" not in result.out + result.err
