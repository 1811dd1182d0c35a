"""
JSON Schema as each endpoint takes it.

A codec lowers every schema it writes (a tool's parameters, a response format) with the dialect that its profile names,
keeps the result in `Encoded.context`, and reads the answer back:

    lowered = lower_schema(tool.parameters, profile.schema_dialect, subject=f"tools.{tool.name}")
    body["parameters"] = lowered.schema                     # `lowered.takes_nothing`: no parameters at all
    notices.extend(lowered.notices)
    ...
    arguments = lowered.restore_text(arguments)             # the JSON text of one call's arguments, when it is complete
    value = lowered.restore(value)                          # the same for parsed values

The result may be shared between calls: copy it before changing it.
"""

from __future__ import annotations

from polywire.schemas.dialects import DIALECTS, SchemaDialect, dialect_named
from polywire.schemas.lowering import Lowered, lower_schema

__all__ = ["DIALECTS", "Lowered", "SchemaDialect", "dialect_named", "lower_schema"]
