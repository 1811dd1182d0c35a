"""The table in the README says what the rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from polywire.profiles import Profile
from polywire_compatible import ROWS, Row

README = Path(__file__).parents[1] / "README.md"
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


def media() -> str:
    lines = ["| provider | images | audio | documents | video |", "|---|---|---|---|---|"]
    for row in ROWS.values():
        profile = row.profiles().base
        undocumented = profile.quirks.get("undocumented", ())
        cells = []
        for kind in ("image", "audio", "document", "video"):
            sources = sorted(getattr(profile, f"{kind}_sources"))
            known = "not documented" if kind in undocumented else ", ".join(f"`{each}`" for each in sources)
            cells.append(known if sources else "-")
        lines.append(f"| `{row.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def embeddings() -> str:
    lines = ["| provider | texts at once | dimensions | source |", "|---|---|---|---|"]
    for row in ROWS.values():
        if (offered := row.embeddings) is not None:
            field = f"`{offered.dimensions_field}`" if offered.dimensions_field else "-"
            lines.append(f"| `{row.name}` | {offered.max_inputs} | {field} | {offered.source} |")
    return "\n".join(lines) + "\n"


TABLES = {
    "rows": table,
    "media": media,
    "embeddings": embeddings,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_readme_is_that_of_the_rows(name: str) -> None:
    text = README.read_text(encoding="utf-8")

    written = text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- end of {name} -->")[0]

    assert written == TABLES[name](), f"the table should be:\n{TABLES[name]()}"


def test_every_entry_point_is_a_row() -> None:
    pyproject = (README.parent / "pyproject.toml").read_text(encoding="utf-8")
    declared = {
        part.partition(" = ")[0] for part in pyproject.splitlines() if part.endswith('"polywire_compatible.provider"')
    }

    assert declared == set(ROWS)
