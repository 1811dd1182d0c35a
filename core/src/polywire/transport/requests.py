"""The head of a request, and the headers of an answer, as bytes."""

from __future__ import annotations

from collections.abc import Iterable

from polywire.codec import Headers, HttpRequest

__all__ = ["USUAL_HEADERS", "request_headers", "response_headers"]

USUAL_HEADERS = {
    b"accept": b"*/*",
    b"accept-encoding": b"gzip, deflate",
    b"connection": b"keep-alive",
    b"user-agent": b"polywire",
}
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH")


def request_headers(request: HttpRequest, host_header: bytes) -> list[tuple[bytes, bytes]]:
    """
    Return all headers of a request. The caller's win over the usual ones.

    Raises:
        UnicodeEncodeError: one holds a character beyond ASCII.
    """
    headers = {b"host": host_header, **USUAL_HEADERS}
    for name, value in request.headers.items():
        headers[name.lower().encode("ascii")] = value.encode("ascii")
    if (
        (request.body or request.method in _METHODS_WITH_BODY)
        and b"content-length" not in headers
        and b"transfer-encoding" not in headers
    ):
        headers[b"content-length"] = b"%d" % len(request.body)
    return list(headers.items())


def response_headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Read the headers of an answer: ASCII, or else UTF-8, or else Latin-1, as browsers do."""
    raw = tuple(raw)
    for encoding in ("ascii", "utf-8"):
        try:
            return Headers([(name.decode(encoding), value.decode(encoding)) for name, value in raw])
        except UnicodeDecodeError:
            continue
    return Headers([(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw])
