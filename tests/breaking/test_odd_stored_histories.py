"""Stored histories that someone has changed by hand: refused with the place, by the one error that is documented."""

from __future__ import annotations

from typing import Any

import pytest

from polywire import messages_from_json


@pytest.mark.parametrize("value", [None, 5, 1.5, True, "text", {"kind": "text", "text": "x"}])
@pytest.mark.parametrize(("role", "field"), [("user", "contents"), ("assistant", "parts"), ("system", "contents")])
def test_contents_that_are_no_list_are_refused_with_their_place(role: str, field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"messages\[0\]\.{field} must be a list"):
        messages_from_json([{"role": role, field: value}])


@pytest.mark.parametrize("stored", ["", "{", "5", "null", {}, None, [None], [5], [{}], [{"role": "robot"}]])
def test_what_is_no_history_is_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"messages\[|history|Expecting"):
        messages_from_json(stored)
