"""
What an HTTP library raises, as polywire's own errors.

Exceptions are told apart by the names in their class hierarchy: httpx, its successors and the layers below them share
these names, so a client of any of them can be handed in, and this module needs none of them. aiohttp has names of its own.
"""

from __future__ import annotations

import re

from polywire.codec import HttpRequest
from polywire.errors import ConnectionFailed, ModelError, ModelTimeout, PolywireError, SettingsError

__all__ = ["translate_error", "unsendable_header"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"([^\x00-\x20\x7f]([^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")

_TIMEOUTS = {
    "ConnectTimeout": "no connection was made in time",
    "ReadTimeout": "the server sent nothing for too long",
    "WriteTimeout": "the server did not take the request in time",
    "PoolTimeout": "the connection pool is exhausted: no connection came free in time",
    "ConnectionTimeoutError": "no connection was made in time",
    "SocketTimeoutError": "the server sent nothing for too long",
    "TimeoutException": "a time limit ran out",
    "TimeoutError": "a time limit ran out",
}
_CONNECTION = {
    "ProxyError": "the proxy failed",
    "ClientProxyConnectionError": "the proxy failed",
    "ClientHttpProxyError": "the proxy failed",
    "ClientSSLError": "the secure connection failed",
    "ClientConnectorError": "no connection could be made",
    "ClientPayloadError": "the connection broke while the answer was read",
    "ClientResponseError": "the server broke off, or did not speak HTTP",
    "ServerDisconnectedError": "the server broke off, or did not speak HTTP",
    "ClientError": "the network failed",
    "ConnectError": "no connection could be made",
    "ReadError": "the connection broke while the answer was read",
    "WriteError": "the connection broke while the request was sent",
    "CloseError": "the connection broke while it was closed",
    "RemoteProtocolError": "the server broke off, or did not speak HTTP",
    "DecodingError": "the answer's compression could not be undone",
    "NetworkError": "the network failed",
    "SSLError": "the secure connection failed",
    "EndOfStream": "the server closed the connection",
    "BrokenResourceError": "the connection broke",
    "ClosedResourceError": "the connection was closed",
    "IncompleteReadError": "the server closed the connection",
    "ConnectionNotAvailable": "the connection was not available",
    "StreamError": "the answer was closed before it was read",
    "TransportError": "the network failed",
    "OSError": "the network failed",
}
_SETTINGS = {
    "InvalidURL": "the address is not a valid URL",
    "UnsupportedProtocol": "the address must begin with http:// or https://",
    "LocalProtocolError": "the request is not valid HTTP: a header holds something that it must not",
}


def translate_error(error: Exception) -> PolywireError | None:
    """
    Return polywire's error for one that an HTTP library or the system raised; `None` for one that is neither.

    The caller raises it `from` the original; `LocalProtocolError` and its kind may quote a header, and with it a key,
    so for a `SettingsError` that is `from None`.
    """
    if isinstance(error, PolywireError):
        return error
    names = [each.__name__ for each in type(error).__mro__]
    for table, make in ((_SETTINGS, SettingsError), (_TIMEOUTS, ModelTimeout), (_CONNECTION, ConnectionFailed)):
        for name in names:
            if name in table:
                return make(_message(table[name], error, make))
    return None


def _message(text: str, error: Exception, make: type[PolywireError]) -> str:
    if not issubclass(make, ModelError):
        return text
    detail = str(error).strip()
    return f"{text} ({detail})" if detail else f"{text} ({type(error).__name__})"


def unsendable_header(request: HttpRequest) -> str | None:
    """Return the name of the first header that HTTP cannot carry: a wrong name, a line break, a character beyond ASCII."""
    for name, value in request.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isascii() or not _HEADER_VALUE.fullmatch(value):
            return name
    return None
