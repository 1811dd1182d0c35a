"""One call of a probe: asked in a way that nothing is left out on this side, and answered with what came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from polywire import wire_json
from polywire.errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ModelError,
    ModelTimeout,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    UnsupportedByModel,
)
from polywire.models import StreamingChatModel
from polywire.recording.capturing import Captured
from polywire.recording.endpoint import Endpoint
from polywire.responses import ChatResponse

__all__ = ["EVERYTHING", "Asked", "Asker", "refusal"]

EVERYTHING: Mapping[str, Any] = {
    "tool_calling": "native",
    "tool_markup": [],
    "parallel_tool_calls": True,
    "parallel_switch": True,
    "tool_choices": ["auto", "none", "required", "named"],
    "strict_tools": True,
    "system_role": "system",
    "system_in_place": True,
    "think_tags": False,
    "sampling": ["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop_sequences"],
    "response_formats": ["json", "json_schema"],
    "stream_usage": True,
    "image_sources": ["data", "url"],
    "quirks": {"think_tags_fallback": False},
}
"""A profile that takes everything, so that it is the endpoint that says no."""

_ENDS = (AuthenticationFailed, PermissionDenied, QuotaExceeded, RateLimited, ConnectionFailed, ModelTimeout)
"""Failures that say nothing of what the endpoint can do: they end the probe."""


@dataclass(slots=True)
class Asked:
    """
    One call, and what came of it.

    Attributes:
        response: the answer; `None` where it was refused.
        error: the refusal; `None` where it was answered.
        captured: the bytes.
    """

    response: ChatResponse | None
    error: ModelError | None
    captured: Captured | None

    @property
    def text(self) -> str:
        """The answer's text."""
        return (self.response.text or "").strip() if self.response is not None else ""

    @property
    def calls(self) -> int:
        """How many tools the answer asks for."""
        return len(self.response.tool_calls) if self.response is not None else 0

    def documents(self) -> Iterator[Mapping[str, Any]]:
        """Every JSON object of the raw answer: the body, or each event of the stream."""
        if self.captured is None:
            return
        for line in self.captured.body.splitlines() if self.captured.stream else [self.captured.body]:
            document = wire_json.decode_object(line.removeprefix(b"data:").strip())
            if document is not None:
                yield document


class Asker:
    """
    Asks an endpoint, each time with the profile that the question needs.

    Args:
        opener: opens the endpoint with changes to its profile.
        deadline: seconds for each call.
    """

    def __init__(
        self, opener: Callable[[Mapping[str, Any]], AbstractContextManager[Endpoint]], *, deadline: float = 60.0
    ) -> None:
        self._opener = opener
        self._deadline = deadline
        self._stack = ExitStack()
        self._open: dict[str, Endpoint] = {}
        self.settled: dict[str, Any] = {}
        """Changes to the profile without which nothing works here, found on the way."""
        self.calls = 0

    @contextmanager
    def closing(self) -> Iterator[Asker]:
        """Close every endpoint at the end."""
        with self._stack:
            yield self

    def ask(
        self,
        messages: Any,
        *,
        stream: bool = False,
        profile: Mapping[str, Any] | None = None,
        max_tokens: int | None = 200,
        **parameters: Any,
    ) -> Asked:
        """
        Ask once.

        Raises:
            ModelError: the endpoint cannot be reached or turns this caller away, which says nothing of what it can do.
        """
        endpoint = self._endpoint({**EVERYTHING, **self.settled, **(profile or {})})
        model = endpoint.model
        self.calls += 1
        before = len(endpoint.transport.captured)
        response, error = None, None
        if max_tokens is not None:
            parameters["max_tokens"] = max_tokens
        try:
            if stream:
                assert isinstance(model, StreamingChatModel)
                response = model.stream(messages, deadline=self._deadline, **parameters).collect()
            else:
                response = model.chat(messages, deadline=self._deadline, **parameters)
        except _ENDS:
            raise
        except ModelError as failure:
            error = failure
        captured = endpoint.transport.captured
        return Asked(response, error, captured[-1] if len(captured) > before else None)

    def _endpoint(self, profile: Mapping[str, Any]) -> Endpoint:
        key = repr(sorted(profile.items(), key=lambda item: item[0]))
        if key not in self._open:
            self._open[key] = self._stack.enter_context(self._opener(profile))
        return self._open[key]


def refusal(asked: Asked) -> str:
    """Tell in one line how a call was refused."""
    error = asked.error
    assert error is not None
    words = " ".join(str(error.message).split())
    status = f"HTTP {error.status}: " if error.status is not None else ""
    side = "" if asked.captured is not None else "on this side: "
    kind = "" if isinstance(error, (BadRequest, NotFound, UnsupportedByModel)) else f"{error.kind}: "
    return f"refused, {side}{status}{kind}{words[:160]}"
