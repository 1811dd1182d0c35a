"""
Thinking and tool calls that models write as text, read and written by one mechanism for all codecs.

Which markup a model uses is told by its profile: `think_tags`, `tool_markup` (forms that are read: see `FORMS`), and
`tool_calling = "markup"` for a model without tools on its wire: then the tools go into the system text, in the first
form, and earlier calls and results are written back in that form.

A codec takes part with three lines, and pays nothing where the profile has no markup:

    def encode(self, request, *, stream):
        asked = request                                               # keep it in Encoded.context
        request, notices = apply_markup_to_request(request, profile)  # first of all, before `prepare`
        prepared = prepare(request, profile, wire=self.wire)

    def decode(self, response, encoded):
        ...
        return apply_markup_to_response(answer, profile, asked, prepared.names)      # last of all

    def stream_decoder(self, encoded):
        return with_markup(Decoder(...), profile, asked, prepared.names)

A call read from text has a generated id (or the form's own), `source="markup"`, and turns the finish reason `stop` into
`tool_calls`. Text that only looks like markup stays text: malformed JSON between the tags, an unknown tag, a tag that is
never closed. Thinking is read only where the answer begins with it; nothing in it is ever a call. Where the profile's
quirk `think_tags_opening` is `"required"`, an answer that does not begin with `<think>` streams at once; by default it
is held until `</think>` or the end, since many templates write the opening tag into the prompt.
"""

from __future__ import annotations

from polywire.markup.decoding import (
    MarkupEvents,
    MarkupStreamDecoder,
    apply_markup_to_response,
    reads_markup,
    with_markup,
)
from polywire.markup.forms import FORMS
from polywire.markup.parser import MarkupParser
from polywire.markup.pieces import CallPiece, Piece, TextPiece, ThinkingPiece
from polywire.markup.rendering import (
    render_tool_call,
    render_tool_calls,
    render_tool_instructions,
    render_tool_result,
)
from polywire.markup.requesting import apply_markup_to_request, markup_form

__all__ = [
    "FORMS",
    "CallPiece",
    "MarkupEvents",
    "MarkupParser",
    "MarkupStreamDecoder",
    "Piece",
    "TextPiece",
    "ThinkingPiece",
    "apply_markup_to_request",
    "apply_markup_to_response",
    "markup_form",
    "reads_markup",
    "render_tool_call",
    "render_tool_calls",
    "render_tool_instructions",
    "render_tool_result",
    "with_markup",
]
