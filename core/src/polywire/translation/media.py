"""Whether an endpoint takes a piece of media, told before the network and with its place in the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from polywire.contents import AudioContent, DocumentContent, ImageContent, MediaContent, VideoContent
from polywire.errors import UnsupportedByModel
from polywire.messages import AiMessage, CustomMessage, Message, ToolResultMessage, UserMessage
from polywire.profiles import Profile

__all__ = ["check_image_count", "check_media", "source_of", "taken_sources"]

_has_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:").match
"""A single letter before the colon is a drive of this machine's."""


def source_of(content: MediaContent, profile: Profile, where: str) -> Literal["data", "url", "file_id"]:
    """
    Tell which of its three sources a piece of media has, once it is known that the endpoint takes it.

    Raises:
        UnsupportedByModel: the endpoint does not take this kind, source, type or size; the message names `where`.
    """
    sources, types = taken_sources(content, profile)
    kind = type(content).__name__.removesuffix("Content").lower()
    if not sources:
        msg = f"{where}: this model takes no {kind}"
        raise UnsupportedByModel(msg)
    source: Literal["data", "url", "file_id"] = (
        "data" if content.data is not None else "url" if content.url is not None else "file_id"
    )
    if source not in sources:
        hint = (
            "; load the bytes and give them as data (polywire.downloads.inline_media does)"
            if source == "url" and "data" in sources
            else ""
        )
        msg = f"{where}: this model takes no {kind} as {source} (it takes {' or '.join(sorted(sources))}){hint}"
        raise UnsupportedByModel(msg)
    if source == "url" and not _has_scheme(content.url or ""):
        msg = f"{where}: {(content.url or '')[:40]!r} is no url; give bytes as data, in text by from_base64"
        raise UnsupportedByModel(msg)
    if types and content.media_type is not None and content.media_type not in types:
        msg = f"{where}: this model takes no {content.media_type} (it takes {', '.join(sorted(types))})"
        raise UnsupportedByModel(msg)
    limit = profile.max_media_bytes
    if content.data is not None and limit is not None and len(content.data) > limit:
        msg = f"{where}: the {kind} has {len(content.data)} bytes, and this model takes at most {limit}"
        raise UnsupportedByModel(msg)
    return source


def check_image_count(messages: Sequence[Message], profile: Profile) -> None:
    """
    Count the pictures of a whole request, those in tool results and answers too.

    Raises:
        UnsupportedByModel: there are more than the endpoint takes; the message names the place of the first too many.
    """
    limit = profile.max_images
    if limit is None:
        return
    count = 0
    for position, message in enumerate(messages):
        if isinstance(message, CustomMessage):
            continue
        field = "parts" if isinstance(message, AiMessage) else "contents"
        for index, item in enumerate(getattr(message, field)):
            if isinstance(item, ImageContent):
                count += 1
                if count > limit:
                    msg = (
                        f"messages[{position}].{field}[{index}]: this model takes at most {limit} images in one request"
                    )
                    raise UnsupportedByModel(msg)


def check_media(messages: Sequence[Message], profile: Profile) -> None:
    """
    Check the media of users and tools where it stands, before messages move: an error shall name the caller's place.

    What a codec may write as something else, text and a service's own addresses, is left to it.

    Raises:
        UnsupportedByModel: the endpoint does not take one of them; the message names its place.
    """
    own_address = profile.quirks.get("file_address")
    for position, message in enumerate(messages):
        if not isinstance(message, (UserMessage, ToolResultMessage)):
            continue
        for index, item in enumerate(message.contents):
            if not isinstance(item, MediaContent) or (item.url is not None and own_address):
                continue
            if not (isinstance(item, DocumentContent) and (item.media_type or "").startswith("text/")):
                source_of(item, profile, f"messages[{position}].contents[{index}]")


def taken_sources(content: MediaContent, profile: Profile) -> tuple[frozenset[str], frozenset[str]]:
    """Return which sources and which media types an endpoint takes for this kind of media."""
    match content:
        case ImageContent():
            return profile.image_sources, profile.image_types
        case AudioContent():
            return profile.audio_sources, profile.audio_types
        case VideoContent():
            return profile.video_sources, frozenset()
        case DocumentContent():
            return profile.document_sources, profile.document_types
        case _:
            return frozenset(), frozenset()
