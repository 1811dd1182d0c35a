"""Which settings a provider takes, told in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, SecretStr

from polywire.cli.settings_tables import Setting, settings_of, type_text
from polywire.plugins.durations import Duration


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    depth: int = 1
    width: int | None = None


class Table(BaseModel):
    api_key: SecretStr | None = SecretStr("sk-never-shown")
    base_url: str = Field("https://x.example", description="Where it\n  listens.")
    port: int
    verify: bool = True
    colour: Colour = Colour.RED
    mode: Literal["fast", "slow"] | None = None
    tags: list[str] = Field(default_factory=list)
    headers: dict[str, str] = {"X-A": "b"}
    inner: Inner = Inner()
    wait: timedelta = timedelta(seconds=90)


def test_each_setting_has_its_type_default_and_meaning() -> None:
    assert list(settings_of(Table)) == [
        Setting("api_key", "secret", "", ""),
        Setting("base_url", "text", '"https://x.example"', "Where it listens."),
        Setting("port", "whole number", "required", ""),
        Setting("verify", "true | false", "true", ""),
        Setting("colour", '"red" | "blue"', '"red"', ""),
        Setting("mode", '"fast" | "slow"', "", ""),
        Setting("tags", "list of text", "", ""),
        Setting("headers", "table of text", '{X-A = "b"}', ""),
        Setting("inner", "table {depth, width}", "{depth = 1}", ""),
        Setting("wait", "duration", '"90s"', ""),
    ]


class Documented(BaseModel):
    """
    A table that says what its keys mean in its own words.

    Attributes:
        region: where it runs;
            one of several.
        tier (str): what it costs.

    More words: that are no attribute.
    """

    region: str = "eu"
    tier: str = "free"
    other: int = 0


def test_what_a_setting_means_is_read_from_the_docstring_too() -> None:
    assert {setting.name: setting.description for setting in settings_of(Documented)} == {
        "region": "where it runs; one of several.",
        "tier": "what it costs.",
        "other": "",
    }


class Outer(BaseModel):
    inner: Inner | None = None
    plain: int = 0


def test_a_table_inside_a_table_can_be_told_key_by_key() -> None:
    assert [setting.name for setting in settings_of(Outer)] == ["inner", "plain"]
    assert list(settings_of(Outer, deep=True)) == [
        Setting("inner.depth", "whole number", "1", ""),
        Setting("inner.width", "whole number", "", ""),
        Setting("plain", "whole number", "0", ""),
    ]


def test_durations_are_told_as_such() -> None:
    class Timed(BaseModel):
        wait: Duration = 3.0
        pause: Duration | None = None

    assert [setting.type for setting in settings_of(Timed)] == ["duration", "duration"]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str | None, "text"),
        (Optional[float], "number"),  # noqa: UP045 - both spellings are met
        (int | str, "whole number | text"),
        (tuple[str, ...], "list of text"),
        (Mapping[str, Any], "table of anything"),
        (dict, "table"),
        (Path, "path"),
        (Annotated[int, "at least 1"], "whole number"),
        (Literal[1, True] | None, "1 | true"),
    ],
)
def test_types_are_told_as_toml_has_them(annotation: Any, words: str) -> None:
    assert type_text(annotation) == words
