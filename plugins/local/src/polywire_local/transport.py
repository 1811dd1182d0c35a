"""Takes Chat Completions requests to an engine in this process, where HTTP would take them to a server."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import AsyncIterator, Iterator

from polywire import wire_json
from polywire.codec import Headers, HttpRequest, HttpResponse
from polywire.errors import ModelTimeout
from polywire.transport.streams import HttpStream, Timeouts
from polywire_local.engine import Engine, Generation

__all__ = ["InProcessTransport"]

_HEADERS = Headers({"content-type": "application/json"})
_STREAM_HEADERS = Headers({"content-type": "text/event-stream"})
_END_MARK = b"data: [DONE]\n\n"


class InProcessTransport:
    """
    An `HttpTransport` whose other end is an `Engine`. Safe for threads and event loops.

    Of the timeouts only `read` means something here: the time between two tokens, and to the first one. Closing or aborting
    a stream stops the engine before the next token.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __repr__(self) -> str:
        return f"InProcessTransport({self.engine!r})"

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """Have the engine answer; returns when the first token is there."""
        pieces: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        generation = Generation(self.engine, request.body, pieces.put)
        answer = _pieces(generation, pieces, timeouts.read)
        try:
            first = next(answer, b"")
        except BaseException:
            generation.stop()
            raise
        refused = _refused(first)
        if refused is not None or not stream:
            return refused or HttpResponse(200, _HEADERS, first)
        return HttpStream(
            200,
            _STREAM_HEADERS,
            chunks=_events(generation, first, answer),
            close=generation.stop,
            abort=generation.stop,
        )

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        """As `send`, from async code."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        generation = Generation(
            self.engine, request.body, lambda item: loop.call_soon_threadsafe(pieces.put_nowait, item)
        )
        answer = _apieces(generation, pieces, timeouts.read)
        try:
            first = await anext(answer, b"")
        except BaseException:
            generation.stop()
            raise
        refused = _refused(first)
        if refused is not None or not stream:
            return refused or HttpResponse(200, _HEADERS, first)

        async def aclose() -> None:
            generation.stop()

        return HttpStream(
            200,
            _STREAM_HEADERS,
            achunks=_aevents(generation, first, answer),
            aclose=aclose,
            abort=generation.stop,
        )

    def close(self) -> None:
        """Do nothing: other models of this process share the engine."""

    async def aclose(self) -> None:
        """Do nothing, likewise."""


def _pieces(
    generation: Generation, pieces: queue.SimpleQueue[bytes | Exception | None], limit: float | None
) -> Iterator[bytes]:
    while True:
        try:
            item = pieces.get(timeout=limit)
        except queue.Empty:
            generation.stop()
            raise _too_slow(limit) from None
        if item is None:
            return
        yield _piece(item)


async def _apieces(
    generation: Generation, pieces: asyncio.Queue[bytes | Exception | None], limit: float | None
) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(limit):
                item = await pieces.get()
        except TimeoutError:
            generation.stop()
            raise _too_slow(limit) from None
        if item is None:
            return
        yield _piece(item)


def _piece(item: bytes | Exception) -> bytes:
    if isinstance(item, ValueError) and type(item) is ValueError:  # the engine's word for a malformed request
        return wire_json.encode({"error": {"code": 400, "message": str(item), "type": "invalid_request_error"}})
    if isinstance(item, Exception):
        raise item
    return item


def _too_slow(limit: float | None) -> ModelTimeout:
    return ModelTimeout(f"the model made no token within {limit:g} s" if limit is not None else "the model is too slow")


def _refused(first: bytes) -> HttpResponse | None:
    """Return a first piece that is an error as the failed answer that it would be over HTTP."""
    if not first.startswith(b'{"error"'):
        return None
    error = wire_json.decode(first).get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return HttpResponse(code if isinstance(code, int) and 400 <= code < 600 else 500, _HEADERS, first)


def _events(generation: Generation, first: bytes, answer: Iterator[bytes]) -> Iterator[bytes]:
    yield _event(first)
    for piece in answer:
        yield _event(piece)
    if not generation.stopped:
        yield _END_MARK


async def _aevents(generation: Generation, first: bytes, answer: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield _event(first)
    async for piece in answer:
        yield _event(piece)
    if not generation.stopped:
        yield _END_MARK


def _event(piece: bytes) -> bytes:
    return b"data: " + piece + b"\n\n" if piece else b""
