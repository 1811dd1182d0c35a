"""What is installed is found as `importlib.metadata` finds it, wherever it lies."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from polywire.plugins.discovery import declarations

GROUPS = ("polywire", "polywire.extensions", "polywire.commands", "console_scripts", "pytest11", "nobody.has.this")


def found(group: str) -> set[tuple[str, str]]:
    return {(each.name, each.value) for claims in declarations(group).values() for each in claims}


def expected(group: str) -> set[tuple[str, str]]:
    return {(each.name, each.value) for each in importlib.metadata.entry_points(group=group)}


@pytest.mark.parametrize("group", GROUPS)
def test_everything_that_is_installed_here(group: str) -> None:
    assert found(group) == expected(group)


def write(folder: Path, name: str, text: str, kind: str = "dist-info") -> None:
    information = folder / f"{name}-1.0.{kind}"
    information.mkdir(parents=True)
    metadata = "METADATA" if kind == "dist-info" else "PKG-INFO"
    (information / metadata).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "[polywire]\nacme-x = acme.provider\n",
        "[console_scripts]\nacme = acme:main\n\n[polywire]\nacme-x=acme.provider\nacme-y = acme.provider:Other\n",
        "# [polywire]\n[polywire.extensions]\nacme-e = acme:E\n",
        "[console_scripts]\npolywire = polywire.cli:main\n",
        "",
    ],
)
@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_files_of_entry_points(text: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "polywire_acme", text, kind)
    monkeypatch.syspath_prepend(str(tmp_path))

    for group in GROUPS:
        assert found(group) == expected(group)


def test_the_first_copy_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "old", "Polywire.Acme", "[polywire]\nacme-old = acme.old\n")
    write(tmp_path / "new", "polywire_acme", "[polywire]\nacme-new = acme.new\n")
    monkeypatch.syspath_prepend(str(tmp_path / "old"))
    monkeypatch.syspath_prepend(str(tmp_path / "new"))

    assert {name for name in declarations("polywire") if name.startswith("acme-")} == {"acme-new"}
    assert found("polywire") == expected("polywire")


def test_in_an_archive_and_by_a_finder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "wheels.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped\nVersion: 1.0\n")
        file.writestr("zipped-1.0.dist-info/entry_points.txt", "[polywire]\nzipped = zipped\n")
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, "hidden", "[polywire]\nhidden = hidden\n")

    class Finder:
        @staticmethod
        def find_spec(*_: Any) -> None:
            return None

        @staticmethod
        def find_distributions(_context: Any) -> Any:
            yield importlib.metadata.PathDistribution(elsewhere / "hidden-1.0.dist-info")

    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.syspath_prepend(str(tmp_path / "not-there"))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])

    assert {"zipped", "hidden"} <= set(declarations("polywire"))
    assert found("polywire") == expected("polywire")
    assert declarations("polywire")["hidden"][0].distribution == "hidden 1.0"
