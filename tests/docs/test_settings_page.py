"""The page on settings has every key, as the settings' own models have it, and every key says what it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.settings_page import PAGE, TABLES, settings, table, written


def test_the_page_says_what_the_settings_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for name in TABLES:
        assert f"<!-- {name} -->\n{table(name)}<!-- end of {name} -->\n" in page, (
            "run `python tests/support/settings_page.py`"
        )
    assert written(page) == page


@pytest.mark.parametrize("name", TABLES)
def test_every_key_says_what_it_is(name: str) -> None:
    assert [each.name for each in settings(name) if not each.description] == []
