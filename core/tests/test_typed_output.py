"""Typed output: how it is asked for, where it is found, what becomes of answers that are wrong, cut or refused."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import itertools
import json
import typing
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from polywire import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    Ledger,
    SystemMessage,
    TextContent,
    TokenUsage,
    ToolCall,
    ToolChoice,
    ToolResultMessage,
    ToolSpecification,
    UserMessage,
)
from polywire.profiles import Profile
from polywire.structured import (
    OutputInvalid,
    OutputRefused,
    OutputTruncated,
    astream_typed,
    chat_typed,
    stream_typed,
)
from polywire.structured.json_text import MISSING, json_candidates, partial_json
from polywire.testing.scripted import ScriptedChatModel


class Host(BaseModel):
    host: str
    port: int
    tags: dict[str, int] = {}


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(typing.TypedDict):
    deep: bool
    inner: typing.NotRequired[list[int]]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


SCHEMA = {
    "type": "object",
    "properties": {"host": {"type": "string"}, "port": {"type": "integer"}},
    "required": ["host", "port"],
}
NATIVE = Profile()
FORCED = Profile(response_formats=frozenset({"json"}))
WORDS = Profile(response_formats=frozenset(), tool_calling="none")
USAGE = TokenUsage(10, 5)


@pytest.mark.parametrize(
    "text",
    [
        '{"host":"h1","port":9000}',
        '```json\n{"host":"h1","port":9000}\n```',
        '```JSON\r\n{"host":"h1","port":9000}\r\n```\r\n',
        '  \n```\n\n {"host":"h1","port":9000} \n\n```  ',
        'Here you are:\n```json\n{"host":"h1","port":9000}\n```\nAnything else?',
        'Sure [1], it is {"host":"h1","port":9000}. {"host": 1}',
        '\ufeff{"host":"h1","port":9000}',
        'An example: ```{"host": 1}``` and the answer: ```json\n{"host":"h1","port":9000}```',
    ],
)
@pytest.mark.parametrize("profile", [None, NATIVE, FORCED, WORDS])
def test_json_is_found_where_it_stands(text: str, profile: Profile | None) -> None:
    model = ScriptedChatModel(text, profile=profile)

    assert model.chat("x", output=Host).output == Host(host="h1", port=9000)
    assert len(model.requests) == 1
    assert ScriptedChatModel(text, profile=profile).chat("x", output=SCHEMA).output == {"host": "h1", "port": 9000}


@pytest.mark.parametrize(
    ("output", "text", "expected"),
    [
        (Point, '{"x":1}', Point(1, 0)),
        (Options, '{"deep":true,"inner":[1]}', {"deep": True, "inner": [1]}),
        (list[int], '{"value":[1,2]}', [1, 2]),
        (list[int], "[1,2]", [1, 2]),
        (Color, '{"value":"red"}', Color.RED),
        (Literal["a", "b"], '{"value":"b"}', "b"),
        (int | None, '{"value":null}', None),
        (Point | Host, '{"value":{"host":"h","port":1}}', Host(host="h", port=1)),
        (dict[str, date], '{"a":"2026-01-02"}', {"a": date(2026, 1, 2)}),
        (Tree, '{"name":"a","kids":[{"name":"b"}]}', Tree(name="a", kids=[Tree(name="b")])),
        ({"type": "array", "items": {"type": "integer"}}, '{"value":[1]}', [1]),
    ],
)
def test_any_type_can_be_asked_for(output: Any, text: str, expected: Any) -> None:
    for profile in (NATIVE, FORCED, WORDS):
        model = ScriptedChatModel(text, profile=profile)

        response: Any = model.chat("x", output=output)

        assert response.output == expected
        assert type(response.output) is type(expected)
        sent = model.requests[0].parameters
        if sent.response_format is not None and sent.response_format.schema is not None:
            root = dict(sent.response_format.schema)
            assert root.get("type") == "object" or root.get("$ref") == "#/$defs/Tree"


def test_it_is_asked_for_in_the_best_way_the_profile_has() -> None:
    answer = '{"host":"h","port":1}'
    native = ScriptedChatModel(answer, profile=NATIVE)
    native.chat("x", output=Host)
    form = native.requests[0].parameters.response_format
    assert form is not None
    assert (form.type, form.name, form.strict) == ("json_schema", "Host", None)

    forced = ScriptedChatModel(ToolCall("c", "final_answer", answer), profile=FORCED)
    response = forced.chat("x", output=Host)
    parameters = forced.requests[0].parameters
    assert parameters.tool_choice == ToolChoice.tool("final_answer")
    assert [tool.name for tool in parameters.tools or () if isinstance(tool, ToolSpecification)] == ["final_answer"]
    assert parameters.response_format is None
    assert response.output == Host(host="h", port=1)

    for words in (ScriptedChatModel(answer, profile=WORDS), ScriptedChatModel(answer)):
        words.chat([SystemMessage("Be brief."), UserMessage("x")], output=Host)
        assert words.requests[0].parameters == ChatRequestParameters()
        system = words.requests[0].messages[0]
        assert isinstance(system, SystemMessage)
        assert (system.text or "").startswith("Be brief.")
        assert '"port"' in (system.text or "")


def test_a_forced_answer_can_stand_in_a_history() -> None:
    model = ScriptedChatModel(ToolCall("c", "final_answer", '{"host":"h","port":1}'), profile=FORCED)

    response = model.chat("x", output=Host)

    assert response.message.parts == (TextContent('{"host":"h","port":1}'),)
    assert response.finish_reason is FinishReason.STOP
    Ledger([UserMessage("x"), response.message, UserMessage("y")]).check()


def test_no_tool_is_forced_beside_the_callers_own() -> None:
    model = ScriptedChatModel('{"host":"h","port":1}', profile=FORCED)

    model.chat("x", output=Host, tools=[ToolSpecification("search")])

    assert model.requests[0].parameters.tool_choice is None


def test_strict_endpoints_get_and_give_their_own_form() -> None:
    profile = Profile(strict_schema_dialect="openai_strict")
    model = ScriptedChatModel('{"host":"h","port":1,"tags":[{"key":"a","value":2}]}', profile=profile)

    response = model.chat("x", output=Host)

    assert response.output == Host(host="h", port=1, tags={"a": 2})
    form = model.requests[0].parameters.response_format
    assert form is not None
    assert form.strict is True
    assert form.schema is not None
    assert form.schema["required"] == ["host", "port", "tags"]
    assert any("mapping" in notice.message for notice in response.notices)


def test_a_wrong_answer_is_sent_back_and_every_round_is_counted() -> None:
    for run in ("chat", "achat"):
        model = ScriptedChatModel("no idea", '{"host":"h"}', '{"host":"h","port":7}', usage=USAGE)
        response = model.chat("x", output=Host) if run == "chat" else asyncio.run(model.achat("x", output=Host))

        assert response.output == Host(host="h", port=7)
        assert response.usage == TokenUsage(30, 15, 45)
        assert len(model.requests) == 3
        assert [message.role for message in model.requests[2].messages[1:]] == [
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
        ]
        last = model.requests[2].messages[-1]
        assert isinstance(last, UserMessage)
        assert "port: Field required" in (last.text or "")
        assert [notice.kind for notice in response.notices] == ["repaired"]


def test_a_wrong_forced_answer_is_answered_as_a_call() -> None:
    model = ScriptedChatModel(
        ToolCall("c1", "final_answer", '{"host":1}'),
        ToolCall("c2", "final_answer", '{"host":"h","port":1}'),
        profile=FORCED,
    )

    assert model.chat("x", output=Host).output.port == 1
    last = model.requests[1].messages[-1]
    assert isinstance(last, ToolResultMessage)
    assert (last.call_id, last.is_error) == ("c1", True)
    Ledger(model.requests[1].messages).check()


def test_repair_is_bounded() -> None:
    model = ScriptedChatModel("no", repeat_last=True, usage=USAGE)

    with pytest.raises(OutputInvalid, match="does not fit Host") as caught:
        model.chat("x", output=Host)

    assert len(model.requests) == 3
    assert caught.value.usage == TokenUsage(30, 15, 45)
    assert caught.value.text == "no"
    with pytest.raises(OutputInvalid):
        chat_typed(ScriptedChatModel("no"), ChatRequest("x"), Host, repair_rounds=0)


@pytest.mark.parametrize("profile", [NATIVE, FORCED, WORDS])
def test_a_truncated_answer_is_its_own_error_and_is_not_retried(profile: Profile) -> None:
    text = '{"verdict": "ok", "text": "abc'
    part: Any = ToolCall("c", "final_answer", text, incomplete=True) if profile is FORCED else text
    cut = ChatResponse(AiMessage([part]), finish_reason=FinishReason.LENGTH)
    model = ScriptedChatModel(cut, profile=profile)

    with pytest.raises(OutputTruncated, match="limit") as caught:
        model.chat("x", output=dict[str, str])

    assert caught.value.text == text
    assert len(model.requests) == 1


def test_nothing_is_taken_from_the_middle_of_a_truncated_answer() -> None:
    cut = ChatResponse(AiMessage('{"items": [{"host":"h","port":1}, {"host":'), finish_reason=FinishReason.LENGTH)

    with pytest.raises(OutputTruncated):
        ScriptedChatModel(cut).chat("x", output=Host)
    assert list(json_candidates('{"items": [{"host":"h","port":1}, oops] and {"a": 1}')) == [{"a": 1}]
    assert list(json_candidates('{curly} and {"a": 1}')) == [{"a": 1}]


@pytest.mark.parametrize("reason", [FinishReason.REFUSAL, FinishReason.CONTENT_FILTER])
def test_a_refused_answer_is_its_own_error(reason: FinishReason) -> None:
    refused = ChatResponse(AiMessage("I cannot help with that."), finish_reason=reason)

    with pytest.raises(OutputRefused, match="I cannot help") as caught:
        ScriptedChatModel(refused).chat("x", output=Host)
    assert caught.value.response is refused


def test_a_call_of_another_tool_is_no_answer() -> None:
    with pytest.raises(OutputInvalid, match="called search"):
        ScriptedChatModel(ToolCall("c", "search")).chat("x", output=Host, tools=[ToolSpecification("search")])


def test_wrong_outputs_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="empty JSON Schema"):
        ScriptedChatModel("x").chat("x", output={})
    with pytest.raises(TypeError, match="no JSON Schema"):
        ScriptedChatModel("x").chat("x", output=type("Odd", (), {}))


def test_the_object_grows_while_it_streams() -> None:
    text = '{"host":"h\\u00e9llo","port":90,"tags":{"a":1}}'
    for profile, answer in (
        (NATIVE, text),
        (FORCED, ToolCall("c", "final_answer", text)),
        (WORDS, f"```json\n{text}\n```"),
    ):
        with stream_typed(ScriptedChatModel(answer, profile=profile, chunk=1), "x", Host) as stream:
            partials = list(stream)

        assert stream.output == Host(host="héllo", port=90, tags={"a": 1})
        assert {"host": "hé"} in partials
        assert {"host": "héllo", "port": 9} not in partials
        assert partials[-1] == {"host": "héllo", "port": 90, "tags": {"a": 1}}
        assert all(len(json.dumps(a)) <= len(json.dumps(b)) for a, b in itertools.pairwise(partials))

    async def go() -> Any:
        async with astream_typed(ScriptedChatModel('{"value":[1,20]}', chunk=1), "x", list[int]) as stream:
            return [partial async for partial in stream], stream.output

    assert asyncio.run(go()) == ([[], [1], [1, 20]], [1, 20])


def test_a_stream_that_ends_wrong_raises() -> None:
    with pytest.raises(OutputInvalid):
        list(stream_typed(ScriptedChatModel('{"host":1}'), "x", Host))


@pytest.mark.parametrize("end", range(1, 62))
def test_partial_json_never_invents(end: int) -> None:
    whole = {"a": 'x"\\é\n', "b": [1, -2.5, True, None, {"c": "d"}], "e": {}}
    text = json.dumps(whole)
    assert len(text) >= 61

    partial = partial_json(text[:end])

    assert fits(partial, whole)
    assert partial_json(text) == whole


def fits(partial: Any, whole: Any) -> bool:
    """Whether one value is a beginning of the other."""
    if isinstance(partial, dict):
        return isinstance(whole, dict) and all(
            key in whole and fits(value, whole[key]) for key, value in partial.items()
        )
    if isinstance(partial, list):
        return isinstance(whole, list) and all(fits(a, b) for a, b in zip(partial, whole, strict=False))
    if isinstance(partial, str):
        return isinstance(whole, str) and whole.startswith(partial)
    return partial is whole or (partial == whole and type(partial) is type(whole))


@pytest.mark.parametrize("text", ["", "no json", '"{', '{"a', "{]", "null null"])
def test_what_is_no_json_gives_nothing(text: str) -> None:
    assert not any(isinstance(value, (dict, list)) for value in json_candidates(text))
    assert partial_json(text) in (MISSING, {})


def test_descriptions_travel() -> None:
    class Invoice(BaseModel):
        """An invoice."""

        total: float = Field(description="in euros")

    model = ScriptedChatModel('{"total":1}', profile=NATIVE)
    model.chat("x", output=Invoice)
    form = model.requests[0].parameters.response_format

    assert form is not None
    assert form.description == "An invoice."
    assert form.schema is not None
    assert form.schema["properties"]["total"] == {"type": "number", "description": "in euros"}
