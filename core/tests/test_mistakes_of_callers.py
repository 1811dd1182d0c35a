"""Small mistakes of those who call are named by what they wrote, with what they probably meant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from polywire.embeddings import EmbeddingModel, EmbeddingRequest, EmbeddingResponse
from polywire.errors import PolywireError, StreamConsumed, UnknownParameter
from polywire.messages import AiMessage, ToolError, ToolResultMessage, UserMessage
from polywire.policy import PolicyModel, RetryPolicy
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, TypedChatResponse
from polywire.testing import ScriptedChatModel
from polywire.testing.scripted import ScriptEnded

made: Any = PolicyModel  # as one calls it who has not read its types


class Vectors(EmbeddingModel):
    def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        return EmbeddingResponse(tuple((1.0,) for _ in request.inputs))


@pytest.mark.parametrize(
    "response", [ChatResponse(AiMessage("hi")), TypedChatResponse(AiMessage("1"), output=1)], ids=["plain", "typed"]
)
def test_a_whole_response_in_a_history(response: Any) -> None:
    with pytest.raises(TypeError, match=rf"messages\[1\].* {type(response).__name__}: use response\.message$"):
        ChatRequest([UserMessage("hello"), response])
    with pytest.raises(TypeError, match=r": use response\.message$"):
        ChatRequest(response)


def test_a_wires_own_message_in_a_history() -> None:
    with pytest.raises(TypeError, match=r"messages\[0\] must be a message, not dict .*messages_from_json"):
        ChatRequest([{"role": "user", "content": "hello"}])  # type: ignore[list-item]


@pytest.mark.parametrize("result", ["21 degrees", '{"degrees":21}', "[1,2]", "a\nb"])
def test_a_result_in_the_place_of_the_tools_name(result: str) -> None:
    with pytest.raises(ValueError, match=r"ToolResultMessage\(call\.id, call\.name, result\)"):
        ToolResultMessage("c1", result)


def test_an_empty_result_stays_legal() -> None:
    assert ToolResultMessage("c1", "forecast").contents == ()
    assert ToolResultMessage("c1").contents == ()
    assert ToolResultMessage("c1", "an odd name", "").text == ""
    assert ToolResultMessage("c1", "an odd name", error=ToolError("timeout", "too slow")).text == "too slow"


def test_an_unknown_purpose() -> None:
    with pytest.raises(ValueError, match=r"unknown purpose 'documnt'; did you mean 'document'\?"):
        Vectors().embed("x", purpose="documnt")
    with pytest.raises(ValueError, match=r"unknown purpose 'cooking'; known: classification, clustering"):
        EmbeddingRequest("x", purpose="cooking")  # type: ignore[arg-type]
    assert Vectors().embed("x", purpose="document").vectors == ((1.0,),)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"system": "Be brief."}, r"unknown parameter 'system'; instructions are a message: \[SystemMessage"),
        ({"instructions": "Be brief."}, "SystemMessage"),
        ({"timeout": 5}, r"unknown parameter 'timeout'; did you mean 'deadline'"),
    ],
)
def test_words_of_other_libraries(parameters: dict[str, Any], words: str) -> None:
    model = ScriptedChatModel("hi")
    with pytest.raises(UnknownParameter, match=words):
        model.chat("hello", **parameters)
    with pytest.raises(UnknownParameter, match=words):
        asyncio.run(model.achat("hello", **parameters))
    assert model.requests == []


def test_a_word_in_the_place_of_a_number() -> None:
    with pytest.raises(TypeError, match="temperature must be a number, not str"):
        ScriptedChatModel("hi").chat("hello", temperature="hot")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda model: made("a"), "model must be a ChatModel, not str"),
        (lambda model: made(Vectors()), "model must be a ChatModel, not Vectors"),
        (
            lambda model: made(model, RetryPolicy()),
            r"must be a list of policies, not RetryPolicy: PolicyModel\(model, \[RetryPolicy\(…\)\]\)",
        ),
        (lambda model: made(model, None), "must be a list of policies, not NoneType$"),
        (lambda model: made(model, [RetryPolicy]), r"policies\[0\] must be a policy, not a class: RetryPolicy\("),
        (lambda model: made(model, [RetryPolicy(), 3]), r"policies\[1\] must be a policy, .*not int"),
    ],
)
def test_policies_that_are_none(make: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make(ScriptedChatModel("hi"))


def test_policies_may_be_any_iterable() -> None:
    policies: Iterable[Any] = iter([RetryPolicy()])
    assert PolicyModel(ScriptedChatModel("hi"), policies).chat("hello").text == "hi"


@pytest.mark.parametrize("after", [0, 1])
def test_a_stream_that_was_closed_has_no_response(after: int) -> None:
    stream = ScriptedChatModel("hello there", chunk=2).stream("hi")
    for _ in range(after):
        next(stream)
    stream.close()

    with pytest.raises(StreamConsumed, match=r"closed before its end and has no response; .* \.partial"):
        list(stream)
    with pytest.raises(StreamConsumed, match=r"closed before its end and has no response"):
        stream.response  # noqa: B018
    with pytest.raises(StreamConsumed, match=r"closed before its end and has no response"):
        stream.collect()


def test_an_async_stream_that_was_closed_has_no_response() -> None:
    async def play() -> None:
        stream = ScriptedChatModel("hello there").astream("hi")
        await anext(stream)
        await stream.aclose()
        with pytest.raises(StreamConsumed, match=r"closed before its end and has no response"):
            aiter(stream)

    asyncio.run(play())


def test_a_stream_that_failed_says_so() -> None:
    stream = ScriptedChatModel(PolywireError("bad")).stream("hi")
    with pytest.raises(PolywireError, match="bad"):
        list(stream)

    with pytest.raises(StreamConsumed, match=r"ended in an error, which \.response raises again"):
        list(stream)
    with pytest.raises(PolywireError, match="bad"):
        stream.response  # noqa: B018


def test_a_stream_that_was_read_has_a_response() -> None:
    stream = ScriptedChatModel("hello").stream("hi")
    assert list(stream)

    with pytest.raises(StreamConsumed, match=r"read to its end; its result is in \.response"):
        list(stream)
    assert stream.response.text == "hello"


@pytest.mark.parametrize("entry", [3, None, {"text": "hi"}])
def test_an_entry_that_no_script_can_have(entry: Any) -> None:
    model = ScriptedChatModel("hi", entry)
    model.chat("hello")

    with pytest.raises(TypeError) as caught:
        model.chat("hello")

    assert str(caught.value).startswith("answer 2 of the script must be a str, an AiMessage")
    assert str(caught.value).endswith(f"not {entry!r}")


@pytest.mark.parametrize(
    ("answers", "words"), [([], "0 answers, and this is call 1"), (["a"], "1 answer, and this is")]
)
def test_a_script_that_is_over(answers: list[str], words: str) -> None:
    model = ScriptedChatModel(*answers)
    for _ in answers:
        model.chat("hello")

    with pytest.raises(ScriptEnded, match=f"the script has {words}"):
        model.chat("hello")
