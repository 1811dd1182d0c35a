"""One call on its way through the policies: what was asked, and the time it may take."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polywire.errors import ModelTimeout
from polywire.immutable import slot_setters
from polywire.models import ChatModel
from polywire.policy.estimate import estimate_tokens
from polywire.requests import NO_OPTIONS, CallOptions, ChatRequest
from polywire.responses import ChatResponse, Notice

if TYPE_CHECKING:
    from polywire.policy.observers import CallEvent, Observer
    from polywire.policy.runtime import Runtime

__all__ = ["Call", "CallRecord"]

_set_deadline, _set_first_event, _set_between_events, _set_tags = slot_setters(
    CallOptions, "deadline", "first_event", "between_events", "tags"
)
_set_messages, _set_parameters, _set_options = slot_setters(ChatRequest, "messages", "parameters", "options")
_numbers = itertools.count(1)
_prefix = os.urandom(6).hex()


def _renew_prefix() -> None:
    global _prefix
    _prefix = os.urandom(6).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_prefix)


class CallRecord:
    """
    What a call leaves behind; its retries and fallbacks share it.

    Attributes:
        attempts: how often the request has been sent so far.
        asked: the call as it was sent last: after a fallback, to another model. Kept for observers only.
        notices: for the response, from policies.
        metadata: for the response, from policies.
    """

    __slots__ = ("_id", "asked", "attempts", "metadata", "notices")

    def __init__(self) -> None:
        self._id: str | None = None
        self.attempts = 0
        self.asked: Call | None = None
        self.notices: tuple[Notice, ...] = ()
        self.metadata: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """Unique for each call of each process."""
        if self._id is None:
            self._id = f"{_prefix}-{next(_numbers):x}"
        return self._id

    def add_notice(self, notice: Notice) -> None:
        """Have `notice` appear on the response, once."""
        if notice not in self.notices:
            self.notices = (*self.notices, notice)

    def add_metadata(self, **metadata: Any) -> None:
        """Have these appear in the response's metadata."""
        self.metadata = {**(self.metadata or {}), **metadata}


class Call:
    """
    One call, as policies see it.

    Attributes:
        request: what the caller asked, unchanged.
        model: the model that answers it.
        name: the model's name in the settings, for people.
        streaming: whether the answer is a stream.
        runtime: clock, sleeps and chance.
        deadline: absolute time of the runtime's clock by which the whole call must be over; shared by every retry, wait
            and fallback.
        first_event: seconds from sending to the first content of a stream.
        between_events: seconds between two pieces of content.
        before_waiting: called before the call waits for its turn at a limit; what it raises is the call's end.
        record: what the call and its fallbacks have in common.
    """

    __slots__ = ("before_waiting", "between_events", "deadline", "first_event", "model", "name", "observers", "record", "request", "runtime", "streaming")  # fmt: skip

    def __init__(
        self,
        request: ChatRequest,
        model: ChatModel,
        *,
        streaming: bool,
        runtime: Runtime,
        name: str | None = None,
        observers: tuple[Observer, ...] = (),
        record: CallRecord | None = None,
    ) -> None:
        self.request = request
        self.model = model
        self.name = name
        self.streaming = streaming
        self.runtime = runtime
        self.observers = observers
        self.deadline: float | None = None
        self.first_event: float | None = None
        self.between_events: float | None = None
        self.before_waiting: Callable[[], object] | None = None
        self.record = CallRecord() if record is None else record
        options = request.options
        if options is not NO_OPTIONS:
            self.first_event = options.first_event
            self.between_events = options.between_events
            if options.deadline is not None:
                self.deadline = runtime.now() + options.deadline

    def child(self, request: ChatRequest, model: ChatModel, name: str | None) -> Call:
        """Return the same call for another model, a fallback: under the same deadline and on the same record."""
        child = Call(
            request,
            model,
            streaming=self.streaming,
            runtime=self.runtime,
            name=name,
            observers=self.observers,
            record=self.record,
        )
        child.deadline = self.deadline
        child.before_waiting = self.before_waiting
        return child

    def limit_total(self, seconds: float) -> None:
        """Let the call end within `seconds` from now, or earlier where that was already so."""
        at = self.runtime.now() + seconds
        if self.deadline is None or at < self.deadline:
            self.deadline = at

    def remaining(self) -> float | None:
        """
        Return the seconds left until the deadline, `None` without one.

        Raises:
            ModelTimeout: none are left.
        """
        if self.deadline is None:
            return None
        left = self.deadline - self.runtime.now()
        if left <= 0:
            msg = "the call ran into its deadline"
            raise self.timed_out(msg)
        return left

    def timed_out(self, message: str) -> ModelTimeout:
        """Make the error that says which limit ran out."""
        information = self.model.information
        return ModelTimeout(message, provider=information.provider, model=self.model_id)

    @property
    def model_id(self) -> str | None:
        """The model id that is asked: the request's own, or the model's default."""
        return self.request.parameters.model or self.model.information.model

    def timed_request(self) -> ChatRequest:
        """
        Return the request with what is left of the deadline as its option.

        A sync call cannot be broken off from outside; the model below must know when to stop.
        """
        left = self.remaining()
        if left is None and self.first_event is None and self.between_events is None:
            return self.request
        # Made without checking the values again, as below: they come from options and policies that have been checked.
        options = object.__new__(CallOptions)
        _set_deadline(options, left)
        _set_first_event(options, self.first_event)
        _set_between_events(options, self.between_events)
        _set_tags(options, self.request.options.tags)
        return self._with_options(options)

    def unlimited_request(self) -> ChatRequest:
        """Return the request without limits of time, for where they are kept from outside."""
        tags = self.request.options.tags
        return self._with_options(CallOptions(tags=tags) if tags else NO_OPTIONS)

    def _with_options(self, options: CallOptions) -> ChatRequest:
        # Made without checking the messages again: they are those of a request that has been checked.
        request = self.request
        changed = object.__new__(ChatRequest)
        _set_messages(changed, request.messages)
        _set_parameters(changed, request.parameters)
        _set_options(changed, options)
        return changed

    def ask(self, request: ChatRequest) -> ChatResponse:
        """Have the model answer `request`, blocking. The innermost step of a plain call."""
        return self.model.do_chat(request)

    async def aask(self) -> ChatResponse:
        """Have the model answer the request as it was asked, awaiting."""
        return await self.model.do_achat(self.request)

    def expected_tokens(self) -> int:
        """Guess what the call will cost, rather too much than too little."""
        return estimate_tokens(self.request, self.model.information.defaults)

    def notify(self, event: CallEvent) -> None:
        """Tell every observer; one that fails is logged and disturbs nobody."""
        from polywire.policy.observers import tell

        tell(self.observers, event)
