"""Ask an endpoint, plain and streamed, and keep what it sends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from polywire.errors import ModelError
from polywire.models import StreamingChatModel
from polywire.recording.endpoint import Endpoint
from polywire.recording.writing import Take
from polywire.requests import ChatRequest, ChatRequestParameters, ToolChoice, ToolSpecification
from polywire.responses import ChatResponse, FinishReason

__all__ = ["WEATHER", "record", "tool_request"]

WEATHER = ToolSpecification(
    "get_weather",
    "Tell the weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
    },
)
"""The tool that is offered where a call is to be recorded."""


def record(
    endpoint: Endpoint,
    request: ChatRequest,
    *,
    name: str | None = None,
    plain: bool = True,
    streamed: bool = True,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[Take, ...]:
    """
    Ask once plain and once streamed, and return both answers. A failed one is an answer too.

    Args:
        endpoint: whom to ask.
        request: what to ask.
        name: of the files; left out: after what came (`text`, `tool-call`, `error-429`).
        plain, streamed: which of the two to ask.
        now: for the date in the source.

    Raises:
        ModelError: nothing came at all: no connection, or a refusal on this side.
    """
    model = endpoint.model
    calls: list[Callable[[], ChatResponse]] = []
    if plain:
        calls.append(lambda: model.chat(request))
    if streamed and isinstance(model, StreamingChatModel):
        calls.append(lambda: model.stream(request).collect())
    takes: list[Take] = []
    for call in calls:
        before = len(endpoint.transport.captured)
        result: ChatResponse | ModelError
        try:
            result = call()
        except ModelError as error:
            result = error
        captured = endpoint.transport.captured[before:]
        if not captured or not captured[-1].status:
            assert isinstance(result, ModelError)
            raise result
        if any(
            (captured[-1].status, captured[-1].body) == (each.captured.status, each.captured.body) for each in takes
        ):
            continue  # the same refusal twice
        host = urlsplit(captured[-1].request.url).hostname
        source = f"{host}, model {endpoint.model_id}, recorded {now():%Y-%m-%d}"
        takes.append(Take(name or _name_for(result, captured[-1].status), captured[-1], result, source))
    _mark_same(takes)
    return tuple(takes)


def tool_request(prompt: str, *, named: bool) -> ChatRequest:
    """Return a request that makes a call likely: it offers a tool and demands a call."""
    choice = ToolChoice.tool(WEATHER.name) if named else ToolChoice("required")
    return ChatRequest(prompt, ChatRequestParameters(tools=(WEATHER,), tool_choice=choice))


def _name_for(result: ChatResponse | ModelError, status: int) -> str:
    if isinstance(result, ModelError):
        return f"error-{status}" if status >= 300 else f"error-{result.kind.replace('_', '-')}"
    if result.tool_calls:
        return "tool-call" if len(result.tool_calls) == 1 else "tool-calls"
    if result.finish_reason is FinishReason.LENGTH:
        return "cut-by-length"
    return "thinking" if result.thinking else "text"


def _mark_same(takes: list[Take]) -> None:
    """Two takes of the same answer must be read to the same response; a model seldom says the same twice, though."""
    if len(takes) < 2:
        return
    first, second = takes[0].result, takes[1].result
    if isinstance(first, ModelError) or isinstance(second, ModelError):
        return
    if all(
        getattr(first, name) == getattr(second, name)
        for name in ("text", "thinking", "tool_calls", "finish_reason", "usage")
    ):
        for take in takes:
            take.answer = take.name
