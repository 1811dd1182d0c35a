"""What a sync program does not use it does not import: each of these is a part of the time to its first answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from polywire import LlmFactory
settings = {
    "providers": {"openai": {"api_key": "k", "base_url": "http://127.0.0.1:9/v1"}},
    "models": {"a": {"provider": "openai", "model": "m"}},
}
CHANGE
with LlmFactory.from_config(settings, environ={}) as factory:
    factory.chat_model()
    print(*sys.modules)
"""
UNNEEDED = {"asyncio", "aiohttp", "tomllib", "difflib", "html", "rich", "typer", "tenacity", "redis", "pyrate_limiter"}
UNNEEDED |= {"importlib.metadata", "email", "http.client", "urllib.request", "concurrent.futures"}
UNNEEDED |= {"polywire_openai.responses", "polywire_anthropic", "polywire.tools", "polywire.markup.parser"}
VALIDATION = {"pydantic", "pydantic_core", "pydantic_settings", "polywire.config.schema", "polywire_openai.settings"}


def loaded(change: str = "") -> set[str]:
    program = PROGRAM.replace("CHANGE", change)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_sync_model_is_made_without_what_it_does_not_need() -> None:
    modules = loaded()

    assert "polywire_openai.codec" in modules
    assert modules & (UNNEEDED | VALIDATION) == set()


@pytest.mark.parametrize(
    "change",
    [
        "settings['models']['a'] |= {'temperature': 0.2, 'max_tokens': 99, 'stop_sequences': ['x'], 'reasoning': 'low'}",
        "settings['models']['a'] |= {'deadline': '30s', 'retry': {'attempts': 3, 'max_wait': '10s'}}",
        "settings['providers']['openai'] |= {'headers': {'X-Team': 'a'}, 'timeouts': {'read': '1m'}, 'organization': 'o'}",
        "settings['providers']['openai'] |= {'limits': {'concurrency': 4}}",
        "settings['defaults'] = {'history': 'repair', 'retry': {'attempts': 2}}",
    ],
)
def test_usual_settings_need_no_pydantic(change: str) -> None:
    assert loaded(change) & VALIDATION == set()


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "ollama", "groq", "azure-openai"])
def test_nor_does_another_provider(provider: str) -> None:
    table = "{'api_key': 'k', 'base_url': 'http://127.0.0.1:9'}"
    modules = loaded(
        f"settings = {{'providers': {{'{provider}': {table}}}, 'models': {{'a': {{'provider': '{provider}', 'model': 'm'}}}}}}"
    )

    assert "polywire.http_model" in modules
    assert modules & VALIDATION == set()


def test_a_table_that_is_not_plain_is_looked_at_by_its_model() -> None:
    assert {"pydantic", "polywire.config.schema"} <= loaded("settings['models']['a']['temperature'] = '0.2'")
