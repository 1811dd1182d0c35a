"""Contents, calls and results, written as blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polywire import wire_json
from polywire.contents import (
    AudioContent,
    Content,
    DocumentContent,
    ImageContent,
    MediaContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from polywire.errors import UnsupportedByModel
from polywire.media_types import to_base64
from polywire.messages import AiMessage, AiPart, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.media import source_of
from polywire_anthropic.cache_marks import cache_control
from polywire_anthropic.decode import INVALID_JSON, WIRE

__all__ = ["BlockWriter", "compact_content"]

Block = dict[str, Any]

FAILED_WITHOUT_WORDS = "The tool failed and gave no reason."
"""Written for a failed result without content: the wire refuses an error that says nothing."""


def compact_content(blocks: list[Block]) -> str | list[Block]:
    """Write a single plain text block as a string, its shorter form."""
    if len(blocks) == 1 and len(blocks[0]) == 2 and blocks[0]["type"] == "text":
        return blocks[0]["text"]  # type: ignore[no-any-return]
    return blocks


def _plain_text(content: TextContent) -> Block | None:
    """Write a text that is no more than that, and says something."""
    text = content.text
    if content.extras or content.cache is not None or not text or text.isspace():
        return None
    return {"type": "text", "text": text}


class BlockWriter:
    """
    Writes blocks for one profile and gathers the notices.

    Every method names the place (`messages[3]`) in what it raises and tells.
    """

    __slots__ = ("_as_read", "_blank_text", "_notices", "_profile", "_unsigned")

    def __init__(self, profile: Profile, notices: list[Notice]) -> None:
        quirks = profile.quirks
        self._profile = profile
        self._notices = notices
        self._as_read = bool(quirks.get("as_read"))
        self._blank_text = self._as_read or bool(quirks.get("blank_text"))
        self._unsigned = self._as_read or bool(quirks.get("unsigned_thinking"))

    def tell(self, kind: Any, subject: str, message: str) -> None:
        """Add a notice."""
        self._notices.append(Notice(kind, subject, message))

    def plain(self, message: Any) -> list[Block] | None:
        """Write a message of the common kind: one text, or text and calls, with no fields of its own; else `None`."""
        kind = type(message)
        if kind is AiMessage:
            blocks: list[Block] = []
            for part in message.parts:
                if type(part) is ToolCall and not part.extras:
                    blocks.append(self.call(part))
                elif type(part) is TextContent and (block := _plain_text(part)) is not None:
                    blocks.append(block)
                else:
                    return None
            return blocks
        if len(message.contents) != 1 or message.extras:
            return None
        content = message.contents[0]
        block = _plain_text(content) if type(content) is TextContent else None
        if block is None:
            return None
        if kind is ToolResultMessage:
            if message.is_error:
                return None
            return [{"type": "tool_result", "tool_use_id": message.call_id, "content": block["text"]}]
        return [block] if message.name is None else None

    def user(self, message: UserMessage, where: str) -> list[Block]:
        """Write what a user says."""
        if message.name is not None and not self._profile.user_name:
            self.tell("dropped", where, f"this wire has no place for the user's name {message.name!r}")
        return self.contents(message.contents, where, user=True)

    def assistant(self, message: AiMessage, where: str) -> list[Block]:
        """Write the parts of an assistant's message that have a place there."""
        return [block for part in message.parts if (block := self.part(part, where)) is not None]

    def contents(self, contents: Iterable[Content], where: str, *, user: bool = False) -> list[Block]:
        """Write what a message or a result holds; empty text is nothing."""
        blocks: list[Block] = []
        for content in contents:
            if type(content) is TextContent:
                block = self.text(content, where, user=user)
                if block is not None:
                    blocks.append(block)
            elif isinstance(content, OpaqueContent):
                if content.wire == WIRE:
                    blocks.append(dict(content.data))
            elif isinstance(content, MediaContent):
                blocks.append(self.media(content, where))
        return blocks

    def text(self, content: TextContent, where: str, *, user: bool = False) -> Block | None:
        """Write a text, or nothing: the wire refuses an empty text, and one of white space alone."""
        text = content.text
        if not text:
            return None
        if text.isspace() and not self._blank_text:
            self.tell("dropped", where, "a text of white space alone is left out: this wire refuses it")
            return None
        block: Block = {"type": "text", "text": text}
        if content.cache is not None:
            block["cache_control"] = cache_control(content.cache)
        if content.extras:
            block.update(content.extras.get(WIRE, {}))
            if user and "citations" in block and not self._allows("user_citations"):
                del block["citations"]
                self.tell("dropped", where, "citations on a user's text are left out: this API version refuses them")
        return block

    def _allows(self, quirk: str) -> bool:
        return self._as_read or bool(self._profile.quirks.get(quirk, True))

    def media(self, content: MediaContent, where: str) -> Block:
        """
        Write a picture or a document.

        Raises:
            UnsupportedByModel: the wire has no place for it.
        """
        kind = source_of(content, self._profile, where)
        source: dict[str, Any]
        if kind == "url":
            source = {"type": "url", "url": content.url}
        elif kind == "file_id":
            source = {"type": "file", "file_id": content.file_id}
        elif isinstance(content, DocumentContent) and content.media_type != "application/pdf":
            source = {"type": "text", "media_type": "text/plain", "data": self._document_text(content, where)}
        else:
            source = {"type": "base64", "media_type": content.media_type, "data": to_base64(content.data or b"")}
        block: Block = {"type": "image" if isinstance(content, ImageContent) else "document", "source": source}
        if isinstance(content, DocumentContent) and content.name is not None:
            block["title"] = content.name
        if isinstance(content, ImageContent) and content.detail not in {None, "auto"}:
            self.tell("dropped", where, f"this wire has no place for the image detail {content.detail!r}")
        if content.cache is not None:
            block["cache_control"] = cache_control(content.cache)
        if content.extras:
            block.update(content.extras.get(WIRE, {}))
        return block

    def _document_text(self, content: DocumentContent, where: str) -> str:
        media_type = content.media_type or ""
        try:
            text = (content.data or b"").decode("utf-8")
        except UnicodeDecodeError:
            msg = f"{where}: this model reads documents of PDF or text, not {media_type}"
            raise UnsupportedByModel(msg) from None
        if media_type != "text/plain":
            self.tell("approximated", where, f"the document of type {media_type!r} is sent as plain text")
        return text

    def call(self, call: ToolCall) -> Block:
        """Write a call. Arguments that are no JSON object are wrapped, so that one bad call never spoils a history."""
        arguments = wire_json.decode_arguments(call.arguments)
        if arguments is None:
            arguments = {INVALID_JSON: call.arguments}
        block: Block = {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}
        if call.extras:
            block.update(call.extras.get(WIRE, {}))
        return block

    def result(self, message: ToolResultMessage, where: str) -> list[Block]:
        """Write a tool's result, one block. Empty content is the empty string; a failure always says something."""
        blocks = self.contents(message.contents, where)
        content: Any = compact_content(blocks) if blocks else ""
        if message.is_error and not blocks:
            content = FAILED_WITHOUT_WORDS
            self.tell("repaired", where, "a failed tool result without content says that it failed")
        block: Block = {"type": "tool_result", "tool_use_id": message.call_id, "content": content}
        if message.is_error:
            block["is_error"] = True
        if message.extras:
            block.update(message.extras.get(WIRE, {}))
        return [block]

    def tell_error(self, message: ToolResultMessage, error: ToolError, position: int) -> None:
        """
        Say that of a tool's error the wire has a place for its words alone.

        In a conversion always, for the body is then all there is. On a call only where what goes missing was put there
        for the model to know: metadata, or a message that the result's contents do not say. A type and `retryable` stand
        in every failure of a `ToolService` and stay in the caller's own history; to tell of them would be a notice at
        each further call of every tool loop.
        """
        if self._as_read or error.metadata or error.message not in message.text:
            told = f"of the tool's error {error.type!r} this wire carries the message alone"
            if error.message not in message.text:
                told = f"of the tool's error {error.type!r} this wire carries the result's contents alone"
            self.tell("information", f"messages[{position}]", told)

    def thinking(self, thinking: ThinkingContent, where: str) -> Block | None:
        """Write thinking as it came. Without the vendor's seal it is left out: the vendor refuses what it did not seal."""
        if thinking.redacted is not None:
            block: Block = {"type": "redacted_thinking", "data": thinking.redacted}
        elif thinking.signature or self._unsigned:
            block = {"type": "thinking", "thinking": thinking.text, "signature": thinking.signature or ""}
        else:
            self.tell("dropped", where, "thinking without a signature is left out: the vendor takes only its own")
            return None
        if thinking.extras:
            block.update(thinking.extras.get(WIRE, {}))
        return block

    def part(self, part: AiPart, where: str) -> Block | None:
        """Write a part of an assistant's message; `None` for what has no place there, which is told."""
        if type(part) is TextContent:
            return self.text(part, where)
        if type(part) is ToolCall:
            return self.call(part)
        if type(part) is ThinkingContent:
            return self.thinking(part, where)
        if isinstance(part, OpaqueContent):
            return dict(part.data) if part.wire == WIRE else None
        if isinstance(part, DocumentContent) and self._allows("assistant_documents"):
            return self.media(part, where)
        if isinstance(part, ImageContent) and self._as_read:
            return self.media(part, where)
        assert isinstance(part, (ImageContent, AudioContent, VideoContent, DocumentContent))
        self.tell("dropped", where, f"an assistant's message takes no {part.kind} on this wire; it is left out")
        return None
