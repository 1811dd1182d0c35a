"""An answer that may begin with thinking between tags, and nearly never does: read alike whole and at every split."""

from __future__ import annotations

import pytest

from polywire import (
    AiMessage,
    ChatResponse,
    FinishReason,
    Frame,
    ResponseCollector,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    StreamInterrupted,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.profiles import Profile
from polywire.requests import ChatRequest

PROFILE = Profile(reasoning_echo="tool_calls", quirks={"think_tags_fallback": True})
SURE = Profile(think_tags=True, reasoning_field="reasoning", quirks={"think_tags_opening": "required"})


class Decoder:
    """Plays batches of events; stands for a codec's own decoder."""

    def __init__(self, *batches: list[StreamEvent], error: Exception | None = None) -> None:
        self.ended = False
        self._batches = list(batches)
        self._error = error

    def feed(self, frame: Frame) -> list[StreamEvent]:
        return self._batches[int(frame.data)]

    def finish(self) -> list[StreamEvent]:
        if self._error is not None:
            raise self._error
        return []


def streamed(*batches: list[StreamEvent], profile: Profile = PROFILE) -> ChatResponse:
    decoder = with_markup(Decoder(*batches), profile)
    collector = ResponseCollector()
    for index in range(len(batches)):
        collector.add_all(decoder.feed(Frame(str(index).encode())))
    collector.add_all(decoder.finish())
    return collector.response()


ANSWERS = [
    # the text, and what of it is thinking and text
    ("<think>\nLet me see.\n</think>\n\nNoon.", "Let me see.", "Noon."),
    (" \n<think>a</think>b", "a", "b"),
    ("<think>a < b", "a < b", None),
    ("Noon, <think>not</think> thought.", None, "Noon, <think>not</think> thought."),
    ("<thinking>x</thinking>", None, "<thinking>x</thinking>"),
    ("<th", None, "<th"),
    ("< think>a</think>", None, "< think>a</think>"),
    ("a</think>b", None, "a</think>b"),
]


@pytest.mark.parametrize("profile", [PROFILE, SURE, PROFILE.changed({"tool_markup": ["hermes"]})])
@pytest.mark.parametrize(("text", "thinking", "rest"), ANSWERS)
def test_whole_and_at_every_split_the_same(text: str, thinking: str | None, rest: str | None, profile: Profile) -> None:
    whole = apply_markup_to_response(ChatResponse(AiMessage(text), finish_reason=FinishReason.STOP), profile)
    assert (whole.thinking, whole.text) == (thinking, rest)

    end: list[StreamEvent] = [ResponseEnd(FinishReason.STOP, {"id": "r1"})]
    splits = [[text[:at], text[at:]] for at in range(len(text) + 1)] + [list(text)]
    for pieces in splits:
        batches: list[list[StreamEvent]] = [[TextDelta(piece, 1)] for piece in pieces if piece]
        response = streamed([ResponseStart({"id": "r1"})], *batches, end, profile=profile)

        assert (response.thinking, response.text) == (thinking, rest), pieces
        assert response.metadata["id"] == "r1"


def test_thinking_with_a_field_of_its_own_and_calls_are_let_through_as_they_came() -> None:
    call = ToolCall("c1", "now", "{}")
    events: list[StreamEvent] = [
        ResponseStart({"id": "r1"}),
        ThinkingDelta("Both.", 0),
        TextDelta("<think>", 1),
        ToolCallStart("c1", "now", 2),
        ToolCallDelta("{}", 2),
        ToolCallEnd(call, 2),
        ResponseEnd(FinishReason.TOOL_CALLS, {}),
    ]

    response = streamed(*[[event] for event in events])

    assert response.thinking == "Both."
    assert response.text == "<think>"
    assert response.tool_calls == (call,)


@pytest.mark.parametrize(("text", "partial"), [("<th", "<th"), ("<think>a", None), ("Noon", "Noon")])
def test_what_was_held_back_belongs_to_an_interrupted_answer(text: str, partial: str | None) -> None:
    error = StreamInterrupted("the stream broke off")
    decoder = with_markup(Decoder([ResponseStart({"id": "r1"}), TextDelta(text, 1)], error=error), PROFILE)
    seen = ResponseCollector()
    seen.add_all(decoder.feed(Frame(b"0")))

    with pytest.raises(StreamInterrupted) as raised:
        decoder.finish()

    told = raised.value.partial or seen.partial()
    assert told is not None
    assert told.text == partial


def test_thinking_is_not_written_back_between_tags_on_the_mere_chance_of_them() -> None:
    request = ChatRequest("q")

    assert apply_markup_to_request(request, PROFILE) == (request, ())
