"""
A new provider's package, written from templates.

A template is a file that ends in `.tmpl`; `package` in its path and `{{words}}` in its text are replaced. They lie beside
this module as data of the distribution, one folder for each kind of provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from polywire.errors import PolywireError

__all__ = ["Kind", "Names", "ScaffoldError", "names_of", "write_provider"]

Kind = Literal["native", "compatible"]
"""`native`: a wire of its own. `compatible`: Chat Completions, on `polywire-openai`."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_WORD = re.compile(r"\{\{(\w+)\}\}")


class ScaffoldError(PolywireError, ValueError):
    """The package cannot be written."""


@dataclass(frozen=True, slots=True)
class Names:
    """
    What one provider's name becomes in the places where it stands.

    Attributes:
        name: in settings and as the entry point: `acme-cloud`.
        distribution: the package on an index: `polywire-acme-cloud`.
        package: the import name: `polywire_acme_cloud`.
        class_name: the beginning of class names: `AcmeCloud`.
        title: in sentences: `Acme Cloud`.
        variable: the environment variable of the key: `ACME_CLOUD_API_KEY`.
    """

    name: str
    distribution: str
    package: str
    class_name: str
    title: str
    variable: str

    def words(self) -> dict[str, str]:
        """Return the words of the templates."""
        return {
            "name": self.name,
            "distribution": self.distribution,
            "package": self.package,
            "class": self.class_name,
            "title": self.title,
            "variable": self.variable,
        }


def names_of(name: str) -> Names:
    """
    Return a provider's names.

    Raises:
        ScaffoldError: it cannot be one; the message says what it must look like.
    """
    if not _NAME.fullmatch(name) or name.startswith("polywire"):
        hint = "the provider's own name, without 'polywire'" if name.startswith("polywire") else "such as acme-cloud"
        msg = f"the name {name!r} must be lower-case words with hyphens between them, {hint}"
        raise ScaffoldError(msg)
    words = name.split("-")
    return Names(
        name=name,
        distribution=f"polywire-{name}",
        package=f"polywire_{'_'.join(words)}",
        class_name="".join(word.capitalize() for word in words),
        title=" ".join(word.capitalize() for word in words),
        variable=f"{'_'.join(words).upper()}_API_KEY",
    )


def write_provider(name: str, folder: Path, *, kind: Kind = "native") -> tuple[Path, ...]:
    """
    Write the package of a new provider into `folder`, which must be empty or not there.

    Returns:
        the files that were written, in order.

    Raises:
        ScaffoldError: the name cannot be one, or something lies in the folder.
        OSError: a file cannot be written.
    """
    names = names_of(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = f"{folder} is there already and not empty; nothing was written"
        raise ScaffoldError(msg)
    words = names.words()
    written = []
    for parts, template in _templates(files(__package__) / "templates" / kind):
        path = folder.joinpath(*(names.package if part == "package" else part for part in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(template.read_text(encoding="utf-8"), words), encoding="utf-8", newline="\n")
        written.append(path)
    return tuple(written)


def filled(text: str, words: dict[str, str]) -> str:
    """Put words into a template; one that is not known is a `KeyError`, for it would be a mistake here."""
    return _WORD.sub(lambda match: words[match[1]], text)


def _templates(folder: Traversable, parts: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda item: item.name):
        if each.is_dir():
            yield from _templates(each, (*parts, each.name))
        elif each.name.endswith(".tmpl"):
            yield (*parts, each.name.removesuffix(".tmpl")), each
