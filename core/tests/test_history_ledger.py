"""The ledger closes a history: each call answered once, in place; refused or repaired, never sent open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from polywire.errors import HistoryError
from polywire.history import Ledger, check_history
from polywire.messages import AiMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage


def calls(*ids: str, text: str = "") -> AiMessage:
    return AiMessage([*([text] if text else []), *(ToolCall(each, "search", "{}") for each in ids)])


def result(call_id: str, text: str = "ok") -> ToolResultMessage:
    return ToolResultMessage(call_id, "search", text)


USER = UserMessage("go on")

CLOSED: list[list[Message]] = [
    [USER],
    [USER, calls("a"), result("a")],
    [USER, calls("a", "b"), result("b"), result("a"), AiMessage("done"), USER],
    [USER, calls("call_0"), result("call_0"), calls("call_0"), result("call_0")],
    [USER, AiMessage("x"), AiMessage("y"), USER, USER],
]

OPEN: list[tuple[list[Message], tuple[str, ...], int]] = [
    ([USER, calls("t1", "t2"), result("t1"), USER], ("t2",), 3),
    ([USER, calls("t1")], ("t1",), 1),
    ([USER, result("gone"), USER], ("gone",), 1),
    ([USER, calls("a"), result("a"), result("a")], ("a",), 3),
    ([USER, calls("a"), result("b")], ("b",), 2),
    ([USER, calls("a", "b"), result("a"), SystemMessage("x"), result("b")], ("b",), 3),
    ([USER, calls("a"), calls("b"), result("b")], ("a",), 2),
    ([USER, calls("a", "a"), result("a")], ("a",), 1),
    ([USER, calls("a"), result("a"), AiMessage("x"), result("a")], ("a",), 4),
    ([USER, calls("a"), result("a"), AiMessage("x"), USER, result("a")], ("a",), 5),
]


@pytest.mark.parametrize("history", CLOSED)
@pytest.mark.parametrize("mode", ["strict", "repair"])
def test_a_closed_history_passes_as_it_is(history: list[Message], mode: str) -> None:
    checked = check_history(history, mode)  # type: ignore[arg-type]

    assert checked.messages is history
    assert checked.notices == ()


@pytest.mark.parametrize(
    ("history", "words"),
    [
        (
            [USER, calls("a"), USER],
            "messages[2]: a user message begins before the call 'a' (search) has a result (called in messages[1])",
        ),
        (
            [USER, calls("a", "b"), AiMessage("x")],
            (
                "messages[2]: an assistant message begins before the calls 'a' (search), 'b' (search) have results"
                " (called in messages[1])"
            ),
        ),
        (
            [USER, calls("a", "b"), result("a")],
            "messages[1]: the call 'b' (search) has no result, and the history ends after messages[2]",
        ),
        (
            [calls("a", "b")],
            "messages[0]: the calls 'a' (search), 'b' (search) have no results, and the history ends after messages[0]",
        ),
        ([USER, result("a")], "messages[1]: the tool result 'a' answers no call of the turn before it"),
        ([calls("a"), result("a"), result("a")], "messages[2]: the call 'a' of messages[0] is answered twice"),
        ([calls("a", "a")], "messages[0]: two calls of one turn have the id 'a'"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_mends_it(history: list[Message], words: str) -> None:
    with pytest.raises(HistoryError) as caught:
        check_history(history)

    assert str(caught.value) == f'{words}; history="repair" mends it'


@pytest.mark.parametrize(("history", "ids", "position"), OPEN)
def test_an_open_history_is_refused_with_ids_and_place(
    history: list[Message], ids: tuple[str, ...], position: int
) -> None:
    with pytest.raises(HistoryError) as caught:
        check_history(history)

    assert caught.value.call_ids == ids
    assert caught.value.position == position
    assert all(each in str(caught.value) for each in (*ids, f"messages[{position}]"))


@pytest.mark.parametrize(("history", "ids", "position"), OPEN)
def test_repair_closes_it_and_tells(history: list[Message], ids: tuple[str, ...], position: int) -> None:
    before = list(history)

    checked = check_history(history, "repair")

    check_history(checked.messages)
    assert checked.notices
    assert any(each in notice.message for each in ids for notice in checked.notices)
    assert history == before


def test_a_missing_result_is_a_neutral_error_beside_its_sisters() -> None:
    checked = check_history([USER, calls("t1", "t2"), result("t1"), USER], "repair")

    filled = checked.messages[3]
    assert isinstance(filled, ToolResultMessage)
    assert (filled.call_id, filled.is_error) == ("t2", True)
    assert not any(word in filled.text.lower() for word in ("user", "cancel", "interrupt", "abort"))
    assert checked.messages[4] is USER


def test_a_late_result_is_moved_home_and_an_orphan_becomes_text() -> None:
    history: list[Message] = [
        USER,
        calls("a", "b"),
        result("a"),
        UserMessage("wait"),
        result("b", "late"),
        result("zz", "lost"),
    ]

    checked = check_history(history, "repair")

    assert [type(message).__name__ for message in checked.messages] == [
        "UserMessage", "AiMessage", "ToolResultMessage", "ToolResultMessage", "UserMessage", "UserMessage",
    ]  # fmt: skip
    assert checked.messages[3].text == "late"  # type: ignore[union-attr]
    assert "lost" in checked.messages[5].text  # type: ignore[union-attr, operator]


def test_one_id_twice_in_a_turn_keeps_both_results() -> None:
    checked = check_history([USER, calls("x", "x"), result("x", "1"), result("x", "2")], "repair")

    turn = checked.messages[1]
    assert isinstance(turn, AiMessage)
    ids = [call.id for call in turn.tool_calls]
    assert len(set(ids)) == 2
    assert [(message.call_id, message.text) for message in checked.messages[2:]] == [(ids[0], "1"), (ids[1], "2")]  # type: ignore[union-attr]


def test_the_ledger_tells_status_and_pending_as_it_goes() -> None:
    ledger = Ledger()
    ledger.observe(USER)
    ledger.observe(AiMessage([ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}")]))
    assert [record.id for record in ledger.pending] == ["a", "b"]

    ledger.start("a")
    assert [record.status for record in ledger.records] == ["running", "pending"]
    ledger.observe(result("a"))
    ledger.observe(ToolResultMessage("b", "g", "no", is_error=True))

    assert [record.status for record in ledger.records] == ["succeeded", "failed"]
    assert [(record.name, record.turn, record.position) for record in ledger.records] == [("f", 0, 1), ("g", 0, 1)]
    assert ledger.records[0].arguments_hash != ledger.records[1].arguments_hash
    assert ledger.pending == ()
    ledger.check()


def test_a_refused_message_leaves_the_ledger_as_it_was() -> None:
    ledger = Ledger([USER, calls("a")])
    with pytest.raises(HistoryError):
        ledger.observe(USER)

    ledger.observe(result("a"))
    ledger.check()


messages_of_any_kind = st.lists(
    st.one_of(
        st.just(USER),
        st.just(AiMessage("text")),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda ids: calls(*ids)),
        st.sampled_from("abcd").map(result),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(messages_of_any_kind)
def test_repair_always_closes_and_never_loses_a_result_or_a_word(history: list[Message]) -> None:
    checked = check_history(history, "repair")

    ledger = Ledger(checked.messages)
    ledger.check()
    assert sum(isinstance(message, AiMessage) for message in checked.messages) == sum(
        isinstance(message, AiMessage) for message in history
    )
    told = "".join(str(message) for message in checked.messages)
    assert told.count("text='ok'") >= sum(isinstance(message, ToolResultMessage) for message in history)
    strict_passes = True
    try:
        check_history(history)
    except HistoryError:
        strict_passes = False
    assert strict_passes is (checked.messages is history)
