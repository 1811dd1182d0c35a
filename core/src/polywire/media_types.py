"""Media types: read off the first bytes, the file name, or a `data:` URL; spelled the one way that vendors take."""

from __future__ import annotations

import base64
import binascii
from typing import Final
from urllib.parse import unquote_to_bytes

__all__ = [
    "canonical_media_type",
    "from_base64",
    "media_type_of_name",
    "sniff_media_type",
    "split_data_url",
    "to_base64",
]

_ALIASES: Final = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/mp3": "audio/mpeg",
    "audio/x-mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "application/x-pdf": "application/pdf",
}

# Where the sign stands, the sign, and what it says. Longest and most certain first.
_SIGNS: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AIFF", "audio/aiff"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypheix", "image/heic"),
    (4, b"ftypmif1", "image/heif"),
    (4, b"ftypmsf1", "image/heif"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypM4B", "audio/mp4"),
    (4, b"ftypqt  ", "video/quicktime"),
    (4, b"ftyp3g", "video/3gpp"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"\xff\xfa", "audio/mpeg"),
    (0, b"\xff\xf2", "audio/mpeg"),
    (0, b"\xff\xf1", "audio/aac"),
    (0, b"\xff\xf9", "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
)


def media_type_of_name(name: str) -> str | None:
    """Tell the media type from a file's name, or `None` where it is not known."""
    import mimetypes

    kind, encoding = mimetypes.guess_type(name, strict=False)
    return canonical_media_type(kind) if kind is not None and encoding is None else None


def sniff_media_type(data: bytes) -> str | None:
    """Tell the media type from the first bytes, or `None` where they say nothing certain."""
    for offset, sign, media_type in _SIGNS:
        if data.startswith(sign, offset):
            return media_type
    if data.startswith(b"BM") and data[6:10] == bytes(4):  # two letters alone are the beginning of many a text
        return "image/bmp"
    head = data[:256].lstrip().lower()
    if head.startswith((b"<svg", b"<?xml")) and b"<svg" in head:
        return "image/svg+xml"
    return None


def canonical_media_type(media_type: str) -> str:
    """Lower-case, without parameters, and in its registered spelling: `image/jpg` is `image/jpeg`."""
    bare = media_type.split(";", 1)[0].strip().lower()
    return _ALIASES.get(bare, bare)


def to_base64(data: bytes) -> str:
    """Standard base64 without line breaks, as every chat wire wants it."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str, *, what: str = "base64 data") -> bytes:
    """
    Read base64: standard or URL-safe alphabet, line breaks and missing padding allowed.

    Raises:
        ValueError: it is not base64; the message names `what` and never quotes the data.
    """
    compact = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        msg = f"{what} is not valid base64: {error}"
        raise ValueError(msg) from None


def split_data_url(url: str) -> tuple[str | None, bytes] | None:
    """
    Take a `data:` URL apart into media type and bytes; any other URL is `None`.

    Raises:
        ValueError: it starts with `data:` but is malformed.
    """
    if url[:5].lower() != "data:":
        return None
    header, comma, payload = url[5:].partition(",")
    if not comma:
        msg = "a data: URL must have a comma between its header and its data"
        raise ValueError(msg)
    media_type = canonical_media_type(header) or None
    if header.lower().replace(" ", "").endswith(";base64"):
        if "%" in payload:  # as any part of a URL it may be written so
            payload = unquote_to_bytes(payload).decode("latin-1")
        return media_type, from_base64(payload, what="the data: URL")
    return media_type, unquote_to_bytes(payload)
