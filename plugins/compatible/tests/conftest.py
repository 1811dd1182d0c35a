"""What the tests of this package share: a row's models over a transport that remembers what was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polywire.messages import Message
from polywire.models import ChatModel
from polywire.parameters import ChatRequestParameters
from polywire.plugins import BuildContext
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.testing.transport import FakeTransport, Reply
from polywire_compatible.provider import polywire_provider

ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 7,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
}


class Sent:
    """A request that went out, and the notices about it."""

    def __init__(self, url: str, headers: dict[str, str], body: dict[str, Any], notices: Sequence[Notice]) -> None:
        self.url = url
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = body
        self.notices = notices

    def told(self, kind: str, subject: str) -> bool:
        """Whether there is a notice of this kind about this subject."""
        return any(notice.kind == kind and notice.subject == subject for notice in self.notices)


def build(name: str, transport: FakeTransport, model: str = "m", **settings: Any) -> ChatModel:
    """Build a row's model as the factory does."""
    provider = polywire_provider(name)
    assert provider is not None
    assert provider.build_chat is not None
    table = provider.settings(**settings)
    defaults = ChatRequestParameters(model=model)
    return provider.build_chat(BuildContext(name, table, defaults=defaults, transport=transport))


@pytest.fixture
def send() -> Callable[..., Sent]:
    """Send a request through a row's model; returns what went out."""

    def one(
        name: str,
        messages: str | Sequence[Message] = "q",
        *,
        model: str = "m",
        asked_model: str | None = None,
        settings: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> Sent:
        transport = FakeTransport(Reply(body=json.dumps(ANSWER).encode()))
        table = {"api_key": "sk-test", **(settings or {})}
        if name in {"azure-openai", "openai-compatible"}:
            table.setdefault("base_url", "https://res.openai.azure.com")
        chat = build(name, transport, model, **{key: value for key, value in table.items() if value is not None})
        request = ChatRequest(messages, ChatRequestParameters(model=asked_model, **parameters))
        response = chat.chat(request)
        sent = transport.requests[0]
        return Sent(sent.url, dict(sent.request.headers), json.loads(sent.request.body), response.notices)

    return one
