"""Fallback: the next model, where one fails."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from polywire.errors import ERROR_KINDS, ModelError, Overloaded, SettingsError, did_you_mean
from polywire.models import ChatModel
from polywire.policy.breaker import Admission, CircuitBreaker
from polywire.policy.model import PolicyModel
from polywire.policy.observers import FallbackTaken
from polywire.policy.opening import Opened, StreamEnd, open_model
from polywire.policy.plans import Plan, Proceed, Result
from polywire.policy.retry import keep_attempts
from polywire.policy.runtime import DEFAULT_RUNTIME, Runtime
from polywire.requests import ChatRequest

if TYPE_CHECKING:
    from polywire.policy.calls import Call

__all__ = ["DEFAULT_FALLBACK_KINDS", "FallbackPolicy"]

DEFAULT_FALLBACK_KINDS = frozenset(ERROR_KINDS) - {"bad_request", "context_length", "unsupported", "content_filter"}
"""
What leads on to the next model unless the settings say otherwise: everything that is the model's, the connection's or the
account's fault. A request that is wrong, too long, unsupported or filtered is the caller's matter and surfaces.
"""


class FallbackPolicy:
    """
    Asks the next model where one fails, until content has been handed out.

    The next one is given the caller's original request (without its `model`, which names one of the first model's
    vendor) and runs under its own retries and limits, but without fallbacks of its own. The call's deadline is shared.
    `metadata["answered_by"]` names the model that answered, and `metadata["fallbacks"]` says who failed how before.

    Args:
        models: the further models by name, in order; what is given as a `PolicyModel` keeps its policies.
        on: the kinds of error that lead on; see `ERROR_KINDS`. A kind includes those below it in the tree.
        breaker_failures: so many failures (each after its retries) within `breaker_window` seconds, and a model is
            skipped for `breaker_cooldown` seconds; then one call probes it. `None` never skips. Where every model is
            skipped, the call fails at once with `Overloaded`, and `retry_after` says when the first probe is due.
        breakers: circuit breakers by model name, to share them between policies.
        name: the first model's name; `None` takes that of the call.

    Raises:
        SettingsError: no models, a name twice, or an unknown kind.
    """

    def __init__(
        self,
        models: Mapping[str, ChatModel] | Iterable[tuple[str, ChatModel]],
        *,
        on: Collection[str] | None = None,
        breaker_failures: int | None = 5,
        breaker_window: float | timedelta = 60.0,
        breaker_cooldown: float | timedelta = 30.0,
        breakers: Mapping[str, CircuitBreaker] | None = None,
        name: str | None = None,
        runtime: Runtime = DEFAULT_RUNTIME,
    ) -> None:
        pairs = list(models.items() if isinstance(models, Mapping) else models)
        names = [each for each, _ in pairs]
        if not pairs:
            msg = "a fallback needs at least one model"
            raise SettingsError(msg)
        for each in names:
            if names.count(each) > 1 or each == name:
                msg = f"the model {each!r} appears twice among the fallbacks"
                raise SettingsError(msg)
        self.models = tuple(
            (each, model.without(FallbackPolicy) if isinstance(model, PolicyModel) else model) for each, model in pairs
        )
        self.on = DEFAULT_FALLBACK_KINDS if on is None else frozenset(on)
        for kind in sorted(self.on - set(ERROR_KINDS)):
            msg = f"unknown kind of error {kind!r}{did_you_mean(kind, ERROR_KINDS)}"
            raise SettingsError(msg)
        self._leads_on = tuple(ERROR_KINDS[kind] for kind in self.on)
        self.name = name
        shared = dict(breakers or {})
        self._breakers: list[CircuitBreaker | None] = [
            shared.get(each or "")
            or (
                None
                if breaker_failures is None
                else CircuitBreaker(
                    failures=breaker_failures, window=breaker_window, cooldown=breaker_cooldown, clock=runtime.now
                )
            )
            for each in (name, *names)
        ]

    def __repr__(self) -> str:
        return f"FallbackPolicy({[name for name, _ in self.models]}, on={sorted(self.on)})"

    def breaker(self, name: str | None = None) -> CircuitBreaker | None:
        """Return the circuit breaker of one of the further models, or of the first one without `name`."""
        if name is None or name == self.name:
            return self._breakers[0]
        return self._breakers[1 + [each for each, _ in self.models].index(name)]

    def __call__(self, call: Call, proceed: Proceed) -> Plan:
        breaker = self._breakers[0]
        admission = Admission.NORMAL if breaker is None else breaker.admit()
        error: ModelError | None = None
        if admission is not Admission.REFUSED:
            try:
                result = yield from proceed(call)
            except ModelError as failure:
                if not self._settle(failure, call, breaker, admission):
                    raise
                error = failure
            except BaseException:
                if breaker is not None:
                    breaker.withdrawn(admission)
                raise
            else:
                if breaker is not None:
                    _succeeded(result, breaker, admission)
                return result
        return (yield from self._go_on(call, error))

    def _go_on(self, call: Call, error: ModelError | None) -> Plan:
        name = self.name or call.name or _title(call.model)
        history = [_record(name, error)]
        failures: list[ModelError] = [] if error is None else [error]
        for index, (next_name, model) in enumerate(self.models, start=1):
            breaker = self._breakers[index]
            admission = Admission.NORMAL if breaker is None else breaker.admit()
            if admission is Admission.REFUSED:
                history.append(_record(next_name, None))
                continue
            if call.observers:
                call.notify(FallbackTaken(call, name, error, next_name))
            behind = model.model if isinstance(model, PolicyModel) else model
            child = call.child(_request_for(model, call.request), behind, next_name)
            try:
                result = yield from model.plan(child) if isinstance(model, PolicyModel) else open_model(child)
            except ModelError as failure:
                leads_on = self._settle(failure, call, breaker, admission)
                name, error = next_name, failure
                history.append(_record(name, failure))
                if not leads_on:
                    keep_attempts(failure, failures)
                    raise
                failures.append(failure)
            except BaseException:
                if breaker is not None:
                    breaker.withdrawn(admission)
                raise
            else:
                if breaker is not None:
                    _succeeded(result, breaker, admission)
                call.record.add_metadata(answered_by=next_name, fallbacks=history)
                return result
        raise self._exhausted(call, failures, history)

    def _settle(self, error: ModelError, call: Call, breaker: CircuitBreaker | None, admission: Admission) -> bool:
        """Tell the breaker, and whether the error leads on to the next model."""
        counts = isinstance(error, self._leads_on) or (type(error).kind == "model" and error.retryable)
        if breaker is not None:
            if counts:
                breaker.failed(admission)
            else:  # it was answered: the model is well
                breaker.succeeded(admission)
        return counts and (call.deadline is None or call.runtime.now() < call.deadline)

    def _exhausted(self, call: Call, failures: list[ModelError], history: list[dict[str, Any]]) -> ModelError:
        if failures:
            last = failures.pop()
            keep_attempts(last, failures)
            return last
        names = ", ".join(each["model"] for each in history)
        soonest = min(breaker.opens_in for breaker in self._breakers if breaker is not None)
        return Overloaded(
            f"every model is skipped for now after too many failures: {names}",
            retry_after=soonest,
            provider=call.model.information.provider,
            model=call.model_id,
        )


def _succeeded(result: Result, breaker: CircuitBreaker, admission: Admission) -> None:
    breaker.succeeded(admission)
    if isinstance(result, Opened):

        def ended(end: StreamEnd) -> None:
            if isinstance(end.error, ModelError):
                breaker.failed(Admission.NORMAL)

        result.riders.append(ended)


def _request_for(model: ChatModel, request: ChatRequest) -> ChatRequest:
    if request.parameters.model is None or model.information.model is None:
        return request
    return request.with_parameters(replace(request.parameters, model=None))


def _record(name: str, error: ModelError | None) -> dict[str, Any]:
    if error is None:
        return {"model": name, "error": "circuit_open", "message": "skipped after too many failures"}
    return {"model": name, "error": type(error).kind, "message": str(error)}


def _title(model: ChatModel) -> str:
    information = model.information
    return ":".join(word for word in (information.provider, information.model) if word) or "first"
