"""What a docstring says of a function and its parameters, in the Google, NumPy and reST styles."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from polywire.errors import PolywireError

__all__ = ["Documentation", "read_docstring"]

_PARAMETER_SECTION = re.compile(
    r"^\s*(?:(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)\s*:?\s*$"
    r"|[:@](?:param|parameter|arg|argument|key|keyword)\b)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Documentation:
    """A description, and one for each parameter that is described."""

    description: str | None = None
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(docstring: str | None, *, where: str) -> Documentation:
    """
    Read a docstring.

    One without a section on parameters is the description, whole, and needs no parser.

    Raises:
        PolywireError: there is such a section, and the extra `polywire[tools]` is not installed. Sending it to the model
            unread, or leaving it out, would both be wrong in silence.
    """
    text = inspect.cleandoc(docstring) if docstring else ""
    if not text:
        return Documentation()
    if not _PARAMETER_SECTION.search(text) and not re.search(
        r"^\s*(?:Returns|Raises|Yields|:returns?|:raises?)\b", text, re.MULTILINE
    ):
        return Documentation(text)
    try:
        import docstring_parser
    except ImportError:
        if _PARAMETER_SECTION.search(text) is None:
            return Documentation(text)
        msg = (
            f"the docstring of {where} describes parameters; to read it, install the extra:"
            " pip install 'polywire[tools]' (or describe them with Annotated[type, \"…\"])"
        )
        raise PolywireError(msg) from None
    parsed = docstring_parser.parse(text)
    paragraphs = [part.strip() for part in (parsed.short_description, parsed.long_description) if part and part.strip()]
    parameters = {
        name.lstrip("*"): " ".join(parameter.description.split())
        for parameter in parsed.params
        if parameter.description
        for name in parameter.arg_name.split(",")
    }
    return Documentation("\n\n".join(paragraphs) or None, {name.strip(): text for name, text in parameters.items()})
