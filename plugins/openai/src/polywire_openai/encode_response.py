"""An answer, written as the body that Chat Completions would have sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polywire.contents import AudioContent, ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.messages import AiPart, Origin, ToolCall
from polywire.responses import ChatResponse, FinishReason, Notice
from polywire.translation.calls import generate_call_id
from polywire.translation.finish import finish_reason
from polywire_openai.encode_messages import MessageWriter
from polywire_openai.fields import WIRE, own_extras
from polywire_openai.metadata import METADATA_HEADERS
from polywire_openai.refusals import is_refusal
from polywire_openai.thinking import IN_CONTENT, THINKING_FIELDS, thinking_chunk, thinking_seal
from polywire_openai.usage import encode_usage

__all__ = ["AnswerFields", "audio_fields", "encode_response", "is_own"]

_WORDS: Mapping[FinishReason, str] = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALLS: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.REFUSAL: "stop",
    FinishReason.PAUSE: "stop",
    FinishReason.ERROR: "stop",
    FinishReason.OTHER: "stop",
}
_WITHOUT_WORD = frozenset({FinishReason.PAUSE, FinishReason.ERROR, FinishReason.OTHER})
_OWN_WORDS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_NOT_FIELDS = frozenset(METADATA_HEADERS.values()) | {
    "id", "type", "model", "created", "raw_finish_reason", "stop_sequence", "usage_details", "logprobs", "choice", "message",
}  # fmt: skip


def is_own(metadata: Mapping[str, Any], origin: Origin | None) -> bool:
    """Whether an answer came from this wire."""
    if origin is not None:
        return origin.wire == WIRE
    return metadata.get("type") == "chat.completion"


class AnswerFields:
    """
    Writes what stands around an answer's message, for a body and for chunks alike.

    Args:
        is_own: whether the answer came from this wire, so that its own fields may go back out.
    """

    def __init__(self, metadata: Mapping[str, Any], notices: list[Notice], *, is_own: bool) -> None:
        self._metadata = metadata
        self._notices = notices
        self._is_own = is_own

    def head(self, kind: str) -> dict[str, Any]:
        """Write what identifies an answer; the wire demands an id, a time and a model."""
        metadata = self._metadata
        created = metadata.get("created")
        identity = metadata.get("id") or "chatcmpl-" + generate_call_id(repr(sorted(metadata.items())), 0, "")[5:]
        is_number = isinstance(created, (int, float)) and not isinstance(created, bool)
        return {
            "id": str(identity),
            "object": kind,
            "created": int(created) if is_number else 0,  # type: ignore[arg-type]
            "model": str(metadata.get("model") or "unknown"),
        }

    def more(self) -> dict[str, Any]:
        """Write the further fields of an answer of this wire, which its metadata holds under their own names."""
        if not self._is_own:
            return {}
        return {key: value for key, value in self._metadata.items() if key not in _NOT_FIELDS}

    def choice(self) -> dict[str, Any]:
        """Write the further fields of the choice."""
        if not self._is_own:
            return {}
        written = dict(self._metadata.get("choice") or {})
        if "logprobs" in self._metadata:
            written["logprobs"] = self._metadata["logprobs"]
        return written

    def finish(self, reason: FinishReason, *, declined: bool = True) -> str:
        """
        Write why the answer ended, in the vendor's own word where that says the same.

        `declined`: the message holds a refusal, which is how this wire says that there was one.
        """
        raw = self._metadata.get("raw_finish_reason")
        if isinstance(raw, str) and raw in _OWN_WORDS and finish_reason(raw) is reason:
            return raw
        if self._is_own and isinstance(raw, str) and raw in _OWN_WORDS and reason is FinishReason.TOOL_CALLS:
            return raw  # this vendor says `stop` beside calls, and its readers know that
        if reason is FinishReason.REFUSAL and not declined and not self._is_own:
            told = "a refusal without words of its own is written as 'content_filter'"
            self._notices.append(Notice("approximated", "finish_reason", told))
            return "content_filter"
        word = _WORDS[reason]
        if reason in _WITHOUT_WORD:
            message = f"this wire has no word for the finish reason {raw or reason.value!r}; written as {word!r}"
            self._notices.append(Notice("approximated", "finish_reason", message))
        return word

    def details(self) -> Mapping[str, Any] | None:
        """Return the parts of the usage that only this wire has."""
        return self._metadata.get("usage_details") if self._is_own else None


def encode_response(response: ChatResponse, writer: MessageWriter, notices: list[Notice]) -> dict[str, Any]:
    """Write a response body. `writer` writes as for the history of this wire."""
    metadata = response.metadata
    own = is_own(metadata, response.message.origin)
    fields = AnswerFields(metadata, notices, is_own=own)
    message = encode_message(response.message.parts, writer, notices, own=own)
    if own:
        message.update({key: value for key, value in (metadata.get("message") or {}).items() if key not in message})
        message.update({k: v for k, v in own_extras(response.message.extras).items() if k not in message})
    choice = {
        "index": 0,
        "message": message,
        **fields.choice(),
        "finish_reason": fields.finish(response.finish_reason, declined="refusal" in message),
    }
    body = {**fields.head("chat.completion"), "choices": [choice], **fields.more()}
    usage = encode_usage(response.usage, fields.details(), notices)
    if usage is not None:
        body["usage"] = usage
    return body


def encode_message(
    parts: tuple[AiPart, ...], writer: MessageWriter, notices: list[Notice], *, own: bool
) -> dict[str, Any]:
    """Write the message of an answer. Its content is a string or null; a list only where an endpoint thinks in it."""
    text: list[str] = []
    declined: list[str] = []
    thoughts: list[ThinkingContent] = []
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        where = f"message.parts[{index}]"
        match part:
            case TextContent():
                if is_refusal(part):
                    declined.append(part.text)
                    continue
                if calls and part.text:
                    told = "text that follows a tool call is written before it: this wire has one place for each"
                    notices.append(Notice("approximated", where, told))
                text.append(part.text)
                if own:
                    message.update(own_extras(part.extras))
            case ThinkingContent():
                if part.text or own_extras(part.extras):
                    thoughts.append(part)
                if not own and (part.redacted is not None or part.signature is not None):
                    told = "the seal on thinking of another wire is left out: this wire has no place for it"
                    notices.append(Notice("dropped", where, told))
            case ToolCall():
                calls.append(writer.call(part, raw=True))
            case AudioContent() if part.data is not None:
                message["audio"] = audio_fields(part, own=own)
            case ImageContent() if part.url is not None or part.data is not None:
                images.append({"type": "image_url", "image_url": {"url": part.url or part.data_url}})
            case OpaqueContent() if part.wire == WIRE and "type" not in part.data:
                message.update(part.data)
            case _:
                told = f"this wire's answers hold no {getattr(part, 'kind', 'such part')}; it is left out"
                notices.append(Notice("dropped", where, told))
    if text:
        message["content"] = "".join(text)
    if declined:
        message["refusal"] = "".join(declined)
    if thoughts and writer.reasoning_field == IN_CONTENT:
        said = [{"type": "text", "text": message["content"]}] if text else []
        message["content"] = [*({**thinking_chunk(each.text), **thinking_seal(each)} for each in thoughts), *said]
    else:
        _write_thinking(message, thoughts, writer.reasoning_field)
    if images:
        message["images"] = images
    if calls:
        message["tool_calls"] = calls
    return message


def _write_thinking(message: dict[str, Any], thoughts: list[ThinkingContent], usual: str | None) -> None:
    if not thoughts:
        return
    own = [own_extras(each.extras) for each in thoughts]
    remembered = (each["field"] for each in own if "field" in each and each["field"] != IN_CONTENT)
    field = next(remembered, usual or THINKING_FIELDS[0])
    details = [detail for each in own for detail in each.get("reasoning_details", ())]
    text = "".join(each.text for each in thoughts)
    if text:
        message[field] = text
    if details:
        message["reasoning_details"] = details


def audio_fields(part: AudioContent, *, own: bool) -> dict[str, Any]:
    """Write generated sound."""
    extras = own_extras(part.extras) if own else {}
    return {
        "id": extras.get("id") or generate_call_id(part.base64 or "", 0, "audio"),
        "data": part.base64,
        "expires_at": extras.get("expires_at") or 0,
        "transcript": part.transcript or "",
    }
