"""Whose an address is: a key from a provider's usual variable goes to the provider's own addresses and nowhere else."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

__all__ = ["host_of", "is_loopback", "is_own_address"]

_ODD = re.compile(r"[\s\\\x00-\x1f\x7f]")
"""What one reader of an address takes for the end of the host, and another one does not."""
_PORTS = {"http": 80, "https": 443}


def is_own_address(address: str, own: Iterable[str]) -> bool:
    """
    Whether an address is one of `own`, or below one: the same scheme and port, the same host or a subdomain of it.

    A `*` at the beginning of a host stands for any text: `https://*-region.acme.example`.

    Of an own address on this machine, every port and every name of this machine is one as well: it has no others' hosts.
    """
    parts = _parts(address)
    if parts is None:
        return False
    for each in own:
        wanted = _parts(each)
        if wanted is None:
            continue
        if _is_loopback_host(wanted.hostname) and _is_loopback_host(parts.hostname):
            return True
        host, wanted_host = str(parts.hostname), str(wanted.hostname)
        if wanted_host.startswith("*"):
            same_host = host.endswith(wanted_host[1:])
        else:
            same_host = host == wanted_host or host.endswith(f".{wanted_host}")
        if same_host and parts.scheme == wanted.scheme and _port(parts) == _port(wanted):
            return True
    return False


def is_loopback(address: str) -> bool:
    """Whether an address is on this machine: `localhost`, `127.0.0.0/8`, `::1`."""
    parts = _parts(address)
    return parts is not None and _is_loopback_host(parts.hostname)


def host_of(address: str) -> str:
    """Return an address's host for a message; the address itself is not told, it may hold a secret."""
    parts = _parts(address)
    return str(parts.hostname) if parts is not None else "an address that is none"


def _parts(address: str) -> SplitResult | None:
    address = address.strip()
    if _ODD.search(address):
        return None
    try:
        # Some servers' own variables leave out the scheme.
        parts = urlsplit(address if "://" in address else f"http://{address}")
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None


def _port(parts: SplitResult) -> int | None:
    return parts.port or _PORTS.get(parts.scheme)


def _is_loopback_host(host: str | None) -> bool:
    if host is None:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # A server's "everywhere", taken for an address, leads to this machine.
    return address.is_loopback or address.is_unspecified
