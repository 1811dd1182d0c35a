"""
Content parts of Chat Completions, read into polywire's values.

A part of an unknown type, or one that cannot be read, is kept whole as `OpaqueContent`; fields without a place in the
values are kept in `extras["openai"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import (
    AudioContent,
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.errors import ProtocolError
from polywire.media_types import from_base64, sniff_media_type
from polywire_openai.fields import WIRE, extras_of, own_extras
from polywire_openai.thinking import IN_CONTENT, thinking_chunk_text

__all__ = [
    "AUDIO_FORMATS",
    "CACHE_MARKS",
    "decode_content",
    "decode_contents",
    "decode_part",
    "parts_of",
    "refusal",
]

AUDIO_FORMATS: Mapping[str, str] = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "opus": "audio/opus",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
    "pcm16": "audio/pcm",
    "m4a": "audio/mp4",
    "webm": "audio/webm",
}
"""The wire's word for a form of sound, and its media type."""

CACHE_MARKS = ("prompt_cache_breakpoint", "cache_control")
"""The fields for a cache mark: this wire's, and the one that some endpoints take over from another."""

_TEXT = frozenset({"type", "text"})
_REFUSAL = frozenset({"type", "refusal"})
_IMAGE = frozenset({"type", "image_url"})
_AUDIO = frozenset({"type", "input_audio"})
_FILE = frozenset({"type", "file"})
_VIDEO = frozenset({"type", "video_url"})
_THINKING = frozenset({"type", "thinking", "signature"})


def refusal(text: str, *, as_part: bool = False) -> TextContent:
    """Make a refusal: text that says so in its extras; `as_part` where it stood in the content, not beside it."""
    return TextContent(text, extras={WIRE: {"refusal": "part" if as_part else True}})


def parts_of(content: Any, where: str) -> Sequence[Mapping[str, Any]]:
    """
    Return the parts of a `content`; a string is one text part, null is none.

    Raises:
        ProtocolError: it is something else; the message names `where`.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    if isinstance(content, Mapping):
        return (content,)
    if not isinstance(content, Sequence):
        msg = f"{where}.content must be a string or a list of parts, not {type(content).__name__}"
        raise ProtocolError(msg)
    parts: list[Mapping[str, Any]] = []
    for index, part in enumerate(content):
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif isinstance(part, Mapping):
            parts.append(part)
        else:
            msg = f"{where}.content[{index}] must be an object, not {type(part).__name__}"
            raise ProtocolError(msg)
    return parts


def _cache_mark(part: Mapping[str, Any]) -> CacheMark | None:
    """Read a mark; its exact form stays in the extras."""
    mark = next((part[field] for field in CACHE_MARKS if field in part), None)
    if not isinstance(mark, Mapping):
        return None
    ttl = mark.get("ttl")
    return CacheMark(ttl if isinstance(ttl, str) else None)


def _media(url: str) -> dict[str, Any]:
    if ":" not in url[:64]:  # some endpoints take bytes as they are, without `data:` before them
        try:
            data = from_base64(url)
        except ValueError:
            data = b""
        if (media_type := sniff_media_type(data)) is not None:
            return {"data": data, "media_type": media_type}
    return {"url": url}


def decode_content(part: Mapping[str, Any]) -> Content | None:
    """Read one part; `None` for an empty text."""
    try:
        return _decode_known(part) or OpaqueContent(WIRE, part)
    except ValueError:  # data that is no base64, or of no kind that can be told: kept as it came
        return OpaqueContent(WIRE, part)
    except _Empty:
        return None


class _Empty(Exception):
    """A text without characters, which says nothing."""


def _decode_known(part: Mapping[str, Any]) -> Content | None:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            content = TextContent(text, _cache_mark(part), extras_of(part, _TEXT))
            if not text and not content.extras:
                raise _Empty
            return content
        case {"text": str(text)} if "type" not in part:
            return _decode_known({"type": "text", **part})
        case {"type": "refusal", "refusal": str(text)} if part.keys() <= _REFUSAL:
            if not text:
                raise _Empty
            return refusal(text, as_part=True)
        case {"type": "image_url", "image_url": str(url)}:
            return ImageContent(**_media(url), cache=_cache_mark(part), extras=extras_of(part, _IMAGE))
        case {"type": "image_url", "image_url": {"url": str(url)} as image} if image.keys() <= {"url", "detail"}:
            detail = image.get("detail")
            return ImageContent(
                **_media(url),
                detail=detail if isinstance(detail, str) else None,
                cache=_cache_mark(part),
                extras=extras_of(part, _IMAGE),
            )
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)} as audio} if (
            len(audio) == 2
        ):
            return AudioContent(
                data=_bytes(data),
                media_type=AUDIO_FORMATS.get(form, f"audio/{form}"),
                cache=_cache_mark(part),
                extras=extras_of(part, _AUDIO),
            )
        case {"type": "file", "file": Mapping()}:
            return _decode_file(part, part["file"])
        case {"type": "video_url", "video_url": {"url": str(url)} as video} if len(video) == 1:
            return VideoContent(**_media(url), extras=extras_of(part, _VIDEO))
    return None


def _bytes(data: str) -> bytes:
    if data[:5] == "data:":
        data = data.partition(",")[2]
    return from_base64(data, what="the sound")


def _decode_file(part: Mapping[str, Any], file: Mapping[str, Any]) -> DocumentContent | None:
    if not file.keys() <= {"file_id", "file_data", "filename"}:
        return None
    name, data, file_id = file.get("filename"), file.get("file_data"), file.get("file_id")
    fields: dict[str, Any] = {
        "name": name if isinstance(name, str) else None,
        "cache": _cache_mark(part),
        "extras": extras_of(part, _FILE),
    }
    if isinstance(data, str) and data and file_id is None:
        if data[:5].lower() == "data:":
            return DocumentContent(url=data, **fields)
        content = from_base64(data, what="the file")
        return DocumentContent(
            data=content, media_type=sniff_media_type(content) or "application/octet-stream", **fields
        )
    if isinstance(file_id, str) and file_id and data is None:
        return DocumentContent(file_id=file_id, **fields)
    return None


def decode_contents(content: Any, where: str) -> list[Content]:
    """Read the content of a message that is not the model's."""
    return [value for part in parts_of(content, where) if (value := decode_content(part)) is not None]


def decode_part(part: Mapping[str, Any]) -> Content | ThinkingContent | None:
    """Read a part of the model's own content, where thinking may stand too."""
    if part.get("type") == "thinking":
        signature = part.get("signature")
        own = {"field": IN_CONTENT, **own_extras(extras_of(part, _THINKING))}
        return ThinkingContent(
            thinking_chunk_text(part), signature if isinstance(signature, str) else None, extras={WIRE: own}
        )
    return decode_content(part)
