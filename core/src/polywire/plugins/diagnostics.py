"""What is wrong with a plugin that is installed and cannot be used."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from polywire.fast_dataclass import dataclass

__all__ = ["Diagnostic", "ProblemKind"]

ProblemKind: TypeAlias = Literal["import", "missing_dependency", "no_hook", "no_answer", "clash", "contract", "type"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """
    One plugin that cannot be used under one name.

    Attributes:
        name: the entry point's name.
        kind: what is wrong. `import`: it fails to import; `missing_dependency`: because a package is not installed;
            `no_hook`: its object has no `polywire_provider`; `no_answer`: the hook fails or answers `None`; `clash`: two
            distributions claim the name; `contract`: it speaks a newer contract; `type`: what it offers is of the wrong
            type.
        message: the same for a person, with what to do about it.
        distribution: who ships it, with the version: `"polywire-acme 1.0"`; `None` where unknown.
        value: what the entry point leads to.
        error: the original exception.
    """

    name: str
    kind: ProblemKind
    message: str
    distribution: str | None = None
    value: str | None = None
    error: BaseException | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        shipped = f" of the distribution {self.distribution}" if self.distribution else ""
        return f"the plugin {self.name!r}{shipped} is installed but failed to load: {self.message}"
