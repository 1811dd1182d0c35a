"""A model's profile, and where each of its facts comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from polywire.cli.settings_tables import toml_text
from polywire.models import ModelInformation
from polywire.profiles import Profile, ProfileTable

__all__ = ["Fact", "Source", "explain_profile", "profile_table_of"]


@dataclass(frozen=True, slots=True)
class Source:
    """
    Where facts of a profile come from.

    Attributes:
        label: how the facts refer to it: `base`, `rule 1`, `settings`.
        models: which model ids it is for.
        source: what to read to check it again.
        date: when it was read.
    """

    label: str
    models: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a resolved profile; `label` says which source set it, and is empty for the schema's own default."""

    name: str
    value: str
    label: str


def profile_table_of(information: ModelInformation) -> ProfileTable | None:
    """Return the table behind a model's profile, where its `profile` is the look-up of one."""
    owner = getattr(information.profile, "__self__", None)
    return owner if isinstance(owner, ProfileTable) else None


def explain_profile(
    table: ProfileTable | None, profile: Profile, model: str | None
) -> tuple[tuple[Fact, ...], tuple[Source, ...]]:
    """
    Take a resolved profile apart: each field with the source that had the last word, and the sources in their order.

    A profile without a table has facts and no sources.
    """
    if table is None:
        return tuple(_facts(profile, {})), ()
    sources = [Source("base", "*", table.source, table.date)]
    last_word = {
        each.name: "base" for each in fields(Profile) if getattr(table.base, each.name) != getattr(_DEFAULT, each.name)
    }
    for number, rule in enumerate(table.rules_for(model or ""), start=1):
        label = f"rule {number}"
        sources.append(Source(label, rule.models, rule.source, rule.date))
        last_word.update(dict.fromkeys(rule.changes, label))
    if table.overrides:
        sources.append(Source("settings", model or "*", "the settings file", ""))
        last_word.update(dict.fromkeys(table.overrides, "settings"))
    return tuple(_facts(profile, last_word)), tuple(sources)


_DEFAULT = Profile()


def _facts(profile: Profile, last_word: dict[str, str]) -> Iterator[Fact]:
    for each in fields(Profile):
        value = getattr(profile, each.name)
        yield Fact(each.name, toml_text(value) or "-", last_word.get(each.name, ""))
