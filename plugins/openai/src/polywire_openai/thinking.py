"""
Thinking, under all the names that it has on this wire.

`reasoning_content` and `reasoning` hold its text, and say the same where both are there. `reasoning_details` holds
sealed and structured parts; it is kept as it came and goes back unmodified. Some endpoints put it into `content`, as
chunks of the type `thinking`. Which name was used is remembered in `extras["openai"]["field"]`: it goes back under the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import ThinkingContent
from polywire.translation.halves import HalfJoiner
from polywire.wire_json import replace_surrogates
from polywire_openai.fields import WIRE, own_extras

__all__ = [
    "IN_CONTENT",
    "THINKING_FIELDS",
    "ThinkingReader",
    "decode_thinking",
    "thinking_chunk",
    "thinking_chunk_text",
    "thinking_seal",
]

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""The fields for text, the one that counts first."""

IN_CONTENT = "content"
"""The name for thinking that is a chunk of the content."""

_GROWING = ("text", "summary", "data")
_CHUNK = frozenset({"type", "thinking", "signature"})


class ThinkingReader:
    """Puts one answer's thinking together."""

    __slots__ = ("_details", "_field", "_halves", "_own", "_signature", "fragments")

    def __init__(self) -> None:
        self.fragments: list[str] = []
        self._field: str | None = None
        self._signature: str | None = None
        self._details: list[dict[str, Any]] = []
        self._own: dict[str, Any] = {}
        self._halves = HalfJoiner()

    @property
    def is_halved(self) -> bool:
        """Whether half a character waits for its other half."""
        return bool(self._halves.half)

    def _add(self, text: str) -> str:
        """Add a piece, and return what may be told of it."""
        if self._halves.half or not text.isascii():
            text = self._halves.add(text)
        if text:
            self.fragments.append(text)
        return text

    def finish(self) -> str:
        """The thinking is over: return what is left of it to be told."""
        left = self._halves.finish()
        if left:
            self.fragments.append(left)
        return left

    def read(self, message: Mapping[str, Any], *, whole: bool) -> str:
        """Take in a message or delta and return the text that it adds."""
        text = ""
        for name in THINKING_FIELDS:
            value = message.get(name)
            if isinstance(value, str) and value:
                text = value
                self._field = self._field or name
                break
        details = message.get("reasoning_details")
        if isinstance(details, Sequence) and not isinstance(details, str):
            told = self._read_details(details, whole=whole)
            # An endpoint that fills a field of text says there all that the details say.
            text = text or ("" if self._field else told)
        return self._add(text) if text else ""

    def read_chunk(self, chunk: Mapping[str, Any]) -> str:
        """Take in a content chunk of the type `thinking` and return the text that it adds."""
        self._field = IN_CONTENT
        signature = chunk.get("signature")
        if isinstance(signature, str) and signature:
            self._signature = signature
        self._own.update({key: value for key, value in chunk.items() if key not in _CHUNK and value is not None})
        text = thinking_chunk_text(chunk)
        return self._add(text) if text else ""

    def _read_details(self, details: Sequence[Any], *, whole: bool) -> str:
        texts: list[str] = []
        for detail in details:
            if not isinstance(detail, Mapping):
                continue
            if detail.get("type") in {"reasoning.text", "reasoning.summary"}:
                texts += [value for key in ("text", "summary") if isinstance(value := detail.get(key), str)]
            known = None if whole else self._same(detail)
            if known is None:
                self._details.append(dict(detail))
                continue
            for key, value in detail.items():
                old = known.get(key)
                if key in _GROWING and isinstance(old, str) and isinstance(value, str):
                    known[key] = old + value
                elif value is not None or key not in known:
                    known[key] = value
        return "".join(texts)

    def _same(self, detail: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the detail of which this one is a further fragment."""
        kind, index = detail.get("type"), detail.get("index")
        if index is not None:
            return next(
                (each for each in self._details if (each.get("type"), each.get("index")) == (kind, index)), None
            )
        last = self._details[-1] if self._details else None
        if last is None or last.get("type") != kind or last.get("index") is not None:
            return None
        return last if detail.get("id") in {None, last.get("id")} else None

    def __bool__(self) -> bool:
        """Whether there is any thinking."""
        return bool(self.fragments or self._details or self._signature or self._halves.half)

    def content(self) -> ThinkingContent:
        """Return the thinking, which is over."""
        self.finish()
        own = dict(self._own)
        if self._field is not None:
            own["field"] = self._field
        if self._details:
            own["reasoning_details"] = replace_surrogates(self._details)
        return ThinkingContent("".join(self.fragments), self._signature, extras={WIRE: own} if own else {})


def thinking_chunk(text: str) -> dict[str, Any]:
    """Write a text as thinking that is a chunk of the content."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}] if text else []}


def thinking_seal(thought: ThinkingContent) -> dict[str, Any]:
    """Return what a chunk of this wire's says besides its text: the signature, and fields that this version does not know."""
    own = own_extras(thought.extras)
    seal = {key: value for key, value in own.items() if key not in {"field", "reasoning_details"}}
    return seal if thought.signature is None else {"signature": thought.signature, **seal}


def thinking_chunk_text(chunk: Mapping[str, Any]) -> str:
    """Return the text of a content chunk of the type `thinking`."""
    inner = chunk.get("thinking")
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, Sequence):
        return ""
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in inner]
    return "".join(text for text in texts if isinstance(text, str))


def decode_thinking(message: Mapping[str, Any]) -> ThinkingContent | None:
    """Read the thinking of a whole message."""
    reader = ThinkingReader()
    reader.read(message, whole=True)
    return reader.content() if reader else None
