"""Undoes what `Content-Encoding` says, piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from typing import Any

from polywire.errors import ConnectionFailed

__all__ = ["adecompressed", "decompressed"]

_Decode = Callable[[bytes], bytes]


def decompressed(chunks: Iterable[bytes], encodings: str) -> Iterator[bytes]:
    """
    Return the chunks of a body as they were before a server compressed them.

    Args:
        chunks: the body as it came.
        encodings: the header's value, as `"gzip"`.

    Raises:
        ConnectionFailed: the body is not what the header says, or is compressed in a way that was not asked for.
    """
    decompressor = _Decompressor(encodings)
    for chunk in chunks:
        if data := decompressor.feed(chunk):
            yield data
    if data := decompressor.finish():
        yield data


async def adecompressed(chunks: AsyncIterable[bytes], encodings: str) -> AsyncGenerator[bytes, None]:
    """As `decompressed`, from async code."""
    decompressor = _Decompressor(encodings)
    async for chunk in chunks:
        if data := decompressor.feed(chunk):
            yield data
    if data := decompressor.finish():
        yield data


class _Decompressor:
    """Undoes several encodings, the last one first."""

    def __init__(self, encodings: str) -> None:
        names = [name.strip().lower() for name in encodings.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        for name in names:
            if name not in _STEPS:
                msg = f"the answer's compression could not be undone: {name!r} was not asked for"
                raise ConnectionFailed(msg)
        self._steps = [_STEPS[name]() for name in reversed(names)]

    def feed(self, data: bytes) -> bytes:
        for decode, _ in self._steps:
            data = _guarded(decode, data)
        return data

    def finish(self) -> bytes:
        data = b""
        for decode, flush in self._steps:
            data = (_guarded(decode, data) if data else b"") + _guarded(flush)
        return data


def _guarded(step: Callable[..., bytes], *data: bytes) -> bytes:
    try:
        return step(*data)
    except Exception as error:
        msg = f"the answer's compression could not be undone ({error})"
        raise ConnectionFailed(msg) from error


_Step = tuple[_Decode, Callable[[], bytes]]


def _gzip() -> _Step:
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)
    return decompressor.decompress, decompressor.flush


def _deflate() -> _Step:
    """Some servers mean zlib's format by `deflate`, as the standard has it, and some the bare one."""
    decompressor: Any = None

    def decode(data: bytes) -> bytes:
        nonlocal decompressor
        if decompressor is None and data:
            decompressor = zlib.decompressobj()
            try:
                return decompressor.decompress(data)  # type: ignore[no-any-return]
            except zlib.error:
                decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
        return decompressor.decompress(data) if data else b""

    return decode, lambda: decompressor.flush() if decompressor is not None else b""


_STEPS: dict[str, Callable[[], _Step]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
}
