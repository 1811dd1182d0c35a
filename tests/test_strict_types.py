"""The checker that holds bodies against the vendors' types must itself refuse what a plain adapter lets through."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Required

import pytest
from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).parent))

from support.strict_types import check


class Text(TypedDict, total=False):
    type: Required[Literal["text"]]
    text: Required[str]
    size: float | None


class Picture(TypedDict, total=False):
    type: Required[Literal["image"]]
    url: Required[str]


class Base(TypedDict, total=False):
    content: Required[str | Iterable[Text | Picture]]
    seed: int


class Body(Base, total=False):
    stream: Required[Literal[True]]
    tags: dict[str, object]


GOOD: dict[str, Any] = {"content": [{"type": "text", "text": "a", "size": 1}], "stream": True, "tags": {"a": [1]}}


def test_what_fits_has_no_problems() -> None:
    assert check(GOOD, Body) == []
    assert check({"content": "a", "stream": True}, Body) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"extra": 1}, "extra"),
        ({"seed": True}, "$.seed"),
        ({"seed": None}, "$.seed"),
        ({"stream": 1}, "$.stream"),
        ({"content": [{"type": "text", "text": "a", "x": 1}]}, "$.content[0]"),
        ({"content": [{"type": "text"}]}, "'text'"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image", "url": 1}]}, "$.content[1].url"),
        ({"content": 5}, "$.content"),
        ({"tags": {1: "a"}}, "$.tags"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(change: dict[str, Any], place: str) -> None:
    problems = check({**GOOD, **change}, Body)

    assert problems
    assert any(place in problem for problem in problems)


def test_a_missing_field_of_a_base_is_told() -> None:
    assert check({"stream": True}, Body) == ["$: Body needs the field 'content'"]
