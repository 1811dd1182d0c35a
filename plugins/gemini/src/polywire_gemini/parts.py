"""Media and parts, both ways: what a Gemini `Part` is, and which value it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.contents import (
    AudioContent,
    Content,
    DocumentContent,
    ImageContent,
    MediaContent,
    OpaqueContent,
    TextContent,
    VideoContent,
)
from polywire.media_types import canonical_media_type, from_base64, sniff_media_type
from polywire.profiles import Profile
from polywire.translation.media import source_of

__all__ = ["WIRE", "Media", "decode_media", "encode_content", "encode_media", "own_extras"]

WIRE = "gemini"


def encode_media(content: MediaContent, profile: Profile, where: str) -> dict[str, Any]:
    """Write media as `inlineData` or `fileData`."""
    source = source_of(content, profile, where)
    extras = own_extras(content.extras)
    if source == "data":
        full = content.extras.get(WIRE, {}).get("mimeType")
        is_same = isinstance(full, str) and canonical_media_type(full) == content.media_type
        return {"inlineData": {"mimeType": full if is_same else content.media_type, "data": content.base64}, **extras}
    data = {"fileUri": content.url if source == "url" else content.file_id}
    return {"fileData": data | ({"mimeType": content.media_type} if content.media_type else {}), **extras}


def encode_content(content: Content, profile: Profile, where: str) -> dict[str, Any] | None:
    """Write one content of a user's message; an empty text is nothing."""
    match content:
        case TextContent():
            return {"text": content.text, **own_extras(content.extras)} if content.text else None
        case OpaqueContent():
            return dict(content.data)
        case _:
            return encode_media(content, profile, where)


def own_extras(extras: Mapping[str, Any]) -> dict[str, Any]:
    """The side fields of a part that only this wire understands (`videoMetadata` and the like)."""
    side: Mapping[str, Any] = extras.get(WIRE, {}).get("part", {})
    return dict(side)


Media = ImageContent | AudioContent | VideoContent | DocumentContent
_MEDIA: tuple[tuple[str, type[Media]], ...] = (
    ("image/", ImageContent),
    ("audio/", AudioContent),
    ("video/", VideoContent),
)


def _class_of(media_type: str | None) -> type[Media]:
    kind = (media_type or "").lower()
    return next((cls for prefix, cls in _MEDIA if kind.startswith(prefix)), DocumentContent)


def decode_media(part: Mapping[str, Any]) -> Media | None:
    """
    Read `inlineData` or `fileData`; any other part, and one that holds nothing, is `None`.

    Raises:
        ValueError: its data is no base64.
    """
    inline, file = part.get("inlineData"), part.get("fileData")
    holder: Mapping[str, Any]
    if isinstance(inline, Mapping):
        holder = inline
    elif isinstance(file, Mapping):
        holder = file
    else:
        return None
    media_type = holder.get("mimeType")
    media_type = media_type if isinstance(media_type, str) and media_type else None
    side = {key: value for key, value in part.items() if key not in {"inlineData", "fileData"}}
    own: dict[str, Any] = {"part": side} if side else {}
    if media_type is not None and ";" in media_type:
        # Of raw sound its parameters tell the rate, without which it cannot be played.
        own["mimeType"] = media_type
    extras = {WIRE: own} if own else {}
    if holder is inline:
        data = from_base64(str(holder.get("data") or ""), what="inlineData.data")
        if not data:
            return None
        media_type = media_type or sniff_media_type(data) or "application/octet-stream"
        return _class_of(media_type)(data=data, media_type=media_type, extras=extras)
    cls = _class_of(media_type)
    uri = holder.get("fileUri")
    if not isinstance(uri, str) or not uri:
        return None
    # The vendor's own file store is addressed by URI too; what is no web address is an id.
    if uri.startswith(("http://", "https://")):
        return cls(url=uri, media_type=media_type, extras=extras)
    return cls(file_id=uri, media_type=media_type, extras=extras)
