"""The connection to Redis, with the scripts of a shared limit."""

from __future__ import annotations

import contextlib
from typing import Any
from urllib.parse import urlsplit

from polywire.errors import SettingsError
from polywire.policy.rates import load_arithmetic
from polywire.policy.redis_scripts import acquire_script, pause_script, release_script, renew_script

__all__ = ["RedisStore", "StoreAway", "store_address"]

_TIMEOUT = 1.0


class StoreAway(Exception):
    """The store does not answer."""


def store_address(store: Any) -> tuple[str, str]:
    """
    Return a store's address, and what of it may be shown.

    Raises:
        SettingsError: it is not `redis://…` or a relative of it.
    """
    reveal = getattr(store, "get_secret_value", None)
    address = str(store if reveal is None else reveal())
    parts = urlsplit(address)
    if parts.scheme not in ("redis", "rediss", "unix"):
        msg = f"store must be redis://…, rediss://… or unix://…, not {parts.scheme or 'an address without a scheme'}"
        raise SettingsError(msg)
    host = parts.hostname or ""
    return address, f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


class RedisStore:
    """
    One Redis. Not thread-safe; connects when first used.

    Attributes:
        shown: the address without user and password, for people.

    Raises:
        SettingsError: the address is wrong, or the library is not installed.
    """

    def __init__(self, store: Any) -> None:
        self._address, self.shown = store_address(store)
        try:
            import redis  # noqa: F401
        except ImportError as error:
            msg = "a shared limit needs the extra `redis`: pip install 'polywire[redis]'"
            raise SettingsError(msg) from error
        load_arithmetic()
        self._client: Any = None
        self._scripts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"RedisStore({self.shown!r})"

    def call(self, name: str, keys: list[str], arguments: list[Any]) -> Any:
        """
        Run one of the scripts.

        Raises:
            StoreAway: the store does not answer, or refuses.
        """
        import redis

        try:
            if self._client is None:
                self._connect()
            return self._scripts[name](keys=keys, args=arguments)
        except (redis.exceptions.RedisError, OSError) as error:
            raise StoreAway(type(error).__name__) from error

    def _connect(self) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        client = redis.Redis.from_url(
            self._address,
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
            retry=Retry(NoBackoff(), 1),  # one: the connection may have been closed while it was idle
        )
        arithmetic = load_arithmetic()[0]().redis_script() or ""
        self._scripts = {
            "acquire": client.register_script(acquire_script(arithmetic)),
            "release": client.register_script(release_script(arithmetic)),
            "renew": client.register_script(renew_script()),
            "pause": client.register_script(pause_script()),
        }
        self._client = client

    def close(self) -> None:
        """Close the connection. Idempotent; a further call opens it anew."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close()
