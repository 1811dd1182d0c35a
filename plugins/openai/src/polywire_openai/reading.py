"""What reading an answer needs of the request that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY
from polywire.profiles import Profile
from polywire.requests import ChatRequest
from polywire.schemas import Lowered
from polywire.translation.names import NameMap

__all__ = ["PLAIN", "Reading"]


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What reading an answer needs of the request that it answers.

    Attributes:
        names: the tools' names, sent and own.
        schemas: the tools' schemas as they were sent, by the name that was sent: they map arguments back.
        answer_schema: the schema of a typed answer, as it was sent.
        audio_type: the media type of the sound that was asked for; the wire does not repeat it.
        profile: the model's.
        request: as the caller made it; what is written as markup is read with its tools.
    """

    names: NameMap = field(default_factory=NameMap)
    schemas: Mapping[str, Lowered] = EMPTY
    answer_schema: Lowered | None = None
    audio_type: str | None = None
    profile: Profile = field(default_factory=Profile)
    request: ChatRequest | None = None


PLAIN = Reading()
"""Reads what answers no request of ours."""
