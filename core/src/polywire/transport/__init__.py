"""
Transports: one HTTP request in, a whole answer or an open stream out.

`HttpTransport` is the contract, `HttpxTransport` its implementation over httpx, `AiohttpTransport` one whose async calls
go over aiohttp (`pip install 'polywire[aiohttp]'`). Each is loaded when first used.
`polywire.testing.transport` has one for tests, without a network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polywire.transport.streams import HttpStream, HttpTransport, Timeouts

if TYPE_CHECKING:
    from polywire.transport.aiohttp_transport import AiohttpTransport
    from polywire.transport.httpx_transport import HttpxTransport

__all__ = ["AiohttpTransport", "HttpStream", "HttpTransport", "HttpxTransport", "Timeouts"]

_HOMES = {"AiohttpTransport": "aiohttp_transport", "HttpxTransport": "httpx_transport"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
