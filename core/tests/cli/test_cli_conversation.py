"""Several turns."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polywire.cli.answers import AnswerView
from polywire.cli.conversation import Conversation
from polywire.cli.terminal import Terminal
from polywire.errors import Overloaded, UnknownParameter
from polywire.events import TextDelta
from polywire.messages import AiMessage, SystemMessage, ToolCall, UserMessage
from polywire.models import ChatModel
from polywire.requests import ChatRequest


class Person:
    """Someone who types these lines and then leaves with Ctrl-D."""

    def __init__(self, *lines: Any) -> None:
        self.lines = list(lines)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return str(line)


def talk(function: Callable[[ChatRequest], Any], *lines: Any, **options: Any) -> tuple[Conversation, str, str]:
    terminal = Terminal(io.StringIO(), io.StringIO())
    conversation = Conversation(ChatModel.from_function(function), AnswerView(terminal, thinking=False), **options)
    conversation.run(terminal, read_line=Person(*lines))
    return conversation, terminal.output.getvalue(), terminal.error.getvalue()  # type: ignore[attr-defined]


def count(request: ChatRequest) -> str:
    return f"{len(request.messages)} messages"


def test_each_turn_knows_those_before_it() -> None:
    conversation, out, _ = talk(count, "one", "two", "three", system="be brief")

    assert out == "2 messages\n4 messages\n6 messages\n"
    assert conversation.messages[:2] == [UserMessage("one"), AiMessage("2 messages")]


def test_new_forgets_and_system_stays() -> None:
    seen: list[ChatRequest] = []

    def remember(request: ChatRequest) -> str:
        seen.append(request)
        return "ok"

    talk(remember, "one", "/new", "two", "/system be kind", "three", "/system", "four", system="be brief")

    assert seen[1].messages == (SystemMessage("be brief"), UserMessage("two"))
    assert seen[2].messages[0] == SystemMessage("be kind")
    assert not any(isinstance(message, SystemMessage) for message in seen[3].messages)


def repeat(request: ChatRequest) -> str:
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return str(message.text)


@pytest.mark.parametrize("word", ["/quit", "/exit", "/bye"])
def test_it_can_be_left_by_a_word(word: str) -> None:
    _, out, _ = talk(count, "one", word, "two")

    assert out == "1 messages\n"


def test_a_misspelt_command_is_not_sent_and_a_path_is() -> None:
    _, out, err = talk(count, "/hlep", "/etc/hosts is a file")

    assert out == "1 messages\n"
    assert "did you mean '/help'?" in err


def test_empty_lines_ask_nothing() -> None:
    _, out, _ = talk(count, "", "   ")

    assert out == ""


def test_a_line_goes_on_after_a_backslash() -> None:
    _, out, _ = talk(repeat, "first\\", "second")

    assert out == "first\nsecond\n"


def test_ctrl_d_in_the_middle_of_a_long_line_sends_it() -> None:
    _, out, _ = talk(repeat, "first\\")

    assert out == "first\n"


def test_a_failed_turn_is_told_and_leaves_no_trace() -> None:
    answers: list[Any] = [Overloaded("busy"), "fine"]

    def model(request: ChatRequest) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return f"{answer} {len(request.messages)}"

    _, out, err = talk(model, "one", "two")

    assert out == "fine 1\n"
    assert "polywire: overloaded: busy\n" in err


def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on() -> None:
    def model(request: ChatRequest) -> Iterator[Any]:
        yield TextDelta("half")
        if len(request.messages) == 1:
            raise KeyboardInterrupt

    conversation, out, err = talk(model, "one", "two")

    assert out == "half\nhalf\n"
    assert "stopped" in err
    assert conversation.messages == [UserMessage("one"), AiMessage("half"), UserMessage("two"), AiMessage("half")]


def test_ctrl_c_before_any_text_leaves_no_trace() -> None:
    def model(request: ChatRequest) -> str:
        if request.messages[-1].text == "one":  # type: ignore[union-attr]
            raise KeyboardInterrupt
        return f"{len(request.messages)}"

    _, out, _ = talk(model, "one", "two")

    assert out == "1\n"


def test_ctrl_c_at_the_prompt_leaves() -> None:
    with pytest.raises(KeyboardInterrupt):
        talk(count, "one", KeyboardInterrupt())


def test_a_tool_call_that_nobody_answers_does_not_stop_the_next_turn() -> None:
    def model(request: ChatRequest) -> AiMessage:
        return AiMessage(["looking", ToolCall(f"call_{len(request.messages)}", "look")])

    conversation, _, err = talk(model, "one", "two")

    assert [message.role for message in conversation.messages] == ["user", "assistant"] * 2
    assert conversation.messages[1] == AiMessage("looking")
    assert "asks for look" in err


def test_a_wrong_parameter_is_told_before_the_first_question() -> None:
    person = Person("one")
    terminal = Terminal(io.StringIO(), io.StringIO())
    conversation = Conversation(
        ChatModel.from_function(count), AnswerView(terminal, thinking=False), parameters={"temprature": 1}
    )
    with pytest.raises(UnknownParameter):
        conversation.run(terminal, read_line=person)

    assert person.prompts == []
