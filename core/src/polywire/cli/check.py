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

_POLICIES = ("deadline", "fallback", "retry", "limit")
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
        if not as_json:
            many = f"{len(configured)} model{'' if len(configured) == 1 else 's'}"
            terminal.line(factory.settings.looked_for or f"{factory.settings.label}: valid, {many}")
        checked = []
        for name in names:
            report = _Report(terminal if not as_json else None, name, configured.get(name))
            report.check(factory, live=live, timeout=timeout)
            checked.append(report)
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
        self._kind = configured.kind if configured is not None else "chat"
        self.failed = False
        self.document: dict[str, Any] = {"name": name, "problem": None, "policies": [], "dropped": [], "probes": []}
        where = ""
        if configured is not None:
            words = (configured.provider, configured.model, "the default" if configured.is_default else "")
            where = ", ".join(word for word in words if word)
        self._line("")
        self._line(f"{name}  ({where})" if where else name, "bold")

    def _line(self, text: str, style: str = "") -> None:
        if self._terminal is not None:
            self._terminal.line(text, style)
            self._terminal.output.flush()

    def check(self, factory: Any, *, live: bool, timeout: float) -> None:
        from polywire.cli.policy_view import policy_lines, without_fallback
        from polywire.cli.probes import run_probes

        try:
            made = getattr(factory, f"{self._kind}_model")(self.name)
        except Exception as error:
            # Also a plugin's bug: the other models shall still be checked.
            self.failed = True
            self.document["problem"] = line_of(error)
            self._line(f"  {line_of(error)}", "red")
            return
        if self._kind != "chat":
            self._line(f"  {self._kind} model" + ("; live checks are for chat models" if live else ""), "dim")
            return
        policies = list(policy_lines(made))
        told = {word for word, _ in policies}
        policies += [(word, "none") for word in _POLICIES if word not in told]
        policies.sort(key=lambda each: _POLICIES.index(each[0]) if each[0] in _POLICIES else -1)
        self.document["policies"] = [{"policy": word, "effect": text} for word, text in policies]
        for word, text in policies:
            self._line(f"  {word:<9} {text}", "dim" if text == "none" else "")
        self._tell_dropped(made)
        if not live:
            return
        for result in run_probes(without_fallback(made), deadline=timeout):
            self.document["probes"].append(asdict(result))
            self.failed = self.failed or result.status == "failed"
            self._line(
                f"  {result.name:<9} {result.status:<7} {_latency(result):<24} {result.detail}".rstrip(),
                _STYLES[result.status],
            )

    def _tell_dropped(self, made: Any) -> None:
        """Tell which parameters of the settings never reach the model; a failure where that shall be an error."""
        from polywire.cli.inspection import dropped_parameters
        from polywire.errors import UnsupportedByModel

        try:
            dropped = dropped_parameters(made)
        except UnsupportedByModel as error:
            self.failed = True
            self.document["problem"] = line_of(error)
            self._line(f"  {line_of(error)}", "red")
            return
        self.document["dropped"] = [{"parameter": name, "reason": reason} for name, reason in dropped]
        for name, reason in dropped:
            self._line(f"  {'dropped':<9} {name}: {reason}", "yellow")


def _latency(result: Any) -> str:
    if result.seconds is None:
        return ""
    text = _duration(result.seconds)
    return text if result.first_seconds is None else f"{text}, first {_duration(result.first_seconds)}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
