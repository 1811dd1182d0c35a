"""Where and how the commands write."""

from __future__ import annotations

import io

import pytest

from polywire.cli.terminal import Terminal, paint, visible


class Tty(io.StringIO):
    """A terminal that remembers what was written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_gets_colour_and_a_pipe_does_not() -> None:
    tty, pipe = Terminal(Tty(), Tty()), Terminal(io.StringIO(), io.StringIO())
    for terminal in (tty, pipe):
        terminal.note("a note")

    assert tty.error.getvalue() == "\x1b[2ma note\x1b[0m\n"  # type: ignore[attr-defined]
    assert pipe.error.getvalue() == "a note\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    terminal = Terminal(Tty(), Tty())
    terminal.note("a note")
    terminal.line("a line", "bold")
    terminal.table(["name"], [["x"]])

    assert "\x1b" not in terminal.error.getvalue() + terminal.output.getvalue()  # type: ignore[attr-defined]


def test_an_empty_no_color_means_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")

    assert Terminal(Tty(), Tty()).error_has_colour


def test_a_model_cannot_steer_the_terminal() -> None:
    terminal = Terminal(Tty(), Tty())
    terminal.write("\x1b]0;title\x07safe\x9b2J\n")

    assert terminal.output.getvalue() == "␛]0;title␇safe\ufffd2J\n"  # type: ignore[attr-defined]


def test_a_pipe_gets_an_answer_byte_for_byte() -> None:
    terminal = Terminal(io.StringIO(), io.StringIO())
    terminal.write("a\x1b[1mb\r\nc")

    assert terminal.output.getvalue() == "a\x1b[1mb\r\nc"  # type: ignore[attr-defined]


def test_visible_keeps_text_lines_tabs_and_emoji() -> None:
    assert visible("a\tb\nc\r\nd 👩‍🚀 é") == "a\tb\nc\nd 👩‍🚀 é"


def test_a_note_starts_on_a_line_of_its_own() -> None:
    terminal = Terminal(io.StringIO(), io.StringIO())
    terminal.write_error("thinking")
    terminal.note("notice")
    terminal.note("another")
    terminal.end_error_line()

    assert terminal.error.getvalue() == "thinking\nnotice\nanother\n"  # type: ignore[attr-defined]


def test_a_piped_table_is_one_aligned_line_a_row() -> None:
    terminal = Terminal(io.StringIO(), io.StringIO())
    terminal.table(["name", "what"], [["a", "x\ny"], ["longer", ""]])

    assert terminal.output.getvalue() == "name    what\na       x y\nlonger\n"  # type: ignore[attr-defined]


def test_a_table_on_a_terminal_keeps_square_brackets() -> None:
    terminal = Terminal(Tty(), Tty())
    terminal.table(["setting"], [["[bold]list[/bold]"]])

    assert "[bold]list[/bold]" in terminal.output.getvalue()  # type: ignore[attr-defined]


def test_a_character_that_the_encoding_lacks_does_not_stop_an_answer() -> None:
    raw = io.BytesIO()
    terminal = Terminal(io.TextIOWrapper(raw, encoding="ascii"), io.StringIO())
    terminal.write("naïve \ud800 end")

    assert raw.getvalue() == b"na\\xefve \\ud800 end"


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_empty_lines_are_not_painted(text: str) -> None:
    assert paint(text, "dim") == text


def test_line_ends_stand_outside_the_paint() -> None:
    assert paint("\na\nb\n", "dim") == "\n\x1b[2ma\nb\x1b[0m\n"
