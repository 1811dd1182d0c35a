"""`polywire convert`: one wire's JSON as another's."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, cast

import typer

from polywire.cli.failures import ExitCode, InputError
from polywire.cli.options import DebugOption, read_input, silence_log
from polywire.cli.terminal import Terminal

if TYPE_CHECKING:
    from polywire.responses import Notice

__all__ = ["convert_command"]


class Kind(StrEnum):
    """What is converted."""

    REQUEST = "request"
    RESPONSE = "response"
    MESSAGES = "messages"
    STREAM = "stream"


class History(StrEnum):
    """What to do where tool calls and results do not close."""

    STRICT = "strict"
    REPAIR = "repair"


def convert_command(
    source: Annotated[str, typer.Option("--from", metavar="WIRE", help="The wire it is in.")],
    target: Annotated[str, typer.Option("--to", metavar="WIRE", help="The wire it is wanted in.")],
    file: Annotated[str, typer.Argument(help="The JSON file; - reads standard input.", metavar="FILE|-")] = "-",
    kind: Annotated[Optional[Kind], typer.Option(help="What it is; told by its shape if left out.")] = None,  # noqa: UP045
    history: Annotated[History, typer.Option(help="Refuse or mend a history whose tool calls do not close.")] = (
        History.STRICT
    ),
    compact: Annotated[bool, typer.Option("--compact", help="Print the JSON on one line.")] = False,
    _debug: DebugOption = False,
) -> None:
    """
    Convert a request, a response, a message list or a stream from one provider's JSON to another's.

    The result goes to standard output; what was dropped, approximated or repaired goes to standard error.
    """
    silence_log()
    if kind is Kind.STREAM:
        _convert_stream(file, source, target)
        return
    from polywire import wire_json
    from polywire.conversion import convert
    from polywire.errors import ModelError, PolywireError

    where = "standard input" if file == "-" else file
    data = read_input(file)
    if not data.strip():
        msg = f"{where} is empty"
        raise InputError(msg, ExitCode.INPUT)
    try:
        payload = wire_json.decode(data)
    except ValueError as error:
        msg = f"{where} is not JSON: {error}"
        raise InputError(msg, ExitCode.INPUT) from None
    try:
        conversion = convert(
            payload,
            source=source,
            target=target,
            kind=cast("Any", kind.value if kind is not None else None),
            history=history.value,
        )
    except ModelError as error:
        # No model was asked: what it says is about the input.
        msg = f"{where}: {error.message}"
        raise InputError(msg, ExitCode.INPUT) from error
    except PolywireError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        # A payload of another shape than the wire's: the input is at fault.
        msg = f"{where} is no {kind.value if kind else 'payload'} of the wire {source!r}: {error}"
        raise InputError(msg, ExitCode.INPUT) from error
    terminal = Terminal()
    text = (
        wire_json.compact(conversion.payload)
        if compact
        else json.dumps(wire_json.replace_surrogates(conversion.payload), indent=2, ensure_ascii=False)
    )
    terminal.write(text + "\n")
    _tell_notices(terminal, conversion.notices)


def _convert_stream(file: str, source: str, target: str) -> None:
    """Convert the bytes of a stream as they come in, event by event."""
    from polywire.conversion import StreamConverter

    terminal = Terminal()
    converter = StreamConverter(source, target)
    with contextlib.ExitStack() as stack:
        if file == "-":
            stream: Any = sys.stdin.buffer
        else:
            try:
                stream = stack.enter_context(Path(file).open("rb"))
            except OSError as error:
                msg = f"{file}: {error.strerror or error}"
                raise InputError(msg) from None
        while chunk := stream.read1(65536):
            terminal.write(converter.feed(chunk).decode("utf-8", "replace"))
    terminal.write(converter.finish().decode("utf-8", "replace"))
    _tell_notices(terminal, converter.notices)
    if converter.error is not None:
        raise converter.error  # the output tells it in the target's way; the exit code tells it to scripts


def _tell_notices(terminal: Terminal, notices: Iterable[Notice]) -> None:
    for notice in notices:
        terminal.note(f"{notice.kind}: {notice.subject}: {notice.message}", "yellow")
