"""
A connection's table in the settings file: what every provider's has, and the tables inside it.

Plugins subclass `ProviderSettings` and add their own keys; an unknown key is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from polywire.plugins.durations import Duration
from polywire.plugins.plain import timeouts_over
from polywire.transport.streams import Timeouts

__all__ = [
    "CallRules",
    "CircuitBreakerSettings",
    "LimitSettings",
    "ProviderSettings",
    "RetrySettings",
    "SettingsTable",
    "TimeoutSettings",
    "check_profile",
]


class SettingsTable(BaseModel):
    """The base of every table: no unknown keys, never changed, no value in a validation message."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), defer_build=True
    )


class RetrySettings(SettingsTable):
    """How often and after what waits a call that may succeed later is repeated."""

    attempts: int | None = Field(default=None, ge=1, description="how often the call is made at most; 1 means no retry")
    initial_wait: Duration | None = Field(default=None, description="before the second attempt; each wait is longer")
    max_wait: Duration | None = Field(
        default=None, description="the longest single wait; a server that asks for more is an error"
    )
    max_total: Duration | None = Field(default=None, description="after so long no further attempt begins")
    multiplier: float | None = Field(
        default=None, ge=1, description="each wait is so many times as long as the one before"
    )
    jitter: float | None = Field(default=None, ge=0, le=1, description="the part of a wait that is left to chance")


class LimitSettings(SettingsTable):
    """How much may be asked of a connection at once and in a minute."""

    requests_per_minute: int | None = Field(default=None, ge=1, description="requests that may begin in a minute")
    tokens_per_minute: int | None = Field(
        default=None, ge=1, description="tokens of prompts and answers together in a minute"
    )
    concurrency: int | None = Field(default=None, ge=1, description="calls at the same time")
    burst: int | None = Field(
        default=None, ge=1, description="requests that may go at once after a rest; else a minute's worth"
    )
    token_burst: int | None = Field(default=None, ge=1, description="likewise for tokens")
    estimate_tokens: int | None = Field(
        default=None, ge=1, description="what a call is reckoned to cost, where it is known"
    )
    max_wait: Duration | None = Field(default=None, description="how long a call waits for its turn")
    max_pause: Duration | None = Field(default=None, description="the longest pause that a server may ask for")
    store: SecretStr | None = Field(default=None, description='where processes share limits: "redis://host:6379/0"')
    on_store_failure: Literal["fail", "local"] | None = Field(default=None, description="while the store is away")
    local_share: float | None = Field(
        default=None, gt=0, le=1, description="this process's part of the limits while it is away"
    )
    lease: Duration | None = Field(default=None, description="after which a dead process's places are free again")


class CircuitBreakerSettings(SettingsTable):
    """When a model that keeps failing is skipped for a while, where there are fallbacks."""

    enabled: bool | None = Field(default=None, description="false never skips")
    failures: int | None = Field(default=None, ge=1, description="so many failures")
    window: Duration | None = Field(default=None, description="within so long")
    pause: Duration | None = Field(default=None, description="it is skipped for so long")


def _one_timeout(value: Any) -> Any:
    """Read the short form: one duration for all four."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return {"connect": value, "read": value, "write": value, "pool": value}
    return value


class TimeoutSettings(SettingsTable):
    """Limits of the transport. `0` is no limit."""

    connect: Duration | None = Field(default=None, description="for opening a connection")
    read: Duration | None = Field(default=None, description="between two pieces of the answer")
    write: Duration | None = Field(default=None, description="between two pieces of the request")
    pool: Duration | None = Field(default=None, description="for a free connection")

    def over(self, base: Timeouts) -> Timeouts:
        """Return `base` with what is set here."""
        return timeouts_over(self, base)


class CallRules(SettingsTable):
    """What may stand in a model's table, in its connection's and in `[defaults]`; the nearer one wins, key by key."""

    retry: RetrySettings | None = Field(
        default=None, description="repeat a call that may succeed later; left out: a call is made once"
    )
    circuit_breaker: CircuitBreakerSettings | None = Field(
        default=None, description="with fallbacks: skip a model that keeps failing"
    )
    deadline: Duration | None = Field(default=None, description="for the whole call, retries and fallbacks included")
    first_event: Duration | None = Field(default=None, description="to the first content of a stream")
    between_events: Duration | None = Field(default=None, description="between two pieces of content")
    history: Literal["strict", "repair"] | None = Field(
        default=None, description="what to do where tool calls and results do not close"
    )
    unsupported: Literal["notice", "error"] | None = Field(
        default=None, description="what to do about a parameter that the provider does not take"
    )
    timeouts: Annotated[TimeoutSettings, BeforeValidator(_one_timeout)] | None = Field(
        default=None, description="limits of the transport: a table, or one duration for all four; 0 is no limit"
    )


def _blank_is_unset(value: Any) -> Any:
    """Remove stray blanks and line ends around a key; a blank one is none."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, str):
        return SecretStr(value.strip()) if value.strip() else None
    return value


def check_profile(profile: dict[str, Any]) -> dict[str, Any]:
    """
    Return changes to a profile, checked field by field.

    Raises:
        pydantic.ValidationError: as `polywire.plugins.profile_changes.check_profile`, which is loaded where there are
            changes to look at.
    """
    from polywire.plugins import profile_changes

    return profile_changes.check_profile(profile) if profile else profile


class ProviderSettings(CallRules):
    """
    The table `[providers.NAME]`: one connection.

    Subclasses add a provider's own keys; secrets among them are `SecretStr`. One that has no use for some of the keys
    here names them in `refused_settings`, with the reason: in a table they are mistakes, and `polywire providers` does
    not show them.
    """

    refused_settings: ClassVar[Mapping[str, str]] = {}

    api_key: Annotated[SecretStr | None, BeforeValidator(_blank_is_unset)] = Field(
        default=None,
        description="the key; left out: the provider's usual environment variable, at the provider's own addresses",
    )
    base_url: str | None = Field(default=None, description="the service's address, where it is not the usual one")
    headers: dict[str, SecretStr] = Field(default_factory=dict, description="sent with every request")
    proxy: SecretStr | None = Field(default=None, description='the proxy\'s address; "" for none')
    verify: bool | str = Field(default=True, description="check certificates; or the path of those to trust")
    cert: str | tuple[str, ...] | None = Field(
        default=None, description="a client certificate: its path, or those of it and its key"
    )
    trust_env: bool = Field(default=True, description="look at the environment for proxies and certificates")
    follow_redirects: bool = Field(default=False, description="follow redirects; else one is an error")
    max_connections: int | None = Field(default=None, ge=1, description="connections that may be open at once")
    transport: Literal["httpx", "aiohttp"] = Field(
        default="httpx", description="what async calls go over; aiohttp is faster, and an extra: polywire[aiohttp]"
    )
    limits: LimitSettings | None = Field(
        default=None, description="how much may be asked at once and in a minute, by all models of the connection"
    )
    profile: Annotated[dict[str, Any], AfterValidator(check_profile)] = Field(
        default_factory=dict, description="changes to what is known of the models here"
    )

    @model_validator(mode="before")
    @classmethod
    def _check_refused(cls, values: Any) -> Any:
        found = [key for key in cls.refused_settings if isinstance(values, Mapping) and key in values]
        if found:
            from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

            # As errors of the keys, so that each is told at its place.
            raise ValidationError.from_exception_data(
                cls.__name__,
                [
                    InitErrorDetails(
                        type=PydanticCustomError("refused_setting", "{reason}", {"reason": cls.refused_settings[key]}),
                        loc=(key,),
                        input=None,
                    )
                    for key in found
                ],
                hide_input=True,
            )
        return values

    @field_validator("transport", check_fields=False)
    @classmethod
    def _check_transport(cls, name: str) -> str:
        if name == "aiohttp" and find_spec("aiohttp") is None:
            msg = "this transport needs an extra: pip install 'polywire[aiohttp]'"
            raise ValueError(msg)
        return name

    @field_validator("base_url", check_fields=False)
    @classmethod
    def _check_base_url(cls, address: Any) -> Any:
        if isinstance(address, str) and address.strip() and not _is_http_address(address):
            msg = "must be an address that begins with http:// or https://"
            raise ValueError(msg)
        return address

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show an address without what may be secret in it."""
        for name, value in super().__repr_args__():
            yield name, _public_address(value) if name == "base_url" and isinstance(value, str) else value


def _is_http_address(address: str) -> bool:
    try:
        parts = urlsplit(address.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host)


def _public_address(address: str) -> str:
    """Return an address without user, password and query."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else address
    return shown.partition("?")[0]
