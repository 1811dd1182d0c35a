"""Contents of messages and results, as input parts, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import (
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    MediaContent,
    OpaqueContent,
    TextContent,
)
from polywire.errors import ProtocolError, UnsupportedByModel
from polywire.media_types import from_base64, sniff_media_type
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.media import source_of
from polywire_openai.responses.fields import WIRE, extras_of, own_extras

__all__ = ["decode_contents", "encode_contents"]

_DETAILS = frozenset({"auto", "low", "high", "original"})
_BREAKPOINT = "prompt_cache_breakpoint"
_TEXT = frozenset({"type", "text", _BREAKPOINT})
_IMAGE = frozenset({"type", "image_url", "file_id", "detail", _BREAKPOINT})
_FILE = frozenset({"type", "file_id", "file_url", "file_data", "filename", _BREAKPOINT})


def encode_contents(
    contents: Sequence[Content], profile: Profile, notices: list[Notice], where: str
) -> str | list[dict[str, Any]]:
    """
    Write contents: one plain text is a string, all else a list of parts.

    Raises:
        UnsupportedByModel: the model does not take one of them.
    """
    if len(contents) == 1:
        only = contents[0]
        if type(only) is TextContent and not only.extras and only.cache is None:
            return only.text
    parts = []
    for index, content in enumerate(contents):
        if isinstance(content, TextContent) and not content.text:
            continue
        parts.append(_part(content, profile, notices, f"{where}.contents[{index}]"))
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return str(parts[0]["text"])
    return parts


def _part(content: Content, profile: Profile, notices: list[Notice], where: str) -> dict[str, Any]:
    match content:
        case TextContent():
            part: dict[str, Any] = {"type": "input_text", "text": content.text}
        case OpaqueContent():
            return dict(content.data)
        case MediaContent():
            part = _media(content, profile, notices, where)
        case _:
            msg = f"{where}: this wire has no place for {type(content).__name__}"
            raise UnsupportedByModel(msg)
    if content.cache is not None:
        _mark(part, content.cache, profile, notices)
    for key, value in own_extras(content.extras).items():
        part.setdefault(key, value)
    return part


def _mark(part: dict[str, Any], mark: CacheMark, profile: Profile, notices: list[Notice]) -> None:
    if not profile.cache_marks:
        notices.append(Notice("dropped", "cache", "this model takes no cache marks"))
        return
    part[_BREAKPOINT] = {"mode": "explicit", **({"ttl": mark.ttl} if mark.ttl in {"30m", "12h"} else {})}
    if mark.ttl not in {None, "30m", "12h"}:
        notices.append(
            Notice("approximated", "cache", f"this wire keeps no cache for {mark.ttl!r}; its own time counts")
        )


def _media(content: MediaContent, profile: Profile, notices: list[Notice], where: str) -> dict[str, Any]:
    if isinstance(content, DocumentContent) and content.data is not None:
        kind = content.media_type or ""
        if kind.startswith("text/") and profile.document_types and kind not in profile.document_types:
            notices.append(Notice("approximated", where, "a document of plain text is written as text"))
            head = f"{content.name}:\n" if content.name else ""
            return {"type": "input_text", "text": head + content.data.decode("utf-8", "replace")}
    source = source_of(content, profile, where)
    match content:
        case ImageContent():
            image: dict[str, Any] = {"type": "input_image", "detail": content.detail or "auto"}
            if image["detail"] not in _DETAILS:
                notices.append(Notice("dropped", where, f"this wire knows no detail {content.detail!r}"))
                image["detail"] = "auto"
            if source == "file_id":
                return {**image, "file_id": content.file_id}
            return {**image, "image_url": content.data_url if source == "data" else content.url}
        case DocumentContent():
            if source == "file_id":
                return {"type": "input_file", "file_id": content.file_id}
            if source == "url":
                return {"type": "input_file", "file_url": content.url}
            name = content.name or f"document.{(content.media_type or '').rpartition('/')[2] or 'bin'}"
            return {"type": "input_file", "filename": name, "file_data": content.data_url}
    msg = f"{where}: this wire has no form for {type(content).__name__} as {source}"
    raise UnsupportedByModel(msg)


def decode_contents(content: Any, where: str) -> list[Content]:
    """
    Read the content of a message that is not the model's, or of a result.

    Raises:
        ProtocolError: it is of another shape than the wire's; the error names `where`.
    """
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [TextContent(content)]
    if not isinstance(content, Sequence):
        msg = f"{where}: content must be a string or a list of parts, not {type(content).__name__}"
        raise ProtocolError(msg)
    read: list[Content] = []
    for index, part in enumerate(content):
        if not isinstance(part, Mapping):
            msg = f"{where}.content[{index}] must be an object, not {type(part).__name__}"
            raise ProtocolError(msg)
        try:
            value = _read(part)
        except ValueError:  # data that is no base64, or of no kind that can be told: kept as it came
            value = None
        read.append(value or OpaqueContent(WIRE, part))
    return [each for each in read if not isinstance(each, TextContent) or each.text]


def _cache(part: Mapping[str, Any]) -> CacheMark | None:
    mark = part.get(_BREAKPOINT)
    if not isinstance(mark, Mapping):
        return None
    ttl = mark.get("ttl")
    return CacheMark(ttl if isinstance(ttl, str) else None)


def _own(part: Mapping[str, Any], typed: frozenset[str]) -> dict[str, Any]:
    own = extras_of(part, typed)
    return {WIRE: own} if own else {}


def _read(part: Mapping[str, Any]) -> Content | None:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            typed = _TEXT if part["type"] != "output_text" else _TEXT | {"annotations", "logprobs"}
            return TextContent(text, _cache(part), _own(part, typed))
        case {"type": "input_image"}:
            url, file_id, detail = part.get("image_url"), part.get("file_id"), part.get("detail")
            if not isinstance(url, str) and not isinstance(file_id, str):
                return None
            source: dict[str, Any] = {"url": url} if isinstance(url, str) else {"file_id": file_id}
            told = detail if isinstance(detail, str) and detail != "auto" else None
            return ImageContent(**source, detail=told, cache=_cache(part), extras=_own(part, _IMAGE))
        case {"type": "input_file"}:
            return _read_file(part)
    return None


def _read_file(part: Mapping[str, Any]) -> DocumentContent | None:
    name = part.get("filename")
    fields: dict[str, Any] = {
        "name": name if isinstance(name, str) else None,
        "cache": _cache(part),
        "extras": _own(part, _FILE),
    }
    match part:
        case {"file_id": str(file_id)}:
            return DocumentContent(file_id=file_id, **fields)
        case {"file_url": str(url)}:
            return DocumentContent(url=url, **fields)
        case {"file_data": str(data)}:
            if data[:5].lower() == "data:":
                return DocumentContent(url=data, **fields)
            content = from_base64(data, what="the file")
            kind = sniff_media_type(content) or "application/octet-stream"
            return DocumentContent(data=content, media_type=kind, **fields)
    return None
