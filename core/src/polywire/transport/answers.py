"""Answers of clients with httpx's interface that were handed in; cutting off and failing, as all answers do."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, NoReturn

from polywire.codec import Headers, HttpRequest
from polywire.errors import PolywireError, ProtocolError, SettingsError
from polywire.transport.closing import uninterrupted
from polywire.transport.failures import translate_error, unsendable_header
from polywire.transport.redirects import MAX_REDIRECTS
from polywire.transport.streams import HttpStream

__all__ = ["aopened", "cut", "opened", "raise_translated", "too_many_redirects"]


def opened(response: Any) -> HttpStream:
    """Make the open stream of a sync answer, unread as yet."""
    return HttpStream(
        response.status_code,
        Headers(response.headers.multi_items()),
        chunks=_chunks(response),
        close=response.close,
        abort=_aborter(response),
    )


def aopened(response: Any) -> HttpStream:
    """Make the open stream of an async answer, unread as yet."""
    chunks = _achunks(response)
    return HttpStream(
        response.status_code,
        Headers(response.headers.multi_items()),
        achunks=chunks,
        aclose=lambda: uninterrupted(_aclose(chunks, response)),
        abort=_aborter(response),
    )


def _chunks(response: Any) -> Iterator[bytes]:
    try:
        # A body that is not compressed needs none of the response's own layers.
        yield from response.iter_bytes() if "content-encoding" in response.headers else response.stream
    except Exception as error:
        raise_translated(error)


async def _achunks(response: Any) -> AsyncGenerator[bytes, None]:
    chunks: AsyncIterator[bytes] = aiter(
        response.aiter_bytes() if "content-encoding" in response.headers else response.stream
    )
    try:
        async for chunk in chunks:
            yield chunk
    except Exception as error:
        raise_translated(error)
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def _aclose(chunks: AsyncGenerator[bytes, None], response: Any) -> None:
    try:
        await chunks.aclose()
    finally:
        await response.aclose()


def _aborter(response: Any) -> Callable[[], None]:
    """Return what cuts the connection of `response`: nothing else wakes a thread that waits in a read."""
    stream = response.extensions.get("network_stream")

    def abort() -> None:
        if stream is not None and not response.is_closed:
            cut(stream.get_extra_info("socket"))

    return abort


def cut(connection: Any) -> None:
    """Cut a connection by its socket, from any thread; who waits in a read of it wakes up."""
    with contextlib.suppress(OSError):
        if isinstance(connection, socket.socket):
            # Not the TLS layer's own method: that one changes what the reading thread is using.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        elif connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except TypeError:  # uvloop's own kind of socket refuses: its descriptor is what counts
                with socket.socket(fileno=os.dup(connection.fileno())) as same:
                    same.shutdown(socket.SHUT_RDWR)


def too_many_redirects() -> ProtocolError:
    return ProtocolError(f"the server redirected more than {MAX_REDIRECTS} times")


def raise_translated(
    error: Exception,
    request: HttpRequest | None = None,
    proxy_for: Callable[[str], str | None] | None = None,
) -> NoReturn:
    """
    Raise polywire's error for `error`; or `error` itself where it is neither the network's nor the system's.

    Args:
        error: what was raised.
        request: what was being sent.
        proxy_for: tells the proxy on the way to an address.
    """
    url = "" if request is None else request.url
    proxy = None if proxy_for is None or not url or isinstance(error, PolywireError) else proxy_for(url)
    translated = translate_error(error, url, proxy)
    if request is not None and not isinstance(error, PolywireError):
        name = unsendable_header(request)
        if name is not None:
            translated = SettingsError(f"the header {name!r} holds a character that no HTTP header can carry")
    if translated is None or translated is error:
        raise error
    if isinstance(translated, SettingsError):
        raise translated from None  # the original may quote the header, and with it a key
    raise translated from error
