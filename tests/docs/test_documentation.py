"""What the pages say runs: their Python, from top to bottom, and their settings, checked as `polywire check` does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from polywire import LlmFactory, TokenUsage, ToolCall
from polywire.testing import ScriptedChatModel

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CALL = ToolCall("call_1", "forecast", {"city": "Rome", "day": "2027-05-01"})
FORECAST = '{"city": "Rome", "degrees": 21}'

MODELS: dict[str, Any] = {
    "errors.md": lambda: ScriptedChatModel("Hello.", repeat_last=True),
    "policies.md": lambda: ScriptedChatModel("Hello.", "Hello.", "Hello.", "Hello.", usage=TokenUsage(2, 1)),
    "tools.md": lambda: ScriptedChatModel(
        *[CALL, "Sunny."],
        *[CALL, "Sunny too."],
        *[ToolCall("call_2", "delete_order", {"number": 7}), "The user said no."],
        FORECAST,
        *[CALL, FORECAST],
        FORECAST,
        CALL,
        chunk=5,
    ),
}
"""What `model` is on the pages that speak of "any model": the answers, in the order in which the page asks."""


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


@pytest.mark.parametrize("page", [each for each in PAGES if blocks(each, "python")], ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page: Path) -> None:
    names: dict[str, Any] = {"__name__": f"page_{page.stem}"}
    if page.name in MODELS:
        names["model"] = MODELS[page.name]()
    elif page.name not in {"testing.md", "converting.md"}:
        # Pages that load a settings file: they need a vendor, so only their names are held against the library.
        for code in blocks(page, "python"):
            imports = [line for line in code.splitlines() if line.startswith(("from ", "import "))]
            compile(code, page.name, "exec")
            exec("\n".join(imports), names)
        return

    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)

    if page.name in MODELS:
        assert names["model"].remaining == 0
    if page.name == "policies.md":
        assert names["costs"].total == 3


@pytest.mark.parametrize("page", [each for each in PAGES if blocks(each, "toml")], ids=lambda page: page.name)
def test_the_settings_of_a_page_are_settings(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OFFICE_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "a-key")
    for code in blocks(page, "toml"):
        tables = tomllib.loads(code)
        if {"providers", "models", "default_model", "policies", "rules"} & set(tables):
            LlmFactory.from_config(tables).close()


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for goal in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / goal).exists(), f"{page.name}: {goal}"
