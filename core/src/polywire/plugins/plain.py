"""
Settings that say plain things, read without pydantic: its import and its models are two fifths of a program's start.

Most tables hold known keys, and values of just the type that the key has. Those are read here, by msgspec: what it takes,
the models of `polywire.plugins.connections` take as well and make the same of; a test holds the two together. Whatever
else a table says (a number in quotes, a short form, a key that is seldom used, any mistake) is left to the models, and
mistakes are told in their words alone. So a key may be missing here, but must not be read otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import Meta, field

from polywire.auth import Secret
from polywire.errors import PolywireError
from polywire.immutable import EMPTY
from polywire.plugins.seconds import read_duration
from polywire.transport.streams import Timeouts

if TYPE_CHECKING:
    from polywire.plugins.connections import TimeoutSettings

__all__ = [
    "AtLeastOne",
    "Key",
    "PlainCircuitBreakerSettings",
    "PlainLimitSettings",
    "PlainProviderSettings",
    "PlainRetrySettings",
    "PlainRules",
    "PlainTable",
    "PlainTimeoutSettings",
    "Seconds",
    "read_plain",
    "timeouts_over",
]

AtLeastOne = Annotated[int, Meta(ge=1)]
# As plain as an address can be: no user, no query, and a port that is certainly one.
_PlainAddress = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps?://[A-Za-z0-9][A-Za-z0-9.-]*(:[1-9][0-9]{0,3}|:[1-5][0-9]{4}|:60[0-9]{3})?(/[A-Za-z0-9._/-]*)?\Z"
    ),
]


class Seconds(float):
    """A duration, read as `polywire.plugins.durations.Duration` is."""

    __slots__ = ()


class Key(Secret):
    """A secret without blanks around it; a blank one is none, and is left to the model."""

    __slots__ = ()


class PlainTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of every plain table. Like its model it is gone through as pairs of key and value."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.__struct_fields__)

    def written(self) -> dict[str, Any]:
        """Return what the table says, keys in the open: what its model is made of, if that is asked for after all."""
        table: dict[str, Any] = msgspec.to_builtins(self, enc_hook=_write)
        return table


class PlainRetrySettings(PlainTable, frozen=True):
    """`RetrySettings`."""

    attempts: AtLeastOne | None = None
    initial_wait: Seconds | None = None
    max_wait: Seconds | None = None
    max_total: Seconds | None = None
    multiplier: Annotated[float, Meta(ge=1)] | None = None
    jitter: Annotated[float, Meta(ge=0, le=1)] | None = None


class PlainLimitSettings(PlainTable, frozen=True):
    """`LimitSettings` of one process."""

    store: ClassVar[None] = None
    requests_per_minute: AtLeastOne | None = None
    tokens_per_minute: AtLeastOne | None = None
    concurrency: AtLeastOne | None = None
    burst: AtLeastOne | None = None
    token_burst: AtLeastOne | None = None
    estimate_tokens: AtLeastOne | None = None
    max_wait: Seconds | None = None
    max_pause: Seconds | None = None


class PlainCircuitBreakerSettings(PlainTable, frozen=True):
    """`CircuitBreakerSettings`."""

    enabled: bool | None = None
    failures: AtLeastOne | None = None
    window: Seconds | None = None
    pause: Seconds | None = None


class PlainTimeoutSettings(PlainTable, frozen=True):
    """`TimeoutSettings`, written as a table."""

    connect: Seconds | None = None
    read: Seconds | None = None
    write: Seconds | None = None
    pool: Seconds | None = None

    def over(self, base: Timeouts) -> Timeouts:
        """Return `base` with what is set here."""
        return timeouts_over(self, base)


class PlainRules(PlainTable, frozen=True):
    """`CallRules`."""

    retry: PlainRetrySettings | None = None
    circuit_breaker: PlainCircuitBreakerSettings | None = None
    deadline: Seconds | None = None
    first_event: Seconds | None = None
    between_events: Seconds | None = None
    history: Literal["strict", "repair"] | None = None
    unsupported: Literal["notice", "error"] | None = None
    timeouts: PlainTimeoutSettings | None = None
    limits: PlainLimitSettings | None = None


class PlainProviderSettings(PlainRules, frozen=True):
    """
    `ProviderSettings`: what a plugin subclasses to have its own tables read without pydantic, and names beside its model
    (`Provider.plain_settings`). A key that the model reads in a way of its own is a `ClassVar` there, or is left out.
    """

    cert: ClassVar[None] = None
    transport: ClassVar[Literal["httpx"]] = "httpx"
    profile: ClassVar[Mapping[str, Any]] = EMPTY
    api_key: Key | None = None
    base_url: _PlainAddress | None = None
    headers: dict[str, Secret] = field(default_factory=dict)
    proxy: Secret | None = None
    verify: bool = True
    trust_env: bool = True
    follow_redirects: bool = False
    max_connections: AtLeastOne | None = None


PlainT = TypeVar("PlainT", bound=PlainTable)


def read_plain(table: type[PlainT], value: Any) -> PlainT | None:
    """Return a table where it is plain, and `None` where a model has to look at it."""
    try:
        return msgspec.convert(value, table, dec_hook=_read)
    except (msgspec.ValidationError, PolywireError, ArithmeticError):
        return None


def _read(kind: type, value: Any) -> Any:
    if kind is Seconds:
        return Seconds(read_duration(value))
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is Key and isinstance(value, str) and value and value == value.strip():
        return Key(value)
    msg = f"{type(value).__name__} is no plain {kind.__name__}"
    raise TypeError(msg)


def _write(value: Any) -> Any:
    return float(value) if isinstance(value, Seconds) else value.get_secret_value()


def timeouts_over(table: TimeoutSettings | PlainTimeoutSettings, base: Timeouts) -> Timeouts:
    """Return `base` with what a table sets; `0` is no limit."""
    values = {name: getattr(base, name) for name in ("connect", "read", "write", "pool")}
    for name in values:
        seconds = getattr(table, name)
        if seconds is not None:
            values[name] = seconds or None
    return Timeouts(**values)
