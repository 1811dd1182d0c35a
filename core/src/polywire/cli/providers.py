"""`polywire providers`: what is installed, what is broken and why, and which settings each takes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from polywire.cli.failures import ExitCode
from polywire.cli.inspection import InstalledProvider, common_settings, installed_providers
from polywire.cli.options import DebugOption, JsonOption, silence_log
from polywire.cli.settings_tables import Setting
from polywire.cli.terminal import Terminal

__all__ = ["providers"]


def providers(
    name: Annotated[
        Optional[str],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Argument(metavar="NAME", help="Show this one alone, with what each setting means.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    _debug: DebugOption = False,
) -> int:
    """
    Show the installed providers, and the settings that each takes.

    A plugin that is broken is shown with the reason; it stops nobody else.
    """
    silence_log()
    terminal = Terminal()
    found = list(installed_providers(name, deep=as_json or name is not None))
    if as_json:
        document = {
            "providers": [asdict(each) for each in found],
            "common_settings": [asdict(each) for each in common_settings(deep=True)],
        }
        terminal.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    elif name is not None:
        _show_one(terminal, found[0])
    else:
        _show_all(terminal, found)
    return ExitCode.SETTINGS if name is not None and found[0].problem else ExitCode.OK


def _show_all(terminal: Terminal, found: list[InstalledProvider]) -> None:
    if not found:
        terminal.note("No provider is installed: each is a package of its own, named polywire-…", "yellow")
        return
    for each in found:
        _heading(terminal, each)
        for line in _setting_lines(each.settings):
            terminal.line(line)
        if each.refused:
            terminal.line(f"    not: {', '.join(each.refused)}", "dim")
        terminal.line()
    terminal.line("Every provider also takes:", "bold")
    for line in _setting_lines(common_settings()):
        terminal.line(line)


def _heading(terminal: Terminal, each: InstalledProvider) -> None:
    terminal.line(f"{each.name}  ({each.distribution})", "bold")
    if each.problem is not None:
        terminal.line(f"  broken: {each.problem}", "red")
        return
    terminal.line(f"  {each.summary}" + (f"  [wires: {', '.join(each.wires)}]" if each.wires else ""))


def _setting_lines(settings: tuple[Setting, ...]) -> list[str]:
    names = max((len(each.name) for each in settings), default=0)
    types = max((len(each.type) for each in settings if len(each.type) <= 40), default=0)
    lines = []
    for each in settings:
        default = each.default
        if default.startswith("$"):
            default = f"from {default}"
        elif default and default != "required":
            default = f"= {default}"
        lines.append(f"    {each.name.ljust(names)}  {each.type.ljust(types)}  {default}".rstrip())
    return lines


def _show_one(terminal: Terminal, each: InstalledProvider) -> None:
    _heading(terminal, each)
    if each.problem is not None:
        return
    terminal.line()
    own = {setting.name for setting in each.settings}
    rows = [
        (setting.name, setting.type, setting.default, setting.description)
        for setting in (*each.settings, *(one for one in common_settings(deep=True) if one.name not in own))
        if setting.name.partition(".")[0] not in each.refused
    ]
    terminal.table(("setting", "type", "default", "what it is"), rows, ("cyan", "", "", "dim"))
