"""What holds for one model: its own table, over its connection's, over `[defaults]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from polywire.immutable import EMPTY
from polywire.transport.streams import Timeouts

if TYPE_CHECKING:
    from polywire.plugins.connections import CallRules, LimitSettings
    from polywire.plugins.plain import PlainLimitSettings, PlainRules

__all__ = ["Rules"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """
    The rules of one model, with all layers merged.

    Tables (`retry`, `circuit_breaker`, `timeouts`) merge key by key; of everything else the nearest counts.

    Attributes:
        retry: the keys that are set; `None` where there is no such table. An empty one asks for retries as they usually are.
        circuit_breaker: the keys that are set; empty where there is no such table.
        connection_limits: the connection's, shared by all its models.
        limits: the model's own, in addition.
        fallback: the models to ask next; none for the models of a fallback itself.
        fallback_on: the kinds of error that lead there; `None` is the policy's own list.
    """

    retry: Mapping[str, Any] | None = None
    circuit_breaker: Mapping[str, Any] = EMPTY
    deadline: float | None = None
    first_event: float | None = None
    between_events: float | None = None
    history: Literal["strict", "repair"] = "strict"
    unsupported: Literal["notice", "error"] = "notice"
    timeouts: Timeouts = Timeouts()
    connection_limits: LimitSettings | PlainLimitSettings | None = None
    limits: LimitSettings | PlainLimitSettings | None = None
    fallback: tuple[str, ...] = ()
    fallback_on: tuple[str, ...] | None = None

    @classmethod
    def of(cls, model: Any, connection: Any, defaults: Any) -> Rules:
        """
        Merge three layers.

        Args:
            model: `ModelSettings`, or their plain form; `None` for a model without a table.
            connection: the `ProviderSettings` of its connection, likewise.
            defaults: `DefaultSettings`, likewise.
        """
        layers: list[CallRules | PlainRules] = [each for each in (model, connection, defaults) if each is not None]

        def nearest(name: str, otherwise: Any = None) -> Any:
            values = (getattr(layer, name, None) for layer in layers)
            return next((value for value in values if value is not None), otherwise)

        def merged(name: str) -> dict[str, Any] | None:
            keys: dict[str, Any] | None = None
            for layer in reversed(layers):
                table = getattr(layer, name, None)
                if table is not None:
                    keys = (keys or {}) | {key: value for key, value in table if value is not None}
            return keys

        timeouts = Timeouts()
        for layer in reversed(layers):
            if layer.timeouts is not None:
                timeouts = layer.timeouts.over(timeouts)
        return cls(
            retry=merged("retry"),
            circuit_breaker=merged("circuit_breaker") or {},
            deadline=nearest("deadline"),
            first_event=nearest("first_event"),
            between_events=nearest("between_events"),
            history=nearest("history", "strict"),
            unsupported=nearest("unsupported", "notice"),
            timeouts=timeouts,
            connection_limits=connection.limits or defaults.limits,
            limits=None if model is None else model.limits,
            fallback=() if model is None else tuple(model.fallback or ()),
            fallback_on=nearest("fallback_on"),
        )
