"""
What a failure looks like from outside: one line on standard error, and an exit code that scripts can act on.

The line never holds a key: errors never do, and nothing else is put into it.
"""

from __future__ import annotations

from enum import IntEnum

from polywire.errors import HistoryError, ModelError, PolywireError, SettingsError, UnknownParameter

__all__ = ["ExitCode", "InputError", "exit_code_of", "line_of", "one_line"]


class ExitCode(IntEnum):
    """
    The exit codes of the command `polywire`.

    Codes from 10 on say what a model's provider answered; a script may wait and try again on 11, 13 and 14.
    """

    OK = 0
    UNEXPECTED = 1
    """A bug, here or in a plugin; `--debug` shows where."""
    USAGE = 2
    """A wrong option, argument or parameter, or a file that cannot be read."""
    MISSING_EXTRA = 3
    """The extra `polywire[cli]` is not installed."""
    SETTINGS = 4
    """The settings file, an environment variable or a plugin is wrong."""
    INPUT = 5
    """What was to be converted or sent does not hold together: broken JSON, tool calls without results."""
    CHECK_FAILED = 6
    """`polywire check` found a model that cannot be made or did not answer as it should."""
    AUTHENTICATION = 10
    """The key is missing, wrong or expired, or may not do this."""
    RATE_LIMIT = 11
    """Too many requests or tokens for now."""
    QUOTA = 12
    """The account has no more credit; waiting does not cure it."""
    NETWORK = 13
    """No connection, or a time limit ran out."""
    SERVER = 14
    """The provider failed or is overloaded."""
    BAD_REQUEST = 15
    """The provider, or this side on its behalf, refused the request: unknown model, too long, not supported."""
    CONTENT_FILTER = 16
    """The provider's filter refused the prompt."""
    BAD_ANSWER = 17
    """The answer broke off, was empty, or was not what the wire promises."""
    INTERRUPTED = 130
    """Ctrl-C."""
    BROKEN_PIPE = 141
    """The program that read the output has gone."""


_BY_KIND = {
    "authentication": ExitCode.AUTHENTICATION,
    "permission": ExitCode.AUTHENTICATION,
    "rate_limit": ExitCode.RATE_LIMIT,
    "quota": ExitCode.QUOTA,
    "connection": ExitCode.NETWORK,
    "timeout": ExitCode.NETWORK,
    "server": ExitCode.SERVER,
    "overloaded": ExitCode.SERVER,
    "bad_request": ExitCode.BAD_REQUEST,
    "not_found": ExitCode.BAD_REQUEST,
    "content_filter": ExitCode.CONTENT_FILTER,
    "stream_interrupted": ExitCode.BAD_ANSWER,
    "empty_response": ExitCode.BAD_ANSWER,
    "protocol": ExitCode.BAD_ANSWER,
    "model": ExitCode.SERVER,
}


class InputError(PolywireError, ValueError):
    """A file or argument of the command line cannot be used."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def exit_code_of(error: BaseException) -> ExitCode:
    """Return the exit code for what ended a command."""
    match error:
        case InputError():
            return error.code
        case ModelError():
            # The nearest kind up the tree: `context_length` is a `bad_request`, and a plugin's own class is its parent.
            kinds = (vars(each).get("kind") for each in type(error).__mro__)
            return next((_BY_KIND[kind] for kind in kinds if kind in _BY_KIND), ExitCode.SERVER)
        case SettingsError():
            return ExitCode.SETTINGS
        case HistoryError():
            return ExitCode.INPUT
        case UnknownParameter():
            return ExitCode.USAGE
        case PolywireError():
            return ExitCode.INPUT
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case BrokenPipeError():
            return ExitCode.BROKEN_PIPE
        case _:
            return ExitCode.UNEXPECTED


def line_of(error: BaseException) -> str:
    """Tell an error in one line, without control characters."""
    if isinstance(error, PolywireError):
        text = str(error) or type(error).__name__
        if isinstance(error, ModelError):
            if exit_code_of(error) is ExitCode.AUTHENTICATION and error.message:
                # Some providers repeat the key that they refuse.
                from polywire.policy.redaction import redact

                text = text.replace(error.message, redact(error.message))
            if error.kind != "model":
                text = f"{error.kind.replace('_', ' ')}: {text}"
            if error.attempts:
                text += f" (after {len(error.attempts) + 1} attempts)"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where it happened)"
    return one_line(text)


def one_line(text: str) -> str:
    """Fold white space into single blanks and leave out what could steer a terminal."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())
