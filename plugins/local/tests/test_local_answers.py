"""A real model in this process: plain and streamed, sync and async, broken off, with tools, from threads and forks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from polywire.errors import ContextLengthExceeded, ModelTimeout, NotFound, UnsupportedByModel
from polywire.events import ResponseEnd, ResponseStart, TextDelta
from polywire.messages import AiMessage, SystemMessage, ToolResultMessage, UserMessage
from polywire.requests import ToolChoice, ToolSpecification
from polywire.responses import FinishReason
from polywire.transport.streams import Timeouts
from polywire_local import LocalChatModel

pytestmark = pytest.mark.real_llama

QUESTION = "What is the capital of Norway?"
WEATHER = ToolSpecification(
    "get_weather",
    "The weather in a city",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
ADD = ToolSpecification(
    "add",
    "Add two numbers",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


def test_a_plain_call_answers(model: LocalChatModel) -> None:
    response = model.chat("Say hello.", max_tokens=12)

    assert response.text
    assert response.usage.output_tokens is not None
    assert 0 < response.usage.output_tokens <= 12
    assert response.message.origin is not None
    assert (response.message.origin.provider, response.message.origin.model) == ("local", "smollm2")
    assert response.notices == ()


def test_an_answer_that_is_cut_says_so(model: LocalChatModel) -> None:
    assert model.chat("Tell me a long story.", max_tokens=3).finish_reason is FinishReason.LENGTH


def test_a_stream_tells_token_by_token(model: LocalChatModel) -> None:
    events = list(model.stream("Count from one to ten.", max_tokens=20))

    assert isinstance(events[0], ResponseStart)
    assert isinstance(events[-1], ResponseEnd)
    assert sum(isinstance(event, TextDelta) for event in events) >= 8


def test_a_stream_and_a_plain_call_say_the_same_async_too(model: LocalChatModel) -> None:
    model.chat(QUESTION, max_tokens=8)  # from here on the prompt is in the cache for all of them alike
    plain = model.chat(QUESTION, max_tokens=8).text
    streamed = "".join(model.stream(QUESTION, max_tokens=8).text_stream())

    async def both() -> tuple[str | None, str]:
        awaited = await model.achat(QUESTION, max_tokens=8)
        return awaited.text, "".join([text async for text in model.astream(QUESTION, max_tokens=8).text_stream()])

    assert plain
    assert [plain, streamed, *asyncio.run(both())] == [plain] * 4


def test_a_stream_broken_off_stops_the_engine(model: LocalChatModel) -> None:
    with model.stream("Tell me a very long story.", max_tokens=3000) as stream:
        next(stream)
        next(stream)

    # An engine that went on would be busy for minutes, and this call would come after it.
    assert model.chat("Hi", max_tokens=2, deadline=30).text


def test_a_dropped_async_stream_and_a_cancelled_call_stop_the_engine(model: LocalChatModel) -> None:
    async def break_off() -> str | None:
        async with model.astream("Tell me a very long story.", max_tokens=3000) as stream:
            async for _ in stream.text_stream():
                break
        call = asyncio.create_task(model.achat("Tell me a very long story.", max_tokens=3000))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return (await model.achat("Hi", max_tokens=2, deadline=30)).text

    assert asyncio.run(break_off())


def test_the_event_loop_runs_while_the_model_thinks(model: LocalChatModel) -> None:
    async def watch() -> int:
        turns = 0
        call = asyncio.create_task(model.achat("Count from one to ten.", max_tokens=20))
        while not call.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert (await call).text
        return turns

    assert asyncio.run(watch()) > 20


def test_two_event_loops_one_after_the_other(model: LocalChatModel) -> None:
    assert asyncio.run(_short(model)) == asyncio.run(_short(model))


async def _short(model: LocalChatModel) -> int:
    return len([text async for text in model.astream("Hello", max_tokens=3).text_stream()])


def test_threads_wait_for_each_other(model: LocalChatModel) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: model.chat(f"Say {number}.", max_tokens=4).text, range(4)))

    assert all(answers)


def test_a_deadline_cuts_the_answer_off(model: LocalChatModel) -> None:
    with pytest.raises(ModelTimeout):
        model.chat("Tell me a very long story.", max_tokens=3000, deadline=0.3)

    assert model.chat("Hi", max_tokens=2).text


def test_a_token_that_takes_too_long_is_a_timeout(model: LocalChatModel) -> None:
    hasty = LocalChatModel(model.engine, timeouts=Timeouts(read=1e-6))

    with pytest.raises(ModelTimeout):
        hasty.chat("Hello")
    with pytest.raises(ModelTimeout):
        asyncio.run(hasty.achat("Hello"))


@pytest.mark.parametrize("tools", [(WEATHER,), (WEATHER, ADD)], ids=["one", "two"])
def test_a_tool_is_called_and_its_result_told(model: LocalChatModel, tools: tuple[ToolSpecification, ...]) -> None:
    history = [SystemMessage("You are helpful."), UserMessage("What is the weather in Rome?")]
    asked = model.chat(history, tools=tools, parallel_tool_calls=False, max_tokens=200)

    assert asked.finish_reason is FinishReason.TOOL_CALLS
    (call,) = asked.tool_calls
    assert call.name == "get_weather"
    assert set(call.input) == {"city"}

    told = model.chat(
        [*history, asked.message, ToolResultMessage(call.id, call.name, "Sunny, 22 degrees")],
        tools=tools,
        max_tokens=40,
    )
    assert told.tool_calls == ()
    assert "22" in (told.text or "")


def test_a_tool_call_is_streamed_as_it_is_answered_plainly(model: LocalChatModel) -> None:
    with model.stream("What is the weather in Rome?", tools=[WEATHER], max_tokens=80) as stream:
        streamed = stream.collect()

    assert [call.name for call in streamed.tool_calls] == ["get_weather"]
    assert streamed.finish_reason is FinishReason.TOOL_CALLS


def test_a_named_tool_is_the_one_that_is_called(model: LocalChatModel) -> None:
    response = model.chat("Hello there", tools=[WEATHER, ADD], tool_choice=ToolChoice.tool("add"), max_tokens=80)

    assert [call.name for call in response.tool_calls] == ["add"]


@pytest.mark.parametrize("stops", [None, ("Berlin",)], ids=["no stop sequences", "its own"])
def test_only_one_call_is_made(model: LocalChatModel, stops: tuple[str, ...] | None) -> None:
    response = model.chat("Tell me a long story.", tools=[ADD], stop_sequences=stops, max_tokens=200)

    assert [call.name for call in response.tool_calls] == ["add"]
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_no_tool_is_called_where_none_may_be(model: LocalChatModel) -> None:
    response = model.chat("Say hello.", tools=[WEATHER], tool_choice=ToolChoice("none"), max_tokens=12)

    assert response.tool_calls == ()
    assert "CALL" not in (response.text or "")


def test_an_answer_in_json_follows_its_schema(model: LocalChatModel) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    response = model.chat("How old is Anna, who was born 20 years ago?", output=schema, max_tokens=40)

    assert isinstance(response.output["age"], int)


def test_what_does_not_fit_is_an_error_plain_and_streamed(model: LocalChatModel) -> None:
    with pytest.raises(ContextLengthExceeded, match="exceeds the available context"):
        model.chat("x " * 9000)
    with pytest.raises(ContextLengthExceeded):
        list(model.stream("x " * 9000))


def test_another_model_than_this_one_is_not_answered(model: LocalChatModel) -> None:
    with pytest.raises(NotFound, match="smollm2"):
        model.chat("Hello", model="some-other-model")


def test_a_picture_is_refused_before_the_engine_sees_it(model: LocalChatModel) -> None:
    from polywire.contents import ImageContent

    with pytest.raises(UnsupportedByModel):
        model.chat(UserMessage(["What is this?", ImageContent(data=b"\x89PNG", media_type="image/png")]))


def test_the_whole_history_reaches_the_model(model: LocalChatModel) -> None:
    history = [UserMessage("My name is Ada."), AiMessage("Hello Ada!"), UserMessage("What is my name?")]
    told = model.chat(history, max_tokens=1).usage.input_tokens
    asked = model.chat(history[2:], max_tokens=1).usage.input_tokens

    assert told is not None
    assert asked is not None
    assert told > asked + 8


def test_the_weights_are_loaded_once(model: LocalChatModel) -> None:
    from polywire_local import bundled_weights, shared_engine

    again = LocalChatModel(shared_engine(bundled_weights()))
    assert again.engine is model.engine
    threads = threading.active_count()
    again.chat("Hi", max_tokens=1)
    assert threading.active_count() <= threads + 1


PROGRAM = """
import contextlib, json, os, sys, threading
from polywire_local import LocalChatModel, bundled_weights, shared_engine
model = LocalChatModel(shared_engine(bundled_weights()))
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_nothing_is_printed_and_nothing_loaded_before_the_first_call() -> None:
    done = run(
        "assert not model.engine.loaded and 'xllamacpp' not in sys.modules\n"
        "print(json.dumps(model.chat('Hi', max_tokens=2).text))"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)


def test_a_process_ends_at_once_with_a_stream_open() -> None:
    done = run(
        "stream = iter(model.stream('Tell me a very long story.', max_tokens=4000))\n"
        "next(stream); next(stream)\n"
        "def wait_in_line():\n"
        "    with contextlib.suppress(Exception):\n"  # it is told that there will be no answer
        "        model.chat('Tell me more', max_tokens=4000)\n"
        "threading.Thread(target=wait_in_line, daemon=True).start()\n"
        "print('end')"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")
def test_a_forked_process_answers_with_an_engine_of_its_own() -> None:
    done = run(
        "parent = model.chat('Hi', max_tokens=2).text\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    assert not model.engine.loaded\n"
        "    assert model.chat('Hi', max_tokens=2).text == parent\n"
        "    os._exit(0)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "assert model.chat('Hi', max_tokens=2).text\n"
    )

    assert (done.returncode, done.stderr) == (0, "")
