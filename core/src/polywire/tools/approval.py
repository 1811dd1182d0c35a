"""The hook before each call: approve, refuse, or change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping
from polywire.messages import ToolCall
from polywire.tools.definitions import Tool

__all__ = ["Approval", "BeforeCall", "Refusal", "read_decision"]


@dataclass(frozen=True, slots=True)
class Approval:
    """
    Let the call run, with other `arguments` where they are given.

    The history keeps the model's own call; what it was run with is in `ToolExecution.arguments`.
    """

    arguments: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.arguments is not None:
            object.__setattr__(self, "arguments", freeze_mapping(self.arguments, name="arguments"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Do not run the call. `reason` is what the model is told."""

    reason: str = "the call was not approved"
    metadata: Mapping[str, Any] = field(default=EMPTY)


BeforeCall: TypeAlias = Callable[
    [ToolCall, Tool[..., Any]], "Approval | Refusal | bool | Awaitable[Approval | Refusal | bool | None] | None"
]
"""
Asked before each call that would run, in call order; sync or async. `True` and `False` are the short forms. `None` is no
opinion: it lets an ordinary tool run, and is no approval for one that requires it.
"""


def read_decision(decision: Any, tool: Tool[..., Any]) -> Approval | Refusal:
    """
    Read what a hook returned.

    Raises:
        TypeError: it is no decision.
    """
    if isinstance(decision, Refusal):
        return decision
    if isinstance(decision, Approval):
        return decision
    if decision is None:
        return (
            Refusal(f"the tool {tool.name!r} requires an approval, and none was given")
            if tool.requires_approval
            else Approval()
        )
    if isinstance(decision, bool):
        return Approval() if decision else Refusal()
    msg = f"before_call must return an Approval, a Refusal, a bool or None, not {type(decision).__name__}"
    raise TypeError(msg)
