"""`polywire probe`: what an endpoint really does, as a profile for the settings file."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from polywire.cli.failures import ExitCode
from polywire.cli.options import DebugOption, JsonOption, SettingsOption, silence_log
from polywire.cli.terminal import Terminal

__all__ = ["probe"]


def probe(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name from the settings, or provider:model.")],
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds that each call may take.", min=0.1)] = 60.0,
    as_json: JsonOption = False,
    settings: SettingsOption = None,
    _debug: DebugOption = False,
) -> int:
    """
    Find out with some twenty short calls what a model's endpoint does (costs tokens).

    What it prints can be put into the settings file as it is: the observations are comments.
    """
    from polywire.probe import Observation, probe as run

    silence_log()
    terminal = Terminal()

    def show(observation: Observation) -> None:
        if terminal.error_is_terminal:
            terminal.note(f"{observation.name}: {observation.finding}")

    report = run(settings, model, deadline=timeout, on_observation=show)
    if as_json:
        document = {
            "model": report.name,
            "calls": report.calls,
            "observations": [asdict(each) for each in report.observations],
            "profile": report.profile,
            "differences": report.differences,
        }
        terminal.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        terminal.write(report.to_toml())
    return ExitCode.OK
