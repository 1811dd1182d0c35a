"""`polywire check`: is the settings file right, and (with `--live`) do its models answer?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Optional

import typer

from polywire.cli.failures import ExitCode, InputError, line_of
from polywire.cli.options import DebugOption, JsonOption, SettingsOption, open_factory
from polywire.cli.terminal import Terminal

__all__ = ["check"]

_STYLES = {"ok": "", "failed": "red", "skipped": "dim"}


def check(
    live: Annotated[
        bool, typer.Option("--live", help="Make a plain call, a tool call and a stream on each model (costs tokens).")
    ] = False,
    model: Annotated[
        Optional[list[str]],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Check only this model; may be given several times.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds that each call of --live may take.", min=0.1)
    ] = 60.0,
    as_json: JsonOption = False,
    settings: SettingsOption = None,
    _debug: DebugOption = False,
) -> int:
    """
    Check the settings file, and show what stands around each model.

    Every table is validated and every model is made, which needs its key but no network.
    """
    terminal = Terminal()
    with open_factory(settings) as factory:
        from polywire.cli.inspection import configured_models

        configured = {each.name: each for each in configured_models(factory)}
        names = model or list(configured)
        checked = []
        for name in names:
            report = _Report(terminal if not as_json else None, name, configured.get(name))
            report.check(factory, live=live, timeout=timeout)
            checked.append(report)
        if not names and not as_json:
            terminal.line("The settings are valid; they name no models.")
    failed = [report.name for report in checked if report.failed]
    if as_json:
        terminal.write(json.dumps([report.document for report in checked], indent=2, ensure_ascii=False) + "\n")
    if failed:
        msg = f"check: failed: {', '.join(failed)}"
        raise InputError(msg, ExitCode.CHECK_FAILED)
    return ExitCode.OK


class _Report:
    """One model's check: shown line by line as it goes on, and kept for JSON."""

    def __init__(self, terminal: Terminal | None, name: str, configured: Any) -> None:
        self._terminal = terminal
        self.name = name
        self.failed = False
        self.document: dict[str, Any] = {"name": name, "problem": None, "policies": {}, "probes": []}
        where = f"{configured.provider}, {configured.model}" if configured is not None else ""
        self._line(f"{name}  ({where})" if where else name, "bold")

    def _line(self, text: str, style: str = "") -> None:
        if self._terminal is not None:
            self._terminal.line(text, style)
            self._terminal.output.flush()

    def check(self, factory: Any, *, live: bool, timeout: float) -> None:
        from polywire.cli.policy_view import policy_lines
        from polywire.cli.probes import run_probes
        from polywire.errors import PolywireError

        try:
            made = factory.chat_model(self.name)
        except PolywireError as error:
            self.failed = True
            self.document["problem"] = line_of(error)
            self._line(f"  {line_of(error)}", "red")
            return
        policies = list(policy_lines(made))
        self.document["policies"] = dict(policies)
        for word, text in policies:
            self._line(f"  {word:<9} {text}")
        if not policies:
            self._line("  no policies")
        if not live:
            return
        for result in run_probes(made, deadline=timeout):
            self.document["probes"].append(asdict(result))
            self.failed = self.failed or result.status == "failed"
            self._line(
                f"  {result.name:<9} {result.status:<7} {_latency(result):<24} {result.detail}".rstrip(),
                _STYLES[result.status],
            )


def _latency(result: Any) -> str:
    if result.seconds is None:
        return ""
    text = _duration(result.seconds)
    return text if result.first_seconds is None else f"{text}, first {_duration(result.first_seconds)}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
