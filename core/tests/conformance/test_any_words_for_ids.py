"""The kit finds ids and names under whatever words a wire has for them."""

from __future__ import annotations

import pytest

from polywire.testing.conformance.encoding_rules import _id_counts, _names_and_ids


@pytest.mark.parametrize("key", ["id", "call_id", "tool_call_id", "callId", "requestID", "call_ref", "ref"])
def test_an_id_under_any_word(key: str) -> None:
    body = f'{{"calls": [{{"id": "c1"}}], "results": [{{"{key}": "c1"}}]}}'

    assert _id_counts(body) == {"c1": 2}


@pytest.mark.parametrize("key", ["name", "tool_name", "toolName", "tool", "function"])
def test_a_name_under_any_word(key: str) -> None:
    assert "search" in _names_and_ids(f'{{"{key}": "search", "text": "other"}}')
    assert "other" not in _names_and_ids(f'{{"{key}": "search", "text": "other"}}')
