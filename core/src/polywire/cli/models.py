"""`polywire models`: what the settings file offers, and what is known of each model."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polywire.cli.options import DebugOption, JsonOption, SettingsOption, open_factory
from polywire.cli.terminal import Terminal

if TYPE_CHECKING:
    from polywire.config import LlmFactory
    from polywire.models import ModelInformation

__all__ = ["models"]


def models(
    profile: Annotated[
        Optional[str],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Option(
            "--profile",
            metavar="NAME",
            help="Show what this model (or provider:model) can do, and where each fact is from.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    settings: SettingsOption = None,
    _debug: DebugOption = False,
) -> None:
    """Show the models of the settings file, or the profile of one."""
    terminal = Terminal()
    with open_factory(settings) as factory:
        if profile is not None:
            _show_profile(terminal, _information(factory, settings, profile), profile, as_json=as_json)
            return
        from polywire.cli.inspection import configured_models

        found = configured_models(factory)
        if as_json:
            terminal.write(json.dumps([asdict(each) for each in found], indent=2, ensure_ascii=False) + "\n")
            return
        if not found:
            said = factory.settings.looked_for or f"{factory.settings.label} names no models."
            terminal.note(f"{said} provider:model works without a table.", "yellow")
            return
        rows = [
            (
                each.name + (" *" if each.is_default else ""),
                each.provider,
                each.model,
                each.kind,
                ", ".join(each.fallback),
            )
            for each in found
        ]
        terminal.table(("name", "provider", "model", "kind", "fallback"), rows, ("bold", "", "", "dim", "dim"))
        if any(each.is_default for each in found):
            terminal.note("* the default")


def _information(factory: LlmFactory, settings: Path | None, name: str) -> ModelInformation:
    """Return what a model tells of itself; it need not have its key for that."""
    from polywire.config import LlmFactory
    from polywire.errors import SettingsError

    try:
        return factory.chat_model(name).information
    except SettingsError as error:
        table = factory.settings.models.get(name)
        connection = table.provider if table is not None else name.partition(":")[0]
        # Nothing is sent: any key will do for looking at the model.
        stand_in = {connection: {"api_key": "not-a-key"}}
        try:
            with LlmFactory.from_config(settings, providers=stand_in) as other:
                return other.chat_model(name).information
        except SettingsError:
            raise error from None


def _show_profile(terminal: Terminal, information: ModelInformation, name: str, *, as_json: bool) -> None:
    from polywire.cli.profile_view import explain_profile, profile_table_of

    if information.profile is None:
        terminal.note(f"{name} has no profile: its provider knows only itself what it can do", "yellow")
        return
    facts, sources = explain_profile(
        profile_table_of(information), information.profile(information.model), information.model
    )
    if as_json:
        document = {
            "name": name,
            "provider": information.provider,
            "model": information.model,
            "profile": [asdict(fact) for fact in facts],
            "sources": [asdict(source) for source in sources],
        }
        terminal.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        return
    where = ", ".join(word for word in (information.provider, information.model) if word)
    terminal.line(f"{name}  ({where})" if where else name, "bold")
    terminal.table(
        ("field", "from", "value"), [(fact.name, fact.label or "-", fact.value) for fact in facts], ("", "dim", "cyan")
    )
    if sources:
        terminal.line()
        terminal.table(
            ("from", "models", "source", "date"),
            [(source.label, source.models, source.source or "-", source.date or "-") for source in sources],
            ("dim", "", "", ""),
        )
