"""
Telling what happens to a call: to observers, and to the logger `polywire`.

An observer is any object with `observe(event)`. It is called in the thread or task of the call, must not block, and can
break nothing: what it raises is logged. Events never hold the text of a conversation except through `call.request`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from polywire.immutable import EMPTY
from polywire.policy.calls import Call
from polywire.policy.opening import Open, Opened, StreamEnd
from polywire.policy.plans import Effect, Plan, Proceed, Result
from polywire.responses import ChatResponse, FinishReason, TokenUsage

if TYPE_CHECKING:
    from polywire.errors import ModelError

__all__ = [
    "AttemptEnded",
    "AttemptStarted",
    "CallEnded",
    "CallEvent",
    "CallStarted",
    "FallbackTaken",
    "Observation",
    "Observer",
    "StoreUnavailable",
    "Waited",
    "Waiting",
    "current_observers",
    "observed_open",
    "tell",
]

LOGGER = logging.getLogger("polywire")


class CallStarted(msgspec.Struct, frozen=True):
    """A call begins. `call.record.id` is its id in every event."""

    call: Call


class AttemptStarted(msgspec.Struct, frozen=True):
    """The request is sent for the `number`-th time, fallbacks included."""

    call: Call
    number: int


class AttemptEnded(msgspec.Struct, frozen=True):
    """
    An attempt is over: with a response, with the first content of a stream, or with an error.

    Attributes:
        duration: seconds since it was sent.
        response: for a plain call that succeeded.
    """

    call: Call
    number: int
    duration: float
    response: ChatResponse | None
    error: BaseException | None


class Waiting(msgspec.Struct, frozen=True):
    """
    The call waits: before a retry, or for its turn at a limit.

    Attributes:
        seconds: how long; `None` where nobody can know, as with concurrency.
        error: what a retry follows on.
        limit: which limit holds it up.
    """

    call: Call
    reason: Literal["retry", "limit"]
    seconds: float | None
    error: ModelError | None = None
    limit: str | None = None


class Waited(msgspec.Struct, frozen=True):
    """A wait for a limit is over: the call has its turn after `seconds`."""

    call: Call
    limit: str | None
    seconds: float


class FallbackTaken(msgspec.Struct, frozen=True):
    """
    The next model is asked.

    Attributes:
        failed: the name of the one that failed or was skipped.
        error: how it failed; `None` where its circuit breaker is open.
        next: the name of the one asked now.
    """

    call: Call
    failed: str
    error: ModelError | None
    next: str


class StoreUnavailable(msgspec.Struct, frozen=True):
    """The store of a shared limit is away, and the call goes on under this process's own limit."""

    call: Call
    store: str


class CallEnded(msgspec.Struct, frozen=True):
    """
    A call is over; for a stream, when it has ended or was closed.

    Attributes:
        duration: seconds since it began, waits included.
        first_event: seconds to the first content of a stream.
        attempts: how often the request was sent.
        usage: what it cost, as far as known.
        response: for a plain call that succeeded.
        error: what ended it; `None` too for a stream that its reader left early.
        complete: whether the whole answer was read.
        provider, model: who answered, or failed last.
        finish_reason: why the answer ended, for a stream too; `None` where it did not end.
        metadata: what the answer said of itself, for a stream too.
    """

    call: Call
    duration: float
    first_event: float | None
    attempts: int
    usage: TokenUsage
    response: ChatResponse | None
    error: BaseException | None
    complete: bool
    provider: str | None
    model: str | None
    finish_reason: FinishReason | None = None
    metadata: Mapping[str, Any] = EMPTY


CallEvent: TypeAlias = (
    CallStarted | AttemptStarted | AttemptEnded | Waiting | Waited | FallbackTaken | StoreUnavailable | CallEnded
)


class Observer(Protocol):
    """Is told what happens to calls."""

    def observe(self, event: CallEvent, /) -> None:
        """Take note of one event. Called from any thread; must not block."""


def tell(observers: tuple[Observer, ...], event: CallEvent) -> None:
    """Tell every observer; one that fails is logged and disturbs nobody."""
    for observer in observers:
        try:
            observer.observe(event)
        except Exception:
            LOGGER.exception("an observer failed at %s", type(event).__name__)


def current_observers(observers: tuple[Observer, ...]) -> tuple[Observer, ...]:
    """Add the log to the observers, where anyone reads it."""
    if LOGGER.isEnabledFor(logging.INFO):
        from polywire.policy.logs import LOG_OBSERVER

        return (*observers, LOG_OBSERVER)
    return observers


class Observation:
    """Watches one call from its beginning to its end."""

    __slots__ = ("_call", "_first_event", "_started")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._started = call.runtime.now()
        self._first_event: float | None = None

    def plan(self, proceed: Proceed) -> Plan:
        """Run the call's plan and tell how it begins and ends."""
        call = self._call
        call.notify(CallStarted(call))
        try:
            result = yield from proceed(call)
        except BaseException as error:
            self._end(StreamEnd(None, TokenUsage(), error), None)
            raise
        if isinstance(result, Opened):
            self._first_event = call.runtime.now() - self._started
            result.riders.append(self._end)
        else:
            # A task's answer has no finish reason, and is whole.
            finish_reason = getattr(result, "finish_reason", FinishReason.STOP)
            self._end(StreamEnd(finish_reason, result.usage, None, result.metadata), result)
        return result

    def _end(self, end: StreamEnd, response: ChatResponse | None = None) -> None:
        call, error = self._call, end.error
        asked = call.record.asked or call
        ended = CallEnded(
            call,
            call.runtime.now() - self._started,
            self._first_event,
            call.record.attempts,
            end.usage,
            response,
            error,
            end.complete,
            getattr(error, "provider", None) or asked.model.information.provider,
            end.metadata.get("model") or getattr(error, "model", None) or asked.model_id,
            end.finish_reason,
            end.metadata,
        )
        call.notify(ended)


def observed_open(call: Call) -> Generator[Effect, Any, Result]:
    """Ask the model once, telling the observers."""
    now = call.runtime.now
    number = call.record.attempts + 1
    call.record.asked = call
    call.notify(AttemptStarted(call, number))
    started = now()
    try:
        result: Result = yield Open(call)
    except BaseException as error:
        call.notify(AttemptEnded(call, number, now() - started, None, error))
        raise
    call.notify(AttemptEnded(call, number, now() - started, result if isinstance(result, ChatResponse) else None, None))
    return result
