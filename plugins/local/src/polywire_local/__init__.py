"""A chat model inside this process, for polywire: llama.cpp with the weights of a package, or any GGUF file."""

from __future__ import annotations

from polywire_local.engine import Engine, shared_engine
from polywire_local.model import LocalChatModel
from polywire_local.weights import SMOLLM2, Weights, bundled_weights, weights_at

__all__ = ["SMOLLM2", "Engine", "LocalChatModel", "Weights", "bundled_weights", "shared_engine", "weights_at"]
