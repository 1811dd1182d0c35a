"""Markup around a codec: requests for models without tools, and answers read the same streamed and whole."""

from __future__ import annotations

import pytest

from polywire import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    CustomMessage,
    FinishReason,
    Frame,
    Message,
    Notice,
    OpaqueTool,
    PartEnd,
    ResponseCollector,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    StreamInterrupted,
    SystemMessage,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolChoice,
    ToolResultMessage,
    ToolSpecification,
    UnsupportedByModel,
    UserMessage,
)
from polywire.markup import (
    FORMS,
    MarkupStreamDecoder,
    apply_markup_to_request,
    apply_markup_to_response,
    with_markup,
)
from polywire.profiles import Profile

SEARCH = ToolSpecification("search", "Finds things.", {"type": "object", "properties": {"q": {"type": "string"}}})
CALL = '<tool_call>{"name":"search","arguments":{"q":"a"}}</tool_call>'


def text_of(message: Message) -> str:
    assert not isinstance(message, CustomMessage)
    return message.text or ""


def answer_of(message: Message) -> ChatResponse:
    assert isinstance(message, AiMessage)
    return ChatResponse(message)


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


def streamed(profile: Profile, *events: StreamEvent, request: ChatRequest | None = None) -> ChatResponse:
    batches = [[event] for event in events]
    decoder = with_markup(Decoder(*batches), profile, request)
    collector = ResponseCollector()
    for index in range(len(batches)):
        collector.add_all(decoder.feed(Frame(str(index).encode())))
    collector.add_all(decoder.finish())
    return collector.response()


MARKUP = Profile(tool_calling="markup", tool_markup=("hermes",), think_tags=True)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_streamed_and_whole_answers_are_read_alike(size: int) -> None:
    written = f"<think>hush</think>Ok.{CALL}\n{CALL} bye"
    whole = apply_markup_to_response(ChatResponse(AiMessage(written), metadata={"id": "r1"}), MARKUP)
    pieces = [written[at : at + size] for at in range(0, len(written), size)]
    stream = streamed(
        MARKUP,
        ResponseStart({"id": "r1"}),
        *(TextDelta(piece) for piece in pieces),
        ResponseEnd(FinishReason.STOP),
    )

    assert [type(part) for part in whole.message.parts] == [
        ThinkingContent,
        TextContent,
        ToolCall,
        ToolCall,
        TextContent,
    ]
    assert whole.text == "Ok.bye"
    assert whole.thinking == "hush"
    assert [call.input for call in whole.tool_calls] == [{"q": "a"}, {"q": "a"}]
    assert len({call.id for call in whole.tool_calls}) == 2
    assert whole.finish_reason is FinishReason.TOOL_CALLS
    assert stream.message == whole.message
    assert stream.finish_reason is whole.finish_reason


def test_native_parts_keep_their_place_among_text() -> None:
    profile = Profile(tool_markup=("hermes",))
    native = ToolCall("n1", "search", {"q": "b"})
    stream = streamed(
        profile,
        ThinkingDelta("hm", 0),
        TextDelta(f"Ok.{CALL}", 1),
        ToolCallStart("n1", "search", 2),
        ToolCallDelta('{"q":"b"}', 2),
        ToolCallEnd(native, 2),
        PartEnd(ThinkingContent("hm", signature="s"), 0),
        ResponseEnd(FinishReason.TOOL_CALLS),
    )

    thinking, text, written, called = stream.message.parts
    assert thinking == ThinkingContent("hm", signature="s")
    assert text == TextContent("Ok.")
    assert isinstance(written, ToolCall)
    assert written.source == "markup"
    assert called == native


def test_what_comes_along_with_unchanged_text_is_kept() -> None:
    profile = Profile(think_tags=True)
    cited = TextContent("Hello", extras={"wire": {"citations": [1]}})

    assert streamed(profile, TextDelta("Hello"), PartEnd(cited), ResponseEnd(FinishReason.STOP)).message.parts == (
        cited,
    )
    whole = apply_markup_to_response(ChatResponse(AiMessage([cited])), profile)
    assert whole.message.parts == (cited,)

    changed = TextContent("<think>a</think>b", extras={"wire": {"citations": [1]}})
    whole = apply_markup_to_response(ChatResponse(AiMessage([changed])), profile)
    assert whole.message.parts == (ThinkingContent("a"), TextContent("b"))
    assert [notice.kind for notice in whole.notices] == ["dropped"]


def test_a_profile_without_markup_costs_nothing() -> None:
    response = ChatResponse(AiMessage(CALL))
    decoder = Decoder()
    request = ChatRequest("hi", ChatRequestParameters(tools=(SEARCH,)))

    assert apply_markup_to_response(response, Profile()) is response
    assert with_markup(decoder, Profile()) is decoder
    assert apply_markup_to_request(request, Profile()) == (request, ())
    assert apply_markup_to_request(request, Profile(tool_markup=("hermes",)))[0] is request


def test_an_interrupted_stream_carries_what_was_held_back() -> None:
    decoder = MarkupStreamDecoder(Decoder([TextDelta("The answer <tool")], error=StreamInterrupted("cut")), MARKUP)

    assert decoder.feed(Frame(b"0")) == []
    with pytest.raises(StreamInterrupted) as caught:
        decoder.finish()
    assert caught.value.partial is not None
    assert caught.value.partial.text == "The answer <tool"


def test_tools_go_into_the_system_text() -> None:
    request = ChatRequest(
        [SystemMessage("Be brief."), UserMessage("hi")],
        ChatRequestParameters(tools=(SEARCH,), tool_choice=ToolChoice.tool("search"), parallel_tool_calls=False),
    )

    written, notices = apply_markup_to_request(request, MARKUP)

    system = text_of(written.messages[0])
    assert system.startswith("Be brief.")
    assert '"name":"search"' in system
    assert "Finds things." in system
    assert "must call search" in system
    assert "at most one call" in system
    assert written.messages[1:] == request.messages[1:]
    parameters = written.parameters
    assert (parameters.tools, parameters.tool_choice, parameters.parallel_tool_calls) == (None, None, None)
    assert [notice.subject for notice in notices] == ["tools"]
    assert request.messages[0] == SystemMessage("Be brief.")


def test_forbidden_tools_are_not_offered() -> None:
    request = ChatRequest("hi", ChatRequestParameters(tools=(SEARCH,), tool_choice=ToolChoice("none")))

    written, _ = apply_markup_to_request(request, MARKUP)

    assert written.messages == request.messages
    assert written.parameters.tools is None


def test_a_tool_of_a_vendors_own_is_refused() -> None:
    request = ChatRequest("hi", ChatRequestParameters(tools=(OpaqueTool("elsewhere", {"type": "web"}),)))

    with pytest.raises(UnsupportedByModel, match=r"tools\[0\]"):
        apply_markup_to_request(request, MARKUP)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_second_turn_shows_the_model_its_own_markup(form: str) -> None:
    profile = Profile(tool_calling="markup", tool_markup=(form,))
    calls = [ToolCall("functions.search:0", "search", {"q": "a"}), ToolCall("functions.search:1", "search", {"q": "b"})]
    history: list[Message] = [
        UserMessage("find a and b"),
        AiMessage(["Looking.", *calls]),
        ToolResultMessage("functions.search:0", "search", "found a"),
        ToolResultMessage("functions.search:1", "search", "found nothing", is_error=True),
        UserMessage("and?"),
    ]

    written, _ = apply_markup_to_request(ChatRequest(history, ChatRequestParameters(tools=(SEARCH,))), profile)

    roles = [message.role for message in written.messages]
    assert roles == ["system", "user", "assistant", "user", "user"]
    again = apply_markup_to_response(
        answer_of(written.messages[2]), profile, ChatRequest("x", ChatRequestParameters(tools=(SEARCH,)))
    )
    assert again.text == "Looking."
    assert [(call.name, call.input) for call in again.tool_calls] == [("search", {"q": "a"}), ("search", {"q": "b"})]
    results = text_of(written.messages[3])
    assert results.index("found a") < results.index("found nothing")


def test_a_call_that_was_never_json_is_written_as_an_object() -> None:
    history: list[Message] = [
        UserMessage("x"),
        AiMessage([ToolCall("c", "search", '{"q": "Par')]),
        ToolResultMessage("c", "search", "bad"),
    ]

    written, _ = apply_markup_to_request(ChatRequest(history), MARKUP)

    answer = apply_markup_to_response(answer_of(written.messages[1]), MARKUP)
    assert answer.tool_calls[0].input == {"INVALID_JSON": '{"q": "Par'}


@pytest.mark.parametrize(
    ("echo", "expected"), [("never", ["a", "b"]), ("tool_calls", ["<think>", "b"]), ("always", ["<think>", "<think>"])]
)
def test_thinking_goes_back_between_its_tags_where_the_profile_asks(echo: str, expected: list[str]) -> None:
    profile = Profile(think_tags=True, reasoning_echo=echo)  # type: ignore[arg-type]
    history: list[Message] = [
        UserMessage("x"),
        AiMessage([ThinkingContent("t"), "a", ToolCall("c", "search")]),
        ToolResultMessage("c", "search", "r"),
        AiMessage([ThinkingContent("t"), "b"]),
        UserMessage("y"),
    ]

    written, _ = apply_markup_to_request(ChatRequest(history), profile)

    texts = [message.text or "" for message in written.messages if isinstance(message, AiMessage)]
    assert [text[: len(start)] for text, start in zip(texts, expected, strict=True)] == expected


def test_names_that_the_wire_changed_are_changed_back() -> None:
    class Names:
        def to_wire(self, name: str) -> str:
            return name.replace(".", "_")

        def from_wire(self, name: str) -> str:
            return name.replace("_", ".")

    profile = Profile(tool_markup=("qwen_xml",))
    tool = ToolSpecification("a.b", None, {"type": "object", "properties": {"n": {"type": "integer"}}})
    request = ChatRequest("x", ChatRequestParameters(tools=(tool,)))
    written = "<tool_call><function=a_b><parameter=n>1</parameter></function></tool_call>"

    answer = apply_markup_to_response(ChatResponse(AiMessage(written)), profile, request, Names())

    assert [(call.name, call.input) for call in answer.tool_calls] == [("a.b", {"n": 1})]


def test_notices_of_the_answer_are_kept() -> None:
    notice = Notice("dropped", "seed", "no seed")

    assert apply_markup_to_response(ChatResponse(AiMessage("x"), notices=(notice,)), MARKUP).notices == (notice,)


def test_a_consumer_that_stops_has_what_was_held_back() -> None:
    decoder = MarkupStreamDecoder(Decoder([TextDelta("The answer <tool")], [TextDelta("box is")]), MARKUP)

    assert decoder.feed(Frame(b"0")) == []
    assert [event for event in decoder.held_back() if type(event) is TextDelta] == [TextDelta("The answer <tool")]
    assert decoder.held_back() == []
