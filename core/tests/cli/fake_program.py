"""The command as a program of its own, with models made of functions: what the tests with a real terminal start."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import polywire.config
from polywire.events import TextDelta, ThinkingDelta
from polywire.models import ChatModel
from polywire.requests import ChatRequest


def echo(request: ChatRequest) -> Iterator[Any]:
    yield ThinkingDelta("pondering", 0)
    yield TextDelta("you said ", 1)
    yield TextDelta(f"{request.messages[-1].text!r}, message {len(request.messages)}", 1)  # type: ignore[union-attr]


def stuck(_: ChatRequest) -> Iterator[Any]:
    yield TextDelta("started", 0)
    while True:
        # In turns, so that a signal that comes just before the wait is seen as well.
        threading.Event().wait(0.05)


def endless(_: ChatRequest) -> Iterator[Any]:
    while True:
        yield TextDelta("line after line\n" * 500, 0)


def hostile(_: ChatRequest) -> Iterator[Any]:
    yield TextDelta("\x1b[2J\x1b]0;owned\x07text", 0)


MODELS = {None: echo, "stuck": stuck, "endless": endless, "hostile": hostile}


class Factory:
    @classmethod
    def from_config(cls, *_: Any, **__: Any) -> Factory:
        return cls()

    def __enter__(self) -> Factory:  # noqa: PYI034 - final in all but name
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def chat_model(self, name: str | None = None) -> ChatModel:
        return ChatModel.from_function(MODELS[name])


if __name__ == "__main__":
    polywire.config.LlmFactory = Factory  # type: ignore[misc, assignment]
    from polywire.cli import main

    sys.exit(main())
