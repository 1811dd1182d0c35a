"""The README's table of what each provider can do is the one that the profiles give."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.provider_table import BEGIN, END, README, provider_table, written


def test_the_readme_says_what_the_profiles_say() -> None:
    readme = README.read_text()
    assert BEGIN in readme
    assert END in readme
    assert written(readme) == readme, "run `python tests/support/provider_table.py`"


def test_a_provider_that_is_not_in_the_table_would_be_missed() -> None:
    rows = provider_table().splitlines()[2:]
    assert len({row.count("|") for row in rows}) == 1
    assert [row.split("`")[1] for row in rows] == sorted(row.split("`")[1] for row in rows)
