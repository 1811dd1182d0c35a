"""
A connection's table in the settings file: what every provider's has, and the tables inside it.

Plugins subclass `ProviderSettings` and add their own keys; an unknown key is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from polywire.plugins.durations import Duration
from polywire.transport.streams import Timeouts

__all__ = [
    "CallRules",
    "CircuitBreakerSettings",
    "LimitSettings",
    "ProviderSettings",
    "RetrySettings",
    "SettingsTable",
    "TimeoutSettings",
]


class SettingsTable(BaseModel):
    """The base of every table: no unknown keys, never changed, no value in a validation message."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), use_attribute_docstrings=False
    )


class RetrySettings(SettingsTable):
    """How often and after what waits a call that may succeed later is repeated."""

    attempts: int | None = Field(None, ge=1, description="how often the call is made at most; 1 means no retry")
    initial_wait: Duration | None = Field(None, description="before the second attempt; each wait is longer")
    max_wait: Duration | None = Field(
        None, description="the longest single wait; a server that asks for more is an error"
    )
    max_total: Duration | None = Field(None, description="after so long no further attempt begins")
    jitter: float | None = Field(None, ge=0, le=1, description="the part of a wait that is left to chance")


class LimitSettings(SettingsTable):
    """How much may be asked of a connection at once and in a minute."""

    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    concurrency: int | None = Field(None, ge=1, description="calls at the same time")
    burst: float | None = Field(None, gt=0, description="the part of a minute's amount that may come at once, 0 to 1")
    store: str | None = Field(None, description='where limits are shared by processes: "redis://host:6379/0"')
    on_store_failure: Literal["local", "error", "open"] | None = None


class CircuitBreakerSettings(SettingsTable):
    """When a model that keeps failing is skipped for a while."""

    failures: int | None = Field(None, ge=1, description="so many failures in a row")
    window: Duration | None = Field(None, description="within so long")
    pause: Duration | None = Field(None, description="it is skipped for so long")


def _one_timeout(value: Any) -> Any:
    """Read the short form: one duration for all four."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return {"connect": value, "read": value, "write": value, "pool": value}
    return value


class TimeoutSettings(SettingsTable):
    """Limits of the transport. `0` is no limit."""

    connect: Duration | None = Field(None, description="for opening a connection")
    read: Duration | None = Field(None, description="between two pieces of the answer")
    write: Duration | None = Field(None, description="between two pieces of the request")
    pool: Duration | None = Field(None, description="for a free connection")

    def over(self, base: Timeouts) -> Timeouts:
        """Return `base` with what is set here."""
        values = {name: getattr(base, name) for name in ("connect", "read", "write", "pool")}
        for name in values:
            seconds = getattr(self, name)
            if seconds is not None:
                values[name] = seconds or None
        return Timeouts(**values)


class CallRules(SettingsTable):
    """What may stand in a model's table, in its connection's and in `[defaults]`; the nearer one wins, key by key."""

    retry: RetrySettings | None = None
    circuit_breaker: CircuitBreakerSettings | None = None
    deadline: Duration | None = Field(None, description="for the whole call, retries and fallbacks included")
    first_event: Duration | None = Field(None, description="to the first content of a stream")
    between_events: Duration | None = Field(None, description="between two pieces of content")
    history: Literal["strict", "repair"] | None = Field(
        None, description="what to do where tool calls and results do not close"
    )
    unsupported: Literal["notice", "error"] | None = Field(
        None, description="what to do about a parameter that the provider does not take"
    )
    timeouts: Annotated[TimeoutSettings, BeforeValidator(_one_timeout)] | None = None


def _blank_is_unset(value: Any) -> Any:
    """Remove stray blanks and line ends around a key; a blank one is none."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, str):
        return SecretStr(value.strip()) if value.strip() else None
    return value


class ProviderSettings(CallRules):
    """
    The table `[providers.NAME]`: one connection.

    Subclasses add a provider's own keys; secrets among them are `SecretStr`.
    """

    api_key: Annotated[SecretStr | None, BeforeValidator(_blank_is_unset)] = Field(
        None, description="the key; left out: the provider's usual environment variable"
    )
    base_url: str | None = Field(None, description="the service's address, where it is not the usual one")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="sent with every request")
    proxy: SecretStr | None = Field(None, description='the proxy\'s address; "" for none')
    verify: bool | str = Field(True, description="check certificates; or the path of those to trust")
    cert: str | tuple[str, ...] | None = Field(
        None, description="a client certificate: its path, or those of it and its key"
    )
    trust_env: bool = Field(True, description="look at the environment for proxies and certificates")
    follow_redirects: bool = False
    max_connections: int | None = Field(None, ge=1)
    limits: LimitSettings | None = None
    profile: dict[str, Any] = Field(default_factory=dict, description="changes to what is known of the models here")
