"""
Ollama's lines and bodies as proxies and newer servers give them: what is said is read, or refused, and never lost.

Facts of the wire: Ollama's server source (api/types.go: a message's `images`, `tool_calls`, `thinking`; options whose value
below nothing means that there is none).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import calls_of, error_of, model_of, read_plain, read_streamed

from polywire import convert, convert_stream
from polywire.contents import AudioContent, DocumentContent, ImageContent
from polywire.errors import HistoryError, ProtocolError, ServerError, UnsupportedByModel
from polywire.messages import AiMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters, Reasoning
from polywire.responses import FinishReason, TokenUsage

PNG = "iVBORw0KGgo="
CALL = {"function": {"name": "f", "arguments": {"a": 1}}}


def line(**message: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", **message}, "done": False}


DONE = {**line(), "done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2}


def lines(*objects: Any, between: str = "\n") -> bytes:
    return between.join(json.dumps(each) for each in objects).encode()


@pytest.mark.parametrize("between", ["", " ", "\r", "\r\n", "\n\n"])
def test_objects_are_read_whatever_stands_between_them(between: str) -> None:
    answer = read_streamed(
        "ollama", lines(line(thinking="R"), line(content="a"), line(content="b"), DONE, between=between)
    )

    assert (answer.thinking, answer.text, answer.finish_reason) == ("R", "ab", FinishReason.STOP)
    assert answer.usage == TokenUsage(5, 2)


def test_an_error_on_the_line_of_a_text_comes_after_the_text() -> None:
    error = error_of("ollama", lines(line(content="a"), {"error": "runner stopped"}, between=""))

    assert isinstance(error, ServerError)
    assert error.partial is not None
    assert error.partial.text == "a"


def test_a_line_of_which_only_a_part_reads_is_refused() -> None:
    error = error_of("ollama", lines(line(content="a"), DONE, between="x") + b"\n")

    assert isinstance(error, ProtocolError)


def test_lines_in_place_of_one_body_are_read() -> None:
    answer = read_plain("ollama", lines(line(content="a"), line(tool_calls=[CALL]), DONE))

    assert (answer.text, answer.finish_reason) == ("a", FinishReason.TOOL_CALLS)
    assert [call.arguments for call in answer.tool_calls] == ['{"a":1}']


@pytest.mark.parametrize("calls", [CALL, [CALL["function"]], [{"function": {"name": "f", "arguments": '{"a":1}'}}]])
def test_a_call_is_one_without_its_list_without_its_function_and_with_text_for_arguments(calls: Any) -> None:
    streamed = read_streamed("ollama", lines(line(tool_calls=calls), DONE))
    plain = read_plain("ollama", {**DONE, "message": {"role": "assistant", "content": "", "tool_calls": calls}})

    assert [call[1:] for call in calls_of(streamed)] == [call[1:] for call in calls_of(plain)] == [("f", '{"a":1}')]


def test_a_picture_of_the_models_is_kept_and_goes_back() -> None:
    streamed = read_streamed("ollama", lines(line(content="a"), line(images=[PNG]), DONE))
    body = {**DONE, "message": {"role": "assistant", "content": "a", "images": [PNG]}}
    plain = read_plain("ollama", body)

    for answer in (streamed, plain):
        [picture] = [part for part in answer.message.parts if isinstance(part, ImageContent)]
        assert (picture.base64, picture.media_type) == (PNG, "image/png")
        model, transport = model_of("ollama", body)
        model.chat(["q", answer.message, "and now?"])
        assert transport.last.json["messages"][1]["images"] == [PNG]


def test_a_picture_stays_in_a_converted_stream() -> None:
    [first, *_] = b"".join(
        convert_stream([lines(line(images=[PNG]), DONE)], source="ollama", target="ollama")
    ).splitlines()

    assert json.loads(first)["message"]["images"] == [PNG]


def test_a_character_in_two_halves_is_one() -> None:
    halves = b'{"message":{"content":"\\ud83d"},"done":false}\n{"message":{"content":"\\ude00"},"done":false}\n'

    assert read_streamed("ollama", halves + lines(DONE)).text == "\U0001f600"


def test_half_a_character_at_the_end_is_told_as_one_that_is_none() -> None:
    half = b'{"message":{"content":"a\\ud83d"},"done":false}\n'

    assert read_streamed("ollama", half + lines(DONE)).text == "a\ufffd"


def test_probabilities_are_gathered_over_the_lines() -> None:
    tokens = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.1}]
    told = [{**line(content=each["token"]), "logprobs": [each]} for each in tokens]
    streamed = read_streamed("ollama", lines(*told, DONE))
    plain = read_plain("ollama", {**DONE, "message": {"role": "assistant", "content": "ab"}, "logprobs": tokens})

    assert streamed.metadata["logprobs"] == plain.metadata["logprobs"] == tokens


# Requests in this wire


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "q"}], **fields}


def test_options_of_the_servers_own_stay_beside_the_typed_ones() -> None:
    given = {"num_ctx": 99, "temperature": 0.5, "num_predict": 7, "stop": ["END"], "min_p": 0.1}

    assert convert(request(options=given), source="ollama", target="ollama").payload["options"] == given


def test_a_limit_and_a_seed_below_nothing_are_none() -> None:
    given = request(options={"num_predict": -1, "seed": -1, "temperature": 0})

    assert convert(given, source="ollama", target="ollama").payload["options"] == given["options"]
    elsewhere = convert(given, source="ollama", target="openai").payload
    assert elsewhere["temperature"] == 0
    assert not {"max_tokens", "max_completion_tokens", "seed"} & elsewhere.keys()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("source", "target"), [("ollama", "openai"), ("openai", "ollama"), ("ollama", "ollama")])
def test_whether_to_stream_is_carried_over(source: str, target: str, stream: bool) -> None:
    assert convert(request(stream=stream), source=source, target=target).payload["stream"] is stream


def test_a_tool_that_is_no_function_is_kept_for_the_server_and_told_to_others() -> None:
    given = request(tools=[{"type": "web_search"}])

    assert convert(given, source="ollama", target="ollama").payload["tools"] == [{"type": "web_search"}]
    told = convert(given, source="ollama", target="openai")
    assert "tools" not in told.payload
    assert any("web_search" in notice.message for notice in told.notices)


@pytest.mark.parametrize("image", [PNG, f"data:image/png;base64,{PNG}"])
def test_a_picture_is_read_wherever_it_stands(image: str) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": {}}}
    given = [
        {"role": "user", "content": "q", "images": [image]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "tool_name": "f", "content": "shot", "images": [image]},
    ]
    [user, _, result] = convert(given, source="ollama", target="anthropic").payload

    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    assert user["content"][1]["source"] == source
    assert result["content"][0]["content"][1]["source"] == source


def test_a_picture_that_is_none_is_refused_with_its_place() -> None:
    given = request(messages=[{"role": "user", "content": "q", "images": [PNG, "@@@"]}])

    with pytest.raises(ProtocolError, match=r"messages\[0\]\.images\[1\]"):
        convert(given, source="ollama", target="openai")


def test_a_picture_of_a_kind_that_nobody_knows_stays_with_the_server_that_took_it() -> None:
    given = request(messages=[{"role": "user", "content": "q", "images": ["aGVsbG8="]}])

    assert convert(given, source="ollama", target="ollama").payload["messages"] == given["messages"]
    told = convert(given, source="ollama", target="openai")
    assert told.payload["messages"] == [{"role": "user", "content": "q"}]
    assert [notice.subject for notice in told.notices] == ["messages[0]"]


def test_thinking_that_cannot_be_switched_off_is_told() -> None:
    model, transport = model_of("ollama", DONE, model="gpt-oss:20b")
    parameters = ChatRequestParameters(reasoning=Reasoning(visible=False))
    answer = model.chat(ChatRequest(["q"], parameters))

    assert "think" not in transport.last.json
    assert [notice.subject for notice in answer.notices] == ["reasoning"]


# Media, where settings say that a model takes more


def test_what_the_settings_allow_is_sent_or_refused() -> None:
    wide = {
        "profile": {
            "image_sources": ["data", "url"],
            "audio_sources": ["data"],
            "document_sources": ["data"],
            "tool_result_images": True,
        }
    }
    sound, picture = AudioContent(data=b"RIFF....WAVE"), ImageContent.from_base64(PNG)
    model, transport = model_of("ollama", DONE, **wide)
    call = ToolCall("c", "f", "{}")
    model.chat([UserMessage(["q", sound]), AiMessage(call), ToolResultMessage("c", "f", ["shot", picture])])
    user, _, result = transport.last.json["messages"]
    assert (user["images"], result["images"]) == ([sound.base64], [PNG])

    for media in (ImageContent(url="https://a.example/p.png"), DocumentContent(data=b"%PDF-1")):
        with pytest.raises(UnsupportedByModel, match=r"messages\[0\]\.contents\[1\]: this wire has no place"):
            model.chat(UserMessage(["q", media]))


def test_a_picture_of_a_kind_that_nobody_knows_stays_in_a_tools_result() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": {}}}
    given = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "tool_name": "f", "content": "shot", "images": ["aGVsbG8="]},
    ]

    assert convert(given, source="ollama", target="ollama").payload[1]["images"] == ["aGVsbG8="]


def test_thinking_that_cannot_be_hidden_is_told() -> None:
    model, transport = model_of("ollama", DONE)
    answer = model.chat(ChatRequest("q", ChatRequestParameters(reasoning=Reasoning("high", visible=False))))

    assert transport.last.json["think"] == "high"
    assert [notice.subject for notice in answer.notices] == ["reasoning"]


# Answers and histories


@pytest.mark.parametrize("body", [{"response": "Hi", "done": True}, {"done": True, "done_reason": "stop"}])
def test_an_answer_without_any_message_is_none(body: Any) -> None:
    assert isinstance(error_of("ollama", lines({"response": "Hi", "done": False}, body) + b"\n"), ProtocolError)
    with pytest.raises(ProtocolError, match="no message"):
        read_plain("ollama", body)


def test_results_with_the_clients_own_ids_answer_calls_without_any() -> None:
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("f", "g")]
    results = [
        {"role": "tool", "tool_call_id": f"mine-{name}", "tool_name": name, "content": name} for name in ("g", "f")
    ]
    given = [{"role": "assistant", "content": "", "tool_calls": calls}, *results]
    answer, *read = convert(given, source="ollama", target="openai").payload

    ids = {call["function"]["name"]: call["id"] for call in answer["tool_calls"]}
    assert [(each["tool_call_id"], each["content"]) for each in read] == [(ids["g"], "g"), (ids["f"], "f")]


def test_a_result_for_another_call_than_those_that_are_open_is_refused() -> None:
    given = [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", **CALL}]},
        {"role": "tool", "tool_call_id": "d", "tool_name": "f", "content": "x"},
    ]

    with pytest.raises(HistoryError, match="'d'"):
        convert(given, source="ollama", target="openai")


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c\ud800", "function": {"name": "f", "arguments": {}}},
        {"id": "c", "function": {"name": "f\ud800", "arguments": {}}},
        {"id": "c", "function": {"name": "f", "arguments": {"a\ud800": "\udc00b"}}},
        {"id": "c", "function": {"name": "f", "arguments": '{"a":"\ud800"}'}},
    ],
)
def test_half_a_character_in_a_call_is_none_in_a_stream_too(call: Any) -> None:
    end = {**DONE, "done_reason": "sto\ud800", "model": "m\ud800"}
    streamed = read_streamed("ollama", lines(line(content="\ud83d"), line(content="\ude00", tool_calls=[call]), end))
    body = {**end, "message": {"role": "assistant", "content": "\U0001f600", "tool_calls": [call]}}
    plain = read_plain("ollama", lines(body))

    assert streamed.message.parts[0] == plain.message.parts[0]
    assert [each[1:] for each in calls_of(streamed)] == [each[1:] for each in calls_of(plain)]
    assert streamed.tool_calls[0].id == plain.tool_calls[0].id
    assert streamed.metadata["raw_finish_reason"] == plain.metadata["raw_finish_reason"] == "sto\ufffd"
    json.dumps(calls_of(streamed), ensure_ascii=False).encode()
