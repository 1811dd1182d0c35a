"""The beginning of a provider's package: `polywire new-provider`, as functions."""

from __future__ import annotations

from polywire.scaffold.writing import Kind, Names, ScaffoldError, names_of, write_provider

__all__ = ["Kind", "Names", "ScaffoldError", "names_of", "write_provider"]
