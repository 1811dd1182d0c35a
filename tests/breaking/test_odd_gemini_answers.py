"""
Gemini's answers where several come at once, where fields are left out, and where a part cannot be read.

Facts of the wire: google-genai 3.6.1 (types.Candidate, GenerateContentResponsePromptFeedback) and JSON of protocol buffers,
which leaves default values out: the index 0, and an unspecified finish reason.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import error_of, read_plain, read_streamed, sse

from polywire import convert
from polywire.contents import ImageContent, OpaqueContent
from polywire.errors import ContentFiltered, EmptyResponse, ModelError, Overloaded, RateLimited, StreamInterrupted
from polywire.responses import FinishReason


def candidate(*parts: Any, index: int | None = None, reason: str | None = None) -> dict[str, Any]:
    told = {"index": index, "finishReason": reason}
    return {"content": {"role": "model", "parts": list(parts)}} | {
        key: each for key, each in told.items() if each is not None
    }


def chunk(*candidates: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": list(candidates), **more}


def text(said: str) -> dict[str, Any]:
    return {"text": said}


SEVERAL = {
    "in turns": [
        chunk(candidate(text("A"))),
        chunk(candidate(text("x"), index=1)),
        chunk(candidate(text("B"), reason="STOP")),
        chunk(candidate(text("y"), index=1, reason="MAX_TOKENS")),
    ],
    "with their indexes": [
        chunk(candidate(text("A"), index=0), candidate(text("x"), index=1)),
        chunk(candidate(text("x"), index=1, reason="MAX_TOKENS")),
        chunk(candidate(text("B"), index=0, reason="STOP")),
    ],
    "in another order": [chunk(candidate(text("x"), index=1), candidate(text("AB"), index=0, reason="STOP"))],
    "many at once": [
        chunk(candidate(text("A")), candidate(text("x"), index=1), candidate(text("z"), index=2)),
        chunk(candidate(text("B"), reason="STOP"), candidate(text("y"), index=1, reason="SAFETY")),
    ],
}


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_answers_one_is_read_and_none_is_mixed_in(name: str) -> None:
    answer = read_streamed("gemini", sse(*SEVERAL[name]))

    assert (answer.text, answer.finish_reason) == ("AB", FinishReason.STOP)
    assert [notice.subject for notice in answer.notices] == ["candidates"]


def test_of_several_whole_answers_the_first_by_its_index_is_read() -> None:
    answer = read_plain("gemini", SEVERAL["in another order"][0])

    assert (answer.text, answer.finish_reason) == ("AB", FinishReason.STOP)


def test_an_only_answer_may_have_any_index() -> None:
    answer = read_streamed(
        "gemini", sse(chunk(candidate(text("A"), index=1)), chunk(candidate(index=1, reason="STOP")))
    )

    assert (answer.text, answer.notices) == ("A", ())


def test_a_whole_answer_without_a_reason_is_one_and_a_stream_is_cut() -> None:
    body = chunk(candidate(text("A")))

    answer = read_plain("gemini", body)
    assert (answer.text, answer.finish_reason) == ("A", FinishReason.OTHER)
    assert "raw_finish_reason" not in answer.metadata
    error = error_of("gemini", sse(body))
    assert isinstance(error, StreamInterrupted)
    assert error.partial is not None
    assert error.partial.text == "A"


def test_a_whole_answer_without_a_reason_may_hold_calls() -> None:
    answer = read_plain("gemini", chunk(candidate({"functionCall": {"name": "f"}})))

    assert answer.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    "body", [{}, {"candidates": []}, {"usageMetadata": {"promptTokenCount": 4}}, {"responseId": "r"}]
)
def test_a_body_without_any_answer_is_empty(body: Any) -> None:
    with pytest.raises(EmptyResponse) as caught:
        read_plain("gemini", body)
    assert caught.value.retryable


PNG = "iVBORw0KGgo="


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "@@"}},
        {"inlineData": {"mimeType": "image/png"}},
        {"inlineData": {}},
        {"fileData": {}},
        {"fileData": {"fileUri": 5}},
    ],
)
def test_media_that_cannot_be_read_is_kept_as_it_came(part: Any) -> None:
    body = chunk(candidate(text("A"), part, reason="STOP"))

    for answer in (read_plain("gemini", body), read_streamed("gemini", sse(body))):
        assert answer.text == "A"
        assert answer.message.parts[1] == OpaqueContent("gemini", part)
    assert convert(body, source="gemini", target="gemini").payload["candidates"][0]["content"]["parts"][1] == part


def test_a_picture_without_its_type_is_known_by_its_bytes() -> None:
    answer = read_plain("gemini", chunk(candidate({"inlineData": {"data": PNG}}, reason="STOP")))

    assert answer.message.parts == (ImageContent.from_base64(PNG),)


@pytest.mark.parametrize("part", [{"functionCall": None}, {"text": None}, {"text": None, "functionCall": None}, {}])
def test_a_part_of_nulls_says_nothing(part: Any) -> None:
    body = chunk(candidate(part, text("A"), reason="STOP"))

    for answer in (read_plain("gemini", body), read_streamed("gemini", sse(body))):
        assert [part.kind for part in answer.message.parts] == ["text"]


def test_why_a_prompt_is_blocked_is_told_in_the_vendors_words() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "not this"}

    with pytest.raises(ContentFiltered, match="PROHIBITED_CONTENT: not this"):
        read_plain("gemini", {"promptFeedback": feedback})


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [("503", "UNAVAILABLE", Overloaded), ("429", "RESOURCE_EXHAUSTED", RateLimited), (14, "UNAVAILABLE", Overloaded)],
)
def test_an_errors_code_may_be_text_or_none_of_http(code: Any, status: str, kind: type[ModelError]) -> None:
    error = error_of("gemini", sse({"error": {"code": code, "message": "m", "status": status}}))

    assert isinstance(error, kind)
    assert error.status == (500 if code == 14 else int(code))
