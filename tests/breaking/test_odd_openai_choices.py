"""
Several choices in one answer, and calls that say nothing but their names.

Of several choices the first by its index is read, in whatever order they come. Calls without ids, indexes of their own and
arguments are told apart by what is offered, and by what pieces of a name never say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, model_of, read_plain, read_streamed, sse

from polywire.requests import ChatRequest, ChatRequestParameters, ToolSpecification
from polywire.responses import FinishReason
from polywire.testing import Reply

PROVIDER = "openai-compatible"
TOOLS = [ToolSpecification(name) for name in ("now", "then", "get", "get_weather")]
ASKED = ChatRequest(["q"], ChatRequestParameters(tools=TOOLS))
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def item(name: str, arguments: str | None = "", **more: Any) -> dict[str, Any]:
    return {"index": 0, "function": {"name": name} | ({} if arguments is None else {"arguments": arguments}), **more}


def calls(*items: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": {"tool_calls": list(items)}, "finish_reason": None}]}


def read(*chunks: Any, request: Any = "q") -> list[tuple[str, str]]:
    answer = read_streamed(PROVIDER, sse(*chunks, END, done=True), request=request)

    assert len({call.id for call in answer.tool_calls}) == len(answer.tool_calls)
    return [call[1:] for call in calls_of(answer)]


@pytest.mark.parametrize("arguments", ["", None])
@pytest.mark.parametrize("names", [("now", "now"), ("now", "then"), ("now", "then", "now")])
def test_calls_without_arguments_that_all_have_one_index_are_told_apart(names: Any, arguments: str | None) -> None:
    expected = [(name, "{}") for name in names]
    items = [item(name, arguments) for name in names]
    typed = [{**each, "type": "function"} for each in items]

    assert read(*map(calls, items), request=ASKED) == expected
    assert read(calls(*items), request=ASKED) == expected
    assert read(*map(calls, typed)) == expected
    assert read(calls(*typed)) == expected
    assert read(calls(*items)) == expected


def test_calls_without_an_index_are_told_apart_too() -> None:
    items = [{"function": {"name": name}} for name in ("now", "now", "then")]

    assert read(*map(calls, items), request=ASKED) == [("now", "{}"), ("now", "{}"), ("then", "{}")]


def test_arguments_belong_to_the_last_of_them() -> None:
    chunks = [calls(item("now")), calls(item("then")), calls({"index": 0, "function": {"arguments": '{"a":1}'}})]

    assert read(*chunks, request=ASKED) == [("now", "{}"), ("then", '{"a":1}')]


@pytest.mark.parametrize(
    ("pieces", "name"),
    [(("get", "_weather"), "get_weather"), (("get_", "weather"), "get_weather"), (("no", "w"), "now")],
)
def test_a_name_in_pieces_is_one(pieces: Any, name: str) -> None:
    chunks = [calls(item(each)) for each in pieces]

    assert read(*chunks, request=ASKED) == read(*chunks) == [(name, "{}")]


def test_a_call_whose_name_is_said_again_with_its_arguments_is_one() -> None:
    chunks = [calls(item("now", "")), calls(item("now", '{"a"')), calls(item("now", ":1}"))]

    assert read(*chunks, request=ASKED) == [("now", '{"a":1}')]


def test_a_call_whose_id_is_said_again_is_one() -> None:
    chunks = [calls(item("now", "", id="c", type="function")), calls(item("now", "", id="c", type="function"))]

    assert read(*chunks, request=ASKED) == read(*chunks) == [("now", "{}")]


# Several choices


def choice(index: int, text: str, reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": {"content": text}, "finish_reason": reason}


def test_of_several_whole_choices_the_first_by_its_index_is_read() -> None:
    said = [
        {"index": n, "message": {"content": text}, "finish_reason": "stop"}
        for n, text in ((2, "z"), (1, "y"), (0, "A"))
    ]

    answer = read_plain(PROVIDER, {"choices": said})

    assert answer.text == "A"
    assert [notice.subject for notice in answer.notices] == ["choices"]


def test_of_several_choices_in_one_chunk_the_first_by_its_index_is_read() -> None:
    answer = read_streamed(
        PROVIDER,
        sse(
            {"choices": [choice(1, "x"), choice(0, "A")]},
            {"choices": [choice(1, "y", "length")]},
            {"choices": [choice(0, "B", "stop")]},
        ),
    )

    assert (answer.text, answer.finish_reason) == ("AB", FinishReason.STOP)


def test_where_several_were_asked_for_the_first_may_come_last() -> None:
    body = sse(
        {"choices": [choice(1, "x")]},
        {"choices": [choice(0, "A", "stop")]},
        {"choices": [choice(1, "y", "length")]},
        done=True,
    )
    model, _ = model_of(PROVIDER, Reply(body=body))
    with model.stream("q", custom_parameters={"n": 2}) as stream:
        said = "".join(stream.text_stream())

    assert said == stream.response.text == "A"
    assert stream.response.finish_reason is FinishReason.STOP


def test_an_only_choice_may_have_any_index() -> None:
    assert read_streamed(PROVIDER, sse({"choices": [choice(1, "A", "stop")]}, done=True)).text == "A"
