"""`api.py` says what the public interface is to a type checker; here the checkers read it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
API = Path(__file__).parent / "api.py"


def check(*command: str) -> None:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "core" / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_agrees(tmp_path: Path) -> None:
    cache = ROOT / ".mypy_cache" if (ROOT / ".mypy_cache").exists() else tmp_path
    check(sys.executable, "-m", "mypy", "--warn-unused-ignores", "--cache-dir", str(cache), str(API))


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_agrees() -> None:
    check("pyright", "--pythonpath", sys.executable, str(API))
