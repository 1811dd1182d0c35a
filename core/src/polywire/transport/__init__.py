"""
Transports: one HTTP request in, a whole answer or an open stream out.

`HttpTransport` is the contract, `HttpxTransport` its implementation over httpx, which is loaded when first used.
`polywire.testing.transport` has one for tests, without a network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polywire.transport.streams import HttpStream, HttpTransport, Timeouts

if TYPE_CHECKING:
    from polywire.transport.httpx_transport import HttpxTransport

__all__ = ["HttpStream", "HttpTransport", "HttpxTransport", "Timeouts"]


def __getattr__(name: str) -> Any:
    if name == "HttpxTransport":
        from polywire.transport.httpx_transport import HttpxTransport

        globals()[name] = HttpxTransport
        return HttpxTransport
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
