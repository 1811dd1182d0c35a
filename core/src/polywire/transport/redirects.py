"""Where a redirect leads, and what may go along."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from polywire.codec import HttpRequest

__all__ = ["MAX_REDIRECTS", "redirected"]

MAX_REDIRECTS = 20
_WITHOUT_BODY = frozenset({301, 302, 303})
_WITH_BODY = frozenset({307, 308})
_HARMLESS_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


def redirected(request: HttpRequest, status: int, location: str | None) -> HttpRequest | None:
    """
    Return the request that a redirect asks for, or `None` where the answer is no redirect.

    As in browsers, 307 and 308 repeat the request and 301, 302 and 303 ask with GET. Another host gets none of the
    headers that may hold a key: not `Authorization`, and no header of a vendor's own.
    """
    if (status not in _WITHOUT_BODY and status not in _WITH_BODY) or not location:
        return None
    headers = dict(request.headers)
    try:
        url = urljoin(request.url, location)
        leaves = not _same_origin(request.url, url)
    except ValueError:  # it leads nowhere
        return None
    if leaves:
        headers = {name: value for name, value in headers.items() if name.lower() in _HARMLESS_HEADERS}
    if status in _WITHOUT_BODY and request.method not in ("GET", "HEAD"):
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
        return replace(request, url=url, method="GET", body=b"", headers=headers)
    return replace(request, url=url, headers=headers)


def _same_origin(one: str, other: str) -> bool:
    """Whether two addresses are of one server; the step from http to https on the usual ports counts as none."""
    first, second = urlsplit(one), urlsplit(other)
    if first.hostname != second.hostname:
        return False
    first_port, second_port = (each.port or _DEFAULT_PORTS.get(each.scheme) for each in (first, second))
    if first.scheme == second.scheme:
        return first_port == second_port
    return (first.scheme, first_port, second.scheme, second_port) == ("http", 80, "https", 443)
