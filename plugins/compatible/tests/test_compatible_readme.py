"""The table in the README says what the rows say."""

from __future__ import annotations

from pathlib import Path

from polywire.profiles import Profile
from polywire_compatible import ROWS, Row

README = Path(__file__).parents[1] / "README.md"
_BEGIN, _END = "<!-- rows -->\n", "<!-- end of rows -->"
_ECHO = {"never": "never", "tool_calls": "with calls", "always": "always"}


def line(row: Row) -> str:
    """One row of the table."""
    profile: Profile = row.profiles().base
    variables = " or ".join(f"`{each}`" for each in row.key)
    cells = (
        f"`{row.name}`",
        f"`{row.base_url}`" if row.base_url else "`base_url`" + "".join(f" or `{each}`" for each in row.url),
        (variables + ("" if row.key_required else ", if it wants one")) if variables else "`api_key`, if it wants one",
        f"`{profile.reasoning_field}`" if profile.reasoning_field else "as it comes",
        _ECHO[profile.reasoning_echo],
        ", ".join(word for word in ("auto", "none", "required", "named") if word in profile.tool_choices),
        f"`{profile.max_tokens_field}`",
        " and ".join(sorted(profile.response_formats)),
    )
    return f"| {' | '.join(cells)} |"


def table() -> str:
    head = "| provider | address | key | thinking read from | sent back | tool choice | limit | typed answers |"
    return "\n".join([head, "|---|---|---|---|---|---|---|---|", *map(line, ROWS.values())]) + "\n"


def test_the_table_of_the_readme_is_that_of_the_rows() -> None:
    text = README.read_text(encoding="utf-8")

    assert text.partition(_BEGIN)[2].partition(_END)[0] == table(), f"the table should be:\n{table()}"


def test_every_entry_point_is_a_row() -> None:
    pyproject = (README.parent / "pyproject.toml").read_text(encoding="utf-8")
    declared = {
        part.partition(" = ")[0] for part in pyproject.splitlines() if part.endswith('"polywire_compatible.provider"')
    }

    assert declared == set(ROWS)
