"""`api.py` says what the public interface is to a type checker; here the checkers read it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
API = Path(__file__).parent / "api.py"


def check(*command: str) -> str:
    environment = {**os.environ, "MYPYPATH": str(ROOT / "core" / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_agrees(tmp_path: Path) -> None:
    cache = ROOT / ".mypy_cache" if (ROOT / ".mypy_cache").exists() else tmp_path
    check(sys.executable, "-m", "mypy", "--warn-unused-ignores", "--cache-dir", str(cache), str(API))


@pytest.fixture
def pyright() -> list[str]:
    """The command, where it is installed and has what it runs on."""
    for name in ("pyright", "basedpyright"):
        if importlib.util.find_spec(name) is not None:
            command = [sys.executable, "-m", name]
            if subprocess.run([*command, "--version"], capture_output=True, check=False, timeout=120).returncode == 0:
                return command
    pytest.skip("pyright is not installed, or cannot run here")


def test_pyright_agrees(pyright: list[str], tmp_path: Path) -> None:
    configuration = tmp_path / "pyrightconfig.json"
    rules = {
        "pythonVersion": "3.11",
        "typeCheckingMode": "strict",
        "enableTypeIgnoreComments": False,
        "reportUnnecessaryTypeIgnoreComment": "error",
        "include": ["api.py"],
        "extraPaths": [str(ROOT / "core" / "src")],
    }
    configuration.write_text(json.dumps(rules), encoding="utf-8")
    # Beside its configuration: what is included must be below it.
    shutil.copy(API, tmp_path)

    said = json.loads(check(*pyright, "--project", str(configuration), "--pythonpath", sys.executable, "--outputjson"))

    assert said["summary"]["filesAnalyzed"] == 1
    assert said["generalDiagnostics"] == []
