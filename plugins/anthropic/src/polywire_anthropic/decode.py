"""
Blocks and answers of the Messages API, read into polywire's values.

One set of functions: a plain answer, a stream (once its blocks are whole) and a history that comes in over the wire all
pass through here, so the same block always becomes the same value.

The normal form, which is also what goes back to the wire: a string is one text block; an empty text block without
citations is nothing; a field that is null is not there; thinking without a seal has an empty signature; an `input` of
exactly `{"INVALID_JSON": text}` is that text, where the text is no JSON object. Fields that have no place in the values
are kept in `extras["anthropic"]`, and blocks of an unknown type, or that cannot be read, whole as `OpaqueContent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from polywire import wire_json
from polywire.contents import (
    CacheMark,
    Content,
    DocumentContent,
    ImageContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
)
from polywire.errors import ProtocolError
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY
from polywire.media_types import from_base64
from polywire.messages import AiMessage, AiPart, Origin, ToolCall
from polywire.responses import ChatResponse, FinishReason
from polywire.schemas import Lowered
from polywire.translation.calls import generate_call_id, make_call
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.ids import with_id
from polywire.translation.names import NameMap
from polywire_anthropic.usage import decode_usage, usage_details

__all__ = [
    "CALL_FIELDS",
    "INVALID_JSON",
    "PLAIN",
    "WIRE",
    "Reading",
    "blocks_of",
    "decode_call",
    "decode_content",
    "decode_contents",
    "decode_finish",
    "decode_metadata",
    "decode_part",
    "decode_plain_part",
    "decode_response",
    "extras_of",
    "origin_of",
]

WIRE = "anthropic"
"""The dialect's name, in `Origin.wire`, `OpaqueContent.wire` and `extras`."""

INVALID_JSON = "INVALID_JSON"
"""`input` must be an object, so arguments that are none are sent as the value of this one key."""


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What reading an answer needs of the request that it answers.

    Attributes:
        names: the tools' names, sent and own.
        schemas: the tools' schemas as they were sent, by the name that was sent: they map arguments back.
        answer_schema: the schema of a typed answer, as it was sent.
    """

    names: NameMap = field(default_factory=NameMap)
    schemas: Mapping[str, Lowered] = EMPTY
    answer_schema: Lowered | None = None

    def text(self, text: str) -> str:
        """Map the text of a typed answer back."""
        return text if self.answer_schema is None else self.answer_schema.restore_text(text)


PLAIN = Reading()
"""Reads what answers no request of ours."""

_TEXT = frozenset({"type", "text", "cache_control"})
_IMAGE = frozenset({"type", "source", "cache_control"})
_DOCUMENT = _IMAGE | {"title"}
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})
CALL_FIELDS = frozenset({"type", "id", "name", "input"})
"""The fields of a call that have a place in `ToolCall`; the others are its extras."""
_NOT_METADATA = frozenset({"role", "content", "usage", "stop_reason"})


def extras_of(block: Mapping[str, Any], typed: frozenset[str]) -> Mapping[str, Any]:
    """Return the fields beside the typed ones, as extras. Null says nothing, and neither do no citations."""
    if block.keys() <= typed:
        return EMPTY
    rest = {
        key: value
        for key, value in block.items()
        if key not in typed and value is not None and not (key == "citations" and value == [])
    }
    return {WIRE: rest} if rest else EMPTY


def blocks_of(content: Any, where: str) -> list[Mapping[str, Any]]:
    """
    Return a `content`'s blocks; a string is one text block, null is none.

    Raises:
        ProtocolError: it is something else; the message names `where`.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, Sequence):
        msg = f"{where}: content must be a string or a list of blocks, not {type(content).__name__}"
        raise ProtocolError(msg)
    for index, block in enumerate(content):
        # A dict first: asking whether something is a Mapping is slow, and histories are long.
        if type(block) is not dict and not isinstance(block, (str, Mapping)):
            msg = f"{where}.content[{index}] must be an object, not {type(block).__name__}"
            raise ProtocolError(msg)
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def _cache_mark(block: Mapping[str, Any]) -> CacheMark | None:
    control = block.get("cache_control")
    if not isinstance(control, Mapping):
        return None
    ttl = control.get("ttl")
    return CacheMark(ttl if isinstance(ttl, str) else None)


def _source(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a media value's fields for a block's source, or `None` for a source that the values cannot hold."""
    source = block.get("source")
    if not isinstance(source, Mapping):
        return None
    try:
        match source:
            case {"type": "base64", "media_type": str(media_type), "data": str(data)} if data and len(source) == 3:
                return {"data": from_base64(data), "media_type": media_type}
            case {"type": "text", "media_type": str(media_type), "data": str(data)} if data and len(source) == 3:
                return {"data": data.encode("utf-8"), "media_type": media_type}
            case {"type": "url", "url": str(url)} if len(source) == 2 and url[:5].lower() != "data:":
                return {"url": url}
            case {"type": "file", "file_id": str(file_id)} if len(source) == 2:
                return {"file_id": file_id}
    except ValueError:  # not base64, or a lone surrogate: kept as it came
        return None
    return None


def decode_content(block: Mapping[str, Any]) -> Content | None:
    """Read a block that a user's message or a tool's result may hold; `None` for an empty text."""
    match block.get("type"):
        case "text":
            text = block.get("text")
            if len(block) == 2 and type(text) is str:
                return TextContent(text) if text else None
            content = TextContent(text if isinstance(text, str) else "", _cache_mark(block), extras_of(block, _TEXT))
            return content if content.text or content.extras else None
        case "image":
            fields = _source(block)
            if fields is not None:
                return ImageContent(**fields, cache=_cache_mark(block), extras=extras_of(block, _IMAGE))
        case "document":
            fields = _source(block)
            if fields is not None:
                title = block.get("title")
                name = title if isinstance(title, str) else None
                return DocumentContent(
                    **fields, name=name, cache=_cache_mark(block), extras=extras_of(block, _DOCUMENT)
                )
    return OpaqueContent(WIRE, block)


def decode_contents(content: Any, where: str) -> list[Content]:
    """Read the content of a tool's result."""
    return [value for block in blocks_of(content, where) if (value := decode_content(block)) is not None]


def decode_part(
    block: Mapping[str, Any], *, index: int = 0, reading: Reading = PLAIN, seed: str = "", cut: bool = False
) -> AiPart | None:
    """
    Read a block of an assistant's message; `None` for one that says nothing.

    `cut`: the answer ended early, in this block. `seed` and `index` make the id of a call that has none.
    """
    match block.get("type"):
        case "tool_use":
            return decode_call(block, block.get("input"), index=index, reading=reading, seed=seed, cut=cut)
        case "thinking":
            text, signature = block.get("thinking"), block.get("signature")
            thinking = ThinkingContent(
                text if isinstance(text, str) else "",
                signature
                if isinstance(signature, str) and signature
                else None,  # empty is what there is where no seal is
                extras=extras_of(block, _THINKING),
            )
            return thinking if thinking.text or thinking.signature or thinking.extras else None
        case "redacted_thinking" if isinstance(data := block.get("data"), str):
            return ThinkingContent(redacted=data, extras=extras_of(block, _REDACTED))
        case _:
            content = decode_content(block)
            if reading.answer_schema is not None and type(content) is TextContent:
                return replace(content, text=reading.text(content.text))
            return content


def decode_plain_part(block: Any) -> TextContent | ToolCall | None:
    """Read a text or a call that has its own fields and no others; `None` where `decode_part` must look closer."""
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if kind == "tool_use" and len(block) == 4:
        call_id, name, value = block.get("id"), block.get("name"), block.get("input")
        if type(call_id) is not str or type(name) is not str or type(value) is not dict:
            return None
        if call_id and name and INVALID_JSON not in value:
            return ToolCall(call_id, name, wire_json.compact(value), WIRE)
    elif kind == "text" and len(block) == 2:
        text = block.get("text")
        if type(text) is str and text:
            return TextContent(text)
    return None


def decode_call(
    block: Mapping[str, Any],
    arguments: Any,
    *,
    index: int,
    reading: Reading = PLAIN,
    seed: str = "",
    cut: bool = False,
) -> ToolCall:
    """
    Read a `tool_use` block. `arguments` is its `input`, or the text of a stream's fragments.

    Text that is a JSON object becomes compact JSON, so that a stream gives what a plain call gives.
    """
    identity, name = block.get("id"), block.get("name")
    name = name if isinstance(name, str) else ""
    value = wire_json.decode_object(arguments) if isinstance(arguments, str) else arguments
    if type(value) is dict or isinstance(value, Mapping):
        raw = value.get(INVALID_JSON) if len(value) == 1 else None
        # An empty input is all that is left of one that the end of the answer cut off.
        arguments = raw if isinstance(raw, str) and wire_json.decode_arguments(raw) is None else value
        if cut and not value:
            arguments = ""
        elif arguments is value and name in reading.schemas:
            arguments = reading.schemas[name].restore(value)
    return make_call(
        reading.names.from_wire(name),
        arguments,
        id=identity if isinstance(identity, str) else None,
        seed=seed,
        index=index,
        source=WIRE,
        cut=cut,
        extras=extras_of(block, CALL_FIELDS),
    )


def decode_finish(fields: Mapping[str, Any], *, has_calls: bool) -> FinishReason:
    """Read why the answer ended; no reason at all is `other`, unless there are calls."""
    return settle_finish_reason(finish_reason(fields.get("stop_reason")), has_calls=has_calls)


def decode_metadata(fields: Mapping[str, Any], usage: Any) -> dict[str, Any]:
    """
    Return an answer's metadata: everything the vendor said beside the content and the counts.

    `fields` are those of the answer, or of a stream's first message with the later ones laid over them.
    """
    metadata = {key: value for key, value in fields.items() if value is not None and key not in _NOT_METADATA}
    if raw := fields.get("stop_reason"):
        metadata["raw_finish_reason"] = raw
    if details := usage_details(usage):
        metadata["usage_details"] = details
    return metadata


def origin_of(origin: Origin | None, fields: Mapping[str, Any]) -> Origin:
    """Return where an answer comes from; its own model counts where the request is not known."""
    if origin is not None and origin.model is not None:
        return origin
    model = fields.get("model")
    return Origin(WIRE, origin.provider if origin else None, model if isinstance(model, str) else None)


def decode_response(
    payload: Mapping[str, Any], *, reading: Reading = PLAIN, origin: Origin | None = None
) -> ChatResponse:
    """
    Read a whole answer.

    Raises:
        ProtocolError: it has no content, or content of another shape than the wire's.
    """
    if "content" not in payload:
        msg = "the answer has no content field: this is no Messages API response"
        raise ProtocolError(msg)
    blocks = list(blocks_of(payload["content"], "response"))
    seed = str(payload.get("id") or "")
    is_cut = finish_reason(payload.get("stop_reason")) is FinishReason.LENGTH
    parts: list[AiPart] = []
    ids: set[str] = set()
    for index, block in enumerate(blocks):
        cut = is_cut and index == len(blocks) - 1
        part = decode_part(block, index=index, reading=reading, seed=seed, cut=cut)
        if type(part) is ToolCall:
            if part.id in ids:  # a server that numbers every call alike
                name = block.get("name")
                name = reading.names.from_wire(name) if isinstance(name, str) else ""
                part = with_id(part, generate_call_id(seed, index, name))
            ids.add(part.id)
        if part is not None:
            parts.append(part)
    usage = payload.get("usage")
    return ChatResponse(
        AiMessage(parts, origin_of(origin, payload)),
        decode_usage(usage),
        decode_finish(payload, has_calls=any(type(part) is ToolCall for part in parts)),
        (),
        decode_metadata(payload, usage),
    )
