"""Loading one entry point, and telling what went wrong in words that help."""

from __future__ import annotations

import re
from typing import Any

from polywire.plugins.diagnostics import Diagnostic
from polywire.plugins.discovery import Declaration

__all__ = ["clash", "failed_import", "problem"]

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def problem(declaration: Declaration, kind: Any, message: str, error: BaseException | None = None) -> Diagnostic:
    """Return a diagnostic about one declaration."""
    return Diagnostic(declaration.name, kind, message, declaration.distribution, declaration.value, error)


def clash(name: str, claims: tuple[Declaration, ...]) -> Diagnostic:
    """Return the diagnostic of a name that several distributions claim."""
    owners = [f"{each.distribution or 'an unknown distribution'} ({each.value})" for each in claims]
    message = f"{' and '.join(owners)} both claim the name; uninstall one of them"
    return Diagnostic(name, "clash", message, None, ", ".join(each.value for each in claims))


def failed_import(declaration: Declaration, error: BaseException) -> Diagnostic:
    """Return the diagnostic of a plugin that does not import; a package that is missing comes with the way to get it."""
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        own = declaration.value.partition(":")[0].partition(".")[0]
        missing = error.name.partition(".")[0]
        if missing != own:
            command = install_command(declaration, missing)
            return problem(declaration, "missing_dependency", f"{told}; install it: {command}", error)
    return problem(declaration, "import", told, error)


def install_command(declaration: Declaration, module: str) -> str:
    """Return the command that installs what a module belongs to: an extra of the plugin, where it has one for it."""
    owner = declaration.entry_point.dist.name if declaration.entry_point.dist is not None else None
    for requirement in declaration.requirements:
        match = _REQUIREMENT.match(requirement)
        if match and _normalised(match[1]) == _normalised(module):
            extra = _EXTRA.search(requirement)
            return f"pip install '{owner}[{extra[1]}]'" if extra and owner else f"pip install {match[1]}"
    return f"pip install {module.replace('_', '-')}"


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
