"""
Whether an answer or a request has anything to do with markup at all.

Most models' have not. The parsers are loaded for those that have: they are a twentieth of the time to a first answer.
"""

from __future__ import annotations

from typing import Protocol

from polywire.codec import StreamDecoder
from polywire.contents import TextContent
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, Notice

__all__ = [
    "Names",
    "apply_markup_to_request",
    "apply_markup_to_response",
    "reads_markup",
    "tags_may_come",
    "with_markup",
    "writes_markup",
]


class Names(Protocol):
    """Maps tool names; `polywire.translation.NameMap` is one."""

    def to_wire(self, name: str) -> str:
        """Return the wire's name for a tool."""

    def from_wire(self, name: str) -> str:
        """Return the caller's name for a tool."""


def reads_markup(profile: Profile) -> bool:
    """Whether this profile's answers may hold thinking or calls written as text."""
    return profile.think_tags or tags_may_come(profile) or bool(profile.tool_markup) or profile.tool_calling == "markup"


def tags_may_come(profile: Profile) -> bool:
    """Whether `<think>` at the very beginning is read though nothing says that this model writes it."""
    return bool(profile.quirks.get("think_tags_fallback")) and not profile.think_tags


def writes_markup(profile: Profile) -> bool:
    """Whether this profile's requests hold tools, calls or thinking written as text."""
    return profile.tool_calling == "markup" or (
        profile.think_tags and profile.reasoning_field is None and profile.reasoning_echo != "never"
    )


def _only_by_opening(profile: Profile) -> bool:
    """Whether nothing but `<think>` at the very beginning is read: what is tried on any answer, and found in few."""
    by_opening = tags_may_come(profile) or (
        profile.think_tags and profile.quirks.get("think_tags_opening") == "required"
    )
    return by_opening and not profile.tool_markup and profile.tool_calling != "markup"


def with_markup(
    decoder: StreamDecoder, profile: Profile, request: ChatRequest | None = None, names: Names | None = None
) -> StreamDecoder:
    """Return a decoder that also reads the markup of this profile; the decoder itself where there is none."""
    if not reads_markup(profile):
        return decoder
    if _only_by_opening(profile):
        from polywire.markup.opening import OpeningDecoder

        return OpeningDecoder(decoder, lambda inner: _with_tags(inner, profile, request, names))
    return _with_tags(decoder, profile, request, names)


def _with_tags(
    decoder: StreamDecoder, profile: Profile, request: ChatRequest | None, names: Names | None
) -> StreamDecoder:
    from polywire.markup.decoding import MarkupStreamDecoder

    return MarkupStreamDecoder(decoder, profile, request, names)


def apply_markup_to_response(
    response: ChatResponse, profile: Profile, request: ChatRequest | None = None, names: Names | None = None
) -> ChatResponse:
    """Return a whole answer with its markup read: the same that the stream gives. Without markup it comes back as it is."""
    if not reads_markup(profile):
        return response
    if _only_by_opening(profile):
        from polywire.markup.opening import may_begin_with_thinking

        first = response.message.parts[0] if response.message.parts else None
        if type(first) is not TextContent or not may_begin_with_thinking(first.text):
            return response
    from polywire.markup.decoding import read_response

    return read_response(response, profile, request, names)


def apply_markup_to_request(request: ChatRequest, profile: Profile) -> tuple[ChatRequest, tuple[Notice, ...]]:
    """
    Write tools, calls, results and thinking as text where the profile says that the model has them only so.

    With `tool_calling = "markup"` the tools go into the system text, and earlier calls and results into the assistant's
    and the user's text, in the profile's first form. With `think_tags` and `reasoning_echo`, earlier thinking goes back
    between its tags. With `"native"` tools the request stays as it is, also where calls were read from text: the
    endpoint's own template writes them.

    Returns:
        the request (the same object where nothing had to change) and the notices.

    Raises:
        UnsupportedByModel: a tool of a vendor's own is offered, which no text can stand for.
    """
    if not writes_markup(profile):
        return request, ()
    from polywire.markup.requesting import written_request

    return written_request(request, profile)
