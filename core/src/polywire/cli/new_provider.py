"""`polywire new-provider`: write the package of a new provider, ready to be filled in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from polywire.cli.failures import ExitCode, InputError
from polywire.cli.options import DebugOption
from polywire.cli.terminal import Terminal

__all__ = ["new_provider"]


def new_provider(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The provider's name in settings, such as acme.")],
    compatible: Annotated[
        bool, typer.Option("--compatible", help="It speaks Chat Completions: a few lines on polywire-openai.")
    ] = False,
    output: Annotated[
        Optional[Path],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Option("--output", metavar="DIR", help="The folder to write; else ./polywire-NAME.", show_default=False),
    ] = None,
    _debug: DebugOption = False,
) -> int:
    """
    Write the package of a new provider: codec, settings, tests on the conformance kit, README and CI.

    It installs and its tests run at once; what they find wrong is what there is to write.
    """
    from polywire.scaffold import ScaffoldError, names_of, write_provider

    try:
        names = names_of(name)
        folder = output or Path(names.distribution)
        files = write_provider(name, folder, kind="compatible" if compatible else "native")
    except ScaffoldError as error:
        raise InputError(str(error)) from None
    terminal = Terminal()
    for file in files:
        terminal.line(f"  {file}")
    first = "provider.py" if compatible else "wire.py"
    terminal.line()
    terminal.line(f"Next: fill in {folder / 'src' / names.package / first}, and run the tests:")
    terminal.line(f'  pip install -e "{folder}[test]" && pytest {folder}')
    return ExitCode.OK
