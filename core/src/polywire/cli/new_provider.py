"""`polywire new-provider`: write the package of a new provider, ready to be filled in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polywire.cli.failures import ExitCode, InputError
from polywire.cli.options import DebugOption
from polywire.cli.terminal import Terminal

if TYPE_CHECKING:
    from polywire.scaffold import Names

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
        _refuse_installed(names)
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


def _refuse_installed(names: Names) -> None:
    """Refuse the name of a provider that is installed by another distribution: with two, neither can be used."""
    from polywire.plugins import Registry

    declaration = Registry().declaration(names.name)
    if declaration is None:
        return
    distribution = declaration.distribution or "an installed distribution"
    msg = (
        f"the provider {names.name!r} is there already, of {distribution}: of two with one name neither could be used."
        " Choose another name; for another address of the same service, a table of the settings with"
        f' plugin = "{names.name}" and base_url is enough'
    )
    raise InputError(msg)
