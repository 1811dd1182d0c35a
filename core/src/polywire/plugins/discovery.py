"""What is installed, read from package metadata. Nothing is imported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = ["COMMAND_GROUP", "EXTENSION_GROUP", "PROVIDER_GROUP", "Declaration", "declarations"]

PROVIDER_GROUP = "polywire"
EXTENSION_GROUP = "polywire.extensions"
COMMAND_GROUP = "polywire.commands"


class Declaration(msgspec.Struct, frozen=True):
    """
    One entry point.

    Attributes:
        name: what it is asked for by.
        value: what it leads to: `package.module` or `package.module:object`.
        entry_point: the entry point itself, which loads it.
    """

    name: str
    value: str
    entry_point: Any

    @property
    def distribution(self) -> str | None:
        """Who ships it: `"polywire-acme 1.0"`. Read when asked for: it opens a file."""
        distribution = self.entry_point.dist
        if distribution is None:
            return None
        version = distribution.version
        return f"{distribution.name} {version}" if version else str(distribution.name)

    @property
    def requirements(self) -> list[str]:
        """What the distribution says that it needs, extras included."""
        distribution = self.entry_point.dist
        return list(distribution.requires or ()) if distribution is not None else []


def declarations(group: str) -> dict[str, tuple[Declaration, ...]]:
    """Return the entry points of a group by name, sorted; a name with several is claimed by several distributions."""
    from importlib.metadata import entry_points

    return grouped(entry_points(group=group))


def grouped(entry_points: Iterable[Any]) -> dict[str, tuple[Declaration, ...]]:
    """Return entry points by name, sorted."""
    found: dict[str, list[Declaration]] = {}
    for each in entry_points:
        found.setdefault(each.name, []).append(Declaration(each.name, each.value, each))
    return {name: tuple(_claims(found[name])) for name in sorted(found)}


def _claims(declared: list[Declaration]) -> list[Declaration]:
    """
    Return one declaration for each distribution that claims a name.

    Who ships it is looked up only where there are several: it means opening and parsing a file.
    """
    if len(declared) == 1:
        return declared
    claims = {(each.value, each.distribution): each for each in declared}
    return [claims[key] for key in sorted(claims, key=lambda key: (key[0], key[1] or ""))]
