"""Answers as odd servers give them, read by a model as a caller would: whole, cut anywhere, sync and async."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from polywire.config import LlmFactory
from polywire.errors import ModelError
from polywire.events import TextDelta
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse
from polywire.testing import FakeTransport, Reply

_TABLES: Mapping[str, dict[str, Any]] = {
    "ollama": {},
    "openai-compatible": {"base_url": "http://127.0.0.1:9/v1"},
}


def model_of(provider: str, *replies: Any, **table: Any) -> tuple[Any, FakeTransport]:
    """A streaming model of a provider whose server gives these answers, the last one again and again."""
    transport = FakeTransport(*replies, repeat=True)
    settings = {
        "providers": {provider: _TABLES.get(provider, {"api_key": "a-key-for-tests"})},
        "models": {"m": {"provider": provider, "model": "m", **table}},
    }
    return LlmFactory.from_config(settings, environ={}, transport=transport).streaming_chat_model("m"), transport


def sse(*events: Any, done: bool = False, named: bool = False) -> bytes:
    """Server-sent events of JSON values, or of text as it is; `named`: with the event's name, as its `type` says."""
    lines: list[str] = []
    for event in events:
        if named and isinstance(event, dict) and "type" in event:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def read_plain(provider: str, body: Any, *, request: Any = "q", status: int = 200, **table: Any) -> ChatResponse:
    """Read a whole answer, sync and async, which must give the same."""
    model, _ = model_of(provider, Reply(body=body, status=status), **table)
    answer = model.chat(request)

    assert asyncio.run(model.achat(request)) == answer
    return answer


def read_streamed(provider: str, body: bytes, *, request: str | ChatRequest = "q", **table: Any) -> ChatResponse:
    """Read a streamed answer whole, cut small in several ways, and async; every way must give the same."""
    answer = _stream(provider, Reply(body=body), request, table)
    for size in (1, 2, 3, 7):
        assert _stream(provider, Reply(body=body, chunk_size=size), request, table) == answer
    assert asyncio.run(_astream(provider, Reply(body=body), request, table)) == answer
    return answer


def error_of(provider: str, body: bytes, *, request: str | ChatRequest = "q", **table: Any) -> ModelError:
    """The error in which a streamed answer ends, the same however it is cut."""
    errors: list[ModelError] = []
    for size in (None, 1, 2, 3, 7):
        try:
            answer = _stream(provider, Reply(body=body, chunk_size=size), request, table)
        except ModelError as error:
            errors.append(error)
        else:
            raise AssertionError(f"no error, but the answer {answer!r}")
    assert len({(type(error), error.message, error.status) for error in errors}) == 1
    assert len({error.partial.text if error.partial is not None else None for error in errors}) == 1
    return errors[0]


def _stream(provider: str, reply: Reply, request: Any, table: Mapping[str, Any]) -> ChatResponse:
    model, _ = model_of(provider, reply, **table)
    with model.stream(request) as stream:
        said = "".join(event.text for event in stream if type(event) is TextDelta)
        answer: ChatResponse = stream.response
    assert said == (answer.text or "")
    return answer


async def _astream(provider: str, reply: Reply, request: Any, table: Mapping[str, Any]) -> ChatResponse:
    model, _ = model_of(provider, reply, **table)
    async with model.astream(request) as stream:
        said = "".join([event.text async for event in stream if type(event) is TextDelta])
        answer: ChatResponse = stream.response
    assert said == (answer.text or "")
    return answer


def calls_of(answer: ChatResponse) -> list[tuple[str, str, str]]:
    """The calls of an answer as id, name and arguments."""
    return [(call.id, call.name, call.arguments) for call in answer.tool_calls]
