"""A model behind policies: a `ChatModel` around any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, cast

from polywire.models import ChatModel, ModelInformation, StreamingChatModel
from polywire.policy.calls import Call
from polywire.policy.observers import Observation, Observer, current_observers
from polywire.policy.opening import Opened, open_model
from polywire.policy.plans import Plan, Policy, Result, arun, compose, run
from polywire.policy.runtime import DEFAULT_RUNTIME, Runtime
from polywire.policy.sources import AsyncPolicySource, PolicySource
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse

__all__ = ["PolicyModel"]


class PolicyModel(ChatModel):
    """
    `model` behind `policies`, the outermost first. The usual order is deadline, fallback, retry, limits.

    It streams if `model` does. It calls only `do_chat`, `do_achat`, `do_stream` and `do_astream` of the inner model, and
    passes its `information` on. Per-call deadlines (`CallOptions`) are kept with or without a `DeadlinePolicy`.

    Args:
        model: any model.
        policies: rules; see `polywire.policy.plans`. One object may serve several models: a `LimitPolicy` that does is
            their common limit.
        name: the model's name in the settings, for logs, observers and metadata.
        observers: told of calls, attempts, waits, limits and fallbacks.
        runtime: clock, sleeps and chance, for tests.

    Closing it closes the inner model; a `LimitPolicy` with a store has a `close` of its own, because models share it.
    """

    def __new__(cls, model: ChatModel, *_: Any, **__: Any) -> Self:
        """Choose the class that streams, where `model` can."""
        if cls is PolicyModel and isinstance(model, StreamingChatModel):
            return cast("Self", object.__new__(_StreamingPolicyModel))
        return object.__new__(cls)

    def __init__(
        self,
        model: ChatModel,
        policies: Iterable[Policy] = (),
        *,
        name: str | None = None,
        observers: Sequence[Observer] = (),
        runtime: Runtime = DEFAULT_RUNTIME,
    ) -> None:
        if not hasattr(model, "do_chat"):
            msg = f"PolicyModel's model must be a ChatModel, not {type(model).__name__}"
            raise TypeError(msg)
        self.model = model
        self.policies = _checked(policies)
        self.name = name
        self.observers = tuple(observers)
        self.runtime = runtime
        self.information: ModelInformation = model.information
        self._plan = compose(self.policies, open_model)

    def __repr__(self) -> str:
        return f"PolicyModel({self.model!r}, {list(self.policies)!r})"

    def plan(self, call: Call) -> Plan:
        """Return the plan of one call through this model's policies, for policies that ask several models."""
        return self._plan(call)

    def without(self, kind: type) -> PolicyModel:
        """Return this model without its policies of one kind; itself where it has none."""
        kept = [policy for policy in self.policies if not isinstance(policy, kind)]
        if len(kept) == len(self.policies):
            return self
        return PolicyModel(self.model, kept, name=self.name, observers=self.observers, runtime=self.runtime)

    def _start(self, request: ChatRequest, *, streaming: bool) -> tuple[Call, Plan]:
        call = Call(request, self.model, streaming=streaming, runtime=self.runtime, name=self.name)
        observers = current_observers(self.observers)
        if not observers:
            return call, self._plan(call)
        call.observers = observers
        return call, Observation(call).plan(self._plan)

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        call, plan = self._start(request, streaming=False)
        return _annotated(run(plan), call)

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        call, plan = self._start(request, streaming=False)
        return _annotated(await arun(plan), call)

    def close(self) -> None:
        self.model.close()

    async def aclose(self) -> None:
        await self.model.aclose()


class _StreamingPolicyModel(PolicyModel, StreamingChatModel):
    """The same, around a model that streams."""

    def do_stream(self, request: ChatRequest) -> PolicySource:
        return PolicySource(lambda: self._start(request, streaming=True))

    def do_astream(self, request: ChatRequest) -> AsyncPolicySource:
        return AsyncPolicySource(lambda: self._start(request, streaming=True))


def _checked(policies: Any) -> tuple[Policy, ...]:
    if not isinstance(policies, Iterable):
        name = type(policies).__name__
        msg = f"PolicyModel's policies must be a list of policies, not {name}" + (
            f": PolicyModel(model, [{name}(…)])" if callable(policies) else ""
        )
        raise TypeError(msg)
    checked = tuple(policies)
    for index, policy in enumerate(checked):
        if isinstance(policy, type):
            msg = f"policies[{index}] must be a policy, not a class: {policy.__name__}(…)"
            raise TypeError(msg)
        if not callable(policy):
            msg = f"policies[{index}] must be a policy, a function of the call and what goes on, not {type(policy).__name__}"
            raise TypeError(msg)
    return checked


def _annotated(result: Result, call: Call) -> ChatResponse:
    """Put what policies have to say on the response."""
    if isinstance(result, Opened):
        msg = "a policy returned an open stream for a plain call"
        raise TypeError(msg)
    record = call.record
    if not record.notices and not record.metadata:
        return result
    return ChatResponse(
        result.message,
        result.usage,
        result.finish_reason,
        (*result.notices, *record.notices),
        {**result.metadata, **record.metadata} if record.metadata else result.metadata,
    )
