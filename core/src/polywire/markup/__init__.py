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
is held until `</think>` or the end, since many templates write the opening tag into the prompt. With the quirk
`think_tags_fallback` an answer that begins with `<think>` is read so although the profile does not say that any does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polywire.markup.gate import apply_markup_to_request, apply_markup_to_response, reads_markup, with_markup

if TYPE_CHECKING:
    from polywire.markup.decoding import MarkupEvents as MarkupEvents, MarkupStreamDecoder as MarkupStreamDecoder
    from polywire.markup.forms import FORMS as FORMS
    from polywire.markup.parser import MarkupParser as MarkupParser
    from polywire.markup.pieces import (
        CallPiece as CallPiece,
        Piece as Piece,
        TextPiece as TextPiece,
        ThinkingPiece as ThinkingPiece,
    )
    from polywire.markup.rendering import (
        render_tool_call as render_tool_call,
        render_tool_calls as render_tool_calls,
        render_tool_instructions as render_tool_instructions,
        render_tool_result as render_tool_result,
    )
    from polywire.markup.requesting import markup_form as markup_form

_HOMES = {
    "CallPiece": "pieces",
    "FORMS": "forms",
    "MarkupEvents": "decoding",
    "MarkupParser": "parser",
    "MarkupStreamDecoder": "decoding",
    "Piece": "pieces",
    "TextPiece": "pieces",
    "ThinkingPiece": "pieces",
    "markup_form": "requesting",
    "render_tool_call": "rendering",
    "render_tool_calls": "rendering",
    "render_tool_instructions": "rendering",
    "render_tool_result": "rendering",
}

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


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
