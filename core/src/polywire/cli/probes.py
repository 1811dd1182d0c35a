"""`polywire check --live`: three real calls to one model, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from polywire.cli.answers import describe_usage
from polywire.cli.failures import line_of, one_line
from polywire.events import TextDelta, ThinkingDelta, ToolCallDelta
from polywire.models import ChatModel, StreamingChatModel
from polywire.requests import ToolChoice, ToolSpecification
from polywire.responses import ChatResponse

__all__ = ["PROBES", "ProbeResult", "run_probes"]

_MAX_TOKENS = 256
_TOOL = ToolSpecification(
    "get_weather",
    "Tell the weather in a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city's name."}},
        "required": ["city"],
    },
)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """
    What came of one probe.

    Attributes:
        name: `plain`, `tool` or `stream`.
        status: `skipped` where the model does not offer it.
        detail: what came back, or what went wrong, in one line.
        seconds: how long the call took; `None` where none was made.
        first_seconds: for a stream, how long its first content took.
    """

    name: str
    status: Literal["ok", "failed", "skipped"]
    detail: str
    seconds: float | None = None
    first_seconds: float | None = None


def _plain(model: ChatModel, deadline: float, _clock: Callable[[], float]) -> tuple[ProbeResult, None]:
    response = model.chat("Say hello in one short sentence.", max_tokens=_MAX_TOKENS, deadline=deadline)
    return _judged("plain", response), None


def _tool(model: ChatModel, deadline: float, _clock: Callable[[], float]) -> tuple[ProbeResult, None]:
    profile = model.information.profile
    if profile is not None and profile(model.information.model).tool_calling == "none":
        return ProbeResult("tool", "skipped", "the model has no tools"), None
    response = model.chat(
        "What is the weather in Paris? Use the tool.",
        tools=(_TOOL,),
        tool_choice=ToolChoice("required"),
        max_tokens=_MAX_TOKENS,
        deadline=deadline,
    )
    if not response.tool_calls:
        said = f"it said {_quoted(response.text)}" if response.text else "it said nothing"
        return ProbeResult("tool", "failed", f"no tool call came back: {said}"), None
    call = response.tool_calls[0]
    if call.name != _TOOL.name:
        return ProbeResult("tool", "failed", f"a call of an unknown tool came back: {call.name}"), None
    if not call.is_valid:
        return ProbeResult(
            "tool", "failed", f"a call without usable arguments came back: {_quoted(call.arguments)}"
        ), None
    return ProbeResult("tool", "ok", f"{call.name}({_shortened(call.arguments)}), {describe_usage(response)}"), None


def _stream(model: ChatModel, deadline: float, clock: Callable[[], float]) -> tuple[ProbeResult, float | None]:
    if not isinstance(model, StreamingChatModel):
        return ProbeResult("stream", "skipped", "the model cannot stream"), None
    started, first, pieces = clock(), None, 0
    with model.stream("Count from one to five.", max_tokens=_MAX_TOKENS, deadline=deadline) as stream:
        for event in stream:
            if type(event) in (TextDelta, ThinkingDelta, ToolCallDelta):
                pieces += 1
                if first is None:
                    first = clock() - started
    return _judged("stream", stream.response, pieces), first


PROBES: dict[str, Callable[[ChatModel, float, Callable[[], float]], tuple[ProbeResult, float | None]]] = {
    "plain": _plain,
    "tool": _tool,
    "stream": _stream,
}
"""The probes by name, in the order in which they are run."""


def run_probes(
    model: ChatModel, *, deadline: float = 60.0, clock: Callable[[], float] = time.perf_counter
) -> Iterator[ProbeResult]:
    """Run the probes one after the other; a failure is a result and does not stop the next one."""
    for name, probe in PROBES.items():
        started, first = clock(), None
        try:
            result, first = probe(model, deadline, clock)
        except Exception as error:
            # Also a plugin's bug: the other models shall still be checked.
            result = ProbeResult(name, "failed", line_of(error))
        seconds = None if result.status == "skipped" else clock() - started
        yield ProbeResult(result.name, result.status, result.detail, seconds, first)


def _judged(name: str, response: ChatResponse, pieces: int | None = None) -> ProbeResult:
    in_pieces = "" if pieces is None else f" in {pieces} piece{'' if pieces == 1 else 's'}"
    if response.text and response.text.strip():
        return ProbeResult(name, "ok", f"{_quoted(response.text)}{in_pieces}, {describe_usage(response)}")
    if response.thinking:
        return ProbeResult(
            name, "ok", f"thinking only, up to the limit of {_MAX_TOKENS} tokens{in_pieces}, {describe_usage(response)}"
        )
    return ProbeResult(name, "failed", f"no text came back (finish reason {response.finish_reason})")


def _quoted(text: str | None) -> str:
    return f'"{_shortened(text or "")}"'


def _shortened(text: str, limit: int = 60) -> str:
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
