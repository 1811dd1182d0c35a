"""
A stranger's provider, in a clean environment outside the workspace, from built wheels.

Only the dependencies come from the environment that runs this test: no index is asked, and nothing of the workspace can be
seen from there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACME = ROOT / "examples" / "polywire-acme"


@dataclass
class Environment:
    """An environment with wheels in it."""

    folder: Path
    wheels: Path

    @property
    def bin(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def site(self) -> Path:
        paths = {"base": str(self.folder), "platbase": str(self.folder)}
        return Path(sysconfig.get_path("purelib", "venv", vars=paths))

    def run(self, *command: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "POLYWIRE", "ACME", "PYTEST"))
        }
        done = subprocess.run(command, cwd=cwd or self.folder, env=clean, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def python(self, code: str, *, cwd: Path | None = None) -> str:
        return self.run(str(self.bin / "python"), "-c", code, cwd=cwd).stdout.strip()

    def polywire(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.bin / "polywire"), *arguments, check=check)

    def pip(self, *arguments: str) -> str:
        pip = (sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "--disable-pip-version-check")
        return self.run(*pip, *arguments).stdout

    def install(self, distribution: str) -> None:
        # With its dependencies, which must be there already or among the wheels.
        self.pip("install", "--no-index", "--find-links", str(self.wheels), distribution)

    def kit(self, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run(
            str(self.bin / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, cwd=folder, check=False
        )


def build(folder: Path, target: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    base = tmp_path_factory.mktemp("third-party")
    found = Environment(base / "environment", base / "wheels")
    sources = base / "sources"
    for folder in (ROOT / "core", ROOT / "plugins" / "openai", ACME):
        # A copy, so that building leaves nothing in the workspace.
        copied = shutil.copytree(folder, sources / folder.name, ignore=shutil.ignore_patterns(".*cache", "__pycache__"))
        build(copied, found.wheels)
    venv.create(found.folder)
    dependencies = base / "dependencies"
    dependencies.mkdir()
    for path in {Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))}:
        for each in path.iterdir():
            if "polywire" not in each.name and each.suffix != ".pth":
                (dependencies / each.name).symlink_to(each)
    (found.site / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    for distribution in ("polywire", "polywire-openai", "polywire-acme"):
        found.install(distribution)
    return found


def test_it_is_installed_outside_the_workspace(environment: Environment) -> None:
    where = environment.python("import polywire, polywire_acme; print(polywire.__file__, polywire_acme.__file__)")

    assert str(ROOT) not in where
    assert where.count(str(environment.site)) == 2


def test_it_resolves_by_name(environment: Environment) -> None:
    answer = environment.python(
        "from polywire import LlmFactory\n"
        "from polywire.testing import FakeTransport\n"
        "transport = FakeTransport({'id': '1', 'blocks': [{'text': 'Hello'}], 'ended': 'done'})\n"
        "environ = {'ACME_API_KEY': 'a-key'}\n"
        "with LlmFactory.from_config({}, environ=environ, transport=transport) as factory:\n"
        "    print(factory.chat_model('acme:acme-1').chat('Hi').text, transport.last.url)\n"
    )

    assert answer == "Hello https://api.acme.example/v1/answers"


def test_the_command_lists_it(environment: Environment) -> None:
    listed = json.loads(environment.polywire("providers", "--json").stdout)["providers"]

    assert [each["distribution"] for each in listed if each["name"] == "acme"] == ["polywire-acme 0.1.0"]
    assert {each["distribution"] for each in listed} == {"polywire-acme 0.1.0", "polywire-openai 0.1.0"}
    assert {each["problem"] for each in listed} == {None}


def test_its_kit_is_green(environment: Environment, tmp_path: Path) -> None:
    shutil.copytree(ACME / "tests", tmp_path / "tests")
    done = environment.kit(tmp_path, "--import-mode=importlib", "-W", "error", "--polywire-no-network")

    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


@pytest.mark.parametrize("kind", ["native", "compatible"])
def test_a_new_one_installs_and_its_tests_run_at_once(environment: Environment, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / f"polywire-{kind}-star"
    options = ["--compatible"] if kind == "compatible" else []
    written = environment.polywire("new-provider", f"{kind}-star", *options, "--output", str(folder)).stdout
    assert "Next: fill in" in written
    build(folder, environment.wheels)
    environment.install(f"polywire-{kind}-star")
    try:
        done = environment.kit(folder)
    finally:
        environment.pip("uninstall", "-y", f"polywire-{kind}-star")

    told = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if line.startswith("E   ")]
    places = [line for line in told if line.startswith("- ")]
    assert places, done.stdout
    for place in places:
        # Red only where there is something to write.
        assert "NotImplementedError: write " in place or place.startswith("- there is no recording of"), place
    assert "test_provider" not in done.stdout.partition("short test summary")[2]
    assert done.stdout.count("\nFAILED") == (2 if kind == "compatible" else done.stdout.count("\nFAILED"))


@contextmanager
def distribution(site: Path, name: str, module: str, code: str, entry: str) -> Iterator[None]:
    """A distribution that somebody else published, with a mistake in it."""
    information = site / f"{name.replace('-', '_')}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(f"[polywire]\n{entry} = {module}\n", encoding="utf-8")
    (site / f"{module}.py").write_text(code, encoding="utf-8")
    try:
        yield
    finally:
        shutil.rmtree(information)
        (site / f"{module}.py").unlink()


FROM_THE_FUTURE = """
from polywire.plugins import Provider, ProviderSettings, hookimpl

@hookimpl
def polywire_provider(name):
    return Provider(name, "from the future", ProviderSettings, None, contract=99)
"""


def test_broken_ones_are_shown_and_stop_nobody(environment: Environment) -> None:
    with (
        distribution(environment.site, "polywire-future", "polywire_future", FROM_THE_FUTURE, "future"),
        distribution(environment.site, "polywire-broken", "polywire_broken", "import not_there\n", "broken"),
        distribution(environment.site, "polywire-twin", "polywire_twin", "raise SystemExit(1)\n", "acme"),
    ):
        shown = environment.polywire("providers")
        listed = {
            each["name"]: each for each in json.loads(environment.polywire("providers", "--json").stdout)["providers"]
        }
        answer = environment.python(
            "from polywire import LlmFactory\n"
            "with LlmFactory.from_config({}, environ={'OPENAI_API_KEY': 'a-key'}) as factory:\n"
            "    print(factory.chat_model('openai:any').information.provider)\n"
        )
        refused = environment.python(
            "from polywire import LlmFactory\n"
            "from polywire.errors import PluginError\n"
            "for name in ('future', 'broken', 'acme'):\n"
            "    try:\n"
            "        LlmFactory.from_config({}).chat_model(f'{name}:m')\n"
            "    except PluginError as error:\n"
            "        print(error)\n"
        ).splitlines()

    assert shown.returncode == 0
    assert "version 99 of the plugin contract" in listed["future"]["problem"]
    assert "not_there" in listed["broken"]["problem"]
    assert "polywire-twin 1.0" in listed["acme"]["problem"]
    assert "polywire-acme 0.1.0" in listed["acme"]["problem"]
    assert listed["openai"]["problem"] is None
    for name in ("future", "broken", "acme"):
        assert listed[name]["problem"] in shown.stdout
    assert answer == "openai"
    assert len(refused) == 3


def test_uninstalling_removes_it(environment: Environment) -> None:
    environment.pip("uninstall", "-y", "polywire-acme")
    try:
        listed = json.loads(environment.polywire("providers", "--json").stdout)["providers"]
        told = environment.python(
            "from polywire import LlmFactory\n"
            "from polywire.errors import UnknownProvider\n"
            "try:\n"
            "    LlmFactory.from_config({}).chat_model('acme:acme-1')\n"
            "except UnknownProvider as error:\n"
            "    print(error)\n"
        )
    finally:
        environment.install("polywire-acme")

    assert {each["distribution"] for each in listed} == {"polywire-openai 0.1.0"}
    assert "unknown provider 'acme'" in told
