"""A model for tests that plays a script: what it answers is written down before, what it was asked is recorded."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from polywire.errors import PolywireError
from polywire.events import StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta, events_of
from polywire.messages import AiMessage, AiPart, ToolCall
from polywire.models import ModelInformation, StreamingChatModel
from polywire.parameters import ChatRequestParameters
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason, TokenUsage

__all__ = ["ScriptEnded", "ScriptedAnswer", "ScriptedChatModel"]

ScriptedAnswer: TypeAlias = (
    "str | AiMessage | AiPart | Sequence[AiPart | str] | ChatResponse | BaseException | Callable[[ChatRequest], Any]"
)
"""
One entry of a script: text, a message or its parts (one `ToolCall`, or several), a whole response, an exception to raise,
or a function of the request that returns one of these.
"""


class ScriptEnded(PolywireError, AssertionError):
    """The model was asked once more than its script has answers."""


class ScriptedChatModel(StreamingChatModel):
    """
    Plays a script, one entry for each call, and records every request. Sync, async and streamed alike; thread-safe.

    Args:
        *answers: the script; see `ScriptedAnswer`.
        usage: the usage of answers that bring none.
        chunk: how many characters a streamed piece of text or arguments has; `None`: the whole.
        profile: what `information.profile` tells, for any model id.
        provider, model: as in `information`.
        repeat_last: give the last entry again and again, where the script would be over.
    """

    def __init__(
        self,
        *answers: ScriptedAnswer,
        usage: TokenUsage | None = None,
        chunk: int | None = None,
        profile: Profile | None = None,
        provider: str = "scripted",
        model: str = "scripted",
        repeat_last: bool = False,
    ) -> None:
        self._answers: list[Any] = list(answers)
        self._usage = usage or TokenUsage()
        self._chunk = chunk
        self._repeat_last = repeat_last
        self._lock = threading.Lock()
        self.requests: list[ChatRequest] = []
        """Every request, in the order asked."""
        self.information = ModelInformation(
            provider, ChatRequestParameters(model=model), None if profile is None else lambda _: profile
        )

    def __repr__(self) -> str:
        return f"ScriptedChatModel({len(self.requests)} of {len(self._answers)} answers played)"

    @property
    def remaining(self) -> int:
        """How many answers have not been played."""
        return max(0, len(self._answers) - len(self.requests))

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Play the next answer."""
        with self._lock:
            index = len(self.requests)
            self.requests.append(request)
        if index >= len(self._answers):
            if not self._repeat_last or not self._answers:
                size = len(self._answers)
                msg = f"the script has {size} answer{'' if size == 1 else 's'}, and this is call {index + 1}"
                raise ScriptEnded(msg)
            index = len(self._answers) - 1
        answer = self._answers[index]
        if callable(answer) and not isinstance(answer, BaseException):
            answer = answer(request)
        return self._response(answer, index)

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        """Play the next answer."""
        return self.do_chat(request)

    def do_stream(self, request: ChatRequest) -> Iterator[StreamEvent]:
        """Play the next answer, in pieces."""
        yield from self._pieces(events_of(self.do_chat(request)))

    async def do_astream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Play the next answer, in pieces."""
        for event in self.do_stream(request):
            yield event

    def _response(self, answer: Any, index: int) -> ChatResponse:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, ChatResponse):
            return answer
        try:
            message = answer if isinstance(answer, AiMessage) else AiMessage(answer)
        except TypeError as error:
            msg = (
                f"answer {index + 1} of the script must be a str, an AiMessage or its parts, a ChatResponse, an exception"
                f" or a function that returns one of these, not {answer!r}"
            )
            raise TypeError(msg) from error
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        return ChatResponse(message, self._usage, FinishReason.TOOL_CALLS if calls else FinishReason.STOP)

    def _pieces(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        size = self._chunk
        for event in events:
            if size is None or not isinstance(event, (TextDelta, ThinkingDelta, ToolCallDelta)):
                yield event
                continue
            text = event.arguments if isinstance(event, ToolCallDelta) else event.text
            for start in range(0, len(text), size):
                yield type(event)(text[start : start + size], event.part)
