"""`polywire chat`, one answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polywire.errors import ERROR_KINDS, AuthenticationFailed, StreamInterrupted
from polywire.events import NoticeAdded, ResponseEnd, TextDelta, ThinkingDelta, UsageUpdate
from polywire.messages import AiMessage, SystemMessage, ToolCall, UserMessage
from polywire.models import ChatModel
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.serialization import response_from_json

Run = Callable[..., Any]


def echo(request: ChatRequest) -> str:
    return f"<{request.messages[-1].text}>"  # type: ignore[union-attr]


def thoughtful(_: ChatRequest) -> Iterator[Any]:
    yield ThinkingDelta("let me ", 0)
    yield ThinkingDelta("think", 0)
    yield TextDelta("forty-", 1)
    yield TextDelta("two", 1)
    yield UsageUpdate(TokenUsage(input_tokens=7, output_tokens=5, reasoning_tokens=2))
    yield ResponseEnd(FinishReason.STOP)


def test_the_answer_is_all_of_standard_output(run: Run, factory: Any) -> None:
    factory.models[None] = echo
    result = run("chat", "hi")

    assert (result.code, result.out, result.err) == (0, "<hi>\n", "")
    assert factory.closed


def test_a_final_line_end_is_not_doubled(run: Run, factory: Any) -> None:
    factory.models[None] = lambda _: "done\n"

    assert run("chat", "hi").out == "done\n"


def test_several_words_are_one_prompt(run: Run, factory: Any) -> None:
    factory.models[None] = echo

    assert run("chat", "what", "is", "up").out == "<what is up>\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "asked"),
    [
        ((), b"from a pipe\n", "from a pipe"),
        (("sum up:",), b"line 1\nline 2\n", "sum up:\n\nline 1\nline 2"),
        (("sum up:", "-"), b"text", "sum up:\n\ntext"),
        (("only",), b"", "only"),
        (("only",), b" \n", "only"),
        ((), b"\xef\xbb\xbfwith a mark", "with a mark"),
        ((), "naïve café".encode(), "naïve café"),
        ((), b"not utf-8: \xff", "not utf-8: \ufffd"),
    ],
)
def test_what_is_piped_in_goes_along(
    run: Run, factory: Any, arguments: tuple[str, ...], stdin: bytes, asked: str
) -> None:
    factory.models[None] = echo

    assert run("chat", *arguments, stdin=stdin).out == f"<{asked}>\n"


def test_nothing_to_ask_is_a_usage_error_before_any_settings(run: Run, factory: Any) -> None:
    result = run("chat")

    assert result.code == 2
    assert "nothing to ask" in result.err
    assert factory.opened_with is None


def test_model_system_and_parameters_reach_the_request(run: Run, factory: Any) -> None:
    seen: list[ChatRequest] = []

    def remember(request: ChatRequest) -> str:
        seen.append(request)
        return "ok"

    factory.models["spare"] = remember
    result = run(
        "chat",
        "-m",
        "spare",
        "-s",
        "be brief",
        "-o",
        "temperature=0.5",
        "-o",
        "max-tokens=9",
        "-o",
        "stop_sequences=END",
        "hi",
    )

    assert result.code == 0, result
    (request,) = seen
    assert request.messages == (SystemMessage("be brief"), UserMessage("hi"))
    assert request.parameters.temperature == 0.5
    assert request.parameters.max_tokens == 9
    assert request.parameters.stop_sequences == ("END",)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("temprature=1", "did you mean 'temperature'"),
        ("temperature=hot", "temperature must be a number"),
        ("temperature", "must be name=value"),
    ],
)
def test_a_wrong_parameter_is_a_usage_error(run: Run, factory: Any, option: str, words: str) -> None:
    factory.models[None] = echo
    result = run("chat", "hi", "-o", option)

    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_json_is_the_whole_response(run: Run, factory: Any) -> None:
    response = ChatResponse(
        AiMessage(["café", ToolCall("call_1", "look", '{"a":1}')]),
        TokenUsage(3, 4),
        FinishReason.TOOL_CALLS,
        (Notice("dropped", "seed", "not taken here"),),
        {"id": "r1", "model": "m"},
    )
    factory.models[None] = lambda _: response
    result = run("chat", "--json", "hi")

    assert result.code == 0
    assert result.err == ""
    document = json.loads(result.out)
    assert document["text"] == "café"
    assert "café" in result.out
    assert response_from_json(document) == response


def test_json_needs_a_prompt_even_at_a_terminal(run: Run, factory: Any) -> None:
    assert run("chat", "--json").code == 2


def test_thinking_stays_out_of_a_pipe_and_comes_on_demand(run: Run, factory: Any) -> None:
    factory.models[None] = thoughtful
    silent, shown = run("chat", "hi"), run("chat", "--thinking", "hi")

    assert (silent.out, silent.err) == ("forty-two\n", "")
    assert (shown.out, shown.err) == ("forty-two\n", "let me think\n")


def test_a_model_that_cannot_stream_shows_the_same(run: Run, factory: Any) -> None:
    class Plain(ChatModel):
        def do_chat(self, request: ChatRequest) -> ChatResponse:
            return ChatModel.from_function(thoughtful).do_chat(request)

    factory.models[None] = Plain()
    plain = run("chat", "--thinking", "hi")
    factory.models[None] = thoughtful
    unstreamed = run("chat", "--thinking", "--no-stream", "hi")

    assert (plain.out, plain.err) == ("forty-two\n", "let me think\n")
    assert (unstreamed.out, unstreamed.err) == (plain.out, plain.err)


def test_usage_is_told_beside_the_answer(run: Run, factory: Any) -> None:
    factory.models[None] = thoughtful
    result = run("chat", "-u", "hi")

    assert result.out == "forty-two\n"
    assert result.err.startswith("[7 tokens in, 5 out (2 thinking), ")


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        (FinishReason.LENGTH, "cut at the token limit"),
        (FinishReason.CONTENT_FILTER, "filter"),
        (FinishReason.REFUSAL, "declined"),
        (FinishReason.PAUSE, "paused"),
    ],
)
def test_an_answer_that_did_not_just_end_says_so(run: Run, factory: Any, finish: FinishReason, words: str) -> None:
    factory.models[None] = lambda _: ChatResponse(AiMessage("so far"), finish_reason=finish)
    result = run("chat", "hi")

    assert result.out == "so far\n"
    assert words in result.err


def test_notices_tool_calls_and_silence_are_told(run: Run, factory: Any) -> None:
    def model(_: ChatRequest) -> Iterator[Any]:
        yield NoticeAdded(Notice("dropped", "seed", "not taken here"))
        yield ResponseEnd(FinishReason.STOP)

    factory.models[None] = model
    assert run("chat", "hi").err == "dropped: seed: not taken here\nthe model answered nothing\n"

    factory.models[None] = lambda _: AiMessage([ToolCall("1", "look", '{"a":1}')])
    assert run("chat", "hi").err == '[asks for look({"a":1})]\n'


@pytest.mark.parametrize("kind", sorted(ERROR_KINDS))
def test_a_failed_call_is_one_line_and_never_a_traceback(run: Run, factory: Any, kind: str) -> None:
    def fail(_: ChatRequest) -> str:
        msg = "first line\nsecond line"
        raise ERROR_KINDS[kind](msg, provider="acme")

    factory.models[None] = fail
    for form in ((), ("--json",), ("--no-stream",)):
        result = run("chat", *form, "hi")

        assert result.out == ""
        assert result.err == f"polywire: {kind.replace('_', ' ')}: acme: first line second line\n"
        assert result.code >= 10


def test_a_stream_that_breaks_off_keeps_what_came_and_fails(run: Run, factory: Any) -> None:
    def broken(_: ChatRequest) -> Iterator[Any]:
        yield TextDelta("half an ans")
        msg = "the connection was closed"
        raise StreamInterrupted(msg)

    factory.models[None] = broken
    result = run("chat", "hi")

    assert result.code == 17
    assert result.out == "half an ans\n"
    assert result.err == "polywire: stream interrupted: the connection was closed\n"


def test_a_bug_is_one_line_and_debug_shows_the_traceback(run: Run, factory: Any) -> None:
    def broken(_: ChatRequest) -> str:
        raise KeyError("boo")

    factory.models[None] = broken
    short, long = run("chat", "hi"), run("chat", "--debug", "hi")

    assert short.code == long.code == 1
    assert short.err == "polywire: unexpected KeyError: 'boo' (--debug shows where it happened)\n"
    assert "Traceback (most recent call last)" in long.err


def test_after_two_dashes_debug_is_something_to_say(run: Run, factory: Any) -> None:
    factory.models[None] = echo

    assert run("chat", "--", "--debug").out == "<--debug>\n"


def test_ctrl_c_leaves_with_130_and_keeps_what_came(run: Run, factory: Any) -> None:
    def interrupted(_: ChatRequest) -> Iterator[Any]:
        yield TextDelta("so f")
        raise KeyboardInterrupt

    factory.models[None] = interrupted
    result = run("chat", "hi")

    assert result.code == 130
    assert result.out == "so f\n"
    assert result.err == "interrupted\n"
    assert factory.closed


def test_an_unknown_model_is_a_settings_error(run: Run, factory: Any) -> None:
    result = run("chat", "-m", "nope", "hi")

    assert result.code == 4
    assert result.err == "polywire: no model 'nope' in settings.toml\n"


def test_the_settings_path_is_handed_on(run: Run, factory: Any) -> None:
    factory.models[None] = echo
    run("chat", "--settings", "some/where.toml", "hi")

    assert str(factory.opened_with) == "some/where.toml"


def test_no_key_is_shown_where_an_error_does_not_hold_one(run: Run, factory: Any) -> None:
    def refused(_: ChatRequest) -> str:
        msg = "the key was refused"
        raise AuthenticationFailed(msg, status=401, body="{}", provider="acme")

    factory.models[None] = refused
    result = run("chat", "hi")

    assert result.code == 10
    assert result.err == "polywire: authentication: acme: the key was refused (HTTP 401)\n"
