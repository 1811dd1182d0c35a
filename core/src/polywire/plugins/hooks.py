"""What a plugin implements: one hook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from polywire.plugins.provider import Provider

__all__ = ["PROJECT_NAME", "hookimpl", "hookspec", "polywire_provider"]

PROJECT_NAME = "polywire"

hookspec = pluggy.HookspecMarker(PROJECT_NAME)
hookimpl = pluggy.HookimplMarker(PROJECT_NAME)
"""Marks a plugin's `polywire_provider`."""


@hookspec(firstresult=True)
def polywire_provider(name: str) -> Provider | None:
    """
    Return the provider of this name, or `None` for a name that is not this plugin's.

    Asked of one plugin at a time, for each entry-point name that leads to it. Must not read the environment or the
    network: that is for `Provider.build_chat`.
    """
