"""
Faults that clients of this wire have had, each as a kind with several instances: signatures lost or moved, calls without
ids, results torn apart, chunks that lack what others have, prompts that were blocked.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from polywire.codec import Encoded, Headers, HttpResponse
from polywire.contents import ImageContent, TextContent, ThinkingContent
from polywire.errors import ContentFiltered, ModelError
from polywire.events import ResponseCollector
from polywire.framing.sse import SseFraming
from polywire.messages import AiMessage, Message, Origin, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.serialization import messages_from_json, messages_to_json
from polywire.tool_specifications import ToolSpecification
from polywire_gemini import GeminiCodec

CODEC = GeminiCodec()
TOOLS = (ToolSpecification("w"), ToolSpecification("now"))
NEW, OLD = "gemini-3.8-flash", "gemini-2.5-flash"
PNG = ImageContent(data=b"\x89PNG\r\n\x1a\n")


def encoded(messages: list[Message], model: str = NEW) -> Encoded:
    return CODEC.encode(ChatRequest(messages, ChatRequestParameters(model=model, tools=TOOLS)), stream=False)


def contents(messages: list[Message], model: str = NEW) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(encoded(messages, model).http.body)["contents"]
    return found


def candidate(parts: Any, finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, **more}]}


def plain(body: Any) -> ChatResponse:
    return CODEC.decode(HttpResponse(200, Headers(), json.dumps(body).encode()), encoded([UserMessage("q")]))


def streamed(chunks: list[Any], step: int = 7) -> ChatResponse:
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)
    framing, decoder, collector = SseFraming(), CODEC.stream_decoder(encoded([UserMessage("q")])), ResponseCollector()
    frames = [frame for at in range(0, len(data), step) for frame in framing.feed(data[at : at + step])]
    for frame in [*frames, *framing.finish()]:
        collector.add_all(decoder.feed(frame))
    collector.add_all(decoder.finish())
    return collector.response()


# Signatures: on the very part, wherever they stood

SIGNED: dict[str, list[dict[str, Any]]] = {
    "on a call": [{"functionCall": {"name": "w", "args": {"d": "/"}}, "thoughtSignature": "U0lH"}],
    "on a call with an id": [{"functionCall": {"id": "f1", "name": "w", "args": {}}, "thoughtSignature": "U0lH"}],
    "on the first of two calls": [
        {"functionCall": {"name": "w", "args": {"c": "A"}}, "thoughtSignature": "U0lH"},
        {"functionCall": {"name": "w", "args": {"c": "B"}}},
    ],
    "on text before a call": [
        {"text": "I look.", "thoughtSignature": "VFhU"},
        {"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "U0lH"},
    ],
    "on thinking, text and call": [
        {"text": "Hm.", "thought": True, "thoughtSignature": "VEhU"},
        {"text": "I look.", "thoughtSignature": "VFhU"},
        {"functionCall": {"name": "now", "args": {}}, "thoughtSignature": "U0lH"},
    ],
    "on an empty text at the end": [
        {"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "U0lH"},
        {"text": "", "thoughtSignature": "RU5E"},
    ],
}


@pytest.mark.parametrize("through_json", [False, True])
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_goes_back_on_its_own_part(name: str, is_stream: bool, through_json: bool) -> None:
    parts = SIGNED[name]
    body = candidate(parts)
    answer = streamed([candidate([part], None) for part in parts] + [candidate([])]) if is_stream else plain(body)
    history: list[Message] = [UserMessage("q"), answer.message]
    history += [ToolResultMessage(call.id, call.name, "ok") for call in answer.tool_calls]
    if through_json:
        history = list(messages_from_json(messages_to_json(history)))

    sent = contents(history)

    assert [part for part in sent[1]["parts"] if part.keys() != {"text", "thought"}] == parts


@pytest.mark.parametrize(
    "turn",
    [
        AiMessage([ToolCall("toolu_1", "w", {"c": "A"}), ToolCall("toolu_2", "now")], Origin("anthropic")),
        AiMessage(
            [ThinkingContent("plan", "c2ln"), TextContent("ok"), ToolCall("t1", "w"), ToolCall("t2", "w")],
            Origin("anthropic"),
        ),
        AiMessage(
            [ToolCall("call_1", "w", source="openai"), ToolCall("call_2", "now", source="openai")], Origin("openai")
        ),
        AiMessage([ToolCall("x", "w"), ToolCall("y", "w")]),
    ],
)
def test_another_models_turn_has_one_placeholder_no_foreign_seal_and_no_foreign_id(turn: AiMessage) -> None:
    results: list[Message] = [ToolResultMessage(call.id, call.name, "ok") for call in turn.tool_calls]

    sent = contents([UserMessage("q"), turn, *results])

    calls = [part for part in sent[1]["parts"] if "functionCall" in part]
    assert [part.get("thoughtSignature") for part in calls] == ["skip_thought_signature_validator", None]
    assert all("id" not in part["functionCall"] for part in calls)
    assert all("id" not in part["functionResponse"] for part in sent[2]["parts"])
    assert "c2ln" not in json.dumps(sent)


# Calls without ids, and results in any order


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_calls_of_one_tool_without_ids_keep_their_own_results(order: tuple[int, ...], is_stream: bool) -> None:
    parts = [{"functionCall": {"name": "w", "args": {"c": letter}}} for letter in "ABC"]
    answer = (
        streamed([candidate([part], None) for part in parts] + [candidate([])])
        if is_stream
        else plain(candidate(parts))
    )
    calls = answer.tool_calls
    assert len({call.id for call in calls}) == 3
    results: list[Message] = [ToolResultMessage(calls[at].id, "w", f"result {'ABC'[at]}") for at in order]

    sent = contents([UserMessage("q"), answer.message, *results], OLD)

    assert [part["functionResponse"] for part in sent[2]["parts"]] == [
        {"name": "w", "response": {"output": f"result {letter}"}} for letter in "ABC"
    ]
    assert all("id" not in part["functionCall"] for part in sent[1]["parts"])


def test_an_id_goes_back_only_where_there_was_one() -> None:
    answer = plain(candidate([{"functionCall": {"name": "w", "id": "f1"}}, {"functionCall": {"name": "w", "id": ""}}]))
    results: list[Message] = [ToolResultMessage(call.id, "w", "ok") for call in answer.tool_calls]

    sent = contents([UserMessage("q"), answer.message, *results])

    assert [part["functionCall"].get("id") for part in sent[1]["parts"]] == ["f1", None]
    assert [part["functionResponse"].get("id") for part in sent[2]["parts"]] == ["f1", None]


# The results of a turn: together, as many as calls, before all else

AFTER: dict[str, list[Message]] = {
    "text": [UserMessage("thanks")],
    "text and a picture": [UserMessage(["see", PNG])],
    "nothing": [],
    "two texts": [UserMessage("one"), UserMessage("two")],
}


@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("model", [NEW, OLD])
@pytest.mark.parametrize("after", AFTER)
def test_results_stand_in_one_content_right_after_their_calls(count: int, model: str, after: str) -> None:
    calls = [ToolCall(f"c{number}", "w", {"n": number}) for number in range(count)]
    results: list[Message] = [ToolResultMessage(call.id, "w", call.id) for call in calls]
    if count == 3:
        results[1] = ToolResultMessage("c1", "w", [], True, ToolError("offline", "no network"))
        results[2] = ToolResultMessage("c2", "w", ["shot", PNG])

    sent = contents([UserMessage("q"), AiMessage(calls, Origin("gemini")), *results, *AFTER[after]], model)

    assert [part.keys() & {"functionCall"} for part in sent[1]["parts"]] == [{"functionCall"}] * count
    assert sent[2]["role"] == "user"
    assert all("functionResponse" in part for part in sent[2]["parts"])
    assert len(sent[2]["parts"]) == count
    assert all("functionResponse" not in part for content in sent[3:] for part in content["parts"])
    if count == 3:
        assert sent[2]["parts"][1]["functionResponse"]["response"]["error"] == "no network"
        picture = "iVBORw0KGgo="
        assert (picture in json.dumps(sent[2])) is (model == NEW)
        assert picture in json.dumps(sent)


# Chunks that lack what others have

USAGE = {"promptTokenCount": 4, "candidatesTokenCount": 1, "totalTokenCount": 5}
HI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}]}
ENDINGS: dict[str, list[Any]] = {
    "content without parts": [
        {"candidates": [{"content": {}, "finishReason": "STOP", "index": 0}], "usageMetadata": USAGE}
    ],
    "no content": [{"candidates": [{"finishReason": "STOP"}], "usageMetadata": USAGE}],
    "null content": [{"candidates": [{"content": None, "finishReason": "STOP"}], "usageMetadata": USAGE}],
    "null parts": [
        {"candidates": [{"content": {"role": "model", "parts": None}, "finishReason": "STOP"}], "usageMetadata": USAGE}
    ],
    "an empty part": [candidate([{}]) | {"usageMetadata": USAGE}],
    "no candidates between": [{"usageMetadata": {"promptTokenCount": 4}}, candidate([]) | {"usageMetadata": USAGE}],
    "empty candidates between": [{"candidates": []}, candidate([]) | {"usageMetadata": USAGE}],
    "null candidates between": [{"candidates": None}, candidate([]) | {"usageMetadata": USAGE}],
    "usage alone at the end": [candidate([]), {"usageMetadata": USAGE}],
    "null usage": [candidate([]) | {"usageMetadata": USAGE}, {"usageMetadata": None}],
    "an empty object at the end": [candidate([]) | {"usageMetadata": USAGE}, {}],
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_chunk_without_content_parts_or_candidates_is_no_failure(name: str) -> None:
    for step in (1, 7, 10_000):
        response = streamed([HI, *ENDINGS[name]], step)

        assert response.text == "Hi"
        assert response.finish_reason is FinishReason.STOP
        assert response.usage == TokenUsage(4, 1, 5)


# Blocked prompts and answers

BLOCKED: dict[str, Any] = {
    "for safety": {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}},
    "with empty candidates": {"candidates": [], "promptFeedback": {"blockReason": "OTHER"}},
    "with null candidates": {"candidates": None, "promptFeedback": {"blockReason": "BLOCKLIST"}},
    "by a new word": {"promptFeedback": {"blockReason": "JAILBREAK", "safetyRatings": []}},
    "with a message": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"}},
    "for a picture": {"promptFeedback": {"blockReason": "IMAGE_SAFETY"}},
}


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("name", BLOCKED)
def test_a_blocked_prompt_is_told_with_its_reason_and_not_tried_again(name: str, is_stream: bool) -> None:
    body = BLOCKED[name]

    with pytest.raises(ContentFiltered, match=body["promptFeedback"]["blockReason"]) as raised:
        streamed([body]) if is_stream else plain(body)

    assert raised.value.retryable is False


def test_a_prompt_that_is_blocked_after_the_usage_is_blocked_all_the_same() -> None:
    with pytest.raises(ContentFiltered, match="SAFETY"):
        streamed([{"usageMetadata": {"promptTokenCount": 5}}, BLOCKED["for safety"]])


def test_feedback_without_a_reason_blocks_nothing() -> None:
    body = {"promptFeedback": {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}} | HI

    response = streamed([body, candidate([])])

    assert response.text == "Hi"


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"])
def test_a_blocked_answer_has_its_finish_reason(reason: str, is_stream: bool) -> None:
    body = {"candidates": [{"finishReason": reason, "index": 0}], "usageMetadata": {"promptTokenCount": 5}}

    response = streamed([body]) if is_stream else plain(body)

    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert response.metadata["raw_finish_reason"] == reason
    assert not response.text


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}, "overloaded", True),
        ({"code": 500, "message": "An internal error has occurred.", "status": "INTERNAL"}, "server", True),
        ({"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
          "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}, "authentication", False),
    ],
)  # fmt: skip
def test_an_error_inside_a_stream_is_an_error_with_what_had_come(
    error: dict[str, Any], kind: str, retryable: bool
) -> None:
    with pytest.raises(ModelError) as raised:
        streamed([HI, {"error": error}])

    assert (raised.value.kind, raised.value.retryable) == (kind, retryable)


# Arguments in pieces, as Vertex AI sends them; the shape is that of a stream captured by another client:
# github.com/vercel/ai (Apache-2.0), packages/google/src/__fixtures__/google-stream-no-args-tool-call.chunks.txt


def piece(path: str, value: Any, more: bool = False, key: str = "stringValue") -> dict[str, Any]:
    said = {"jsonPath": path, key: value, **({"willContinue": True} if more else {})}
    return {"functionCall": {"partialArgs": [said], "willContinue": True}}


FIRST = {"functionCall": {"name": "w", "willContinue": True}, "thoughtSignature": "U0lH"}
LAST: dict[str, Any] = {"functionCall": {}}
PIECES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "one text": ([piece("$.id", "A", True), piece("$.id", "")], {"id": "A"}),
    "a text that grows": ([piece("$.city", "Han", True), piece("$.city", "gzh", True), piece("$.city", "ou")], {"city": "Hangzhou"}),
    "several values": (
        [piece("$.a", 1, key="numberValue"), piece("$.b", True, key="boolValue"), piece("$.c", None, key="nullValue")],
        {"a": 1, "b": True, "c": None},
    ),
    "depths": (
        [piece("$.a.b[0].c", "x"), piece("$.a.b[1].c", "y"), piece("$['odd key']", "z")],
        {"a": {"b": [{"c": "x"}, {"c": "y"}]}, "odd key": "z"},
    ),
    "none": ([], {}),
    "a path that is none": ([piece("", "x"), piece("$.a", "y")], {"a": "y"}),
}  # fmt: skip


@pytest.mark.parametrize("name", PIECES)
def test_arguments_in_pieces_are_one_call_with_its_signature(name: str) -> None:
    pieces, arguments = PIECES[name]
    whole = {"functionCall": {"name": "now"}}
    chunks = [candidate([part], None) for part in (whole, FIRST, *pieces, LAST, FIRST, *pieces, LAST)]

    for step in (1, 9, 10_000):
        response = streamed([*chunks, candidate([{"text": ""}])], step)

        assert [(call.name, call.input) for call in response.tool_calls] == [
            ("now", {}),
            ("w", arguments),
            ("w", arguments),
        ]
        assert response.finish_reason is FinishReason.TOOL_CALLS
        assert not any(call.incomplete for call in response.tool_calls)
        results: list[Message] = [ToolResultMessage(call.id, call.name, "ok") for call in response.tool_calls]
        sent = contents([UserMessage("q"), response.message, *results])
        assert [part.get("thoughtSignature") for part in sent[1]["parts"] if "functionCall" in part][1:] == [
            "U0lH",
            "U0lH",
        ]
        assert all("willContinue" not in part["functionCall"] for part in sent[1]["parts"] if "functionCall" in part)


def test_arguments_that_stop_in_the_middle_make_no_call_that_runs() -> None:
    response = streamed([candidate([FIRST], None), candidate([piece("$.city", "Han", True)], "MAX_TOKENS")])

    assert [(call.name, call.incomplete) for call in response.tool_calls] == [("w", True)]
    assert response.finish_reason is FinishReason.LENGTH
