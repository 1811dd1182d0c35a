"""What the command says to somebody whose first settings are not quite right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Install = Callable[..., Path]

PLUGIN = """
import json
from polywire.auth import NoAuth
from polywire.codec import Encoded, HttpRequest
from polywire.plugins import Provider, ProviderSettings, hookimpl
from polywire.responses import Notice

class Codec:
    wire = "acme"

    def encode(self, request, *, stream):
        notices = []
        if request.parameters.temperature is not None:
            notices.append(Notice("dropped", "temperature", "this model takes no temperature"))
        notices.append(Notice("approximated", "max_tokens", "a smaller number is sent"))
        return Encoded(HttpRequest("chat", json.dumps({"model": request.parameters.model}).encode()), notices=notices)

def build(context):
    return context.http_chat_model(Codec(), auth=NoAuth(), base_url="http://127.0.0.1:9/v1")

@hookimpl
def polywire_provider(name):
    return Provider("acme", "Acme", ProviderSettings, build, build_embedding=lambda context: None)
"""

SETTINGS = """
[providers.acme]

[models.warm]
provider = "acme"
model = "m"
temperature = 0.2
retry = { attempts = 2 }

[models.plain]
provider = "acme"
model = "m"

[models.vec]
provider = "acme"
model = "v"
kind = "embedding"
"""


@pytest.fixture(autouse=True)
def _plugin(distribution: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from polywire.plugins import Registry

    distribution("polywire-acme", {"polywire_acme.py": PLUGIN}, {"polywire": {"acme": "polywire_acme"}})
    monkeypatch.setattr("polywire.config.factory.default_registry", Registry)
    monkeypatch.delenv("POLYWIRE_SETTINGS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_text(SETTINGS, encoding="utf-8")


def test_check_tells_what_a_model_would_not_take(run: Run) -> None:
    result = run("check", "-m", "warm", "-m", "plain")

    assert (result.code, result.err) == (0, "")
    warm, plain = result.out.split("\n\n")[1:]
    assert "  dropped   temperature: this model takes no temperature" in warm.splitlines()
    assert "dropped" not in plain
    assert "max_tokens" not in result.out


def test_check_tells_it_as_json(run: Run) -> None:
    warm, plain = json.loads(run("check", "--json", "-m", "warm", "-m", "plain").out)

    assert warm["dropped"] == [{"parameter": "temperature", "reason": "this model takes no temperature"}]
    assert plain["dropped"] == []


def test_check_fails_where_the_settings_want_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(
        SETTINGS.replace("[providers.acme]", '[providers.acme]\nunsupported = "error"'), encoding="utf-8"
    )
    result = run("check", "-m", "warm", "-m", "plain")

    assert result.code == 6
    assert result.err == "polywire: check: failed: warm\n"
    assert "this model takes no temperature" in result.out


def test_chat_with_a_model_of_another_kind_names_the_chat_models(run: Run) -> None:
    result = run("chat", "-m", "vec", "hi")

    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "polywire: chat: 'vec' makes no answers: its table says kind = \"embedding\";"
        " choose a chat model with -m: warm, plain\n"
    )


@pytest.mark.parametrize("output", [(), ("--output", "elsewhere")])
def test_the_name_of_an_installed_provider_is_not_given_twice(
    run: Run, tmp_path: Path, output: tuple[str, ...]
) -> None:
    result = run("new-provider", "acme", *output)

    assert (result.code, result.out) == (2, "")
    assert "the provider 'acme' is there already, of polywire-acme " in result.err
    assert "Choose another name" in result.err
    assert [each.name for each in tmp_path.iterdir() if each.name in ("polywire-acme", "elsewhere")] == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("verify", '"gone.pem"', "'gone.pem'"), ("cert", '["my.pem", "my.key", "hidden-word"]', "'my.pem', 'my.key'")],
)
def test_a_certificate_that_is_not_there_is_told_at_its_place(
    run: Run, tmp_path: Path, key: str, value: str, said: str
) -> None:
    (tmp_path / "settings.toml").write_text(
        SETTINGS.replace("[providers.acme]", f"[providers.acme]\n{key} = {value}"), encoding="utf-8"
    )
    result = run("check", "-m", "warm")

    assert result.code == 6
    assert f"  settings.toml [providers.acme] {key}: the certificate" in result.out
    assert f"({said})" in result.out
    assert "hidden-word" not in result.out + result.err
