"""What the pages say of kinds of errors and notices is what the code has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

from polywire.config.schema import DefaultSettings, ModelSettings
from polywire.errors import ERROR_KINDS, RetryableModelError
from polywire.policy.fallback import DEFAULT_FALLBACK_KINDS
from polywire.responses import Notice

DOCS = Path(__file__).parents[2] / "docs"
ERRORS = (DOCS / "errors.md").read_text(encoding="utf-8")
POLICIES = (DOCS / "policies.md").read_text(encoding="utf-8")


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def test_the_table_has_every_kind_of_error() -> None:
    rows = [line for line in ERRORS.splitlines() if line.startswith("| `")]
    kinds = [kind for row in rows for kind in re.findall(r"`(\w+)`", row.split("|")[2])]

    assert sorted(kinds) == sorted(ERROR_KINDS)
    assert set(kinds[:7]) == {kind for kind, each in ERROR_KINDS.items() if issubclass(each, RetryableModelError)}


def test_every_kind_of_notice_is_told() -> None:
    said = ERRORS.partition("## Notices")[2]

    for kind in get_args(get_type_hints(Notice)["kind"]):
        assert f"`{kind}`: " in said


def test_what_leads_on_unless_the_settings_say_otherwise() -> None:
    said = POLICIES.partition("Without it these do:")[2].partition("A kind includes")[0]
    does, _, does_not = said.partition("These\ndo not:")

    assert quoted(does) == DEFAULT_FALLBACK_KINDS
    assert quoted(does_not) == set(ERROR_KINDS) - DEFAULT_FALLBACK_KINDS


def test_the_settings_say_so_too() -> None:
    for model in (DefaultSettings, ModelSettings):
        assert quoted(model.model_fields["fallback_on"].description or "") == set(ERROR_KINDS) - DEFAULT_FALLBACK_KINDS
