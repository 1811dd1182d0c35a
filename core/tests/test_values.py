"""The values keep their promises: they never change, refuse what is wrong at once, and survive every hand they pass through."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping

import pydantic
import pytest

from polywire.contents import (
    AudioContent,
    CacheMark,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
)
from polywire.errors import ERROR_KINDS, InvalidToolArguments, ModelError, RateLimited, UnknownParameter
from polywire.memo import recall, remember
from polywire.messages import (
    AiMessage,
    CustomMessage,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)
from polywire.models import fold_request
from polywire.requests import (
    CallOptions,
    ChatRequest,
    ChatRequestParameters,
    OpaqueTool,
    Reasoning,
    ResponseFormat,
    ToolChoice,
    ToolSpecification,
)
from polywire.responses import ChatResponse, FinishReason, Notice, TokenUsage
from polywire.serialization import messages_from_json, messages_to_json, response_from_json, response_to_json

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8

EVERY_MESSAGE = (
    SystemMessage([TextContent("rules", cache=CacheMark("1h"))], extras={"openai": {"a": [1, {"b": 2}]}}),
    UserMessage(
        ["look", ImageContent(data=PNG, detail="low"), DocumentContent(file_id="f1", name="a.pdf")], name="ann"
    ),
    AiMessage(
        [
            ThinkingContent("plan", signature="c2ln"),
            ThinkingContent(redacted="xyz"),
            TextContent("ok", extras={"openai": {"annotations": []}}),
            ToolCall("t1", "search", '{"q": "é"}', "openai"),
            ToolCall("t2", "search", '{"q": "cut', incomplete=True),
            OpaqueContent("anthropic", {"type": "server_tool_use", "input": {"a": [1]}}),
        ],
        Origin("anthropic", "work", "some-model"),
    ),
    ToolResultMessage("t1", "search", ["found", ImageContent(url="https://example.com/a.png")]),
    ToolResultMessage("t2", "search", error=ToolError("timeout", "too slow", True, {"seconds": 3})),
    CustomMessage({"x": [1, 2]}),
)


@pytest.mark.parametrize("message", EVERY_MESSAGE, ids=lambda message: type(message).__name__)
def test_every_message_pickles_copies_compares_and_hashes(message: object) -> None:
    for twin in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message), copy.copy(message)):
        assert twin == message
        assert hash(twin) == hash(message)


def test_history_goes_through_json_text_and_back_without_loss() -> None:
    stored = json.dumps(messages_to_json(EVERY_MESSAGE))

    assert messages_from_json(stored) == EVERY_MESSAGE


def test_response_goes_through_json_text_and_back_without_loss() -> None:
    response = ChatResponse(
        EVERY_MESSAGE[2],
        TokenUsage(10, 5, cached_tokens=2),
        FinishReason.TOOL_CALLS,
        (Notice("dropped", "seed", "not taken"),),
        {"id": "r1", "nested": {"a": [1, None]}},
    )

    assert response_from_json(json.dumps(response_to_json(response))) == response


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        (
            '[{"role": "user", "contents": [{"kind": "text", "text": "a"}]}, {"role": "usr", "contents": []}]',
            r"messages\[1\].*'user'",
        ),
        ('[{"role": "user", "contents": [{"kind": "txt", "text": "a"}]}]', r"messages\[0\]\.contents\[0\].*'text'"),
        ('[{"role": "user", "content": "a"}]', r"messages\[0\].*'content'.*'contents'"),
        ('{"role": "user"}', "list of messages"),
    ],
)
def test_a_broken_stored_history_names_the_place_and_the_likely_word(stored: str, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        messages_from_json(stored)


def test_values_pass_through_pydantic_as_they_are() -> None:
    class Conversation(pydantic.BaseModel):
        messages: list[SystemMessage | UserMessage | AiMessage | ToolResultMessage]

    messages = [message for message in EVERY_MESSAGE if not isinstance(message, CustomMessage)]

    held = Conversation(messages=messages)

    assert held.messages == messages
    assert all(mine is theirs for mine, theirs in zip(held.messages, messages, strict=True))


def test_pydantic_builds_messages_from_plain_json() -> None:
    adapter = pydantic.TypeAdapter(UserMessage)

    built = adapter.validate_python({"contents": [{"kind": "text", "text": "hi"}], "name": "ann"})

    assert built == UserMessage("hi", name="ann")


def test_mappings_are_copied_and_read_only_at_every_depth() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}}
    tool = ToolSpecification("t", parameters=given)
    given["properties"]["a"]["enum"].append("y")  # type: ignore[index]

    assert tool.parameters["properties"]["a"]["enum"] == ["x"]
    for change in (
        lambda: tool.parameters.update(a=1),  # type: ignore[attr-defined]
        lambda: tool.parameters["properties"].pop("a"),
        lambda: tool.parameters["properties"]["a"]["enum"].append("z"),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()


@pytest.mark.parametrize("make", [UserMessage, SystemMessage])
@pytest.mark.parametrize("nothing", ["", [], (), [""], [TextContent("")]])
def test_a_message_without_content_is_refused(make: type, nothing: object) -> None:
    with pytest.raises(ValueError, match="needs content"):
        make(nothing)


@pytest.mark.parametrize("make", [UserMessage, SystemMessage, AiMessage])
@pytest.mark.parametrize(
    "wrong", [None, 3, b"bytes", {"type": "text"}, [1], [None], [["nested"]], [ToolResultMessage("a")]]
)
def test_a_wrong_type_is_refused_at_construction(make: type, wrong: object) -> None:
    with pytest.raises(TypeError, match=make.__name__):
        make(wrong)


@pytest.mark.parametrize("request_", [[], (), iter([])])
def test_an_empty_request_is_refused(request_: object) -> None:
    with pytest.raises(ValueError, match="at least one message"):
        ChatRequest(request_)  # type: ignore[arg-type]


def test_ai_message_views() -> None:
    call = ToolCall("c", "f", {"a": "杭州"})
    message = AiMessage([ThinkingContent("hm"), "a", call, "b"])

    assert (message.text, message.thinking, message.tool_calls) == ("ab", "hm", (call,))
    assert AiMessage([call]).text is None
    assert AiMessage("").text == ""
    assert AiMessage([]).text is None


@pytest.mark.parametrize("nothing", ["", "  ", "\n", None, {}, "null"])
def test_no_arguments_are_an_empty_object(nothing: object) -> None:
    call = ToolCall("c", "f", nothing)  # type: ignore[arg-type]

    assert (call.arguments, call.input, call.is_valid) == ("{}", {}, True)


def test_an_object_of_arguments_is_compact_json_with_its_letters_kept() -> None:
    assert ToolCall("c", "f", {"city": "杭州", "n": [1, 2]}).arguments == '{"city":"杭州","n":[1,2]}'
    assert ToolCall("c", "f", '{"city": "\\u676d"}').arguments == '{"city": "\\u676d"}'


@pytest.mark.parametrize("broken", ["[1,2]", '"abc"', "42", "true", '{"a": ', "{'a': 1}", "{}{}", "nul", '{"a":1}]'])
def test_arguments_that_are_no_object_are_kept_and_invalid(broken: str) -> None:
    call = ToolCall("c", "f", broken)

    assert call.arguments == broken
    assert not call.is_valid
    with pytest.raises(InvalidToolArguments) as caught:
        _ = call.input
    assert (caught.value.tool_name, caught.value.call_id) == ("f", "c")


def test_a_call_that_was_cut_off_is_never_valid() -> None:
    assert not ToolCall("c", "f", "{}", incomplete=True).is_valid


def test_a_data_url_becomes_bytes() -> None:
    image = ImageContent(url="data:image/jpg;base64,/9j/4AAQ")

    assert (image.url, image.media_type, image.base64) == (None, "image/jpeg", "/9j/4AAQ")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "none is given"),
        ({"url": "https://a/b.png", "file_id": "f"}, "url and file_id"),
        ({"data": b"nonsense"}, "media type"),
        ({"data": b""}, "empty"),
        ({"url": "data:image/png;base64"}, "comma"),
        ({"url": "data:image/png;base64,@@@"}, "base64"),
    ],
)
def test_wrong_media_is_refused(fields: Mapping[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ImageContent(**fields)  # type: ignore[arg-type]


def test_inline_bytes_never_fill_a_repr() -> None:
    assert "PNG" not in repr(AudioContent(data=PNG, media_type="audio/wav"))


def test_request_over_default_field_by_field() -> None:
    defaults = ChatRequestParameters(model="m", temperature=0.7, max_tokens=2048, custom_parameters={"a": 1, "b": 2})
    request = ChatRequestParameters(temperature=0, custom_parameters={"b": 3})

    merged = defaults.merge(request)

    assert merged == ChatRequestParameters(
        model="m", temperature=0, max_tokens=2048, custom_parameters={"a": 1, "b": 3}
    )
    assert defaults.temperature == 0.7
    assert defaults.merge(None) is defaults


@pytest.mark.parametrize("key", ["messages", "stream", "tools"])
def test_custom_parameters_may_not_take_over_the_call(key: str) -> None:
    with pytest.raises(ValueError, match=key):
        ChatRequestParameters(custom_parameters={key: []})


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("temprature", "temperature"),
        ("max_token", "max_tokens"),
        ("stop", "stop_sequences"),
        ("dead_line", "deadline"),
        ("top_k", "top_p"),
    ],
)
def test_a_misspelt_keyword_names_the_nearest(typo: str, meant: str) -> None:
    with pytest.raises(UnknownParameter, match=f"{typo!r}.*{meant}"):
        fold_request("hi", **{typo: 1})
    with pytest.raises(TypeError):
        fold_request("hi", **{typo: 1})


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": "hot"},
        {"temperature": True},
        {"max_tokens": 1.5},
        {"seed": "1"},
        {"parallel_tool_calls": 1},
        {"tools": ["search"]},
        {"tool_choice": 3},
        {"stop_sequences": [1]},
        {"model": 5},
        {"custom_parameters": [1]},
        {"response_format": 1},
        {"reasoning": 1.5},
    ],
)
def test_a_parameter_of_the_wrong_type_is_named(values: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=next(iter(values)).split("_")[0]):
        ChatRequestParameters(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values",
    [
        {"max_tokens": -1},
        {"tool_choice": "maybe"},
        {"response_format": "xml"},
        {"response_format": "json_schema"},
        {"reasoning": "hgih"},
        {"model": " "},
        {"stop_sequences": [""]},
    ],
)
def test_a_parameter_of_a_wrong_value_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        ChatRequestParameters(**values)  # type: ignore[arg-type]


def test_short_forms_of_parameters() -> None:
    parameters = ChatRequestParameters(
        stop_sequences="END", tool_choice="required", response_format="json", reasoning="low"
    )  # type: ignore[arg-type]

    assert parameters.stop_sequences == ("END",)
    assert parameters.tool_choice == ToolChoice("required")
    assert parameters.response_format == ResponseFormat("json")
    assert parameters.reasoning == Reasoning("low")
    assert Reasoning.of(2048) == Reasoning(budget_tokens=2048)
    assert Reasoning.of(False) == Reasoning("none")


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"type": "string"}, {"enum": [1]}, {"anyOf": []}, {"type": ["object", "null"]}]
)
def test_a_tool_schema_whose_root_is_no_object_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="root"):
        ToolSpecification("t", parameters=schema)


@pytest.mark.parametrize("nothing", [None, {}])
def test_a_tool_without_parameters_has_an_empty_object_schema(nothing: object) -> None:
    assert ToolSpecification("t", parameters=nothing).parameters == {"type": "object", "properties": {}}  # type: ignore[arg-type]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools named 't'"):
        ChatRequestParameters(tools=(ToolSpecification("t"), OpaqueTool("x", {}), ToolSpecification("t")))


@pytest.mark.parametrize("bad", [0, -1, "soon"])
def test_options_are_positive_seconds(bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match="deadline"):
        CallOptions(deadline=bad)  # type: ignore[arg-type]


def test_every_form_folds_into_one_request() -> None:
    request = ChatRequest([UserMessage("hi")], ChatRequestParameters(temperature=0.5))

    assert fold_request("hi") == ChatRequest([UserMessage("hi")])
    assert fold_request(UserMessage("hi"), temperature=0.5) == request
    assert fold_request(["hi"], parameters=ChatRequestParameters(temperature=0.5)) == request
    assert fold_request(request) is request
    assert fold_request(request, temperature=0.1, deadline=3).parameters.temperature == 0.1
    assert fold_request(request, deadline=3).options.deadline == 3
    assert request.parameters.temperature == 0.5


def test_usage_knows_what_it_does_not_know() -> None:
    assert TokenUsage(3, 4).total_tokens == 7
    assert TokenUsage(3).total_tokens is None
    assert TokenUsage(1, 2) + TokenUsage(3, 4, cached_tokens=1) == TokenUsage(4, 6, 10, cached_tokens=1)
    assert not TokenUsage()


def test_errors_pickle_with_all_they_carry_and_are_named_by_settings() -> None:
    first = RateLimited("slow down", status=429)
    error = RateLimited(
        "slow down", status=429, retry_after=2.0, request_id="r", provider="p", model="m", attempts=[first]
    )

    twin = pickle.loads(pickle.dumps(error))

    assert isinstance(twin, RateLimited)
    assert (str(twin), twin.retry_after, twin.retryable) == (str(error), 2.0, True)
    assert str(twin.attempts[0]) == str(first)
    assert {
        "authentication", "permission", "not_found", "bad_request", "context_length", "content_filter", "rate_limit",
        "quota", "overloaded", "server", "timeout", "connection", "stream_interrupted", "protocol", "empty_response",
    } <= set(ERROR_KINDS)  # fmt: skip
    assert all(issubclass(each, ModelError) for each in ERROR_KINDS.values())


def test_what_is_remembered_on_a_message_is_not_part_of_it() -> None:
    key = object()
    message = UserMessage("hi")
    remember(message, key, b"written")

    assert recall(message, key) == b"written"
    assert recall(message, object()) is None
    for twin in (UserMessage("hi"), pickle.loads(pickle.dumps(message)), copy.deepcopy(message)):
        assert (twin, hash(twin)) == (message, hash(message))
        assert recall(twin, key) is None
