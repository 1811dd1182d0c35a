"""From a settings table to a request: addresses, keys, headers, whose rules hold; and no key in what is shown."""

from __future__ import annotations

import asyncio
import json
import pickle
import pprint
import traceback
from typing import Any

import httpx
import pytest

from polywire.codec import HttpRequest, HttpResponse
from polywire.errors import ModelError, SettingsError
from polywire.http_model import HttpChatModel
from polywire.plugins import BuildContext, Registry
from polywire.requests import ChatRequestParameters
from polywire.transport import HttpxTransport
from polywire_openai.provider import PROVIDER, OpenAISettings

KEY = "sk-test-DO-NOT-LEAK-123"


class Server:
    """What would stand at the other end: keeps the requests, answers each with the same bytes."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.requests: list[httpx.Request] = []
        self.body = body
        self.status = status

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self.status, content=self.body, headers={"x-request-id": "req_1"})

    def transport(self) -> HttpxTransport:
        return HttpxTransport(
            client=httpx.Client(transport=httpx.MockTransport(self)),
            async_client=httpx.AsyncClient(transport=httpx.MockTransport(self)),
        )


def build(
    server: Server, *, model: str = "gpt-5-mini", profile: dict[str, Any] | None = None, **settings: Any
) -> HttpChatModel:
    context = BuildContext(
        "openai",
        OpenAISettings(**settings),
        defaults=ChatRequestParameters(model=model),
        transport=server.transport(),
        profile=profile or {},
    )
    made = PROVIDER.build_chat(context) if PROVIDER.build_chat else None
    assert isinstance(made, HttpChatModel)
    return made


def test_the_registry_finds_it_by_its_name() -> None:
    assert Registry().provider("openai") is PROVIDER
    assert any(wire.name == "openai" for wire in PROVIDER.offered_wires())


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (None, "https://api.openai.com/v1/chat/completions"),
        ("https://h/api/v1", "https://h/api/v1/chat/completions"),
        ("https://h/api/v1/", "https://h/api/v1/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("https://h/openai/v1?api-version=x", "https://h/openai/v1/chat/completions?api-version=x"),
    ],
)
def test_addresses(base_url: str | None, url: str, golden: Any) -> None:
    server = Server(golden("openai-text.json"))
    build(server, api_key=KEY, base_url=base_url).chat("q")

    assert str(server.requests[0].url) == url


def test_a_call_plain_and_streamed_sync_and_async(golden: Any) -> None:
    plain, streamed = Server(golden("openai-text.json")), Server(golden("openai-tool-call.sse"))
    settings: dict[str, Any] = {"api_key": f" {KEY}\n", "organization": "org", "project": "proj"}
    response = build(plain, **settings).chat("q")
    again = asyncio.run(build(plain, **settings).achat("q"))
    stream = build(streamed, **settings).stream("q")
    calls = stream.collect().tool_calls
    [request, *_] = plain.requests

    assert response.text == again.text
    assert response.metadata["request_id"] == "req_1"
    assert response.message.origin is not None
    assert (response.message.origin.provider, response.message.origin.model) == ("openai", "gpt-5-mini")
    assert [call.arguments for call in calls] == ['{"city":"杭州"}']
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (request.headers["openai-organization"], request.headers["openai-project"]) == ("org", "proj")
    assert json.loads(streamed.requests[0].content)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("key", [None, "", "   ", "\n"])
def test_without_a_key_another_address_gets_no_authorization_at_all(key: str | None, golden: Any) -> None:
    server = Server(golden("openai-text.json"))
    build(server, api_key=key, base_url="http://127.0.0.1:8080/v1").chat("q")

    assert "authorization" not in server.requests[0].headers
    assert not PROVIDER.needs_key(OpenAISettings(base_url="http://127.0.0.1:8080/v1"))


@pytest.mark.parametrize("base_url", [None, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
def test_the_service_itself_needs_a_key(base_url: str | None) -> None:
    assert PROVIDER.needs_key(OpenAISettings(base_url=base_url))
    assert PROVIDER.variables["api_key"] == ("OPENAI_API_KEY",)
    assert PROVIDER.variables["base_url"] == ("OPENAI_BASE_URL",)


@pytest.mark.parametrize(
    ("settings", "model", "field", "role"),
    [
        ({}, "gpt-5-mini", "max_completion_tokens", "developer"),
        ({"base_url": "https://us.api.openai.com/v1"}, "gpt-5-mini", "max_completion_tokens", "developer"),
        ({"base_url": "https://h/v1"}, "llama", "max_tokens", "system"),
        ({"base_url": "https://notapi.openai.com.example/v1"}, "llama", "max_tokens", "system"),
        ({"base_url": "https://h/v1", "endpoint": "openai"}, "gpt-5-mini", "max_completion_tokens", "developer"),
        ({"endpoint": "compatible"}, "llama", "max_tokens", "system"),
        ({"profile": {"max_tokens_field": "limit"}}, "gpt-4o", "limit", "system"),
    ],
)
def test_whose_rules_hold(settings: dict[str, Any], model: str, field: str, role: str, golden: Any) -> None:
    from polywire.messages import SystemMessage, UserMessage

    settings = dict(settings)
    profile = settings.pop("profile", None)
    server = Server(golden("openai-text.json"))
    build(server, api_key=KEY, model=model, profile=profile, **settings).chat(
        [SystemMessage("s"), UserMessage("q")], max_tokens=5
    )
    body = json.loads(server.requests[0].content)

    assert body[field] == 5
    assert body["messages"][0]["role"] == role


def test_a_misspelt_profile_field_is_an_error_that_names_the_nearest(golden: Any) -> None:
    with pytest.raises(SettingsError, match="max_tokens_field"):
        build(Server(golden("openai-text.json")), api_key=KEY, profile={"max_token_field": "x"})


def pieces(secret: str) -> list[str]:
    return [secret[start : start + 8] for start in range(len(secret) - 7)]


def test_the_key_is_in_nothing_that_is_shown() -> None:
    settings = OpenAISettings(api_key=KEY, headers={"X-Other": KEY})
    server = Server(json.dumps({"error": {"message": "no", "code": "invalid_api_key"}}).encode(), 401)
    model = build(server, api_key=KEY, headers={"X-Other": KEY})
    with pytest.raises(ModelError) as caught:
        model.chat("q")
    error = caught.value
    shown = [
        repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json(), pprint.pformat(vars(model)),
        repr(model), str(error), repr(error), "".join(traceback.format_exception(error)), pprint.pformat(vars(error)),
        repr(HttpRequest("p", headers={"authorization": KEY})), repr(HttpResponse(200, httpx.Headers(), b"")),  # type: ignore[arg-type]
        repr(pickle.loads(pickle.dumps(error))),
    ]  # fmt: skip

    assert server.requests[0].headers["authorization"].endswith(KEY)
    for piece in pieces(KEY):
        assert all(piece not in text for text in shown)
