"""The README's table of what each provider can do, made from the providers' own profiles.

`python tests/support/provider_table.py` writes it into the README; `tests/test_provider_table.py` holds it to be so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from polywire.plugins import Provider, Registry
from polywire.profiles import Profile

README = Path(__file__).parents[2] / "README.md"
BEGIN = "<!-- providers -->\n"
END = "<!-- end of providers -->\n"

# What a column asks of a profile. Text and streaming are in the contract, so a provider that chats has both.
COLUMNS: dict[str, Callable[[Profile], bool]] = {
    "tools": lambda profile: profile.tool_calling != "none",
    "parallel tools": lambda profile: profile.tool_calling != "none" and profile.parallel_tool_calls,
    "typed output": lambda profile: "json_schema" in profile.response_formats,
    "images": lambda profile: bool(profile.image_sources),
    "documents": lambda profile: bool(profile.document_sources),
    "audio": lambda profile: bool(profile.audio_sources),
    "thinking": lambda profile: bool(
        profile.reasoning_field or profile.think_tags or profile.reasoning_parameter or profile.efforts
    ),
    "cache marks": lambda profile: profile.cache_marks > 0,
}

# Media columns, and the word of a profile's quirk `undocumented` for each.
_MEDIA = {"images": "image", "documents": "document", "audio": "audio"}


def cell(provider: Provider, column: str) -> str:
    """
    Return one cell.

    `yes`; `some` where it depends on the model; `-` where no model that is known has it; `not documented` where it is sent
    as others take it, with a notice.
    """
    asks = COLUMNS[column]
    profiles = provider.profiles() if callable(provider.profiles) else provider.profiles
    if profiles is None:
        return "?"
    if asks(profiles.base):
        undocumented = profiles.base.quirks.get("undocumented", ())
        return "not documented" if _MEDIA.get(column) in undocumented else "yes"
    return "some" if any(asks(profiles.base.changed(rule.changes)) for rule in profiles.rules) else "-"


def provider_table() -> str:
    """Return the table of all providers that are installed, as Markdown."""
    lines = [
        "| provider | chat, stream | " + " | ".join(COLUMNS) + " | embeddings |",
        "|---" * (len(COLUMNS) + 3) + "|",
    ]
    registry = Registry()
    for name in sorted(registry.names()):
        provider = registry.provider(name)
        cells = [cell(provider, column) for column in COLUMNS]
        chat = "yes" if provider.build_chat else "-"
        embeddings = "yes" if provider.build_embedding else "-"
        lines.append("| " + " | ".join([f"`{name}`", chat, *cells, embeddings]) + " |")
    return "\n".join(lines) + "\n"


def written(readme: str) -> str:
    """Return the README with today's table between its marks."""
    before, _, rest = readme.partition(BEGIN)
    return before + BEGIN + provider_table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(written(README.read_text()))
