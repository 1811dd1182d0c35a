"""Signing requests with a key, and keeping the key out of sight."""

from __future__ import annotations

import threading
from collections.abc import Generator
from datetime import datetime
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from polywire.codec import Auth, HttpRequest, HttpResponse
from polywire.errors import SettingsError
from polywire.fast_dataclass import dataclass

__all__ = ["BearerAuth", "Credential", "HeaderAuth", "NoAuth", "Secret", "SecretValue", "credential_of"]


class Secret:
    """
    A string that no repr, log or traceback shows.

    Compares equal to a secret of the same value; cannot be pickled or copied into text by accident.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """Return the string itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('**********')" if self._value else "Secret('')"

    def __str__(self) -> str:
        return "**********" if self._value else ""

    def __bool__(self) -> bool:
        return bool(self._value.strip())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _memo: object) -> Secret:
        return self

    def __reduce__(self) -> Any:
        msg = "a Secret is not pickled: it would be readable in the file"
        raise TypeError(msg)


class SecretValue(Protocol):
    """Anything that hides a string: `polywire.auth.Secret`, pydantic's `SecretStr`."""

    def get_secret_value(self) -> str:
        """Return the string itself."""


def _revealed(secret: str | SecretValue, what: str) -> str:
    value = secret if isinstance(secret, str) else secret.get_secret_value()
    value = value.strip()
    if not value:
        msg = f"the {what} is empty"
        raise SettingsError(msg)
    if not (value.isascii() and value.isprintable()):
        msg = f"the {what} holds a character that no HTTP header can carry (a typographic quote or a line break?)"
        raise SettingsError(msg)
    return value


class NoAuth:
    """For servers that ask for no key: the request goes out as it is."""

    __slots__ = ("__weakref__",)
    refreshable = False

    def flow(
        self,
        request: HttpRequest,
        *,
        rejected: bool,  # noqa: ARG002 - the contract
        now: datetime,  # noqa: ARG002 - the contract
    ) -> Generator[HttpRequest, HttpResponse, HttpRequest]:
        """Return `request` unchanged."""
        return request
        yield  # a generator that asks for nothing

    def __repr__(self) -> str:
        return "NoAuth()"


class HeaderAuth:
    """
    Puts a key into one header.

    Args:
        name: the header, for example `"x-api-key"`.
        secret: the key; blanks and line ends around it are removed.
        prefix: what stands before it, for example `"Bearer "`.

    Raises:
        SettingsError: the key is empty, or cannot stand in a header.
    """

    __slots__ = ("__weakref__", "_header", "_name")
    refreshable = False

    def __init__(self, name: str, secret: str | SecretValue, prefix: str = "") -> None:
        self._name = name
        self._header = {name: prefix + _revealed(secret, f"key for the header {name!r}")}

    def flow(
        self,
        request: HttpRequest,
        *,
        rejected: bool,  # noqa: ARG002 - the contract
        now: datetime,  # noqa: ARG002 - the contract
    ) -> Generator[HttpRequest, HttpResponse, HttpRequest]:
        """Return `request` with the header."""
        return request.with_headers(self._header)
        yield  # a generator that asks for nothing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, '**********')"


class BearerAuth(HeaderAuth):
    """Puts a key into `Authorization: Bearer …`."""

    __slots__ = ()

    def __init__(self, secret: str | SecretValue) -> None:
        super().__init__("Authorization", secret, "Bearer ")

    def __repr__(self) -> str:
        return "BearerAuth('**********')"


@dataclass(slots=True, eq=False, weakref_slot=True)
class Credential:
    """
    What the users of one `Auth` share: the lock that lets one of them refresh at a time, and how often it was done.

    A caller who had to wait for the lock sees by `refreshes` that a fresh credential is there already.
    """

    lock: threading.Lock
    refreshes: int = 0


_credentials: WeakKeyDictionary[Auth, Credential] = WeakKeyDictionary()
_credentials_lock = threading.Lock()


def credential_of(auth: Auth) -> Credential:
    """Return the one `Credential` of an auth; where the auth cannot be remembered, a new one."""
    with _credentials_lock:
        try:
            return _credentials.setdefault(auth, Credential(threading.Lock()))
        except TypeError:  # not hashable, or takes no weak reference
            return Credential(threading.Lock())
