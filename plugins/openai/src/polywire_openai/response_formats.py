"""
The form that an answer is asked for in: text, any JSON object, or JSON to a schema.

Chat Completions writes the schema's fields under `json_schema`, Responses beside the type; they are the same fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polywire.parameters import ResponseFormat
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.schemas import Lowered, lower_schema

__all__ = ["decode_response_format", "encode_response_format"]

_UNFIT_NAME = re.compile(r"[^A-Za-z0-9_-]")


def encode_response_format(
    form: ResponseFormat | None, profile: Profile, notices: list[Notice]
) -> tuple[str | None, dict[str, Any], Lowered | None]:
    """
    Write the form that is wanted, or the nearest that the model knows.

    Returns:
        the wire's type, `None` where nothing is asked for; the fields of its schema; and what maps the answer back, where
        the schema was changed.
    """
    if form is None or form.type == "text":
        return None, {}, None
    wanted = form.type
    if wanted not in profile.response_formats:
        if wanted == "json_schema" and "json" in profile.response_formats:
            message = "this endpoint holds no answer to a schema; it is asked for any JSON object"
            notices.append(Notice("approximated", "response_format", message))
            wanted = "json"
        else:
            message = f"this endpoint has no answer of the form {wanted!r}: ask for it in words"
            notices.append(Notice("dropped", "response_format", message))
            return None, {}, None
    if wanted == "json":
        return "json_object", {}, None
    dialect = profile.strict_schema_dialect if form.strict and profile.strict_schema_dialect else profile.schema_dialect
    lowered = lower_schema(form.schema, dialect, subject="response_format")
    notices.extend(lowered.notices)
    # The wire demands a name of letters, digits, `_` and `-`, at most 64 of them.
    fields: dict[str, Any] = {"name": _UNFIT_NAME.sub("_", form.name or "response")[:64]}
    if form.description is not None:
        fields["description"] = form.description
    fields["schema"] = lowered.schema
    if form.strict is not None:
        fields["strict"] = form.strict
    return "json_schema", fields, lowered if lowered.schema is not form.schema else None


def decode_response_format(form: Any, fields: Any) -> ResponseFormat | None:
    """Read a form, of whose schema `fields` tells; `None` where it is of a kind that the values do not know."""
    match form, fields:
        case {"type": "json_object"}, _:
            return ResponseFormat("json")
        case {"type": "json_schema"}, {"schema": Mapping() as schema} if schema:
            name, description, strict = fields.get("name"), fields.get("description"), fields.get("strict")
            return ResponseFormat(
                "json_schema",
                schema,
                name if isinstance(name, str) else None,
                description if isinstance(description, str) else None,
                strict if isinstance(strict, bool) else None,
            )
        case {"type": "text"}, _:
            return ResponseFormat("text")
    return None
