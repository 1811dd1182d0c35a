"""The command as a real process: pipes, signals, and a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("fake_program.py")
PATIENCE = 30.0
"""Seconds after which a program that does not answer is taken to hang; never reached when all is well."""


def environment(**changes: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **changes}


def piped(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), *arguments],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
    )


def heed_interrupts() -> None:
    """Take interrupts as a program in a terminal does, also where the tests run in the background, which ignores them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def take_terminal() -> None:
    """Make the terminal the controlling one, so that Ctrl-C reaches the process as it does a person's."""
    heed_interrupts()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Session:
    """A process at a terminal of its own: type, and wait for what it shows."""

    def __init__(self, *arguments: str, **changes: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(**changes),
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(slave)
        self.shown = ""
        self._seen = 0

    def expect(self, text: str) -> str:
        """Wait for `text` after what was expected before, and return what came up to it."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown[self._seen :]:
            if not self._read(until):
                pytest.fail(f"{text!r} was not shown; there was {self.shown!r}")
        end = self.shown.index(text, self._seen) + len(text)
        part, self._seen = self.shown[self._seen : end], end
        return part

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux says so when the other side has gone
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def interrupt(self) -> int:
        """Press Ctrl-C until the program ends, and return its exit code: one that comes too early is not noticed."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < until:
            self.type("\x03")
            while self._read(time.monotonic() + 0.5):
                pass
        return self.process.wait(0)

    def leave(self) -> int:
        """Wait for the end and return the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


@pytest.fixture
def sessions() -> Iterator[list[Session]]:
    opened: list[Session] = []
    yield opened
    for session in opened:
        session.close()


def test_into_a_pipe_goes_just_the_text() -> None:
    result = piped("chat", "hi", stdin=b"and this\n")

    assert result.stdout == b"you said 'hi\\n\\nand this', message 1\n"
    assert result.stderr == b""
    assert result.returncode == 0


def test_a_reader_that_leaves_ends_the_program_quietly() -> None:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), "chat", "-m", "endless", "hi"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        assert process.stdout.readline() == b"line after line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 141


def test_an_interrupt_ends_a_piped_answer_with_130() -> None:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), "chat", "-m", "stuck", "hi"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=heed_interrupts,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        try:
            assert os.read(process.stdout.fileno(), 7) == b"started"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()

    assert process.returncode == 130
    assert (out, err) == (b"\n", b"interrupted\n")


def test_a_terminal_shows_thinking_dimmed_before_the_answer(sessions: list[Session]) -> None:
    session = Session("chat", "hi")
    sessions.append(session)

    assert session.leave() == 0
    assert "\x1b[2mpondering\x1b[0m\r\nyou said 'hi', message 1\r\n" in session.shown


def test_no_color_leaves_a_terminal_without_a_single_escape(sessions: list[Session]) -> None:
    session = Session("chat", "hi", NO_COLOR="1")
    sessions.append(session)

    assert session.leave() == 0
    assert session.shown == "pondering\r\nyou said 'hi', message 1\r\n"


def test_a_model_cannot_steer_a_terminal(sessions: list[Session]) -> None:
    session = Session("chat", "-m", "hostile", "hi", NO_COLOR="1")
    sessions.append(session)

    assert session.leave() == 0
    assert session.shown == "␛[2J␛]0;owned␇text\r\n"


def test_ctrl_c_at_a_terminal_ends_an_answer_with_130(sessions: list[Session]) -> None:
    session = Session("chat", "-m", "stuck", "hi")
    sessions.append(session)
    session.expect("started")
    session.type("\x03")

    assert session.leave() == 130
    assert "Traceback" not in session.shown
    assert "interrupted" in session.shown


def test_a_conversation_remembers_and_ctrl_d_leaves(sessions: list[Session]) -> None:
    session = Session("chat")
    sessions.append(session)
    session.expect("Ctrl-D to leave")
    session.expect("> ")
    session.type("first\n")
    session.expect("you said 'first', message 1")
    session.expect("> ")
    session.type("second\n")
    session.expect("you said 'second', message 3")
    session.expect("> ")
    session.type("\x04")

    assert session.leave() == 0
    assert "Traceback" not in session.shown


def test_ctrl_c_stops_an_answer_and_then_leaves(sessions: list[Session]) -> None:
    session = Session("chat", "-m", "stuck")
    sessions.append(session)
    session.expect("> ")
    session.type("go\n")
    session.expect("started")
    session.type("\x03")
    session.expect("stopped")
    session.expect("> ")

    assert session.interrupt() == 130
    assert "Traceback" not in session.shown


def test_help_at_a_terminal_is_decorated_and_plain_elsewhere(sessions: list[Session]) -> None:
    session = Session("chat", "--help")
    sessions.append(session)

    assert session.leave() == 0
    assert "─" in session.shown
    assert re.search(rb"[^\x00-\x7f]|\x1b", piped("convert", "--help").stdout) is None


def test_the_version_needs_nothing_but_the_interpreter() -> None:
    program = (
        "import sys; from polywire.cli import main; main(['--version']);"
        "print(*sorted({'typer', 'rich', 'httpx', 'pydantic', 'msgspec', 'click'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=PATIENCE, check=True, text=True
    )

    assert result.stdout.splitlines()[1:] == [""]


def test_usage_errors_and_help_load_neither_settings_nor_http() -> None:
    program = (
        "import sys; from polywire.cli import main; main(['chat', '--help']);"
        "print(*sorted({'rich', 'httpx', 'pydantic_settings', 'asyncio'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=PATIENCE, check=True, text=True
    )

    assert result.stdout.splitlines()[-1] == ""
