"""`polywire new-provider`: what it writes is whole, and red only where there is something to write."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from polywire.cli import main
from polywire.scaffold import ScaffoldError, names_of, write_provider
from polywire.testing import RULES, CodecUnderTest, Violation, check_rule


def test_the_names_of_a_provider() -> None:
    names = names_of("acme-cloud2")

    assert names.distribution == "polywire-acme-cloud2"
    assert names.package == "polywire_acme_cloud2"
    assert names.class_name == "AcmeCloud2"
    assert names.title == "Acme Cloud2"
    assert names.variable == "ACME_CLOUD2_API_KEY"


@pytest.mark.parametrize(
    "name", ["", "Acme", "acme_cloud", "-acme", "acme-", "a--b", "1acme", "acme cloud", "../acme", "polywire-acme", "é"]
)
def test_a_name_that_cannot_be_one_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="lower-case words"):
        write_provider(name, tmp_path / "x")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["native", "compatible"])
def test_what_it_writes_is_whole(kind: str, tmp_path: Path) -> None:
    files = write_provider("acme-cloud", tmp_path / "new", kind=kind)  # type: ignore[arg-type]
    names = {path.relative_to(tmp_path / "new").as_posix() for path in files}

    assert {
        "pyproject.toml", "README.md", ".gitignore", ".github/workflows/test.yml", "tests/recordings/recordings.toml",
        "tests/test_conformance.py", "tests/test_provider.py", "src/polywire_acme_cloud/__init__.py",
        "src/polywire_acme_cloud/provider.py", "src/polywire_acme_cloud/py.typed",
    } <= names  # fmt: skip
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\{\{\w", text), f"{path}: a word was not filled in"
        if path.suffix == ".py":
            compile(text, str(path), "exec", dont_inherit=True)
            assert max(map(len, text.splitlines()), default=0) <= 120, path
    project = tomllib.loads((tmp_path / "new" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["entry-points"]["polywire"] == {"acme-cloud": "polywire_acme_cloud.provider"}


def test_it_is_red_only_where_there_is_something_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_provider("unwritten", tmp_path / "new")
    monkeypatch.syspath_prepend(str(tmp_path / "new" / "src"))
    try:
        package = importlib.import_module("polywire_unwritten")
        subject = CodecUnderTest(codec=package.UnwrittenCodec(), model="unwritten-1")
        red = {}
        for rule in RULES:
            try:
                check_rule(rule, subject)
            except Violation as violation:
                red[rule] = str(violation).partition("where:\n")[2].splitlines()
    finally:
        for name in [each for each in sys.modules if each.startswith("polywire_unwritten")]:
            del sys.modules[name]

    assert red
    assert {"error-status", "odd-error-bodies"}.isdisjoint(red)
    for rule, places in red.items():
        for place in places:
            told = "NotImplementedError: write " in place or "there is no recording of" in place
            assert told, f"{rule}: {place}"


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")

    assert main(["new-provider", "acme", "--output", str(tmp_path)]) == 2
    assert "nothing was written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_command_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["new-provider", "acme"]) == 0
    assert "fill in polywire-acme/src/polywire_acme/wire.py" in capsys.readouterr().out
    assert (tmp_path / "polywire-acme" / "pyproject.toml").is_file()


def test_a_compatible_one_is_short(tmp_path: Path) -> None:
    write_provider("acme", tmp_path / "new", kind="compatible")
    code = (tmp_path / "new" / "src" / "polywire_acme" / "provider.py").read_text(encoding="utf-8")

    assert len(code.splitlines()) < 50


EXAMPLE = Path(__file__).parents[3] / "examples" / "polywire-acme"


@pytest.mark.parametrize(
    "file",
    [
        "pyproject.toml",
        "src/polywire_acme/__init__.py",
        "src/polywire_acme/codec.py",
        "src/polywire_acme/provider.py",
        "tests/test_conformance.py",
        "tests/test_provider.py",
    ],
)
def test_the_finished_example_is_what_it_writes(file: str, tmp_path: Path) -> None:
    write_provider("acme", tmp_path / "new")

    assert (EXAMPLE / file).read_text(encoding="utf-8") == (tmp_path / "new" / file).read_text(encoding="utf-8")


def test_what_is_left_to_write_is_short() -> None:
    code = (EXAMPLE / "src" / "polywire_acme" / "wire.py").read_text(encoding="utf-8")

    assert len(code.splitlines()) < 250
