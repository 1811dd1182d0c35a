"""What a probe finds: observations, and the profile that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from polywire.profiles import Profile
from polywire.recording.toml_text import toml_key, toml_value

__all__ = ["Observation", "ProbeReport"]

Finding = Literal["yes", "no", "partly", "unclear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """
    One thing that was looked at.

    Attributes:
        name: what: `tools`, `forced choice`.
        finding: whether the endpoint does it. `unclear`: one call does not tell.
        detail: what was seen, in one line.
        profile: the fields of the profile that it settles.
    """

    name: str
    finding: Finding
    detail: str
    profile: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """
    What was found out about one endpoint.

    Attributes:
        name: as it was asked for.
        in_settings: whether that is a name from the settings.
        connection, model: the provider's name in the settings, and the model's id.
        known: what was known before.
        observations: in the order of the calls.
        calls: how many calls were made.
    """

    name: str
    in_settings: bool
    connection: str
    model: str | None
    known: Profile | None
    observations: tuple[Observation, ...]
    calls: int

    @property
    def profile(self) -> dict[str, Any]:
        """Every field that the observations settle."""
        settled: dict[str, Any] = {}
        for each in self.observations:
            settled.update(each.profile)
        return settled

    @property
    def differences(self) -> dict[str, Any]:
        """The fields that are otherwise than what was known."""
        known = self.known or Profile()
        found = known.changed(self.profile)
        return {name: value for name, value in self.profile.items() if getattr(found, name) != getattr(known, name)}

    def to_toml(self) -> str:
        """Return the report as a piece of a settings file: what was seen as comments, and the profile to take over."""
        lines = [f"# {self.connection}, model {self.model}: seen in {self.calls} calls"]
        width = max((len(each.name) for each in self.observations), default=0)
        lines += [
            f"#   {each.name.ljust(width)}  {each.finding:<7}  {_one_line(each.detail)}" for each in self.observations
        ]
        if not self.differences:
            return "\n".join([*lines, "# Nothing is otherwise than the profile says; there is nothing to set.", ""])
        name = self.name
        if not self.in_settings:
            name = "probed"
            lines += ["", f"[models.{name}]", f"provider = {toml_value(self.connection)}"]
            lines.append(f"model = {toml_value(self.model or '')}")
        lines += ["", f"[models.{toml_key(name)}.profile]"]
        lines += [f"{field} = {toml_value(value)}" for field, value in self.differences.items()]
        return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Fold white space, and leave out what a comment in TOML must not hold."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())
