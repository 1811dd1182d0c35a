"""
What a message is made of: text, media, the model's thinking, and blocks this version does not know.

Every class is a frozen, slotted dataclass with a literal `kind`, so it can be matched, compared, hashed, pickled, and
passed through pydantic or FastAPI as it is. Whatever only one wire understands rides in `extras`, under that wire's
name: `{"openai": {"annotations": [...]}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping, slot_setters
from polywire.media_types import (
    canonical_media_type,
    from_base64,
    media_type_of_name,
    sniff_media_type,
    split_data_url,
    to_base64,
)

__all__ = [
    "AudioContent",
    "CacheMark",
    "Content",
    "DocumentContent",
    "ImageContent",
    "MediaContent",
    "OpaqueContent",
    "TextContent",
    "ThinkingContent",
    "VideoContent",
]


def _check_kind(value: object, kind: str) -> None:
    if kind != value:
        msg = f"kind must be {value!r}, not {kind!r}"
        raise ValueError(msg)


def _check_text(value: object, name: str) -> None:
    if not isinstance(value, str):
        msg = f"{name} must be a str, not {type(value).__name__}"
        raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class CacheMark:
    """
    "What comes before here may be cached." Wires without such marks leave it out, with a notice.

    `ttl` is how long the vendor shall keep it, in the vendor's own words (`"5m"`, `"1h"`); `None` is its default.
    """

    ttl: str | None = None


@dataclass(frozen=True, slots=True, init=False)
class TextContent:
    """Plain text. Citations and the like ride in `extras`."""

    text: str
    cache: CacheMark | None = None
    extras: Mapping[str, Any] = EMPTY
    kind: Literal["text"] = field(default="text", kw_only=True)

    def __init__(
        self,
        text: str,
        cache: CacheMark | None = None,
        extras: Mapping[str, Any] = EMPTY,
        *,
        kind: Literal["text"] = "text",
    ) -> None:
        if type(text) is not str:
            _check_text(text, "text")
        if kind != "text":
            _check_kind("text", kind)
        _set_text(self, text)
        _set_cache(self, cache)
        _set_extras(self, extras if extras is EMPTY else freeze_mapping(extras, name="extras"))
        _set_kind(self, "text")


_set_text, _set_cache, _set_extras, _set_kind = slot_setters(TextContent, "text", "cache", "extras", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaContent:
    """
    The common part of everything that is not text: inline bytes, a URL, or a file the vendor already holds.

    Exactly one of `data`, `url` and `file_id` is given. A `data:` URL is taken apart into `data` and `media_type`.
    Where `media_type` is left out or empty it is read off the bytes.

    Raises:
        ValueError: none or several of the three are given, or no media type can be told.
        TypeError: a field is of the wrong type.
    """

    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    file_id: str | None = None
    media_type: str | None = None
    cache: CacheMark | None = None
    extras: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.url is not None:
            _check_text(self.url, "url")
            inline = split_data_url(self.url)
            if inline is not None:
                media_type, data = inline
                object.__setattr__(self, "url", None)
                object.__setattr__(self, "data", data)
                if self.media_type is None:
                    object.__setattr__(self, "media_type", media_type)
        given = [key for key in ("data", "url", "file_id") if getattr(self, key) is not None]
        if len(given) != 1:
            msg = f"{name} needs exactly one of data, url and file_id; " + (
                f"given: {' and '.join(given)}" if given else "none is given"
            )
            raise ValueError(msg)
        if self.data is not None:
            if not isinstance(self.data, (bytes, bytearray, memoryview)):
                msg = f"{name}.data must be bytes, not {type(self.data).__name__} (for base64 use {name}.from_base64)"
                raise TypeError(msg)
            object.__setattr__(self, "data", bytes(self.data))
            if not self.data:
                msg = f"{name}.data is empty"
                raise ValueError(msg)
        if self.media_type == "":
            object.__setattr__(self, "media_type", None)
        if self.media_type is not None:
            _check_text(self.media_type, "media_type")
            object.__setattr__(self, "media_type", canonical_media_type(self.media_type))
        elif self.data is not None:
            media_type = sniff_media_type(self.data)
            if media_type is None:
                msg = f"{name}: cannot tell the media type from the bytes; give media_type"
                raise ValueError(msg)
            object.__setattr__(self, "media_type", media_type)
        object.__setattr__(self, "extras", freeze_mapping(self.extras, name="extras"))
        expected: Any = type(self).__dataclass_fields__["kind"].default
        _check_kind(expected, getattr(self, "kind", expected))

    @classmethod
    def from_base64(cls, data: str, media_type: str | None = None, **fields: Any) -> Any:
        """Make it from base64 text."""
        return cls(data=from_base64(data, what=f"{cls.__name__} data"), media_type=media_type, **fields)

    @classmethod
    def from_path(cls, path: str | Path, media_type: str | None = None, **fields: Any) -> Any:
        """Make it from a file, read now. Where the bytes do not tell the media type, the file's name does."""
        data = Path(path).read_bytes()
        if not media_type and sniff_media_type(data) is None:
            media_type = media_type_of_name(Path(path).name)
        return cls(data=data, media_type=media_type, **fields)

    @property
    def base64(self) -> str | None:
        """The inline bytes as base64, or `None` where there are none."""
        return None if self.data is None else to_base64(self.data)

    @property
    def data_url(self) -> str | None:
        """The inline bytes as a `data:` URL, or `None` where there are none."""
        return None if self.data is None else f"data:{self.media_type};base64,{to_base64(self.data)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent(MediaContent):
    """A picture. `detail` is how closely the vendor shall look (`"low"`, `"high"`, `"auto"`), where it has such a word."""

    detail: str | None = None
    kind: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioContent(MediaContent):
    """Sound. `transcript` is what the vendor says was spoken, where it says so."""

    transcript: str | None = None
    kind: Literal["audio"] = "audio"


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoContent(MediaContent):
    """Moving pictures."""

    kind: Literal["video"] = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContent(MediaContent):
    """A file to be read: a PDF, plain text, and what else the vendor takes. `name` is its title or file name."""

    name: str | None = None
    kind: Literal["document"] = "document"


@dataclass(frozen=True, slots=True)
class ThinkingContent:
    """
    What the model thought before it answered.

    Sent back untouched to the wire that made it, and left out, with a notice, for every other: `signature` and
    `redacted` are sealed by the vendor, who refuses them when one byte has changed.

    Attributes:
        text: the readable part; may be empty where the vendor keeps it to itself.
        signature: the vendor's seal over this block.
        redacted: the encrypted whole of a block whose text the vendor does not show.
    """

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    extras: Mapping[str, Any] = EMPTY
    kind: Literal["thinking"] = field(default="thinking", kw_only=True)

    def __post_init__(self) -> None:
        _check_text(self.text, "text")
        for name in ("signature", "redacted"):
            if getattr(self, name) is not None:
                _check_text(getattr(self, name), name)
        if self.extras is not EMPTY:
            object.__setattr__(self, "extras", freeze_mapping(self.extras, name="extras"))
        _check_kind("thinking", self.kind)


@dataclass(frozen=True, slots=True)
class OpaqueContent:
    """
    A block this version does not know, kept as it came and sent back unchanged to its own wire.

    Attributes:
        wire: the wire that understands it, for example `"anthropic"`.
        data: the block, as read-only JSON.
    """

    wire: str
    data: Mapping[str, Any]
    kind: Literal["opaque"] = field(default="opaque", kw_only=True)

    def __post_init__(self) -> None:
        _check_text(self.wire, "wire")
        object.__setattr__(self, "data", freeze_mapping(self.data, name="data"))
        _check_kind("opaque", self.kind)


Content: TypeAlias = TextContent | ImageContent | AudioContent | VideoContent | DocumentContent | OpaqueContent
"""What a user's message or a tool's result may hold."""
