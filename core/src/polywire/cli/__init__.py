"""
The command `polywire` (extra `polywire[cli]`).

    polywire chat "What is a wire format?"     ask a model of the settings file
    polywire providers                         what is installed, what is broken, and which settings each takes
    polywire models                            what the settings file offers
    polywire check                             is the file right, and (--live) do the models answer?
    polywire convert --from A --to B FILE      one wire's JSON as another's
    polywire probe MODEL                       what an endpoint really does, as a profile for the settings file
    polywire record MODEL "prompt"             what an endpoint really sends, as recordings for the tests of a plugin
    polywire new-provider NAME                 the package of a new provider, ready to be filled in

Here is only what must work without the extra; the commands are loaded when they are called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXTRA = frozenset({"typer", "rich", "click"})
_INSTALL = 'pip install "polywire[cli]"'


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command with these arguments (`sys.argv` where left out) and return its exit code.

    Never raises for a failure: it is one line on standard error. See `polywire.cli.failures.ExitCode`.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from importlib.metadata import version

        print(f"polywire {version('polywire')}")
        return 0
    try:
        from polywire.cli.application import run

        return run(arguments)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        sys.stderr.write(f"polywire: the command needs the extra 'cli', which is not installed: {_INSTALL}\n")
        return 3  # ExitCode.MISSING_EXTRA
    except KeyboardInterrupt:
        return 130  # ExitCode.INTERRUPTED: before the commands were loaded
