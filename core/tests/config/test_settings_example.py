"""The example file holds what the schema has: every key of it, and nothing else."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from polywire.config import LlmFactory, ModelSettings, Settings
from polywire.models import ChatModel
from polywire.plugins import (
    CircuitBreakerSettings,
    LimitSettings,
    Provider,
    ProviderSettings,
    Registry,
    RetrySettings,
    TimeoutSettings,
)

EXAMPLE = Path(__file__).parents[3] / "settings.example.toml"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the example lies beside core, not in it")


def stub(name: str) -> Provider:
    return Provider(name, "", ProviderSettings, lambda context: ChatModel.from_function(lambda request: name))


REGISTRY = Registry([stub(name) for name in ("local", "openai", "anthropic", "openai-compatible")], installed=False)


def uncommented() -> str:
    """The example with everything in force that is only shown."""
    lines = []
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        shown = re.match(r"# (\[[a-z_.]+\].*|[a-z_]+ = .*)", line)
        lines.append(shown[1] if shown else line)
    return "\n".join(lines)


def test_as_it_stands_it_is_valid_and_answers_locally() -> None:
    with LlmFactory.from_config(EXAMPLE, registry=REGISTRY, environ={}) as factory:
        assert factory.chat_model().chat("hi").text == "local"


def test_everything_that_is_shown_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polywire.config.checks.unknown_extension", lambda name: None)
    file = tmp_path / "all.toml"
    file.write_text(uncommented(), encoding="utf-8")
    environ = {"OPENAI_API_KEY": "k", "OFFICE_KEY": "k"}

    from polywire.config.checks import Checks
    from polywire.config.settings import read_settings

    checks = Checks(read_settings(file, environ=environ), REGISTRY)
    checks.run()

    assert [line for _, line in checks.problems] == []


@pytest.mark.parametrize(
    "table",
    [Settings, ModelSettings, ProviderSettings, RetrySettings, LimitSettings, CircuitBreakerSettings, TimeoutSettings],
)
def test_every_key_is_shown(table: Any) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    rare = {"multiplier", "token_burst", "estimate_tokens", "lease", "enabled"}

    missing = [key for key in table.model_fields if not re.search(rf"\b{key}\b", text)]

    assert set(missing) <= rare


def test_it_is_plain_toml() -> None:
    assert tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))["default_model"] == "assistant"
