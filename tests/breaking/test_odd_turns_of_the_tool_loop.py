"""Turns of a tool loop that no vendor should make, and tools that cannot even fail properly: the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from polywire.history import Ledger
from polywire.messages import ToolCall
from polywire.structured import achat_typed, chat_typed
from polywire.testing import ScriptedChatModel
from polywire.tools import ToolService
from polywire.tools.outcome import ToolChatResult

Run = Callable[[ToolService, ScriptedChatModel], ToolChatResult]


def streamed(service: ToolService, model: ScriptedChatModel) -> ToolChatResult:
    stream = service.stream(model, "q")
    for _ in stream:
        pass
    return stream.result


RUNS: list[Run] = [
    lambda service, model: service.chat(model, "q"),
    lambda service, model: asyncio.run(service.achat(model, "q")),
    streamed,
]


def double(x: int) -> int:
    """Double a number."""
    return 2 * x


class Unspeakable(Exception):
    """An exception that fails where it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def fail() -> None:
    """Fail in an unusual way."""
    raise Unspeakable


@pytest.mark.parametrize("run", RUNS)
def test_two_calls_of_one_id_are_both_answered(run: Run) -> None:
    model = ScriptedChatModel([ToolCall("a", "double", '{"x":1}'), ToolCall("a", "double", '{"x":2}')], "done")

    result = run(ToolService([double]), model)

    assert [execution.result.text for execution in result.executions] == ["2", "4"]
    assert result.text == "done"
    Ledger(result.messages).check()  # raises where an id is there twice
    assert any(notice.kind == "repaired" for notice in result.notices)


@pytest.mark.parametrize("run", RUNS)
def test_an_exception_that_has_no_words_is_told_by_its_name(run: Run) -> None:
    result = run(ToolService([fail]), ScriptedChatModel(ToolCall("a", "fail"), "done"))

    assert result.executions[0].failed
    assert result.executions[0].result.text == "Unspeakable"
    assert result.text == "done"


def test_a_typed_answer_may_be_asked_for_in_any_form() -> None:
    answers: list[Any] = [
        chat_typed(ScriptedChatModel("5"), "q", int),
        asyncio.run(achat_typed(ScriptedChatModel("5"), "q", int)),
    ]

    assert [answer.output for answer in answers] == [5, 5]
