"""The tables of `docs/settings.md`, made from the settings' own models.

`python tests/support/settings_page.py` writes them into the page; `tests/docs/test_settings_page.py` holds it to be so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from polywire.cli.settings_tables import Setting, settings_of
from polywire.config import DefaultSettings, ModelSettings
from polywire.plugins import (
    CircuitBreakerSettings,
    LimitSettings,
    ProviderSettings,
    RetrySettings,
    TimeoutSettings,
)
from polywire.plugins.connections import CallRules

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
RULES = frozenset(CallRules.model_fields)
TABLES: dict[str, Any] = {
    "models": ModelSettings,
    "providers": ProviderSettings,
    "defaults": DefaultSettings,
    "rules": CallRules,
    "retry": RetrySettings,
    "limits": LimitSettings,
    "timeouts": TimeoutSettings,
    "circuit_breaker": CircuitBreakerSettings,
}


def settings(name: str) -> list[Setting]:
    """Return the keys of one table of the page: rules that several tables share stand in a table of their own."""
    shared = frozenset() if name == "rules" else RULES if issubclass(TABLES[name], CallRules) else frozenset()
    return [each for each in settings_of(TABLES[name]) if each.name not in shared]


def table(name: str) -> str:
    """Return one table as Markdown."""
    rows = ["| key | type | left out | what it is |", "|---|---|---|---|"]
    for each in settings(name):
        kind = "a table" if each.type.startswith("table {") else each.type
        kind = re.sub(r"\btable \{[^}]*\}", "a table", kind).replace("|", "or")
        default = f"`{each.default}`" if each.default else ""
        rows.append(f"| `{each.name}` | {kind} | {default} | {each.description.replace('|', 'or')} |")
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    """Return the page with its tables as they should be."""
    for name in TABLES:
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, found, rest = page.partition(begin)
        if found:
            page = before + begin + table(name) + end + rest.partition(end)[2]
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
