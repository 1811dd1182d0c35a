"""What a row is: one service or server that speaks OpenAI's Chat Completions, and how it differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from polywire.immutable import EMPTY
from polywire.profiles import ProfileRule, ProfileTable
from polywire_openai import COMPATIBLE, COMPATIBLE_PROFILES, OPENAI_PROFILES

__all__ = ["DATA", "DATA_AND_URL", "DATE", "REASONING_CONTENT", "UNSTATED", "Embeddings", "Row", "rule"]

DATE = "2026-12-02"
"""When the facts of the rows were read."""

REASONING_CONTENT = "reasoning_content"
DATA_AND_URL = frozenset({"data", "url"})
DATA = frozenset({"data"})
UNSTATED = 256
"""A bound for texts at once where a service states none: one answer stays within a few megabytes."""

# Servers leave thinking in the text where they have no parser for the model's form of it: wire/compat-vendors.md section 2.
# Sealed and structured thinking is OpenRouter's own; elsewhere the field is unknown, and some refuse what they do not know.
_ANY_ROW = {"quirks": {"think_tags_fallback": True, "reasoning_details": False}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """
    A service's `/embeddings`.

    Attributes:
        max_inputs: at most so many texts in one request.
        max_batch_bytes: at most so many bytes of text in one request; `None`: only the texts are counted.
        encoding: the form that vectors are asked for in; `None`: as they come.
        dimensions_field: where their length is asked for; `None`: it cannot be chosen.
        purposes: the field for what they are for, and the service's words.
        path, deployment_path: as for chat.
        source: where this is from, and what of it is a guess.
    """

    source: str
    max_inputs: int
    max_batch_bytes: int | None = None
    encoding: Literal["base64", "float"] | None = None
    dimensions_field: str | None = "dimensions"
    purposes: tuple[str, Mapping[str, str]] = ("", EMPTY)
    path: str = "embeddings"
    deployment_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One service or server.

    Attributes:
        name: the provider's name in settings.
        summary: one line for `polywire providers`.
        base_url: where it is; `None`: the settings must say.
        key: environment variables that usually hold the key.
        url: environment variables that usually hold the address.
        key_required: whether it never answers without a key.
        profile: what differs from any compatible endpoint.
        rules: what differs for single models.
        key_header: a header of its own for the key; `None`: `Authorization: Bearer`.
        path: where requests go, below the base URL.
        deployment_path: where they go instead if the settings give an `api_version`; `{model}` is the deployment.
        addresses: what differs at other addresses of the same service, by a pattern for the base URL.
        embeddings: its `/embeddings`; `None`: it has none.
        other_hosts: the service's other addresses, to which the usual key may go as well.
        source: where this is from.
        own: the models are OpenAI's own, and so are their profiles.
    """

    name: str
    summary: str
    base_url: str | None
    source: str
    key: tuple[str, ...] = ()
    url: tuple[str, ...] = ()
    key_required: bool = True
    profile: Mapping[str, Any] = field(default=EMPTY)
    rules: tuple[ProfileRule, ...] = ()
    key_header: str | None = None
    path: str = "chat/completions"
    deployment_path: str | None = None
    addresses: Mapping[str, Mapping[str, Any]] = field(default=EMPTY)
    embeddings: Embeddings | None = None
    other_hosts: tuple[str, ...] = ()
    own: bool = False

    def profiles(self, base_url: str | None = None) -> ProfileTable:
        """Return the row's profile table, as it holds at its own address or at another one."""
        if self.own:
            return OPENAI_PROFILES
        base = COMPATIBLE.changed(_ANY_ROW).changed(self.profile, where=f"row {self.name!r}")
        for pattern, changes in self.addresses.items():
            if base_url is not None and fnmatchcase(base_url.rstrip("/"), pattern):
                base = base.changed(changes, where=f"row {self.name!r} at {pattern!r}")
        # A service with rows of its own tells all of them; only unknown services fall back on the families' names.
        shared = COMPATIBLE_PROFILES.rules if self.name == "openai-compatible" else ()
        return ProfileTable(base, (*shared, *self.rules), self.source, DATE)


def rule(models: str, source: str, **changes: Any) -> ProfileRule:
    """Return changes for single models of a service."""
    return ProfileRule(models, changes, source, DATE)
