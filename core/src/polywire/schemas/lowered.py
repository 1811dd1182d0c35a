"""What lowering gives back: the schema, what was weakened, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polywire import wire_json
from polywire.fast_dataclass import dataclass
from polywire.responses import Notice

__all__ = ["Lowered", "WeakeningNotes"]


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Lowered:
    """
    A schema in the terms of one endpoint.

    Attributes:
        schema: what to send; do not change it, it may be shared.
        notices: what was weakened.
        restore: maps a parsed answer, or parsed arguments, back to the original types.
    """

    schema: Mapping[str, Any]
    notices: tuple[Notice, ...] = ()
    restore: Callable[[Any], Any] = _same

    @property
    def takes_nothing(self) -> bool:
        """Whether the schema is an object without any property: a tool without parameters."""
        return not self.schema.get("properties") and not self.schema.get("additionalProperties")

    def restore_text(self, text: str) -> str:
        """
        Map the JSON text of an answer or of a call's arguments back to the original types.

        Text in which nothing changes, and text that is not JSON, comes back as it is.
        """
        if self.restore is _same:
            return text
        try:
            value = wire_json.decode(text)
        except ValueError:
            return text
        restored = self.restore(value)
        written = wire_json.compact(restored)
        return text if written == wire_json.compact(value) else written


class WeakeningNotes:
    """Gathers what was weakened, one notice for each kind of change."""

    def __init__(self, subject: str, dialect: str) -> None:
        self._subject = subject
        self._dialect = dialect
        self._places: dict[str, list[str]] = {}

    def __call__(self, what: str, path: str) -> None:
        places = self._places.setdefault(what, [])
        if path not in places:
            places.append(path)

    def notices(self) -> tuple[Notice, ...]:
        """Return one notice for each kind of change, with all its places."""
        return tuple(
            Notice(
                "approximated",
                self._subject,
                f"JSON Schema as {self._dialect!r} takes it: {what}, at {', '.join(place or 'the root' for place in places)}",
            )
            for what, places in self._places.items()
        )
