"""
Characters that come in two halves.

JSON writes a character beyond U+FFFF as a pair of surrogates, and some servers cut their text between the two: one half
ends a delta, the other begins the next. Here they are joined; a half that stays alone becomes U+FFFD, for no text with
one can be printed, stored or sent.
"""

from __future__ import annotations

from polywire.wire_json import replace_surrogates

__all__ = ["HalfJoiner"]


class HalfJoiner:
    """Takes the deltas of one text in order. `half` is what waits for the next one; mostly nothing."""

    __slots__ = ("half",)

    def __init__(self) -> None:
        self.half = ""

    def add(self, text: str) -> str:
        """Return what may be told of the text so far."""
        if self.half:
            text, self.half = self.half + text, ""
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        try:
            text.encode()
        except UnicodeEncodeError:
            text = replace_surrogates(text)
        return text

    def finish(self) -> str:
        """The text is over: return what is left."""
        left, self.half = self.half, ""
        return "\ufffd" if left else ""
