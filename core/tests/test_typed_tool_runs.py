"""A run of tools that ends with an answer of a type: `ToolService.chat(…, output=Forecast)`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from polywire import (
    AiMessage,
    ChatModel,
    ChatResponse,
    FinishReason,
    Ledger,
    Message,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolService,
    UserMessage,
)
from polywire.profiles import Profile
from polywire.structured import OutputInvalid, OutputTruncated, stream_typed
from polywire.testing.scripted import ScriptedChatModel
from polywire.tools import ToolChatResult, ToolLoopLimit, TypedToolChatResult


class Forecast(BaseModel):
    city: str
    degrees: int


def measure(city: str) -> int:
    return 21


def plain(service: ToolService, model: ChatModel, **options: Any) -> ToolChatResult:
    return service.chat(model, "Rome?", **options)


def awaited(service: ToolService, model: ChatModel, **options: Any) -> ToolChatResult:
    return asyncio.run(service.achat(model, "Rome?", **options))


def streamed(service: ToolService, model: ChatModel, **options: Any) -> ToolChatResult:
    return service.stream(model, "Rome?", **options).collect()


def astreamed(service: ToolService, model: ChatModel, **options: Any) -> ToolChatResult:
    async def go() -> ToolChatResult:
        async with service.astream(model, "Rome?", **options) as stream:
            return await stream.collect()

    return asyncio.run(go())


Run = Callable[..., ToolChatResult]
FOUR_WAYS = pytest.mark.parametrize("run", [plain, awaited, streamed, astreamed])
SCHEMA_MODE = Profile()
FORCED = Profile(response_formats=frozenset({"json"}))
WORDS = Profile(response_formats=frozenset())
USAGE = TokenUsage(10, 5)
CALL = ToolCall("c1", "measure", {"city": "Rome"})
ANSWER = '{"city":"Rome","degrees":21}'


@FOUR_WAYS
@pytest.mark.parametrize("profile", [SCHEMA_MODE, FORCED, WORDS])
def test_the_answer_after_the_tools_is_the_output(run: Run, profile: Profile) -> None:
    model = ScriptedChatModel(CALL, ANSWER, profile=profile, usage=USAGE, chunk=3)

    result = run(ToolService([measure]), model, output=Forecast)

    assert isinstance(result, TypedToolChatResult)
    assert result.output == Forecast(city="Rome", degrees=21)
    assert result.stopped == "answer"
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.usage == TokenUsage(20, 10, 30)
    for request in model.requests:
        assert [tool.name for tool in request.parameters.tools or ()] == ["measure"]
        if profile is SCHEMA_MODE:
            assert request.parameters.response_format is not None
        else:
            assert isinstance(request.messages[0], SystemMessage)
            assert "JSON Schema" in (request.messages[0].text or "")
    Ledger(result.messages).check()


@FOUR_WAYS
def test_a_wrong_answer_is_sent_back_within_the_run(run: Run) -> None:
    model = ScriptedChatModel(CALL, '{"city":"Rome"}', CALL, ANSWER, profile=SCHEMA_MODE, usage=USAGE)
    transcript: list[Message] = []

    result = run(ToolService([measure]), model, output=Forecast, transcript=transcript)

    assert result.output == Forecast(city="Rome", degrees=21)
    words = model.requests[2].messages[-1]
    assert isinstance(words, UserMessage)
    assert "degrees: Field required" in (words.text or "")
    assert len(result.responses) == 4
    assert result.usage == TokenUsage(40, 20, 60)
    assert [notice.kind for notice in result.notices] == ["repaired"]
    assert transcript == list(result.messages)
    Ledger(result.messages).check()


@FOUR_WAYS
def test_without_tools_a_forced_answer_is_no_call_to_run(run: Run) -> None:
    wrong = ToolCall("f1", "final_answer", {"city": "Rome"})
    right = ToolCall("f2", "final_answer", {"city": "Rome", "degrees": 21})
    model = ScriptedChatModel(wrong, right, profile=FORCED)

    result = run(ToolService(), model, output=Forecast)

    assert result.output == Forecast(city="Rome", degrees=21)
    assert result.executions == ()
    assert result.messages[-1] == AiMessage('{"city":"Rome","degrees":21}')
    Ledger(result.messages).check()


@FOUR_WAYS
def test_an_answer_that_stays_wrong_raises_with_every_answer_of_the_run(run: Run) -> None:
    model = ScriptedChatModel(CALL, "no", repeat_last=True, usage=USAGE)
    transcript: list[Message] = []

    with pytest.raises(OutputInvalid, match="does not fit Forecast") as caught:
        run(ToolService([measure]), model, output=Forecast, transcript=transcript)

    assert caught.value.usage == TokenUsage(40, 20, 60)
    assert [message.role for message in transcript] == [
        "user",
        "assistant",
        "tool",
        *["assistant", "user"] * 2,
        "assistant",
    ]
    Ledger(transcript).check()


@FOUR_WAYS
@pytest.mark.parametrize("profile", [SCHEMA_MODE, FORCED])
def test_a_cut_answer_raises_and_the_history_can_be_continued(run: Run, profile: Profile) -> None:
    part: Any = ToolCall("f", "final_answer", '{"city": "Ro', incomplete=True) if profile is FORCED else '{"city": "Ro'
    cut = ChatResponse(AiMessage([part]), finish_reason=FinishReason.LENGTH)
    transcript: list[Message] = []

    with pytest.raises(OutputTruncated):
        run(ToolService(), ScriptedChatModel(cut, profile=profile), output=Forecast, transcript=transcript)

    Ledger(transcript).check()


@FOUR_WAYS
def test_the_rounds_of_repair_count_as_rounds(run: Run) -> None:
    with pytest.raises(ToolLoopLimit) as caught:
        run(ToolService([measure], max_round_trips=2), ScriptedChatModel("no", repeat_last=True), output=Forecast)

    assert len(caught.value.result.responses) == 2
    assert caught.value.result.output is None


@FOUR_WAYS
def test_a_run_without_a_type_has_no_output(run: Run) -> None:
    result = run(ToolService([measure]), ScriptedChatModel(CALL, ANSWER))

    assert type(result) is ToolChatResult
    assert result.output is None


def test_a_type_without_a_schema_is_refused_before_the_model_is_asked() -> None:
    model = ScriptedChatModel(ANSWER)

    with pytest.raises(TypeError, match="no JSON Schema"):
        ToolService([measure]).stream(model, "Rome?", output=object())

    assert model.requests == []


def test_a_stream_can_be_repaired_and_grows_anew() -> None:
    model = ScriptedChatModel('{"city":"Rome"}', ANSWER, usage=USAGE)

    with stream_typed(model, "Rome?", Forecast, repair_rounds=1) as stream:
        partials = list(stream)

    assert partials == [{"city": "Rome"}, {"city": "Rome", "degrees": 21}]
    assert stream.output == Forecast(city="Rome", degrees=21)
    assert stream.response.usage == TokenUsage(20, 10, 30)
