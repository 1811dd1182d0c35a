"""Every folder with a `pyproject.toml` is a distribution: it builds, says the right things of itself, and holds its code."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "core", *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]


@dataclass
class Built:
    folder: Path
    project: dict[str, Any]
    names: list[str]
    metadata: Message
    entry_points: str
    source_names: list[str]

    @property
    def module(self) -> str:
        return str(self.project["name"]).replace("-", "_")


@pytest.fixture(scope="module", params=PACKAGES, ids=lambda path: path.name)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder: Path = request.param
    target = tmp_path_factory.mktemp(folder.name)
    # A source archive, and the wheel out of that: what is missing in the first is missing in the second.
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    (wheel,) = target.glob("*.whl")
    (archive,) = target.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as opened, tarfile.open(archive) as source:
        names = opened.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        entry_points = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
        yield Built(
            folder,
            tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"],
            names,
            Parser().parsestr(opened.read(metadata).decode()),
            opened.read(entry_points[0]).decode() if entry_points else "",
            source.getnames(),
        )


def test_it_says_what_it_is(built: Built) -> None:
    metadata = built.metadata
    name = "polywire" if built.folder.name == "core" else f"polywire-{built.folder.name}"

    assert metadata["Name"] == name
    assert metadata["Version"] == built.project["version"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Summary"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(str(metadata.get_payload())) > 100, "the README is the package page"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_it_holds_all_its_code_and_nothing_else(built: Built) -> None:
    source = built.folder / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in built.names if ".dist-info/" not in name}

    assert f"{built.module}/py.typed" in held
    assert held == expected


def test_the_source_archive_has_the_tests(built: Built) -> None:
    # The core's tests live beside those of the whole and may need them.
    if built.folder.name != "core":
        assert any("/tests/test_" in name for name in built.source_names)
    assert any(name.endswith("/README.md") for name in built.source_names)


def test_what_it_needs_is_named_without_addresses(built: Built) -> None:
    needs = built.metadata.get_all("Requires-Dist", [])

    assert not [each for each in needs if "@" in each or "://" in each]
    always = {re.split(r"[^A-Za-z0-9-]", each)[0] for each in needs if "extra ==" not in each}
    if built.folder.name == "core":
        assert always == {"httpx", "msgspec", "pluggy", "pydantic-settings", "tenacity"}
    else:
        assert "polywire" in always
        vendors = {"openai", "anthropic", "google-genai", "ollama", "mistralai", "groq", "cohere", "litellm"}
        assert not always & vendors, "no vendor's SDK at run time"


def test_its_entry_points_are_found(built: Built) -> None:
    if built.folder.name == "core":
        assert "polywire = polywire.cli:main" in built.entry_points
        return
    groups = {name: each for name, each in built.project["entry-points"].items() if name.startswith("polywire")}

    assert groups
    for group, declared in groups.items():
        assert f"[{group}]" in built.entry_points
        for name, value in declared.items():
            assert f"{name} = {value}" in built.entry_points
            module = value.partition(":")[0].replace(".", "/")
            assert {f"{module}.py", f"{module}/__init__.py"} & set(built.names)
