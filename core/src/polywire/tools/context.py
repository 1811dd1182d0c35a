"""What a tool may know of the call it answers, and the model never sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from polywire.fast_dataclass import dataclass
from polywire.messages import Message, ToolCall

__all__ = ["ToolContext"]

ContextT = TypeVar("ContextT")


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[ContextT]):
    """
    Given to a tool that has a parameter of this type; the parameter is no part of the tool's specification.

    Attributes:
        value: what the caller passed as `context`: a session, a user, a connection.
        call: the call that is being answered.
        messages: the conversation up to the turn that made the call.
    """

    value: ContextT
    call: ToolCall
    messages: Sequence[Message] = ()
