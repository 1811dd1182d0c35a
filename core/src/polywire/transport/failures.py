"""
What an HTTP library raises, as polywire's own errors.

Exceptions are told apart by the names in their class hierarchy: httpx, its successors and the layers below them share
these names, so a client of any of them can be handed in, and this module needs none of them. aiohttp has names of its own.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from polywire.codec import HttpRequest
from polywire.errors import ConnectionFailed, ModelError, ModelTimeout, PolywireError, SettingsError

__all__ = ["origin_of", "translate_error", "unsendable_header"]

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
    "ClientSSLError": "no secure connection could be made",
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
_CONNECTING = frozenset(
    {
        "ConnectTimeout",
        "ConnectionTimeoutError",
        "ProxyError",
        "ClientProxyConnectionError",
        "ClientHttpProxyError",
        "ClientSSLError",
        "ClientConnectorError",
        "ConnectError",
    }
)
"""Those that mean that there never was a connection: the address is what a person looks at first."""
_PLAIN_HTTP = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""OpenSSL's words for an answer in plain text, old and new."""
_DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_SETTINGS = {
    "InvalidURL": "the address is not a valid URL",
    "UnsupportedProtocol": "the address must begin with http:// or https://",
    "LocalProtocolError": "the request is not valid HTTP: a header holds something that it must not",
}


def translate_error(error: Exception, url: str = "", proxy: str | None = None) -> PolywireError | None:
    """
    Return polywire's error for one that an HTTP library or the system raised; `None` for one that is neither.

    The caller raises it `from` the original; `LocalProtocolError` and its kind may quote a header, and with it a key,
    so for a `SettingsError` that is `from None`.

    Args:
        error: what was raised.
        url: what was asked; where no connection could be made, the message names its scheme, host and port.
        proxy: the proxy on the way there, likewise.
    """
    if isinstance(error, PolywireError):
        return error
    names = [each.__name__ for each in type(error).__mro__]
    for table, make in ((_SETTINGS, SettingsError), (_TIMEOUTS, ModelTimeout), (_CONNECTION, ConnectionFailed)):
        for name in names:
            if name in table:
                connecting = name in _CONNECTING
                return make(_message(table[name], error, make, _way(name, error, url, proxy) if connecting else ""))
    return None


def _message(text: str, error: Exception, make: type[PolywireError], way: str) -> str:
    if not issubclass(make, ModelError):
        return text
    detail = _detail(error) if way else str(error).strip()
    hint = ""
    if "https://" in way and any(word in detail for word in _PLAIN_HTTP):
        hint = "; the server speaks plain http: base_url begins with https://"
    return f"{text}{way} ({detail or type(error).__name__}){hint}"


def _way(name: str, error: Exception, url: str, proxy: str | None) -> str:
    """Where the connection should have led, for a message."""
    target, through = origin_of(url), origin_of(proxy or "")
    if "Proxy" in name:
        return f": {through}" if through else ""
    if not target:
        return ""
    if not through:
        return f" to {target}"
    # Only what comes after the proxy's own connection can be a matter of certificates, unless the proxy has one too.
    return f" to {target} through the proxy {through}" if "SSL" in _detail(error) else f" to the proxy {through}"


def _detail(error: Exception) -> str:
    """What the system itself said: aiohttp and anyio have words of their own around it, or instead of it."""
    system = getattr(error, "os_error", None)
    cause: BaseException | None = system if isinstance(system, OSError) else error
    for _ in range(8):
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if cause is None or (isinstance(cause, OSError) and cause.errno is not None):
            break
        cause = cause.__cause__ or cause.__context__
    return str(error if cause is None else cause).strip()


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address, without user, path or query; empty where it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return ""
    if not host:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def unsendable_header(request: HttpRequest) -> str | None:
    """Return the name of the first header that HTTP cannot carry: a wrong name, a line break, a character beyond ASCII."""
    for name, value in request.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not value.isascii() or not _HEADER_VALUE.fullmatch(value):
            return name
    return None
