"""
What is remembered of a conversation changes its cost and nothing else.

A history that grew, branched, was edited or shared is written byte for byte as one that nobody has ever seen.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from polywire import wire_json
from polywire.codec import Codec, Encoded
from polywire.contents import CacheMark, TextContent
from polywire.errors import HistoryError, ModelError
from polywire.history import Ledger, check_history
from polywire.memo import recall_beginning
from polywire.messages import AiMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.survey import Survey, survey
from polywire_anthropic import AnthropicCodec
from polywire_anthropic.encode_request import encode_body as encode_anthropic_body
from polywire_anthropic.profiles import anthropic_profiles
from polywire_openai import OpenAIChatCodec
from polywire_openai.encode_request import encode_body as encode_openai_body

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.histories import histories, turns, words

OPENAI, ANTHROPIC = OpenAIChatCodec(), AnthropicCodec()
IN_PLACE = AnthropicCodec(profiles=anthropic_profiles().overridden({"system_in_place": True}))
CODECS: list[tuple[Codec, str]] = [
    (OPENAI, "gpt-4o"),
    (OPENAI, "o3"),
    (ANTHROPIC, "claude-sonnet-4-5"),
    (ANTHROPIC, "claude-opus-4-1"),
    (IN_PLACE, "claude-opus-4-1"),
]


def request(messages: Sequence[Message], model: str) -> ChatRequest:
    return ChatRequest(messages, ChatRequestParameters(model=model, max_tokens=99))


def sent(codec: Codec, messages: Sequence[Message], model: str) -> tuple[Any, Any]:
    """The body and the notices; or the error, where a codec refuses the history."""
    check_history(messages)
    try:
        encoded: Encoded = codec.encode(request(messages, model), stream=False)
    except ModelError as error:
        return type(error), str(error)
    return encoded.http.body, encoded.notices


def unseen(messages: Sequence[Message]) -> list[Message]:
    """The same values as objects of which nothing is remembered."""
    return copy.deepcopy(list(messages))


def looked_at_anew(codec: Codec, messages: Sequence[Message], model: str) -> Any:
    """The body as it is written for looking at, which remembers nothing."""
    encode = encode_anthropic_body if isinstance(codec, AnthropicCodec) else encode_openai_body
    assert isinstance(codec, (AnthropicCodec, OpenAIChatCodec))
    body = encode(request(unseen(messages), model), codec.profiles.for_model(model))
    return wire_json.decode(wire_json.encode(body.json)), tuple(body.notices)


a_turn = turns(thinking=True, opaque="anthropic", invalid=True, media=True)
marked = words.map(lambda text: UserMessage(TextContent(text, CacheMark())))
said = words.map(UserMessage) | marked | words.map(SystemMessage)


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Where a history may be cut or added to without leaving a call unanswered."""
    return [index for index, message in enumerate(messages) if type(message) is not ToolResultMessage and index]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_with_memory_and_without_the_same_bytes_go_out(data: st.DataObject) -> None:
    pool: list[list[Message]] = [list(data.draw(histories(thinking=True, opaque="anthropic", max_turns=3)))]
    for _ in range(data.draw(st.integers(2, 8))):
        history = list(data.draw(st.sampled_from(pool)))
        match data.draw(st.sampled_from(["again", "turn", "said", "branch", "copy", "edit", "forget", "insert"])):
            case "turn":
                history += data.draw(a_turn)
            case "said":
                history.append(data.draw(said))
            case "branch":
                history = history[: data.draw(st.sampled_from([*turn_starts(history), len(history)]))]
                history += data.draw(a_turn)
            case "copy":
                index = data.draw(st.integers(0, len(history) - 1))
                history[index] = copy.deepcopy(history[index])
            case "edit":
                places = [index for index, each in enumerate(history) if type(each) is UserMessage]
                history[data.draw(st.sampled_from(places))] = data.draw(said)
            case "forget":
                start = data.draw(st.sampled_from([0, *turn_starts(history)]))
                history = history[start:] if type(history[start]) is not ToolResultMessage else history
            case "insert":
                history.insert(data.draw(st.sampled_from([0, *turn_starts(history)])), data.draw(said))
        if not any(type(each) is UserMessage for each in history):
            history.insert(0, UserMessage("hello"))
        pool.append(history)
        codec, model = data.draw(st.sampled_from(CODECS))

        body, notices = sent(codec, tuple(history), model)

        assert (body, notices) == sent(codec, unseen(history), model)
        if isinstance(body, bytes):
            assert (wire_json.decode(body), notices) == looked_at_anew(codec, history, model)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_quick_verdict_is_the_ledgers(data: st.DataObject) -> None:
    known = list(data.draw(histories(max_turns=3)))
    check_history(known)
    messages = known + data.draw(a_turn)
    for _ in range(data.draw(st.integers(0, 3))):
        index = data.draw(st.integers(0, len(messages) - 1))
        if data.draw(st.booleans()):
            messages.insert(index, messages[data.draw(st.integers(0, len(messages) - 1))])
        elif len(messages) > 1:
            del messages[index]

    try:
        Ledger(messages).check()
        closes = True
    except HistoryError:
        closes = False

    for length in (len(messages) // 2, len(messages)):
        survey(messages[:length])
    assert survey(messages).closes is closes
    assert survey(unseen(messages)).closes is closes


def tool_turn(number: int) -> list[Message]:
    return [
        AiMessage(ToolCall(f"call_{number}", "search", {"page": number})),
        ToolResultMessage(f"call_{number}", "search", f"page {number}"),
    ]


@pytest.mark.parametrize(("codec", "model"), CODECS)
def test_equal_messages_that_are_written_differently_are_told_apart(codec: Codec, model: str) -> None:
    wire = "anthropic" if isinstance(codec, AnthropicCodec) else "openai"
    first, second = (AiMessage("a", extras={wire: {"flag": flag}}) for flag in (True, 1))
    assert first == second
    last = UserMessage("go on")

    sent(codec, [UserMessage("x"), first, last], model)

    history = [UserMessage("x"), second, last]
    assert sent(codec, history, model) == sent(codec, unseen(history), model)


@pytest.mark.parametrize(("codec", "model"), CODECS)
def test_marks_that_were_left_out_once_are_not_gone(codec: Codec, model: str) -> None:
    marked = [UserMessage(TextContent(f"m{number}", CacheMark())) for number in range(3)]
    results = [
        [
            AiMessage(ToolCall(f"c{number}", "search")),
            ToolResultMessage(f"c{number}", "search", [TextContent(f"r{number}", CacheMark()), TextContent("more")]),
        ]
        for number in range(5)
    ]
    long: list[Message] = [marked[0], *results[0], *results[1], *results[2], *results[3], *results[4], marked[1]]
    short: list[Message] = [marked[0], *results[0], marked[2]]

    for history in (short, long, short, long):
        assert sent(codec, history, model) == sent(codec, unseen(history), model)


@pytest.mark.parametrize(("codec", "model"), CODECS)
def test_threads_that_share_messages_and_codecs_send_what_each_would_alone(codec: Codec, model: str) -> None:
    other = next(each for each in CODECS if each[0] is not codec)
    start: list[Message] = [SystemMessage("be brief"), UserMessage("go")]
    for number in range(20):
        start += tool_turn(number)
    histories = [
        [*start[: 2 + 2 * (20 - number % 7)], UserMessage(f"branch {number}"), *tool_turn(100 + number)]
        for number in range(12)
    ]
    expected = [[sent(*pair) for pair in _pairs(unseen(each), (codec, model), other)] for each in histories]
    wrong: list[int] = []
    gate = threading.Barrier(6)

    def work(offset: int) -> None:
        gate.wait()
        for step in range(60):
            index = (step * (offset + 1)) % len(histories)
            if [sent(*pair) for pair in _pairs(histories[index], (codec, model), other)] != expected[index]:
                wrong.append(index)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(offset,)) for offset in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def _pairs(messages: list[Message], *codecs: tuple[Codec, str]) -> list[tuple[Codec, list[Message], str]]:
    return [(codec, messages, model) for codec, model in codecs]


@pytest.mark.parametrize(("codec", "model"), CODECS)
def test_each_turn_looks_only_at_what_it_adds(codec: Codec, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = Survey.extended

    def counted(self: Survey, messages: Sequence[Message]) -> Survey:
        seen.append(len(messages))
        return real(self, messages)

    monkeypatch.setattr(Survey, "extended", counted)
    history: list[Message] = [UserMessage("go")]
    for number in range(50):
        history += tool_turn(number)
        sent(codec, tuple(history), model)

    assert seen == [3] + [2] * 49


@pytest.mark.parametrize(("codec", "model"), CODECS)
def test_a_conversation_that_forgets_its_beginning_lets_it_go(codec: Codec, model: str) -> None:
    history: list[Message] = [UserMessage("go")]
    for number in range(40):
        history += tool_turn(number)
        sent(codec, tuple(history[-20:] if type(history[-20:][0]) is AiMessage else history[-21:]), model)

    # Nothing but this list and what the test asks with holds the old messages.
    assert {sys.getrefcount(history[index]) for index in range(1, 40)} == {2}


def test_only_the_last_message_of_a_conversation_remembers_it() -> None:
    history: list[Message] = [UserMessage("go")]
    for number in range(10):
        history += tool_turn(number)
        check_history(history)

    assert recall_beginning(history)[1] == len(history)
    for length in range(1, len(history)):
        assert recall_beginning(history[:length]) == (None, 0)
