"""An address in the parts that a request is written from."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from polywire.errors import SettingsError
from polywire.fast_dataclass import dataclass

__all__ = ["Address", "address_of"]

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PATH = r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
_PLAIN = re.compile(
    rf"(?P<scheme>https?)://(?P<host>[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:(?P<port>[0-9]{{1,5}}))?"
    rf"(?P<path>/{_PATH})?(?P<query>\?{_PATH})?"
)
"""Addresses in which there is nothing to escape, to shorten or to translate: almost all."""


@dataclass(frozen=True, slots=True)
class Address:
    """
    Where a request goes.

    Attributes:
        scheme: `http` or `https`.
        host: in ASCII; an IPv6 address without brackets.
        port: `None` for the scheme's own.
        target: path and query, escaped.
        host_header: what the header `Host` says.
    """

    scheme: str
    host: str
    port: int | None
    target: str
    host_header: str

    @property
    def url(self) -> str:
        """The address in one piece."""
        return f"{self.scheme}://{self.host_header}{self.target}"


def address_of(url: str) -> Address:
    """
    Read an address.

    Raises:
        SettingsError: it is no HTTP address, or names no host.
        httpx.InvalidURL: something in it is wrong.
    """
    plain = _PLAIN.fullmatch(url)
    if plain is not None and "/." not in url:
        port = int(plain["port"]) if plain["port"] else None
        if (port is None or port <= 65535) and _is_name(plain["host"]):
            target = (plain["path"] or "/") + (plain["query"] or "")
            return _address(plain["scheme"], plain["host"], port, target)
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        msg = "the address must begin with http:// or https:// and name a host"
        raise SettingsError(msg)
    # Escapes, dots, letters beyond ASCII: httpx knows the rules. It is not loaded for the usual address [30 ms].
    import httpx

    parsed = httpx.URL(url)
    host = parsed.raw_host.decode("ascii")
    return _address(parsed.scheme, host, parsed.port, parsed.raw_path.decode("ascii"))


def _address(scheme: str, host: str, port: int | None, target: str) -> Address:
    shown = f"[{host}]" if ":" in host else host
    if port is None or port == _DEFAULT_PORTS[scheme]:
        return Address(scheme, host, None, target, shown)
    return Address(scheme, host, port, target, f"{shown}:{port}")


def _is_name(host: str) -> bool:
    """Whether a host is a name or an IPv4 address, and not something like a number."""
    if not host[-1].isdigit():
        return True
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
