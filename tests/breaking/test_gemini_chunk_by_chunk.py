"""
What Gemini's chunks leave out, say as null, or say of their own piece alone: nothing of an answer is lost by it, and no
call is run that the model did not make.

Facts of the wire: JSON of protocol buffers (a default value may be left out, or written as null); Vertex AI's
`streamFunctionCallArguments` (`partialArgs`); google-genai 3.6.1 (types.LogprobsResult, CitationMetadata).
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, model_of, read_plain, read_streamed, sse

from polywire import convert
from polywire.contents import AudioContent
from polywire.messages import AiMessage, Origin, ToolResultMessage, UserMessage
from polywire.responses import ChatResponse, FinishReason, TokenUsage


def chunk(*parts: Any, reason: str | None = None, usage: Any = None, **candidate: Any) -> dict[str, Any]:
    told = {"content": {"role": "model", "parts": list(parts)}, **candidate}
    if reason is not None:
        told["finishReason"] = reason
    return {"candidates": [told]} | ({} if usage is None else {"usageMetadata": usage})


def streamed(*chunks: Any) -> ChatResponse:
    return read_streamed("gemini", sse(*chunks))


@pytest.mark.parametrize("index", [None, 0, "0", 0.0])
def test_an_index_may_be_null(index: Any) -> None:
    chunks = [chunk({"text": text}, index=index) for text in "abc"]

    assert streamed(*chunks, chunk(reason="STOP", index=index)).text == "abc"
    assert read_plain("gemini", chunk({"text": "a"}, reason="STOP", index=index)).text == "a"


def test_several_answers_without_an_index_are_told() -> None:
    body = {"candidates": [*chunk({"text": "a"}, reason="STOP")["candidates"], *chunk({"text": "b"})["candidates"]]}
    answer = read_plain("gemini", body)

    assert answer.text == "a"
    assert [notice.subject for notice in answer.notices] == ["candidates"]


# Calls


def piece(path: str, going_on: bool = False, **value: Any) -> dict[str, Any]:
    said = {"jsonPath": path, **value} | ({"willContinue": True} if going_on else {})
    return {"functionCall": {"partialArgs": [said], "willContinue": True}}


def begin(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "willContinue": True, **more}}


END: dict[str, Any] = {"functionCall": {}}


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("$.a", True, stringValue="Han"), piece("$.a", True, stringValue="oi"), piece("$.a")],
        [piece("$.a", True), piece("$.a", stringValue="Hanoi")],
        [piece("$.a", True, stringValue=None), piece("$.a", True, stringValue="Hanoi"), piece("$.a", stringValue=None)],
        [piece("$.a", stringValue="Hanoi"), piece("$.a")],
        [piece("$.a", stringValue="Hanoi", numberValue=None, boolValue=None)],
    ],
)
def test_an_empty_text_at_the_end_of_an_argument_may_be_left_out(pieces: Any) -> None:
    answer = streamed(chunk(begin("w")), *map(chunk, pieces), chunk(END, reason="STOP"))

    [call] = answer.tool_calls
    assert (call.name, call.input) == ("w", {"a": "Hanoi"})


@pytest.mark.parametrize(
    "second", [begin("x"), {"functionCall": {"name": "x", "args": {"b": 1}}}, begin("w", id="another")]
)
def test_a_call_that_begins_before_the_end_of_another_is_not_mixed_into_it(second: Any) -> None:
    first = [begin("w", id="one"), piece("$.a", stringValue="A")]
    rest = [piece("$.b", numberValue=1), END] if second["functionCall"].get("willContinue") else []
    answer = streamed(*map(chunk, [*first, second, *rest]), chunk({"text": ""}, reason="STOP"))

    assert [arguments for _, _, arguments in calls_of(answer)] == ['{"a":"A"}', '{"b":1}']
    # Its end was never told: whether it is whole nobody knows.
    assert [call.incomplete for call in answer.tool_calls] == [True, False]


@pytest.mark.parametrize("path", ["$.a.b", "$[0]", "$.a[0]", "???"])
def test_a_call_is_not_run_without_an_argument_that_has_no_place(path: str) -> None:
    pieces = [begin("w"), piece("$.a", stringValue="A"), piece(path, stringValue="B"), END]
    answer = streamed(*map(chunk, pieces), chunk({"text": ""}, reason="STOP"))

    [call] = answer.tool_calls
    assert not call.is_valid or call.input != {"a": "A"}


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_signature_that_is_none_does_not_stand_for_one(nothing: Any) -> None:
    part = {"functionCall": {"name": "w", "args": {}}, "thoughtSignature": nothing, "text": nothing}
    for answer in (streamed(chunk(part, reason="STOP")), read_plain("gemini", chunk(part, reason="STOP"))):
        [call] = answer.tool_calls
        model, transport = model_of("gemini", chunk({"text": "ok"}, reason="STOP"), model="gemini-3.8-flash")
        model.chat([UserMessage("q"), answer.message, ToolResultMessage(call.id, call.name, "r")])

        [sent] = transport.last.json["contents"][1]["parts"]
        assert sent["thoughtSignature"] == "skip_thought_signature_validator"
        assert sent.keys() == {"functionCall", "thoughtSignature"}


# What an answer cost, and what is said beside it


def test_a_count_that_a_later_chunk_leaves_out_is_what_it_was() -> None:
    whole = {"promptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "totalTokenCount": 10}
    for last in ({"promptTokenCount": 5}, {"trafficType": "ON_DEMAND"}, {}, dict.fromkeys(whole), None):
        answer = streamed(chunk({"text": "a"}, usage=whole), chunk({"text": "b"}, reason="STOP", usage=last))

        assert answer.usage == TokenUsage(5, 5, 10, None, None, 2)


def test_usage_that_counts_nothing_is_unknown() -> None:
    body = chunk({"text": "a"}, reason="STOP", usage={"trafficType": "ON_DEMAND"})

    assert read_plain("gemini", body).usage == streamed(body).usage == TokenUsage()


def test_probabilities_and_citations_are_gathered_over_the_chunks() -> None:
    def told(token: str, start: int) -> dict[str, Any]:
        chosen = [{"token": token, "logProbability": -0.5}]
        source = {"startIndex": start, "uri": "https://a.example"}
        return {"logprobsResult": {"chosenCandidates": chosen}, "citationMetadata": {"citationSources": [source]}}

    answer = streamed(
        chunk({"text": "a"}, **told("a", 0)),
        chunk({"text": "a"}, **told("a", 1), groundingMetadata={"webSearchQueries": ["q"], "groundingChunks": []}),
        # Some say all of it again.
        chunk({"text": "."}, citationMetadata=told("", 1)["citationMetadata"]),
        chunk(reason="STOP", groundingMetadata={"groundingChunks": [{"web": {}}], "webSearchQueries": []}),
    )

    assert [each["token"] for each in answer.metadata["logprobsResult"]["chosenCandidates"]] == ["a", "a"]
    assert [each["startIndex"] for each in answer.metadata["citationMetadata"]["citationSources"]] == [0, 1]
    assert answer.metadata["groundingMetadata"] == {"webSearchQueries": ["q"], "groundingChunks": [{"web": {}}]}


# Sound

RATE = "audio/L16;codec=pcm;rate=24000"
SOUND = {"inlineData": {"mimeType": RATE, "data": base64.b64encode(b"\1\2").decode()}}


def test_the_rate_of_raw_sound_is_kept() -> None:
    body = chunk(SOUND, reason="STOP")
    for answer in (read_plain("gemini", body), streamed(body)):
        [sound] = answer.message.parts
        assert isinstance(sound, AudioContent)
        assert (sound.data, sound.media_type) == (b"\1\2", "audio/l16")
        assert sound.extras["gemini"]["mimeType"] == RATE

    again = convert(body, source="gemini", target="gemini").payload
    assert again["candidates"][0]["content"]["parts"] == [SOUND]


def test_sound_that_another_model_made_does_not_end_the_conversation() -> None:
    made = AudioContent(data=b"\1\2", media_type="audio/pcm")
    model, transport = model_of("gemini", chunk({"text": "ok"}, reason="STOP"))
    answer = model.chat(["q", AiMessage(made, Origin("openai")), "and now?"])

    assert [each["role"] for each in transport.last.json["contents"]] == ["user", "user"]
    assert [(notice.kind, notice.subject) for notice in answer.notices] == [("dropped", "messages[1].parts[0]")]


# Turns


def called(name: str) -> AiMessage:
    [call] = read_plain("gemini", chunk({"functionCall": {"id": f"c-{name}", "name": name}}, reason="STOP")).tool_calls
    return AiMessage(call, Origin("gemini"))


def result_of(message: AiMessage) -> ToolResultMessage:
    [call] = message.tool_calls
    return ToolResultMessage(call.id, call.name, "r")


def test_calls_stand_in_a_turn_right_after_the_users() -> None:
    first, second = called("a"), called("b")
    model, transport = model_of("gemini", chunk({"text": "ok"}, reason="STOP"))
    answer = model.chat([first, result_of(first), "more", AiMessage("Let me see."), second, result_of(second)])

    contents = transport.last.json["contents"]
    assert [(each["role"], [next(iter(part)) for part in each["parts"]]) for each in contents] == [
        ("user", ["text"]),
        ("model", ["functionCall"]),
        ("user", ["functionResponse"]),
        ("user", ["text"]),
        ("model", ["text", "functionCall"]),
        ("user", ["functionResponse"]),
    ]
    assert [(notice.kind, notice.subject) for notice in answer.notices] == [("repaired", "messages[0]")]
    assert answer.finish_reason is FinishReason.STOP


def test_a_budget_that_is_left_to_the_model_goes_back_to_this_wire() -> None:
    for config in ({"thinkingBudget": -1}, {"thinkingBudget": -1, "includeThoughts": True}, {"thinkingBudget": 0}):
        body = {
            "contents": [{"role": "user", "parts": [{"text": "q"}]}],
            "generationConfig": {"thinkingConfig": config},
        }

        assert convert(body, source="gemini", target="gemini").payload["generationConfig"] == {"thinkingConfig": config}
        assert json.dumps(convert(body, source="gemini", target="openai").payload).count("-1") == 0


@pytest.mark.parametrize(
    ("values", "sent"), [(["", "a", "b"], ["a", "b"]), ([""], None), (["", 1], ["1"]), (["", None], None)]
)
def test_no_value_of_an_enum_is_an_empty_text(values: Any, sent: Any) -> None:
    from polywire.schemas import lower_schema

    lowered = lower_schema({"type": "object", "properties": {"x": {"enum": values}}}, "gemini")
    sent_schema = lowered.schema["properties"]["x"]

    assert sent_schema.get("enum") == sent
    assert sent_schema["type"] == "string"
    assert any("empty text" in notice.message for notice in lowered.notices)


def test_an_answer_in_the_other_spelling_is_read() -> None:
    call = {"function_call": {"id": "c", "name": "f", "args": {"a_b": 1}}, "thought_signature": "U0lH"}
    body = {
        "candidates": [{"content": {"parts": [{"text": "a"}, call]}, "finish_reason": "STOP"}],
        "usage_metadata": {"prompt_token_count": 5, "candidates_token_count": 2, "total_token_count": 7},
        "model_version": "m",
        "response_id": "r",
    }
    for answer in (read_plain("gemini", body), read_streamed("gemini", sse(body))):
        assert calls_of(answer) == [("c", "f", '{"a_b":1}')]
        assert answer.tool_calls[0].extras["gemini"]["part"] == {"thoughtSignature": "U0lH"}
        assert (answer.text, answer.finish_reason) == ("a", FinishReason.TOOL_CALLS)
        assert answer.usage == TokenUsage(5, 2, 7)
        assert (answer.metadata["model"], answer.metadata["id"]) == ("m", "r")
