"""What a `retry` table in the settings asks for: none, an empty one, and one with keys, from any layer."""

from __future__ import annotations

from typing import Any

import pytest

from polywire import LlmFactory
from polywire.policy import PolicyModel, RetryPolicy


def retries(model: dict[str, Any], connection: dict[str, Any], defaults: dict[str, Any]) -> list[RetryPolicy]:
    config = {
        "default_model": "one",
        "defaults": defaults,
        "providers": {"openai": {"api_key": "k", **connection}},
        "models": {"one": {"provider": "openai", "model": "m", **model}},
    }
    with LlmFactory.from_config(config) as factory:
        made = factory.chat_model()
    assert isinstance(made, PolicyModel)
    return [policy for policy in made.policies if isinstance(policy, RetryPolicy)]


def test_without_a_table_a_call_is_made_once() -> None:
    assert retries({}, {}, {}) == []


@pytest.mark.parametrize("layer", [0, 1, 2], ids=["model", "connection", "defaults"])
def test_an_empty_table_asks_for_the_default_retries(layer: int) -> None:
    tables: list[dict[str, Any]] = [{}, {}, {}]
    tables[layer] = {"retry": {}}
    (policy,) = retries(*tables)
    assert repr(policy) == repr(RetryPolicy())


def test_an_empty_table_takes_nothing_from_a_layer_below() -> None:
    (policy,) = retries({"retry": {}}, {"retry": {"attempts": 7}}, {})
    assert policy.attempts == 7
