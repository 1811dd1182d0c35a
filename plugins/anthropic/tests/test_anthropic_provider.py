"""The provider: from settings to a model that talks, sync and async, plain and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest

from polywire.errors import Overloaded, SettingsError, StreamInterrupted, UnsupportedByModel
from polywire.http_model import HttpChatModel
from polywire.parameters import ChatRequestParameters
from polywire.plugins import BuildContext
from polywire.testing.transport import FakeTransport, Reply
from polywire_anthropic.provider import PROVIDER, AnthropicSettings, polywire_provider

KEY = "sk-test-DO-NOT-LEAK-123"
TEXT = "CompletableFuture 是 Java 8 引入的异步编程工具。"


def build(
    transport: FakeTransport, *, profile: Any = None, unsupported: Any = "notice", **settings: Any
) -> HttpChatModel:
    context = BuildContext(
        "anthropic",
        AnthropicSettings(**{"api_key": KEY, **settings}),
        defaults=ChatRequestParameters(model="claude-opus-4-5"),
        profile=profile or {},
        transport=transport,
        unsupported=unsupported,
        clock=lambda: 0.0,
    )
    assert PROVIDER.build_chat is not None
    model = PROVIDER.build_chat(context)
    assert isinstance(model, HttpChatModel)
    return model


def test_the_entry_point_leads_here() -> None:
    (entry,) = entry_points(group="polywire", name="anthropic")

    assert entry.load().polywire_provider("anthropic") is PROVIDER
    assert polywire_provider("openai") is None
    assert [wire.name for wire in PROVIDER.offered_wires()] == ["anthropic"]


def test_plain_and_streamed_sync_and_async(golden: Callable[[str], bytes]) -> None:
    headers = {"request-id": "req_1", "anthropic-ratelimit-requests-remaining": "9"}
    plain = Reply(body=golden("anthropic-text.json"), headers=headers)
    stream = Reply(body=golden("anthropic-text.sse"), headers=headers, chunk_size=7)
    transport = FakeTransport(plain, plain, stream, stream)
    model = build(transport)

    async def streamed() -> Any:
        return await model.astream("q").collect()

    first, second = model.chat("q"), asyncio.run(model.achat("q"))
    third, fourth = model.stream("q").collect(), asyncio.run(streamed())

    assert first == second
    assert third == fourth
    assert third.text == TEXT
    for response in (first, third):
        assert response.metadata["request_id"] == "req_1"
        assert response.metadata["rate_limits"]
        assert response.message.origin is not None
        assert (response.message.origin.wire, response.message.origin.provider) == ("anthropic", "anthropic")
    assert [recorded.json.get("stream") for recorded in transport.requests] == [None, None, True, True]


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        (None, "https://api.anthropic.com/v1/messages"),
        ("https://h", "https://h/v1/messages"),
        ("https://h/", "https://h/v1/messages"),
        ("https://h/v1", "https://h/v1/messages"),
        ("https://h/v1/", "https://h/v1/messages"),
        ("https://h/v1/messages", "https://h/v1/messages"),
        ("https://h/gw/anthropic/v1", "https://h/gw/anthropic/v1/messages"),
    ],
)
def test_the_address(golden: Callable[[str], bytes], base_url: str | None, address: str) -> None:
    transport = FakeTransport(golden("anthropic-text.json"))

    build(transport, base_url=base_url).chat("q")

    assert transport.last.url == address


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ({}, "x-api-key", KEY),
        ({"key_header": "bearer"}, "authorization", f"Bearer {KEY}"),
        ({"api_key": None, "auth_token": "tok"}, "authorization", "Bearer tok"),
        ({"auth_token": "tok"}, "x-api-key", KEY),
        ({"api_key": " ", "auth_token": "tok"}, "authorization", "Bearer tok"),
    ],
)
def test_one_credential_is_sent(golden: Callable[[str], bytes], settings: Any, name: str, value: str) -> None:
    transport = FakeTransport(golden("anthropic-text.json"))

    build(transport, **settings).chat("q")

    headers = transport.last.headers
    assert headers[name] == value
    assert len({"x-api-key", "authorization"} & set(headers)) == 1


def test_version_and_betas_are_settings(golden: Callable[[str], bytes]) -> None:
    transport = FakeTransport(golden("anthropic-text.json"))

    model = build(transport, version="2023-06-01", betas=["x-1"])
    model.chat("q", temperature=0.3)

    assert transport.last.headers["anthropic-version"] == "2023-06-01"
    assert transport.last.headers["anthropic-beta"] == "x-1"
    assert transport.last.json["temperature"] == 0.3


def test_what_does_not_reach_the_vendor_is_a_notice_or_an_error(golden: Callable[[str], bytes]) -> None:
    transport = FakeTransport(golden("anthropic-text.json"))

    response = build(transport).chat("q", temperature=0.3)

    assert [notice.subject for notice in response.notices] == ["temperature"]
    with pytest.raises(UnsupportedByModel, match="temperature"):
        build(FakeTransport(), unsupported="error").chat("q", temperature=0.3)


def test_the_profile_follows_the_settings(golden: Callable[[str], bytes]) -> None:
    transport = FakeTransport(golden("anthropic-text.json"))

    build(transport, profile={"default_max_tokens": 77}).chat("q")

    assert transport.last.json["max_tokens"] == 77
    with pytest.raises(SettingsError, match="default_max_tokens"):
        build(FakeTransport(), profile={"default_max_token": 77})


@pytest.mark.parametrize(
    ("settings", "needed"), [({}, True), ({"auth_token": "t"}, False), ({"base_url": "http://127.0.0.1:1"}, False)]
)
def test_when_a_key_is_needed(settings: Any, needed: bool) -> None:
    assert PROVIDER.needs_key(AnthropicSettings(**settings)) is needed


def test_secrets_are_not_shown(golden: Callable[[str], bytes]) -> None:
    model = build(FakeTransport(), auth_token="tok-SECRET-TOKEN")
    settings = AnthropicSettings.model_validate({"api_key": KEY, "auth_token": "tok-SECRET-TOKEN"})

    for shown in (repr(model), repr(settings), repr(vars(model))):
        assert "LEAK" not in shown
        assert "SECRET" not in shown


def test_errors_carry_what_had_arrived(golden: Callable[[str], bytes]) -> None:
    data = golden("anthropic-text.sse")
    cut = data[: data.index(b"event: content_block_stop")]
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    model = build(FakeTransport(Reply(body=cut), Reply(body=cut + error), Reply(status=529, body=error[19:])))

    with pytest.raises(StreamInterrupted) as interrupted:
        model.stream("q").collect()
    with pytest.raises(Overloaded) as overloaded:
        model.stream("q").collect()
    with pytest.raises(Overloaded) as refused:
        model.chat("q")

    for caught in (interrupted, overloaded):
        assert caught.value.partial is not None
        assert caught.value.partial.text == TEXT
    assert overloaded.value.status == refused.value.status == 529
    assert (overloaded.value.provider, overloaded.value.model) == ("anthropic", "claude-opus-4-5")


def test_thinking_written_as_text_is_read_where_the_profile_says_so() -> None:
    body = {
        "id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "<think>hush</think>All good"}], "usage": {},
    }  # fmt: skip
    transport = FakeTransport(body, repeat=True)

    tagged = build(transport, profile={"think_tags": True}).chat("q")
    plain = build(transport).chat("q")

    assert (tagged.thinking, tagged.text) == ("hush", "All good")
    assert plain.text == "<think>hush</think>All good"
