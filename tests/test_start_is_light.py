"""What a sync program does not use it does not import: each of these is a part of the time to its first answer."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from polywire import LlmFactory
settings = {
    "providers": {"openai": {"api_key": "k", "base_url": "http://127.0.0.1:9/v1"}},
    "models": {"a": {"provider": "openai", "model": "m"}},
}
with LlmFactory.from_config(settings, environ={}) as factory:
    factory.chat_model()
    print(*sys.modules)
"""


def test_a_sync_model_is_made_without_what_it_does_not_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())

    assert {"pydantic", "polywire_openai.codec"} <= loaded
    unneeded = {"asyncio", "aiohttp", "pydantic_settings", "tomllib", "difflib", "html", "rich", "typer", "tenacity"}
    assert loaded & (unneeded | {"redis", "pyrate_limiter", "polywire_openai.responses", "polywire_anthropic"}) == set()
