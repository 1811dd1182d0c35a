"""From rules in settings to the policies around a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from polywire.config.rules import Rules
from polywire.errors import SettingsError
from polywire.history import check_history
from polywire.models import ChatModel

if TYPE_CHECKING:
    from polywire.plugins.connections import LimitSettings
    from polywire.plugins.plain import PlainLimitSettings
    from polywire.policy import CircuitBreaker, LimitPolicy, Observer, Policy, PolicyModel, Runtime
    from polywire.policy.calls import Call
    from polywire.policy.plans import Plan, Proceed

__all__ = ["HistoryPolicy", "apply_policies", "apply_task_policies", "make_breaker", "make_limits", "missing_extra"]

_BREAKER_KEYS = {"failures": "failures", "window": "window", "pause": "cooldown"}
_RETRY_KEYS = {"max_total": "max_time"}
_LIMIT_KEYS = {"burst": "request_burst", "estimate_tokens": "estimate"}


class HistoryPolicy:
    """
    Refuses a history that does not close before the call waits for its turn at a limit.

    A call that need not wait is left to the model, which looks at the history itself before it sends anything.
    """

    def __call__(self, call: Call, proceed: Proceed) -> Plan:
        call.before_waiting = partial(check_history, call.request.messages, "strict")
        return proceed(call)

    def __repr__(self) -> str:
        return "HistoryPolicy()"


def apply_policies(
    model: ChatModel,
    rules: Rules,
    *,
    name: str,
    limits: Sequence[LimitPolicy] = (),
    fallbacks: Mapping[str, ChatModel] | None = None,
    breakers: Mapping[str, CircuitBreaker] | None = None,
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
) -> PolicyModel:
    """
    Put a model behind what its rules ask for: history check, deadline, fallback, retry, limits; the outermost first.

    Args:
        model: the model as its plugin built it.
        rules: what holds for it.
        name: its name in the settings, for logs and observers.
        limits: its own, and its connection's, shared with the connection's other models; the outermost first.
        fallbacks: the models of `rules.fallback`, built, in order.
        breakers: circuit breakers by model name, shared by all who ask these models.
        observers: told what happens to calls.
        runtime: clock, sleeps and chance.
    """
    from polywire.policy import FallbackPolicy, PolicyModel
    from polywire.policy.runtime import DEFAULT_RUNTIME

    runtime = runtime or DEFAULT_RUNTIME
    policies: list[Policy] = []
    if rules.history == "strict" and limits:
        policies.append(HistoryPolicy())
    policies += _deadline(rules)
    if fallbacks:
        policies.append(
            FallbackPolicy(
                fallbacks,
                on=rules.fallback_on,
                breakers=breakers,
                breaker_failures=None,
                name=name,
                runtime=runtime,
            )
        )
    policies += _retry(rules)
    return PolicyModel(model, [*policies, *limits], name=name, observers=observers, runtime=runtime)


def apply_task_policies(
    model: Any,
    kind: str,
    rules: Rules,
    *,
    name: str,
    limits: Sequence[LimitPolicy] = (),
    observers: Sequence[Observer] = (),
    runtime: Runtime | None = None,
) -> Any:
    """
    Put a model of another kind than chat behind its rules: deadline, retry, limits; as `apply_policies`.

    Raises:
        SettingsError: the rules name fallbacks. Vectors of two models cannot be compared, and voices and pictures have
            names that only one model knows.
    """
    from polywire.policy import PolicyEmbeddingModel, PolicyImageModel, PolicySpeechModel
    from polywire.policy.runtime import DEFAULT_RUNTIME

    if rules.fallback:
        msg = (
            f"models.{name}.fallback: a model of kind {kind!r} cannot be replaced by another: its answers would not fit"
        )
        raise SettingsError(msg)
    wrapper: Any = {"embedding": PolicyEmbeddingModel, "image": PolicyImageModel, "speech": PolicySpeechModel}[kind]
    policies = [*_deadline(rules), *_retry(rules), *limits]
    return wrapper(model, policies, name=name, observers=observers, runtime=runtime or DEFAULT_RUNTIME)


def _deadline(rules: Rules) -> list[Policy]:
    from polywire.policy import DeadlinePolicy

    if not (rules.deadline or rules.first_event or rules.between_events):
        return []
    return [
        DeadlinePolicy(
            total=rules.deadline or None,
            first_event=rules.first_event or None,
            between_events=rules.between_events or None,
        )
    ]


def _retry(rules: Rules) -> list[Policy]:
    from polywire.policy import RetryPolicy

    return [] if rules.retry is None else [RetryPolicy(**_renamed(rules.retry, _RETRY_KEYS))]


def make_breaker(rules: Rules, clock: Callable[[], float]) -> CircuitBreaker | None:
    """Make the circuit breaker of one model; `None` where its rules switch it off."""
    from polywire.policy import CircuitBreaker

    keys = dict(rules.circuit_breaker)
    if keys.pop("enabled", True) is False:
        return None
    return CircuitBreaker(clock=clock, **_renamed(keys, _BREAKER_KEYS))


def make_limits(
    settings: LimitSettings | PlainLimitSettings | None, *, name: str, clock: Callable[[], float]
) -> LimitPolicy:
    """
    Make the limits of a connection or model. Without any set, it still keeps the pauses that the server asks for.

    Raises:
        SettingsError: an extra is not installed, or the store's address is wrong.
    """
    from polywire.policy import LimitPolicy

    keys = {} if settings is None else {key: value for key, value in settings if value is not None}
    if settings is not None:
        missing = missing_extra(settings)
        if missing is not None:
            raise SettingsError(missing)
        if settings.store is not None:
            keys["store"] = settings.store.get_secret_value().strip()
    return LimitPolicy(name=name, clock=clock, **_renamed(keys, _LIMIT_KEYS))


def missing_extra(settings: LimitSettings | PlainLimitSettings) -> str | None:
    """Say which extra these limits need and is not installed, with the command; `None` where all is there."""
    rates = settings.requests_per_minute is not None or settings.tokens_per_minute is not None
    if settings.store is not None and (find_spec("redis") is None or find_spec("pyrate_limiter") is None):
        return "limits with a store need an extra: pip install 'polywire[redis]'"
    if rates and find_spec("pyrate_limiter") is None:
        return "limits per minute need an extra: pip install 'polywire[limits]'"
    return None


def _renamed(keys: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in keys.items()}
