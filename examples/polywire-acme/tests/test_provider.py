"""What users write: a settings file that names the provider."""

from __future__ import annotations

import pytest
from polywire import LlmFactory
from polywire.errors import SettingsError

SETTINGS = {"models": {"assistant": {"provider": "acme", "model": "acme-1"}}}


def test_the_name_finds_the_model() -> None:
    with LlmFactory.from_config(SETTINGS, environ={"ACME_API_KEY": "a-key"}) as factory:
        model = factory.chat_model("assistant")

        assert model.information.model == "acme-1"
        assert "a-key" not in repr(model)


def test_a_missing_key_is_told_with_its_variable() -> None:
    with (
        LlmFactory.from_config(SETTINGS, environ={}) as factory,
        pytest.raises(SettingsError, match="ACME_API_KEY"),
    ):
        factory.chat_model("assistant")
