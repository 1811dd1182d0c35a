"""Contents, written as the parts of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polywire.contents import (
    AudioContent,
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    MediaContent,
    OpaqueContent,
    TextContent,
    VideoContent,
)
from polywire.errors import UnsupportedByModel
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.media import source_of
from polywire_openai.contents import AUDIO_FORMATS, CACHE_MARKS
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.refusals import is_refusal

__all__ = ["ContentWriter", "mark_goes_back_as_read"]

_FORMATS = {media_type: form for form, media_type in AUDIO_FORMATS.items()}
_DETAILS = frozenset({"auto", "low", "high", "original"})
_LIFETIMES = frozenset({"30m", "12h"})
_PLURALS = {"image": "images", "document": "documents", "video": "videos"}


def mark_goes_back_as_read(content: Any, profile: Profile) -> bool:
    """Whether a content's cache mark is written in the very form in which it was read, whatever the profile says of marks."""
    return bool(profile.quirks.get("as_read")) and any(field in own_extras(content.extras) for field in CACHE_MARKS)


class ContentWriter:
    """
    Writes contents for one profile and gathers the notices.

    Args:
        profile: the model's.
        notices: where what is changed is told.
        marks: how many cache marks the whole request holds; the last ones, as many as the profile takes, are written.
    """

    def __init__(self, profile: Profile, notices: list[Notice], marks: int = 0) -> None:
        self.profile = profile
        self.notices = notices
        self.text_arrays = profile.quirks.get("text_arrays", True)
        self.skipped_marks = marks if not profile.cache_marks else max(0, marks - profile.cache_marks)
        self._marks_to_skip = self.skipped_marks
        quirks = profile.quirks
        self._document_form = quirks.get("document_form", "file")
        self._audio_form = quirks.get("audio_form", "object")
        self._file_address = quirks.get("file_address")
        self._undocumented = quirks.get("undocumented", ())
        self._mark_field = profile.quirks.get("cache_mark", "prompt_cache_breakpoint")

    def contents(self, contents: Sequence[Content], where: str, joint: str) -> str | list[dict[str, Any]]:
        """
        Write the contents of one message: one text is a plain string, all else a list.

        `joint` is put between several texts where the endpoint takes no lists of text.
        """
        if len(contents) == 1:
            content = contents[0]
            if type(content) is TextContent and not content.extras and content.cache is None:
                return content.text
        parts = [
            part for index, content in enumerate(contents) if (part := self.part(content, f"{where}.contents[{index}]"))
        ]
        return self.shortest(parts, joint)

    def shortest(self, parts: list[dict[str, Any]], joint: str) -> str | list[dict[str, Any]]:
        """Return parts as a string where they are no more than that."""
        plain = [part["text"] for part in parts if part.get("type") == "text" and len(part) == 2]
        if len(plain) == len(parts) and (len(parts) <= 1 or not self.text_arrays):
            return joint.join(plain)
        return parts

    def part(self, content: Content, where: str) -> dict[str, Any] | None:
        """
        Write one content; `None` for an empty text.

        Raises:
            UnsupportedByModel: the endpoint does not take it.
        """
        match content:
            case TextContent():
                if is_refusal(content):
                    return {"type": "refusal", "refusal": content.text}
                if not content.text and not own_extras(content.extras):
                    return None
                part: dict[str, Any] = {"type": "text", "text": content.text}
            case OpaqueContent():
                return dict(content.data)
            case MediaContent():
                part = self._media(content, where)
            case _:
                msg = f"{where}: this wire has no place for {type(content).__name__}"
                raise UnsupportedByModel(msg)
        own = own_extras(content.extras)
        if not mark_goes_back_as_read(content, self.profile):
            self._mark(part, content.cache)
            own = {key: value for key, value in own.items() if key not in CACHE_MARKS}
        for key, value in own.items():
            part.setdefault(key, value)
        return part

    def _media(self, content: MediaContent, where: str) -> dict[str, Any]:
        if isinstance(content, DocumentContent) and content.data is not None and self._is_plain_text(content):
            name = f"{content.name}:\n" if content.name else ""
            self.notices.append(Notice("approximated", where, "a document of plain text is written as text"))
            return {"type": "text", "text": name + content.data.decode("utf-8", "replace")}
        if self._file_address and content.url is not None and content.url.startswith(self._file_address):
            content = replace(content, url=None, file_id=content.url.removeprefix(self._file_address))
        source = source_of(content, self.profile, where)
        self._tell_undocumented(content, where)
        match content:
            case ImageContent():
                image: dict[str, Any] = {"url": self._image_address(content)}
                if content.detail is not None:
                    if content.detail in _DETAILS:
                        image["detail"] = content.detail
                    else:
                        message = f"this wire knows no detail {content.detail!r}"
                        self.notices.append(Notice("dropped", where, message))
                return {"type": "image_url", "image_url": image}
            case AudioContent() if source != "file_id":
                return self._audio(content)
            case DocumentContent():
                return self._document(content)
            case VideoContent():
                return {"type": "video_url", "video_url": {"url": self._address(content)}}
        msg = f"{where}: this wire has no form for {type(content).__name__} as {source}"
        raise UnsupportedByModel(msg)

    def _tell_undocumented(self, content: MediaContent, where: str) -> None:
        kind = str(getattr(content, "kind", "media"))
        if kind in self._undocumented:
            message = f"it is not documented that this endpoint takes {_PLURALS.get(kind, kind)}; it is sent as others take it"
            self.notices.append(Notice("information", where, message))

    def _address(self, content: MediaContent) -> str:
        """Return what stands for media in a place for an address: one, or the bytes as a data URL, or a file's id."""
        if content.file_id is not None:
            return f"{self._file_address or ''}{content.file_id}"
        return content.data_url or content.url or ""

    def _image_address(self, content: ImageContent) -> str:
        if content.base64 is not None and self.profile.quirks.get("image_form") == "bare":
            return content.base64
        return self._address(content)

    def _audio(self, content: AudioContent) -> dict[str, Any]:
        if self._audio_form == "string":
            return {"type": "input_audio", "input_audio": content.base64 or content.url}
        media_type = content.media_type or ""
        if self._audio_form == "address":
            data = content.url or f"data:{media_type};base64,{content.base64}"
        elif content.data is None:
            return {"type": "audio_url", "audio_url": {"url": content.url}}
        else:
            data = content.base64 or ""
        audio = {"data": data, "format": _FORMATS.get(media_type, media_type.removeprefix("audio/"))}
        return {"type": "input_audio", "input_audio": {key: value for key, value in audio.items() if value}}

    def _document(self, content: DocumentContent) -> dict[str, Any]:
        if content.file_id is not None:
            if self._document_form == "document_url":
                return {"type": "file", "file_id": content.file_id}
            return {"type": "file", "file": {"file_id": content.file_id}}
        address = content.data_url or content.url
        if self._document_form == "document_url":
            document = {"type": "document_url", "document_url": address}
            return document if content.name is None else {**document, "document_name": content.name}
        if self._document_form == "file_url":
            return {"type": "file_url", "file_url": {"url": address}}
        name = content.name or (content.url or "").partition("?")[0].rpartition("/")[2]
        name = name or f"document.{(content.media_type or '').rpartition('/')[2] or 'bin'}"
        return {"type": "file", "file": {"filename": name, "file_data": address}}

    def _is_plain_text(self, content: DocumentContent) -> bool:
        types = self.profile.document_types
        return bool((content.media_type or "").startswith("text/") and types and content.media_type not in types)

    def _mark(self, part: dict[str, Any], mark: CacheMark | None) -> None:
        if mark is None:
            return
        if self._marks_to_skip > 0:
            self._marks_to_skip -= 1
            return
        if self._mark_field == "cache_control":
            written = {"type": "ephemeral"}
            if mark.ttl is not None:
                written["ttl"] = mark.ttl
        else:
            written = {"mode": "explicit"}
            if mark.ttl in _LIFETIMES:
                written["ttl"] = mark.ttl
            elif mark.ttl is not None:
                message = f"this wire keeps no cache for {mark.ttl!r}; its own time counts"
                self.notices.append(Notice("approximated", "cache", message))
        part[self._mark_field] = written

    def tell_foreign(self, values: Iterable[Any], where: str) -> None:
        """Say which fields, of other wires alone, stay behind."""
        left = {
            f"{wire}.{key}"
            for value in values
            for wire, own in value.extras.items()
            if wire != WIRE and isinstance(own, Mapping)
            for key in own
        }
        if left:
            names = ", ".join(sorted(left))
            self.notices.append(
                Notice("dropped", where, f"fields that only other wires understand are left out: {names}")
            )
