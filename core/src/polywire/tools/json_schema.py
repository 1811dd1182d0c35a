"""JSON Schema of types, as models need it: without the titles that only repeat the names."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

__all__ = ["PlainJsonSchema"]


class PlainJsonSchema(GenerateJsonSchema):
    """
    pydantic's own, except that names are not repeated as titles.

    A default that JSON cannot write is left out of the schema without a warning: it is the function's own business.
    """

    ignored_warning_kinds: AbstractSet[Any] = {"skipped-choice", "non-serializable-default"}  # type: ignore[assignment]

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Say no: a field's title is its name in other letters."""
        return False
