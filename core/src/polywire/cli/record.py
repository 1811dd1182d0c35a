"""`polywire record`: what an endpoint really sends, as recordings that the conformance kit replays."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polywire.cli.failures import ExitCode, InputError
from polywire.cli.options import DebugOption, SettingsOption, parse_parameters, silence_log, wrong_parameters
from polywire.cli.terminal import Terminal

__all__ = ["record"]


def record(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name from the settings, or provider:model.")],
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to ask.")],
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="The folder of the recordings.")] = Path(
        "tests/recordings"
    ),
    tool: Annotated[bool, typer.Option("--tool", help="Offer a tool and demand a call.")] = False,
    name: Annotated[
        Optional[str],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Option(metavar="NAME", help="The files' name; else after what comes.", show_default=False),
    ] = None,
    parameter: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="A parameter of the request.", show_default=False),
    ] = None,
    settings: SettingsOption = None,
    _debug: DebugOption = False,
) -> int:
    """
    Ask a live endpoint once plain and once streamed, and write what it sends as recordings.

    Refuses to write anything where a key, or a piece of one, would show.
    """
    from polywire.parameters import ChatRequestParameters
    from polywire.recording import SecretFound, open_endpoint, record as record_takes, tool_request, write_recordings
    from polywire.requests import ChatRequest

    silence_log()
    terminal = Terminal()
    with open_endpoint(settings, model) as endpoint:
        profile = endpoint.profile
        request = (
            tool_request(prompt, named=profile is None or "named" in profile.tool_choices)
            if tool
            else ChatRequest(prompt)
        )
        with wrong_parameters():
            given = ChatRequestParameters(**parse_parameters(parameter or []))
        request = ChatRequest(request.messages, request.parameters.merge(given))
        takes = record_takes(endpoint, request, name=name)
        try:
            files = write_recordings(takes, output, secrets=endpoint.all_secrets())
        except SecretFound as error:
            raise InputError(str(error)) from None
        except OSError as error:
            msg = f"{output}: {error.strerror or error}"
            raise InputError(msg) from None
    for file, take in zip(files, takes, strict=True):
        terminal.line(f"{file}  ({take.captured.status}, {len(take.captured.body)} bytes)")
    terminal.note(f"Read {output / 'recordings.toml'} through: what it expects is how the codec reads it today.")
    return ExitCode.OK
