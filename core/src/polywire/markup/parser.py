"""
Reading thinking and tool calls out of a model's text, as it arrives.

The parser gives the same pieces for every split of the text, and holds back only what may be the start of a tag, or is
within one. What only looks like markup stays text, and so does what is quoted: a tag within a code block, or right after
a backtick. Nothing inside thinking is ever a call.

White space between text and a call belongs to the markup and is dropped; all other white space is the model's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from polywire.errors import SettingsError
from polywire.markup.forms import FORMS, form_named
from polywire.markup.pieces import (
    CallPiece,
    Found,
    NotMarkup,
    ParameterTypes,
    Piece,
    RawCall,
    Reader,
    TextPiece,
    ThinkingPiece,
)
from polywire.messages import ToolCall
from polywire.tool_specifications import ToolSpecification
from polywire.translation.calls import generate_call_id

__all__ = ["MarkupParser", "default_id"]

_OPEN, _CLOSE = "<think>", "</think>"
_FENCES = ("```", "~~~")
_LINE_LENGTH = 32
_TOKENS = ("<|", "<\uff5c", "[")
"""How tags begin that are tokens of their own to the model, and so are never quoted."""
_CHANNEL_ENDS = ("<|end|>", "<|return|>", "<|call|>")


def default_id(index: int, name: str) -> str:
    """Make an id for the call at this place of its message."""
    return generate_call_id("markup", index, name)


@lru_cache(maxsize=64)
def _opener_table(forms: tuple[str, ...]) -> tuple[re.Pattern[str] | None, tuple[str, ...], tuple[str, ...]]:
    openers = tuple(dict.fromkeys(opener for name in forms for opener in form_named(name).openers))
    starts = tuple(dict.fromkeys(opener for name in forms for opener in form_named(name).start_openers))
    return (re.compile("|".join(map(re.escape, openers))) if openers else None), openers, starts


def _held(text: str, tags: Sequence[str]) -> int:
    """How many characters at the end of `text` may be the start of one of the tags."""
    longest = max(map(len, tags), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        if any(tag.startswith(end) for tag in tags):
            return length
    return 0


class MarkupParser:
    """
    Reads one text. Not thread-safe; one for each text.

    Args:
        forms: the forms of calls that are read, by name; none: calls stay text.
        think_tags: does the text begin with `<think>`…`</think>`? The opening tag may be missing (many chat templates
            write it into the prompt): then what stands before `</think>` is thinking.
        id_factory: makes the id of a call whose form has none, of its number in the text and its name.
        tools: the tools offered, which tell how values that are written as bare text are meant.
        opening_tag: `"optional"` as above: text that begins without `<think>` is held until `</think>` or the end, for
            only then is it known what it is. `"required"` gives it out at once, and takes no thinking without it.

    Raises:
        SettingsError: a form is unknown.
    """

    def __init__(
        self,
        forms: Sequence[str] = (),
        think_tags: bool = False,
        id_factory: Callable[[int, str], str] = default_id,
        *,
        tools: Sequence[ToolSpecification] = (),
        opening_tag: str = "optional",
    ) -> None:
        if opening_tag not in {"optional", "required"}:
            msg = f"opening_tag must be 'optional' or 'required', not {opening_tag!r}"
            raise SettingsError(msg)
        self._forms = tuple(forms)
        self._pattern, self._openers, self._starts = _opener_table(self._forms)
        self._types = ParameterTypes(tools)
        self._id_factory = id_factory
        self._opening_optional = opening_tag == "optional"
        self._step = self._begin if think_tags else self._body
        self._buffer = ""
        self._searched = 0
        self._readers: list[Reader] = []
        self._opener = ""
        self._channel: str | None = None
        self._space = ""
        self._at_start = True
        self._after_call = False
        self._ids: set[str] = set()
        self._line = ""
        self._fenced = False
        self._ends_in_tick = False
        self._pieces: list[Piece] = []
        self.calls = 0
        """How many calls have been read so far."""

    def feed(self, text: str) -> list[Piece]:
        """Take the next text, cut anywhere, and return the pieces that are certain by now."""
        self._buffer += text
        return self._run(final=False)

    def finish(self) -> list[Piece]:
        """
        The text is over: return what was held back.

        A call of which only the outer closing tag is missing is whole, for its arguments are; anything less stays text.
        """
        pieces = self._run(final=True)
        if self._space and not self._after_call:
            pieces.append(TextPiece(self._space))
        self._space = ""
        return pieces

    def _run(self, *, final: bool) -> list[Piece]:
        self._pieces = []
        while self._step(final):
            pass
        pieces: list[Piece] = []
        for piece in self._pieces:
            if pieces and not isinstance(piece, CallPiece) and type(piece) is type(pieces[-1]):
                pieces[-1] = type(piece)(pieces[-1].text + piece.text)
            else:
                pieces.append(piece)
        return pieces

    # -- steps: each does one thing and says whether there may be more to do ----------------------------------------------

    def _begin(self, final: bool) -> bool:
        """Decide whether the text begins with thinking."""
        stripped = self._buffer.lstrip()
        if stripped.startswith(_OPEN):
            self._buffer = stripped[len(_OPEN) :]
            self._step = self._think_begin
            return True
        if not final and _OPEN.startswith(stripped):
            return False
        if self._opening_optional:
            at, opened = self._buffer.find(_CLOSE, self._searched), self._buffer.find(_OPEN, self._searched)
            # An opening tag after other text is not the one that is missing: the text begins without thinking.
            if at >= 0 and not 0 <= opened < at:
                self._step = self._think_begin
                return True
            self._searched = max(0, len(self._buffer) - len(_CLOSE) + 1)
            if not final and opened < 0:
                return False
        self._step = self._body
        return True

    def _think_begin(self, final: bool) -> bool:
        """Drop the line ends that follow the opening tag."""
        self._buffer = self._buffer.lstrip("\r\n")
        if not self._buffer and not final:
            return False
        self._step = self._think
        return True

    def _think(self, final: bool) -> bool:
        at = self._buffer.find(_CLOSE)
        if at >= 0:
            self._emit_thinking(self._buffer[:at].rstrip("\r\n"))
            self._buffer = self._buffer[at + len(_CLOSE) :]
            self._step = self._think_end
            return True
        keep = len(self._buffer) if final else len(self._buffer) - _held(self._buffer, (_CLOSE,))
        ready = self._buffer[:keep].rstrip("\r\n")
        self._emit_thinking(ready)
        self._buffer = "" if final else self._buffer[len(ready) :]
        return False

    def _think_end(self, final: bool) -> bool:
        """Drop the white space between thinking and text."""
        self._buffer = self._buffer.lstrip()
        self._step = self._body if self._buffer or final else self._step
        return bool(self._buffer)

    def _body(self, final: bool) -> bool:
        if self._readers:
            return self._read(final)
        if self._channel == "thinking":
            return self._channel_thinking(final)
        if not self._buffer:
            return False
        if self._at_start and self._starts:
            stripped = self._buffer.lstrip()
            if not stripped and not final:
                return False
            opener = next((start for start in self._starts if stripped.startswith(start)), None)
            if opener is not None:
                self._emit_text(self._buffer[: len(self._buffer) - len(stripped)])
                self._buffer = stripped
                self._open(opener)
                return True
        tags = self._openers if self._channel is None else (*self._openers, *_CHANNEL_ENDS)
        found = self._search()
        if found is None:
            keep = len(self._buffer) if final else len(self._buffer) - _held(self._buffer, tags)
            self._emit_text(self._buffer[:keep])
            self._buffer = self._buffer[keep:]
            return False
        at, tag = found
        self._emit_text(self._buffer[:at])
        self._buffer = self._buffer[at:]
        if tag in self._openers:
            if self._in_code and not tag.startswith(_TOKENS):
                self._emit_text(tag)
                self._buffer = self._buffer[len(tag) :]
            else:
                self._open(tag)
        else:
            self._buffer = self._buffer[len(tag) :]
            self._channel = None
        return True

    def _search(self) -> tuple[int, str] | None:
        match = self._pattern.search(self._buffer) if self._pattern is not None else None
        found = (match.start(), match.group()) if match is not None else None
        if self._channel is not None:
            for end in _CHANNEL_ENDS:
                at = self._buffer.find(end)
                if at >= 0 and (found is None or at < found[0]):
                    found = (at, end)
        return found

    def _channel_thinking(self, final: bool) -> bool:
        """Within a channel of thinking only the channel's end counts."""
        ends = [(at, end) for end in _CHANNEL_ENDS if (at := self._buffer.find(end)) >= 0]
        if ends:
            at, end = min(ends)
            self._emit_thinking(self._buffer[:at])
            self._buffer = self._buffer[at + len(end) :]
            self._channel = None
            return True
        keep = len(self._buffer) if final else len(self._buffer) - _held(self._buffer, _CHANNEL_ENDS)
        self._emit_thinking(self._buffer[:keep])
        self._buffer = self._buffer[keep:]
        return False

    def _open(self, opener: str) -> None:
        self._opener = opener
        forms = [FORMS[name] for name in self._forms]
        self._readers = [
            form.reader(opener, self._types)
            for form in forms
            if opener in form.openers or (self._at_start and opener in form.start_openers)
        ]

    def _read(self, final: bool) -> bool:
        for reader in list(self._readers):
            try:
                found = reader.read(self._buffer, final)
            except NotMarkup:
                self._readers.remove(reader)
                continue
            if found is not None:
                self._take(found)
                return True
        if self._readers and not final:
            return False
        self._reject()
        return True

    def _reject(self) -> None:
        """It was none: the tag is text, and what follows it is looked at afresh."""
        self._readers = []
        self._emit_text(self._opener)
        self._buffer = self._buffer[len(self._opener) :]

    def _take(self, found: Found) -> None:
        self._readers = []
        self._buffer = self._buffer[found.end :]
        if found.channel is not None:
            self._channel = found.channel
        for raw in found.calls:
            self._emit_call(raw)

    # -- pieces ------------------------------------------------------------------------------------------------------------

    def _emit_thinking(self, text: str) -> None:
        if text:
            self._pieces.append(ThinkingPiece(text))

    def _emit_text(self, text: str) -> None:
        if not text:
            return
        if not self._forms:
            self._pieces.append(TextPiece(text))
            return
        self._look_for_code(text)
        text = self._space + text
        if self._after_call:
            text = text.lstrip()
        body = text.rstrip()
        self._space = text[len(body) :]
        if body:
            self._after_call = self._at_start = False
            self._pieces.append(TextPiece(body))

    def _look_for_code(self, text: str) -> None:
        """Follow where the text is within a code block. Of a line only its beginning counts, and how the text ends."""
        first, *others = text.split("\n")
        self._line = (self._line + first)[:_LINE_LENGTH] if len(self._line) < _LINE_LENGTH else self._line
        for line in others:
            if self._line.lstrip(" ").startswith(_FENCES):
                self._fenced = not self._fenced
            self._line = line[:_LINE_LENGTH]
        self._ends_in_tick = text.endswith("`")

    @property
    def _in_code(self) -> bool:
        """Whether a tag here is quoted: within a fenced block, or right after a backtick."""
        return self._fenced or self._ends_in_tick

    def _emit_call(self, raw: RawCall) -> None:
        call_id = raw.id if raw.id is not None and raw.id not in self._ids else self._id_factory(self.calls, raw.name)
        self._ids.add(call_id)
        self.calls += 1
        self._space = ""
        self._after_call = self._at_start = True
        self._pieces.append(CallPiece(ToolCall(call_id, raw.name, raw.arguments, "markup")))
