"""
Refusals, which both of OpenAI's APIs tell apart from text: what one of them says the other can write.

A stream's events do not say which text is one; their part's number does, for whoever writes another stream of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from polywire.contents import TextContent
from polywire.messages import Origin
from polywire_openai.fields import WIRE

__all__ = ["REFUSAL", "REFUSALS_FROM", "is_refusal", "is_refusal_part"]

REFUSAL = 1_000_000
"""The number of the part that is a refusal in an answer of Chat Completions: after the calls, of which nobody knows how many
there will be."""

REFUSALS_FROM = 500
"""Of the thousand parts that an item of the Responses API may have, those from here on are refusals."""

_ITEM = 1000
_RESPONSES_WIRE = "openai-responses"  # said again here: to read Chat Completions the other API need not be loaded


def is_refusal(content: object) -> bool:
    """Whether a part is a refusal, of either API."""
    if type(content) is not TextContent or not content.extras:
        return False
    own = (content.extras.get(wire) for wire in (WIRE, _RESPONSES_WIRE))
    return any(isinstance(fields, Mapping) and fields.get("refusal") for fields in own)


def is_refusal_part(part: int, origin: Origin | None) -> bool:
    """Whether the text of a part is a refusal, by its number in the answer from this origin."""
    if origin is None or origin.wire == WIRE:
        return origin is not None and part == REFUSAL
    return origin.wire == _RESPONSES_WIRE and part % _ITEM >= REFUSALS_FROM
