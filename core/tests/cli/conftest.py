"""What the tests of the command share: a factory of function models, and standard input as bytes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from polywire.cli import main
from polywire.errors import SettingsError
from polywire.models import ChatModel


class FakeFactory:
    """Stands for `LlmFactory`: models by name, made of functions."""

    def __init__(self, models: dict[str | None, Any]) -> None:
        self.models = models
        self.closed = False
        self.opened_with: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def chat_model(self, name: str | None = None) -> Any:
        if name not in self.models:
            msg = f"no model {name!r} in settings.toml"
            raise SettingsError(msg)
        model = self.models[name]
        return model if isinstance(model, ChatModel) else ChatModel.from_function(model)


class Result:
    """What one run of the command left."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"Result({self.code}, out={self.out!r}, err={self.err!r})"


@pytest.fixture
def factory(monkeypatch: pytest.MonkeyPatch) -> FakeFactory:
    """Put a fake factory in the place of the real one."""
    fake = FakeFactory({})

    def from_config(source: Any = None, **_: Any) -> FakeFactory:
        fake.opened_with = source
        return fake

    class Opener:
        pass

    Opener.from_config = staticmethod(from_config)  # type: ignore[attr-defined]
    monkeypatch.setattr("polywire.config.LlmFactory", Opener, raising=False)
    return fake


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command in this process: `run("chat", "hi", stdin=b"…")`."""

    def call(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Install a distribution for this test: `distribution("acme", {"acme.py": "…"}, {"polywire": {"acme": "acme"}})`."""
    site = tmp_path / "site"

    def install(name: str, files: dict[str, str], groups: dict[str, dict[str, str]]) -> Path:
        information = site / f"{name.replace('-', '_')}-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        lines = [
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in each.items())
            for group, each in groups.items()
        ]
        (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        for path, text in files.items():
            (site / path).write_text(text, encoding="utf-8")
            module = Path(path).stem
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(str(site))
        return site

    return install
