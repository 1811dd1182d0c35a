"""The three calls of `polywire check --live`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from polywire.cli.probes import ProbeResult, run_probes
from polywire.errors import RateLimited
from polywire.events import ResponseEnd, TextDelta, ThinkingDelta, UsageUpdate
from polywire.messages import AiMessage, ToolCall
from polywire.models import ChatModel, ModelInformation
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason, TokenUsage


def probe(model: ChatModel) -> dict[str, ProbeResult]:
    ticks = itertools.count()
    return {result.name: result for result in run_probes(model, clock=lambda: float(next(ticks)))}


def good(request: ChatRequest) -> Any:
    if request.parameters.tools:
        assert request.parameters.tool_choice is not None
        assert request.parameters.tool_choice.mode == "required"
        return AiMessage([ToolCall("1", "get_weather", '{"city": "Paris"}')])

    def tell() -> Iterator[Any]:
        yield TextDelta("Hello ")
        yield TextDelta("there.")
        yield UsageUpdate(TokenUsage(9, 3))
        yield ResponseEnd(FinishReason.STOP)

    return tell()


def test_a_model_that_does_everything() -> None:
    results = probe(ChatModel.from_function(good))

    assert [result.status for result in results.values()] == ["ok", "ok", "ok"]
    assert results["plain"].detail == '"Hello there.", 9 tokens in, 3 out'
    assert results["plain"].seconds == 1
    assert results["tool"].detail == 'get_weather({"city": "Paris"}), tokens unknown'
    assert results["stream"].detail == '"Hello there." in 2 pieces, 9 tokens in, 3 out'
    assert results["stream"].first_seconds == 1
    assert results["stream"].seconds == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("It rains.", 'no tool call came back: it said "It rains."'),
        (AiMessage([]), "no tool call came back: it said nothing"),
        (AiMessage([ToolCall("1", "other")]), "unknown tool came back: other"),
        (AiMessage([ToolCall("1", "get_weather", "[1]")]), "without usable arguments"),
        (AiMessage([ToolCall("1", "get_weather", '{"ci', incomplete=True)]), "without usable arguments"),
    ],
)
def test_a_tool_probe_that_brings_no_usable_call_fails(answer: Any, words: str) -> None:
    result = probe(ChatModel.from_function(lambda _: answer))["tool"]

    assert result.status == "failed"
    assert words in result.detail


def test_a_model_without_tools_or_streams_is_not_asked_for_them() -> None:
    class Plain(ChatModel):
        information = ModelInformation(profile=lambda _: Profile(tool_calling="none"))

        def do_chat(self, request: ChatRequest) -> ChatResponse:
            assert not request.parameters.tools
            return ChatResponse(AiMessage("hi"))

    results = probe(Plain())

    assert {name: result.status for name, result in results.items()} == {
        "plain": "ok",
        "tool": "skipped",
        "stream": "skipped",
    }
    assert results["tool"].seconds is None


def test_each_failure_is_a_result_and_the_next_probe_runs() -> None:
    def fail(request: ChatRequest) -> str:
        if request.parameters.tools:
            raise KeyError("boo")
        msg = "slow\ndown"
        raise RateLimited(msg)

    results = probe(ChatModel.from_function(fail))

    assert {result.status for result in results.values()} == {"failed"}
    assert results["plain"].detail == "rate limit: slow down"
    assert "KeyError" in results["tool"].detail
    assert results["stream"].seconds is not None


def test_thinking_up_to_the_limit_is_an_answer_and_silence_is_not() -> None:
    def think(_: ChatRequest) -> Iterator[Any]:
        yield ThinkingDelta("hmm")
        yield ResponseEnd(FinishReason.LENGTH)

    assert probe(ChatModel.from_function(think))["plain"].status == "ok"
    assert probe(ChatModel.from_function(lambda _: AiMessage("  ")))["plain"].detail == (
        "no text came back (finish reason stop)"
    )


def test_ctrl_c_stops_the_probes() -> None:
    def interrupted(_: ChatRequest) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        probe(ChatModel.from_function(interrupted))
