"""The options that several commands share, and the factory that they open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from polywire.cli.failures import InputError

if TYPE_CHECKING:
    from polywire.config import LlmFactory

__all__ = [
    "DebugOption",
    "JsonOption",
    "SettingsOption",
    "open_factory",
    "parse_parameters",
    "read_input",
    "wrong_parameters",
]

SettingsOption = Annotated[
    Optional[Path],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
    typer.Option(
        "--settings", metavar="PATH", help="The settings file; else $POLYWIRE_SETTINGS, else ./settings.toml."
    ),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show tracebacks and the library's log.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@contextlib.contextmanager
def open_factory(settings: Path | None) -> Iterator[LlmFactory]:
    """Open the factory of a settings file, or of the one that is found, and close it at the end."""
    from polywire.config import LlmFactory

    silence_log()
    with LlmFactory.from_config(settings) as factory:
        yield factory


def silence_log() -> None:
    """
    Keep the library's warnings off standard error, where Python writes them as long as nobody asks for a log.

    What they tell of, a command tells in its own line; `--debug` shows them.
    """
    import logging

    logger = logging.getLogger("polywire")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


@contextlib.contextmanager
def wrong_parameters() -> Iterator[None]:
    """Make a usage error of a parameter that a value refuses."""
    from polywire.errors import PolywireError

    try:
        yield
    except PolywireError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None


def read_input(path: str) -> bytes:
    """
    Read a file, or standard input for `-`.

    Raises:
        InputError: it cannot be read.
    """
    import sys

    if path == "-":
        return sys.stdin.buffer.read() if sys.stdin is not None else b""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise InputError(msg) from None


def parse_parameters(assignments: list[str]) -> dict[str, Any]:
    """Read `name=value` options: the value as JSON where it is that, else as text."""
    from polywire import wire_json

    parameters: dict[str, Any] = {}
    for assignment in assignments:
        name, sign, text = assignment.partition("=")
        if not sign or not name.strip():
            msg = f"-o {assignment!r}: must be name=value, such as temperature=0.2"
            raise InputError(msg)
        try:
            parameters[name.strip().replace("-", "_")] = wire_json.decode(text)
        except ValueError:
            parameters[name.strip().replace("-", "_")] = text
    return parameters
