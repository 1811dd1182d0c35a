"""`polywire providers`, against the real registry and plugins installed for the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Install = Callable[..., Path]

ACME = """
from pydantic import Field, SecretStr
from polywire.models import ChatModel
from polywire.plugins import Provider, ProviderSettings, hookimpl

class AcmeSettings(ProviderSettings):
    region: str = Field("eu", description="where it runs")
    second_key: SecretStr = SecretStr("sk-never-to-be-shown")

PROVIDER = Provider(
    "acme",
    "Acme's chat models",
    AcmeSettings,
    lambda context: ChatModel.from_function(lambda request: "hi"),
    variables={"api_key": ("ACME_API_KEY", "ACME_KEY")},
)

@hookimpl
def polywire_provider(name):
    return PROVIDER if name == "acme" else None
"""


@pytest.fixture
def installed(distribution: Install) -> None:
    distribution("polywire-acme", {"polywire_acme.py": ACME}, {"polywire": {"acme": "polywire_acme"}})
    distribution(
        "polywire-broken",
        {"polywire_broken.py": "import a_package_that_is_not_there"},
        {"polywire": {"broken": "polywire_broken"}},
    )
    distribution(
        "polywire-worse",
        {"polywire_worse.py": "raise RuntimeError('line 1\\nline 2')"},
        {"polywire": {"worse": "polywire_worse"}},
    )


def test_each_provider_is_shown_with_its_settings_types_and_defaults(run: Run, installed: None) -> None:
    result = run("providers")

    assert (result.code, result.err) == (0, "")
    lines = [line.split() for line in result.out.splitlines()]
    assert ["acme", "(polywire-acme", "1.0)"] in lines
    assert "  Acme's chat models" in result.out.splitlines()
    assert ["region", "text", "=", '"eu"'] in lines
    assert ["api_key", "secret", "from", "$ACME_API_KEY", "or", "$ACME_KEY"] in lines
    assert ["trust_env", "true", "|", "false", "=", "true"] in lines


def test_a_broken_one_is_shown_with_the_reason_and_stops_nobody(run: Run, installed: None) -> None:
    result = run("providers")

    assert result.code == 0
    assert "broken  (polywire-broken 1.0)" in result.out
    assert "a_package_that_is_not_there" in result.out
    assert "broken: RuntimeError: line 1 line 2\n" in result.out
    assert "Traceback" not in result.out + result.err


def test_one_alone_says_what_each_setting_means(run: Run, installed: None) -> None:
    result = run("providers", "acme")

    assert result.code == 0
    assert "where it runs" in result.out
    assert "retry.attempts" in result.out
    assert "broken" not in result.out
    assert result.out.count("\napi_key ") == 1


def test_one_that_is_broken_is_a_settings_failure(run: Run, installed: None) -> None:
    result = run("providers", "broken")

    assert result.code == 4
    assert "a_package_that_is_not_there" in result.out


def test_one_that_is_not_there_names_the_nearest(run: Run, installed: None) -> None:
    result = run("providers", "acne")

    assert (result.code, result.out) == (4, "")
    assert "did you mean 'acme'" in result.err
    assert result.err.count("\n") == 1


def test_json_holds_the_same_for_programs(run: Run, installed: None) -> None:
    document = json.loads(run("providers", "--json").out)
    providers = {each["name"]: each for each in document["providers"]}

    assert providers["acme"]["problem"] is None
    assert {"name": "region", "type": "text", "default": '"eu"', "description": "where it runs"} in providers["acme"][
        "settings"
    ]
    assert "a_package_that_is_not_there" in providers["broken"]["problem"]
    assert any(each["name"] == "timeouts.read" for each in document["common_settings"])


@pytest.mark.parametrize("form", [(), ("acme",), ("--json",), ("acme", "--json")])
def test_a_secret_default_is_never_shown(run: Run, installed: None, form: tuple[str, ...]) -> None:
    result = run("providers", *form)

    assert "sk-never-to-be-shown" not in result.out + result.err


def test_two_distributions_that_claim_one_name_are_shown(run: Run, distribution: Install) -> None:
    distribution("polywire-acme", {"polywire_acme.py": ACME}, {"polywire": {"acme": "polywire_acme"}})
    distribution("polywire-other", {"polywire_other.py": ACME}, {"polywire": {"acme": "polywire_other"}})
    result = run("providers", "acme")

    assert result.code == 4
    assert "polywire-acme 1.0" in result.out
    assert "polywire-other 1.0" in result.out
