"""
One row of data for each service or server that speaks OpenAI's Chat Completions, and how it differs.

A new one is a row in `services` or `servers`, an entry point in `pyproject.toml`, and its recorded bytes. The differences
are changes to the profile of any compatible endpoint (`polywire_openai.COMPATIBLE`); the words for `quirks` and
`reasoning_parameter` are those of `polywire_openai.profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping

from polywire_compatible.row import Embeddings, Row
from polywire_compatible.servers import SERVERS
from polywire_compatible.services import SERVICES

__all__ = ["ROWS", "Embeddings", "Row"]

ROWS: Mapping[str, Row] = {row.name: row for row in (*SERVICES, *SERVERS)}
"""The rows by provider name."""
