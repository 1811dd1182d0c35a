"""
Where the commands write: answers to standard output, everything else to standard error.

Plain text wherever the output is no terminal, `NO_COLOR` is set, or `TERM` is `dumb`. What a model says is foreign text:
on a terminal its control characters are shown as their pictures instead of being obeyed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

__all__ = ["Terminal", "paint", "visible"]

_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | dict.fromkeys(
    (127, *range(128, 160)), 65533
)
_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def visible(text: str) -> str:
    """Return `text` with every control character but newline and tab replaced by a picture of it."""
    return text.replace("\r\n", "\n").translate(_CONTROLS)


class Terminal:
    """
    The two outputs of one run.

    Attributes:
        output_is_terminal: standard output goes to a person.
        error_is_terminal: standard error does.
    """

    def __init__(self, output: TextIO | None = None, error: TextIO | None = None) -> None:
        self.output: TextIO = output or sys.stdout or io.StringIO()
        self.error: TextIO = error or sys.stderr or io.StringIO()
        for stream in (self.output, self.error):
            # A character that the terminal's encoding lacks must not end an answer half-way.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self.output_is_terminal = self.output.isatty()
        self.error_is_terminal = self.error.isatty()
        colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.output_has_colour = colours and self.output_is_terminal
        self.error_has_colour = colours and self.error_is_terminal
        self._error_column = 0

    def write(self, text: str) -> None:
        """Write a piece of an answer, at once."""
        self.output.write(visible(text) if self.output_is_terminal else text)
        self.output.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line to standard output."""
        self.output.write(paint(text, style if self.output_has_colour else "") + "\n")

    def write_error(self, text: str, style: str = "") -> None:
        """Write a piece of what is beside the answer, at once."""
        if not text:
            return
        shown = visible(text) if self.error_is_terminal else text
        self._error_column = 0 if shown.endswith("\n") else 1
        self.error.write(paint(shown, style if self.error_has_colour else ""))
        self.error.flush()

    def note(self, text: str, style: str = "dim") -> None:
        """Write a line to standard error, on a line of its own."""
        start = "\n" if self._error_column else ""
        self.write_error(start + text + "\n", style)

    def end_error_line(self) -> None:
        """Finish a line of standard error that was left open."""
        if self._error_column:
            self.write_error("\n")

    def show_pending(self, text: str) -> None:
        """Show that something is awaited, where a person looks on; `clear_pending` takes it away."""
        if self.error_has_colour and self.output_is_terminal:
            self.error.write(paint(text, "dim"))
            self.error.flush()

    def clear_pending(self) -> None:
        """Take away what `show_pending` wrote."""
        if self.error_has_colour and self.output_is_terminal:
            self.error.write("\r\x1b[K")
            self.error.flush()

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """
        Write a table: fitted to the width of a terminal, or as lines of aligned columns where it goes elsewhere.

        `styles` are those of the columns.
        """
        cells = [[visible(cell) for cell in row] for row in rows]
        if self.output_is_terminal:
            self._rich_table(headings, cells, styles)
            return
        lines = [list(headings), *cells]
        widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
        for line in lines:
            # One line each, whatever a cell holds, so that line tools can read it.
            padded = (" ".join(cell.split()).ljust(width) for cell, width in zip(line, widths, strict=True))
            self.output.write("  ".join(padded).rstrip() + "\n")

    def _rich_table(self, headings: Sequence[str], rows: list[list[str]], styles: Sequence[str]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for index, heading in enumerate(headings):
            table.add_column(heading, style=styles[index] if index < len(styles) else "", overflow="fold")
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console = Console(
            file=self.output, highlight=False, color_system="auto" if self.output_has_colour else None, soft_wrap=False
        )
        console.print(table)


def paint(text: str, style: str) -> str:
    """Return `text` in a style, as a terminal wants it; no style is the text alone."""
    if not style or not text:
        return text
    codes = ";".join(_STYLES[word] for word in style.split())
    body = text.strip("\n")
    lead, tail = text[: len(text) - len(text.lstrip("\n"))], text[len(text.rstrip("\n")) :] if body else ""
    return f"{lead}\x1b[{codes}m{body}\x1b[0m{tail}" if body else text
