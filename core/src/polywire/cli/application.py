"""
The commands as one program: loaded by name, run, and every failure told in one line.

A subcommand of another distribution is an entry point in the group `polywire.commands`; its name is the command's name,
its object a `typer.Typer`, a click command, or a plain function with annotated parameters. It is imported when it is
called, and the list of commands needs only its name.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from polywire.cli.failures import ExitCode, InputError, exit_code_of, line_of, one_line
from polywire.cli.terminal import Terminal
from polywire.errors import PluginError, did_you_mean

__all__ = ["COMMANDS", "EXTENSION_GROUP", "run"]

EXTENSION_GROUP = "polywire.commands"

COMMANDS = {
    "chat": "polywire.cli.chat:chat",
    "models": "polywire.cli.models:models",
    "providers": "polywire.cli.providers:providers",
    "check": "polywire.cli.check:check",
    "convert": "polywire.cli.convert:convert_command",
    "probe": "polywire.cli.probe:probe",
    "record": "polywire.cli.record:record",
    "new-provider": "polywire.cli.new_provider:new_provider",
}
"""The built-in commands: name, and where the function is."""

# Both are public in every version of typer, and their bases are the errors of whichever click it stands on.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
_CLICK_ERROR: type[Exception] = _USAGE_ERROR.__mro__[1]


def _markup_mode() -> Any:
    # The decorated help is for a person at a terminal; elsewhere it would be boxes in a file.
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not (sys.stdout and sys.stdout.isatty())
    return None if plain else "rich"


def _command_of(function: Callable[..., Any], name: str) -> Any:
    application = typer.Typer(add_completion=False, rich_markup_mode=_markup_mode())
    application.command(name, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return typer.main.get_command(application)


def _extensions() -> dict[str, EntryPoint]:
    """Return the commands of other distributions by name; a built-in name stays the built-in."""
    found: dict[str, EntryPoint] = {}
    for entry_point in sorted(entry_points(group=EXTENSION_GROUP), key=lambda each: (each.name, each.value)):
        if entry_point.name not in COMMANDS:
            found.setdefault(entry_point.name, entry_point)
    return found


def _distribution(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else entry_point.value


def _load(entry_point: EntryPoint) -> Any:
    """Import a command of another distribution and make it one that this program can run."""
    where = f"the command {entry_point.name!r} of {_distribution(entry_point)}"
    try:
        found = entry_point.load()
    except Exception as error:
        msg = f"{where} cannot be loaded: {type(error).__name__}: {error}"
        raise PluginError(msg) from error
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    if hasattr(found, "make_context") and hasattr(found, "main"):
        return found
    if callable(found):
        return _command_of(found, entry_point.name)
    msg = f"{where} must be a typer.Typer, a click command or a function, not {type(found).__name__}"
    raise PluginError(msg)


class _Commands(TyperGroup):
    """The group that knows its commands by name and imports the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer names it
        return [*COMMANDS, *_extensions()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name in COMMANDS:
            module, _, function = COMMANDS[cmd_name].partition(":")
            return _command_of(getattr(import_module(module), function), cmd_name)
        extension = _extensions().get(cmd_name)
        if extension is None:
            return None
        # A stand-in: the list of commands shows it, and calling it loads the real one.
        return TyperCommand(
            cmd_name,
            callback=lambda: None,
            help=f"From {_distribution(extension)}.",
            rich_markup_mode=_markup_mode(),
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            extensions = _extensions()
            if name not in extensions:
                msg = f"no such command {name!r}{did_you_mean(name, [*COMMANDS, *extensions])}"
                raise InputError(msg)
            return name, _Foreign(name, _load(extensions[name])), args[1:]
        return super().resolve_command(ctx, args)


class _Foreign(TyperCommand):
    """A loaded command of another distribution, run as its own program: it may stand on another click than ours."""

    def __init__(self, name: str, command: Any) -> None:
        super().__init__(
            name,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )
        self._command = command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []

    def invoke(self, ctx: Any) -> Any:
        return self._command.main(args=list(ctx.args), prog_name=f"polywire {self.name}", standalone_mode=False)


def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and leave."),
    _debug: bool = typer.Option(False, "--debug", help="Show tracebacks and the library's log."),
) -> None:
    """Talk to any chat model through one settings file."""
    if version:
        import polywire

        typer.echo(f"polywire {polywire.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _build() -> Any:
    application = typer.Typer(
        cls=_Commands,
        add_completion=False,
        rich_markup_mode=_markup_mode(),
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    application.callback()(_root)
    return typer.main.get_command(application)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; see `ExitCode`."""
    debug = "--debug" in _options(arguments)
    with _log_on_stderr() if debug else contextlib.nullcontext():
        return _run(arguments, debug=debug)


def _run(arguments: Sequence[str], *, debug: bool) -> int:
    try:
        command = _build()
        # Not `command.main`, which turns a broken pipe and Ctrl-C into codes of its own.
        with command.make_context("polywire", list(arguments)) as context:
            result = command.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else ExitCode.OK
    except typer.Exit as leaving:
        return leaving.exit_code
    except SystemExit as leaving:
        return (
            leaving.code if isinstance(leaving.code, int) else ExitCode.OK if leaving.code is None else _stop(leaving)
        )
    except BaseException as error:
        if debug and not isinstance(error, (KeyboardInterrupt, BrokenPipeError)):
            import traceback

            traceback.print_exc()
        return _tell(error)


def _options(arguments: Sequence[str]) -> Sequence[str]:
    """Return what stands before `--`: the part in which options are options."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _tell(error: BaseException) -> int:
    """Say what went wrong, in one line, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # The reader has gone, as `head` does. Python flushes the streams once more at its end: give them a place to go.
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a descriptor is wanted
            for stream in (sys.stdout, sys.stderr):
                _point_at(stream, nowhere.fileno())
        return ExitCode.BROKEN_PIPE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        Terminal().note("interrupted")
        return ExitCode.INTERRUPTED
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in {"typer", "rich", "click"}:
        raise error
    usage = getattr(error, "format_message", None)
    if usage is not None and (isinstance(error, _CLICK_ERROR) or hasattr(error, "exit_code")):
        text, code = _usage_line(error, usage()), int(getattr(error, "exit_code", ExitCode.USAGE))
    else:
        text, code = line_of(error), exit_code_of(error)
    terminal = Terminal()
    # Several mistakes in one settings file are told together, a line each.
    for line in [one_line(each) for each in getattr(error, "problems", ())] or [text]:
        terminal.note(f"polywire: {line}", "red")
    return code


def _usage_line(error: BaseException, message: str) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "polywire"
    command = path.removeprefix("polywire").strip()
    text = message.rstrip(".").strip()
    text = text[:1].lower() + text[1:]
    return one_line(f"{command + ': ' if command else ''}{text} (see {path} --help)")


def _stop(leaving: SystemExit) -> int:
    Terminal().note(f"polywire: {one_line(str(leaving.code))}", "red")
    return ExitCode.UNEXPECTED


def _point_at(stream: Any, descriptor: int) -> None:
    try:
        os.dup2(descriptor, stream.fileno())
    except (OSError, ValueError, AttributeError):
        return


@contextlib.contextmanager
def _log_on_stderr() -> Iterator[None]:
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(relativeCreated)6d ms %(name)s %(levelname)s %(message)s"))
    logger = logging.getLogger("polywire")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
