"""What codecs share: names, ids, turns, foreign parts, parameters, the error envelope and finish words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from polywire.contents import ImageContent, OpaqueContent, ThinkingContent
from polywire.errors import UnsupportedByModel
from polywire.history import check_history
from polywire.messages import AiMessage, Message, Origin, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.profiles import Profile, ProfileRule, ProfileTable
from polywire.requests import ChatRequest, ChatRequestParameters, OpaqueTool, Reasoning, ToolChoice, ToolSpecification
from polywire.responses import FinishReason
from polywire.translation.calls import generate_call_id, make_call
from polywire.translation.envelope import error_envelope, read_error_envelope, read_success_envelope, success_envelope
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.media import source_of
from polywire.translation.names import NameMap
from polywire.translation.prepare import prepare

USER = UserMessage("q")
PLAIN = Profile()
BLOCKS = Profile(tool_id_pattern=r"[A-Za-z0-9_-]+", tool_ids_unique="conversation")
NINE = Profile(tool_id_pattern=r"[a-zA-Z0-9]{9}")
PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")

names = st.one_of(st.text(min_size=1, max_size=90), st.from_regex(r"[a-z_.-]{1,70}", fullmatch=True))


def turn(*ids: str, name: str = "search") -> list[Message]:
    return [
        AiMessage([ToolCall(each, name, "{}") for each in ids]),
        *(ToolResultMessage(each, name, f"r{each}") for each in ids),
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(names, max_size=8))
def test_names_map_injectively_to_valid_ones_and_back(given_names: list[str]) -> None:
    mapped = NameMap(given_names, PLAIN.tool_name_pattern, 64)

    sent = {name: mapped.to_wire(name) for name in given_names}
    assert all(PATTERN.fullmatch(name) for name in sent.values())
    assert len(set(sent.values())) == len(sent)
    assert all(mapped.from_wire(wire) == name for name, wire in sent.items())
    assert all(name == wire for name, wire in sent.items() if PATTERN.fullmatch(name))


@given(names, st.lists(names, max_size=4))
def test_a_name_maps_alike_whatever_stands_beside_it(name: str, others: list[str]) -> None:
    alone = NameMap([name], PLAIN.tool_name_pattern, 64).to_wire(name)
    beside = NameMap([*others, name], PLAIN.tool_name_pattern, 64).to_wire(name)

    assert alone == beside or beside != alone in others


def test_one_mapped_name_in_tools_history_and_choice() -> None:
    request = ChatRequest(
        [USER, *turn("a", name="files.read")],
        ChatRequestParameters(
            tools=tuple(ToolSpecification(name) for name in ("files.read", "files/read", "wetter für")),
            tool_choice=ToolChoice.tool("files.read"),
        ),
    )

    prepared = prepare(request, PLAIN, wire="x")

    sent = [tool.name for tool in prepared.parameters.tools or ()]  # type: ignore[union-attr]
    assert len(set(sent)) == 3
    call, answer = prepared.messages[1].tool_calls[0], prepared.messages[2]  # type: ignore[union-attr]
    assert call.name == answer.tool_name == sent[0] == prepared.parameters.tool_choice.forced  # type: ignore[union-attr]
    assert prepared.names.from_wire(sent[0]) == "files.read"
    assert len(prepared.notices) == 3


def test_nothing_to_change_gives_the_same_objects() -> None:
    request = ChatRequest(
        [USER, *turn("call_1", "call_2")], ChatRequestParameters(tools=(ToolSpecification("search"),))
    )

    prepared = prepare(request, BLOCKS, wire="x")

    assert prepared.messages is request.messages
    assert prepared.parameters is request.parameters
    assert prepared.notices == []


def ids_of(messages: object) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for message in messages:  # type: ignore[attr-defined]
        if isinstance(message, AiMessage):
            found += [("call", call.id) for call in message.tool_calls]
        elif isinstance(message, ToolResultMessage):
            found.append(("result", message.call_id))
    return found


@pytest.mark.parametrize("profile", [BLOCKS, NINE, Profile(tool_id_pattern=r"[a-z]{1,8}|[A-Za-z0-9]{24}")])
@pytest.mark.parametrize("bad", ["functions.search:0", "", "a b", "日本", "x" * 200])
def test_foreign_ids_fit_the_pattern_the_same_way_every_time(profile: Profile, bad: str) -> None:
    call_id = bad or "?"
    history = [USER, *turn(call_id)]

    first = prepare(ChatRequest(history), profile, wire="x")
    again = prepare(ChatRequest([*history, USER]), profile, wire="x")

    (_, sent), (_, answered) = ids_of(first.messages)
    assert sent == answered
    assert re.fullmatch(profile.tool_id_pattern or "", sent)
    assert ids_of(again.messages) == ids_of(first.messages)
    assert ids_of(history) == [("call", call_id), ("result", call_id)]


def test_ids_that_begin_again_in_every_turn_become_unique_and_keep_their_results() -> None:
    history = [USER, *turn("call_0"), USER, *turn("call_0"), USER, *turn("call_0", "call_1")]

    prepared = prepare(ChatRequest(history), BLOCKS, wire="x")

    found = ids_of(prepared.messages)
    sent = [call_id for kind, call_id in found if kind == "call"]
    assert len(set(sent)) == 4
    assert sent[0] == "call_0"
    assert [call_id for kind, call_id in found if kind == "result"] == sent
    assert prepare(ChatRequest(history), PLAIN, wire="x").messages == tuple(history)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "a.b", "call_0", "日"]), min_size=1, max_size=3, unique=True), max_size=5
    )
)
def test_id_maps_are_injective_and_close(turns: list[list[str]]) -> None:
    history: list[Message] = [USER]
    for ids in turns:
        history += turn(*ids)
    for profile in (BLOCKS, NINE):
        prepared = prepare(ChatRequest(history), profile, wire="x")
        check_history(prepared.messages)
        assert all(re.fullmatch(profile.tool_id_pattern or "", call_id) for _, call_id in ids_of(prepared.messages))
        if profile is BLOCKS:
            sent = [call_id for kind, call_id in ids_of(prepared.messages) if kind == "call"]
            assert len(set(sent)) == len(sent)


def test_parallel_turns_become_turns_of_one_call_in_order() -> None:
    history = [
        USER,
        AiMessage(["first", ToolCall("a", "f"), ToolCall("b", "g"), "then"]),
        ToolResultMessage("b", "g", "B"),
        ToolResultMessage("a", "f", "A"),
        USER,
    ]

    prepared = prepare(ChatRequest(history), Profile(parallel_tool_calls=False), wire="x")

    shape = [
        (message.text, [call.id for call in message.tool_calls]) if isinstance(message, AiMessage) else message.text  # type: ignore[union-attr]
        for message in prepared.messages
    ]
    assert shape == ["q", ("first", ["a"]), "A", ("then", ["b"]), "B", "q"]
    check_history(prepared.messages)
    assert len(prepared.notices) == 1


def test_no_parallel_calls_sends_the_switch_off() -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(ToolSpecification("f"),)))

    prepared = prepare(request, Profile(parallel_tool_calls=False), wire="x")

    assert prepared.parameters.parallel_tool_calls is False


def test_thinking_and_opaque_blocks_go_home_only() -> None:
    thinking, block = ThinkingContent("plan", "sig"), OpaqueContent("home", {"type": "z"})
    message = AiMessage([thinking, "ok", block], Origin("home"))

    at_home = prepare(ChatRequest([USER, message]), PLAIN, wire="home")
    abroad = prepare(ChatRequest([USER, message]), PLAIN, wire="abroad")

    assert at_home.messages[1] is message
    assert abroad.messages[1].parts == AiMessage("ok").parts  # type: ignore[union-attr]
    assert [notice.kind for notice in abroad.notices] == ["dropped", "dropped"]
    by_hand = AiMessage([thinking, "ok"])
    assert prepare(ChatRequest([USER, by_hand]), PLAIN, wire="abroad").messages[1] is by_hand


def test_what_a_model_does_not_take_is_removed_with_a_notice_each() -> None:
    profile = Profile(sampling=frozenset({"temperature"}), strict_tools=False)
    request = ChatRequest(
        "q",
        ChatRequestParameters(
            temperature=0.1,
            top_p=0.5,
            seed=1,
            stop_sequences=("x",),
            tools=(ToolSpecification("f", strict=True), OpaqueTool("other", {"type": "web"})),
        ),
    )

    prepared = prepare(request, profile, wire="x")

    assert prepared.parameters == ChatRequestParameters(temperature=0.1, tools=(ToolSpecification("f"),))
    assert [notice.subject for notice in prepared.notices] == ["top_p", "seed", "stop_sequences", "tools.f", "tools"]


def test_stop_sequences_blank_or_too_many() -> None:
    profile = Profile(blank_stop_sequences=False, stop_limit=4)

    def prepared(*stops: str) -> object:
        return prepare(
            ChatRequest("q", ChatRequestParameters(stop_sequences=stops)), profile, wire="x"
        ).parameters.stop_sequences

    assert prepared("\n", "END") == ("END",)
    assert prepared("\n", " ") is None
    assert prepared("1", "2", "3", "4", "\n") == ("1", "2", "3", "4")
    with pytest.raises(UnsupportedByModel, match=r"5 given.*at most 4"):
        prepared("1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("choice", "taken", "sent"),
    [
        (ToolChoice.tool("f"), {"auto", "required"}, ToolChoice("required", ("f",))),
        (ToolChoice.tool("f"), {"auto"}, ToolChoice("auto", ("f",))),
        (ToolChoice("required"), {"auto"}, ToolChoice("auto")),
        (ToolChoice("none"), {"auto"}, None),
        (ToolChoice("required"), {"auto", "required"}, ToolChoice("required")),
    ],
)
def test_tool_choices_that_an_endpoint_lacks(choice: ToolChoice, taken: set[str], sent: ToolChoice | None) -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(ToolSpecification("f"),), tool_choice=choice))

    prepared = prepare(request, Profile(tool_choices=frozenset(taken)), wire="x")

    assert prepared.parameters.tool_choice == sent
    assert bool(prepared.notices) is (sent != choice or ("named" not in taken and choice.forced is not None))


def test_tool_choice_without_tools_is_not_sent() -> None:
    parameters = ChatRequestParameters(tools=(), tool_choice="auto", parallel_tool_calls=True)  # type: ignore[arg-type]

    assert prepare(ChatRequest("q", parameters), PLAIN, wire="x").parameters == ChatRequestParameters()


@pytest.mark.parametrize(
    ("asked", "sent"), [("xhigh", "high"), ("max", "high"), ("minimal", "low"), ("none", "low"), ("medium", "medium")]
)
def test_an_effort_goes_to_the_nearest(asked: str, sent: str) -> None:
    request = ChatRequest("q", ChatRequestParameters(reasoning=Reasoning(asked)))  # type: ignore[arg-type]

    prepared = prepare(request, Profile(efforts=("low", "medium", "high")), wire="x")

    assert prepared.parameters.reasoning == Reasoning(sent)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "result",
    [
        ToolResultMessage("a", "f", "timeout", is_error=True),
        ToolResultMessage("a", "f", error=ToolError("timeout", "too slow é", True, {"seconds": 3})),
        ToolResultMessage("a", "f", error=ToolError("X", "m", False)),
        ToolResultMessage("a", "f", "", is_error=True),
    ],
)
def test_a_failure_survives_a_wire_without_an_error_flag(result: ToolResultMessage) -> None:
    back = read_error_envelope(error_envelope(result))

    assert back is not None
    text, error = back
    assert text == (result.text or "the tool failed")
    assert error == result.error


@pytest.mark.parametrize(
    "text",
    [
        "", "no", "{}", '{"ok":false}', '{"ok":false,"error":"x"}', '{"ok":false,"error":{"type":"a","message":"b"}}',
        '{"ok":true,"error":{"type":"a","message":"b","retryable":null,"metadata":{}}}',
        '{"ok":false,"error":{"type":"a","message":"b","retryable":null,"metadata":{},"more":1}}',
        '{"ok":false,"error":{"type":"a","message":"b","retryable":1,"metadata":{}}}',
        '{"ok":false,"error":{"type":1,"message":"b","retryable":null,"metadata":{}}}',
        '{"ok":0,"error":{"type":"a","message":"b","retryable":null,"metadata":{}}}',
        '[{"ok":false}]',
    ],
)  # fmt: skip
def test_only_exactly_the_envelope_is_read_as_a_failure(text: str) -> None:
    assert read_error_envelope(text) is None


@given(st.text())
def test_a_wrapped_success_unwraps(text: str) -> None:
    back = read_success_envelope(success_envelope(text))
    assert back is not None
    if not text.strip().startswith(("{", "[", '"')) and text.strip() == text and not re.fullmatch(r"[-\w.+]*", text):
        assert back == re.sub("[\ud800-\udfff]", "\ufffd", text)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", "stop"), ("eos", "stop"), ("END_TURN", "stop"), ("MAX_TOKENS", "length"), ("model_length", "length"),
        ("tool_use", "tool_calls"), ("function_call", "tool_calls"), ("SAFETY", "content_filter"), ("sensitive", "content_filter"),
        ("guardrail_intervened", "content_filter"), ("network_error", "error"), ("pause_turn", "pause"), ("refusal", "refusal"),
        ("shiny_new_reason", "other"), ("abort", "other"), (7, "other"),
    ],
)  # fmt: skip
def test_finish_words(word: object, reason: str) -> None:
    assert finish_reason(word) == reason


def test_no_finish_word_means_not_ended() -> None:
    assert finish_reason(None) is None
    assert finish_reason("") is None
    assert settle_finish_reason(None, has_calls=False) is FinishReason.OTHER
    assert settle_finish_reason(FinishReason.STOP, has_calls=True) is FinishReason.TOOL_CALLS
    assert settle_finish_reason(FinishReason.LENGTH, has_calls=True) is FinishReason.LENGTH


def test_calls_without_ids_get_distinct_ones_that_depend_only_on_the_answer() -> None:
    first, second = (make_call("f", "{}", seed="resp", index=index) for index in (0, 1))

    assert first.id != second.id
    assert re.fullmatch(r"call_[A-Za-z0-9]{9}", first.id)
    assert first.id == generate_call_id("resp", 0, "f")
    assert make_call("f", "{}", id="", seed="other", index=0).id != first.id
    assert make_call("f", "{}", id="given").id == "given"


@pytest.mark.parametrize(
    ("raw", "incomplete"),
    [("", True), (None, True), ('{"a": "b', True), ("[1]", True), ("{}", False), ('{"a":1}', False)],
)
def test_a_cut_answer_never_leaves_a_runnable_rest(raw: str | None, incomplete: bool) -> None:
    assert make_call("f", raw, id="c", cut=True).incomplete is incomplete
    assert make_call("f", raw, id="c").incomplete is False


def test_media_is_refused_by_place_and_reason() -> None:
    profile = Profile(image_sources=frozenset({"data"}), max_media_bytes=8)
    png = b"\x89PNG\r\n\x1a\n"

    assert source_of(ImageContent(data=png), profile, "messages[0]") == "data"
    for image, words in (
        (ImageContent(url="https://a/b"), "messages\\[0\\].*url.*load the bytes"),
        (ImageContent(data=png + b"x"), "9 bytes.*at most 8"),
        (ImageContent(data=b"<svg/>", media_type="image/svg+xml"), "svg"),
    ):
        with pytest.raises(UnsupportedByModel, match=words):
            source_of(image, profile, "messages[0]")


def test_profiles_match_in_order_and_name_what_is_unknown() -> None:
    table = ProfileTable(
        Profile(),
        (
            ProfileRule(
                "GPT-5* | o3*", {"max_tokens_field": "max_completion_tokens", "quirks": {"a": 1}}, "doc", "2026-12-01"
            ),
            ProfileRule("gpt-5-mini", {"efforts": ["low"], "quirks": {"b": 2}}, "doc", "2026-12-01"),
        ),
    ).overridden({"stop_limit": 2})

    mini = table.for_model("gpt-5-mini")

    assert (mini.max_tokens_field, mini.efforts, mini.stop_limit, mini.quirks) == (
        "max_completion_tokens",
        ("low",),
        2,
        {"a": 1, "b": 2},
    )
    assert table.for_model("gpt-5-mini") is mini
    assert table.for_model("llama").max_tokens_field == "max_tokens"
    assert len(table.rules_for("gpt-5-mini")) == 2
    with pytest.raises(ValueError, match=r"stop_limits.*stop_limit"):
        table.overridden({"stop_limits": 3})


def test_media_in_results_moves_into_one_user_message_after_the_turn() -> None:
    image = ImageContent(data=b"\x89PNG\r\n\x1a\n")
    history = [
        USER,
        AiMessage([ToolCall("t1", "f"), ToolCall("t2", "f")]),
        ToolResultMessage("t1", "f", ["shot", image]),
        ToolResultMessage("t2", "f", "ok"),
        UserMessage("thanks"),
    ]

    prepared = prepare(ChatRequest(history), PLAIN, wire="x")

    assert [message.role for message in prepared.messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert prepared.messages[2].text.startswith("shot")  # type: ignore[union-attr, union-attr]
    assert image in prepared.messages[4].contents  # type: ignore[union-attr]
    assert prepared.messages[5] is history[4]
    assert len(prepared.notices) == 1
    assert prepare(ChatRequest(history), Profile(tool_result_images=True), wire="x").messages == tuple(history)


def test_of_two_efforts_equally_near_the_weaker_is_sent() -> None:
    request = ChatRequest("q", ChatRequestParameters(reasoning=Reasoning("medium")))

    prepared = prepare(request, Profile(efforts=("high", "low")), wire="x")

    assert prepared.parameters.reasoning == Reasoning("low")


def test_thinking_that_is_asked_for_is_not_switched_off() -> None:
    request = ChatRequest("q", ChatRequestParameters(reasoning=Reasoning("minimal")))

    prepared = prepare(request, Profile(efforts=("none", "medium", "high")), wire="x")

    assert prepared.parameters.reasoning == Reasoning("medium")


def test_fields_of_another_wires_request_are_told_of() -> None:
    request = ChatRequest("q", ChatRequestParameters(extras={"elsewhere": {"speed": "fast"}, "x": {"mine": 1}}))

    prepared = prepare(request, Profile(), wire="x")

    assert [(notice.kind, notice.subject) for notice in prepared.notices] == [("dropped", "extras")]
    assert "speed" in prepared.notices[0].message
